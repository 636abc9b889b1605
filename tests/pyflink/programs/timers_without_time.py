"""Timers on a stream with no timestamps: the end of a bounded input fires them all."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment, TimeDomain
from pyflink.datastream.functions import KeyedProcessFunction


class Wait(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_event_time_timer(5)
        timers.register_event_time_timer(-5)
        timers.register_event_time_timer(9223372036854775807)
        timers.register_processing_time_timer(1)
        timers.register_processing_time_timer(timers.current_processing_time() + 3600_000)
        yield "element", value, ctx.timestamp(), timers.current_watermark()

    def on_timer(self, timestamp, ctx):
        event = ctx.time_domain() == TimeDomain.EVENT_TIME
        return [("timer", timestamp, ctx.get_current_key(), event)]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([7, 8], type_info=Types.INT()).key_by(lambda x: x).process(Wait()).print()
env.execute()
