"""Windows over the whole stream, with a reduce and with a process function."""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, [r[2] for r in elements], "list"

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
sums = stream.window_all(windows).reduce(lambda a, b: ("all", max(a[1], b[1]), a[2] + b[2]))
lists = stream.window_all(windows).process(Show())
result = sums.union(lists)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
