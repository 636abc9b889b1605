"""What print() makes of values that have no declared type.

compare: exactly
"""

import datetime

from pyflink.common import Row
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
values = [
    1,
    2.5,
    1e20,
    True,
    "text",
    "",
    (1,),
    ("a", None, 2.0),
    [1, "b"],
    {"k": [1]},
    Row(1, "x"),
    Row(a=1, b="x"),
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 30, 0, 5),
]
env.from_collection(values).print()
env.execute()
