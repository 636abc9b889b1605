"""Keyed process functions and timers in batch mode."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ListStateDescriptor


class FromValue(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Gather(KeyedProcessFunction):
    def open(self, runtime_context):
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.INT()))

    def process_element(self, value, ctx):
        self.items.add(value[1])
        ctx.timer_service().register_event_time_timer(1000)
        yield value[0], ctx.timestamp(), len(list(self.items.get()))

    def on_timer(self, timestamp, ctx):
        # PyFlink 2.3 finds no state here in batch mode, so it is not looked at.
        yield ctx.get_current_key(), timestamp


env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
env.set_parallelism(2)
(
    env.from_collection(
        [("a", 5), ("b", 1), ("a", 2), ("c", 9)], Types.TUPLE([Types.STRING(), Types.INT()])
    )
    .assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FromValue())
    )
    .key_by(lambda pair: pair[0], key_type=Types.STRING())
    .process(Gather())
    .print()
)
env.execute()
