"""Sessions grow with an aggregate function; its accumulator goes along."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Values(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        return [*accumulator, value[2]]

    def get_result(self, accumulator):
        return sorted(accumulator)

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, context.window().end, list(elements)

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 0, 1), ("a", 9, 2), ("b", 5, 3), ("a", 18, 4), ("b", 15, 5), ("b", 26, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = (
    stream.key_by(lambda r: r[0], key_type=Types.STRING())
    .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    .aggregate(Values(), window_function=Show())
)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
