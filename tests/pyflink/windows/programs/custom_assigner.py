"""An assigner of one's own: windows as long as the record says."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    EventTimeTrigger,
    TimeWindow,
    TimeWindowSerializer,
    WindowAssigner,
)


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class BySize(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [
            TimeWindow(timestamp // size * size, timestamp // size * size + size) for size in (4, 8)
        ]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(r[2] for r in elements)

    def clear(self, context):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = stream.key_by(lambda r: r[0], key_type=Types.STRING()).window(BySize()).process(Show())
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
