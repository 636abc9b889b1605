"""Windows by processing time that are open when the input ends report nothing."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import ProcessingTimeSessionWindows, TumblingProcessingTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, list(inputs)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
keyed = stream.key_by(lambda r: r[0], key_type=Types.STRING())
tumbling = keyed.window(TumblingProcessingTimeWindows.of(Time.hours(1000))).apply(Show())
sessions = keyed.window(ProcessingTimeSessionWindows.with_gap(Time.hours(1000))).apply(Show())
result = tumbling.union(sessions, stream.map(lambda r: r[2]))
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
