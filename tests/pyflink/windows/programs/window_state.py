"""State of a window, state of a key, and the clocks in a window function."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows


class TimeOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Firings(ProcessWindowFunction):
    def open(self, runtime_context):
        self.mine = ValueStateDescriptor("of-window", Types.LONG())
        self.all = ValueStateDescriptor("of-key", Types.LONG())

    def process(self, key, context, elements):
        mine = context.window_state().get_state(self.mine)
        every = context.global_state().get_state(self.all)
        mine.update((mine.value() or 0) + 1)
        every.update((every.value() or 0) + 1)
        early = context.current_watermark() < 0
        yield key, context.window().start, mine.value(), every.value(), early, len(list(elements))

    def clear(self, context):
        context.window_state().get_state(self.mine).clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfRecord())
records = [("a", 1, 1), ("b", 4, 2), ("a", 12, 3), ("a", 7, 4), ("b", 25, 5), ("a", 21, 6)]
stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
result = (
    stream.key_by(lambda r: r[0], key_type=Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    .trigger(CountTrigger.of(1))
    .process(Firings())
)
with result.execute_and_collect() as rows:
    for row in rows:
        print(row)
