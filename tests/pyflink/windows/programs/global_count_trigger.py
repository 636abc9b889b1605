"""The global window with a count trigger keeps its content; with a purging one it does not."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(WindowFunction):
    def __init__(self, name):
        self.name = name

    def apply(self, key, window, inputs):
        yield self.name, key, window.max_timestamp(), [r[1] for r in inputs]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [(k, t, t) for t in range(1, 12) for k in ("a", "b") if k == "a" or t % 2]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
keyed = stream.key_by(lambda r: r[0], key_type=Types.STRING())
growing = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).apply(Show("growing"))
purged = (
    keyed.window(GlobalWindows.create())
    .trigger(PurgingTrigger.of(CountTrigger.of(2)))
    .apply(Show("purged"))
)
result = growing.union(purged)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
