"""Windows of four records, a new one every second record."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, [r[1] for r in inputs]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [(k, t, t) for t in range(1, 12) for k in ("a", "b") if k == "a" or t % 2]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = stream.key_by(lambda r: r[0], key_type=Types.STRING()).count_window(4, 2).apply(Show())
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
