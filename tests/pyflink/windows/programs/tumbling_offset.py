"""Tumbling windows with an offset, and timestamps before 1970."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.start, window.end, window.max_timestamp(), [r[1] for r in inputs]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [
    ("a", -8, 1),
    ("a", -7, 1),
    ("a", -1, 1),
    ("a", 2, 1),
    ("a", 3, 1),
    ("b", -18, 1),
    ("b", 13, 1),
]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = (
    stream.key_by(lambda r: r[0], key_type=Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(3)))
    .apply(Show())
)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
