"""Timers: one for each key and time, in order, deleted ones never, state still there.

compare: exactly
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Remember(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        timers = ctx.timer_service()
        for delay in (100, 50, 100, 75):
            timers.register_event_time_timer(ctx.timestamp() + delay)
        timers.delete_event_time_timer(ctx.timestamp() + 75)
        yield "element", value, ctx.timestamp(), timers.current_watermark()

    def on_timer(self, timestamp, ctx):
        yield (
            "timer",
            timestamp,
            ctx.get_current_key(),
            ctx.timestamp(),
            str(ctx.time_domain()),
            ctx.timer_service().current_watermark(),
            self.seen.value(),
        )


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
(
    env.from_collection([0, 1, 2, 5, 3, 4], type_info=Types.INT())
    .assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    )
    .key_by(lambda value: value % 2, key_type=Types.INT())
    .process(Remember())
    .print()
)
env.execute()
