"""Dates, times, decimals and instants: their text and what a function sees."""

import datetime
from decimal import Decimal

from pyflink.common import Instant, Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)


def show(name, values, type_info):
    stream = env.from_collection(values).map(lambda value: value, output_type=type_info)
    stream.print(name)
    stream.map(repr, output_type=Types.STRING()).print(name + " seen")


show("date", [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)], Types.SQL_DATE())
show("time", [datetime.time(1, 2, 3), datetime.time(1, 2, 3, 456789)], Types.SQL_TIME())
show(
    "timestamp",
    [datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), datetime.datetime(2024, 2, 29)],
    Types.SQL_TIMESTAMP(),
)
show("decimal", [Decimal("1.50"), Decimal("123456789.000000001")], Types.BIG_DEC())
show("instant", [Instant(10, 0), Instant(10, 5000000)], Types.INSTANT())
env.execute()
