"""Environments in one process do not know of each other; one can run several jobs.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

one = StreamExecutionEnvironment.get_execution_environment()
two = StreamExecutionEnvironment.get_execution_environment()
one.set_parallelism(1)
two.set_parallelism(1)
print(one is two, one.get_parallelism())
one.from_collection([1], type_info=Types.INT()).print("one")
two.from_collection([2], type_info=Types.INT()).print("two")
two.execute()
one.execute()
again = one.from_collection([3], type_info=Types.INT())
again.print("one again")
one.execute()
again.map(lambda x: x + 1).print("from before")
one.execute()
