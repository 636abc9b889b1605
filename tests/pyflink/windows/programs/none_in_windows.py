"""What becomes of None: as a result, as a reduced value, and as an accumulator."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Odd(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[2]

    def get_result(self, accumulator):
        return accumulator if accumulator % 2 else None

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
keyed = stream.key_by(lambda r: r[0], key_type=Types.STRING())
windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
reduced = keyed.window(windows).reduce(lambda a, b: None if b[2] == 4 else a)
result = reduced.union(keyed.window(windows).aggregate(Odd()))
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
