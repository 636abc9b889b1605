"""Count windows over the whole stream."""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction
from pyflink.datastream.window import CountTumblingWindowAssigner


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.id, [r[2] for r in inputs]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [(k, t, t) for t in range(1, 12) for k in ("a", "b") if k == "a" or t % 2]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = stream.window_all(CountTumblingWindowAssigner.of(4)).apply(Show())
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
