"""Broadcast state in any order of rules and items: a timer looks at them when all are there."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    StreamExecutionEnvironment,
    TimeDomain,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1] * 1000


class Match(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.STRING()))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield f"rule {value[0]} at {ctx.timestamp()}"

    def process_element(self, value, ctx):
        self.items.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
        ctx.timer_service().register_event_time_timer(90_000)
        yield f"item {value[1]} of {ctx.get_current_key()} at {ctx.timestamp()}"

    def on_timer(self, timestamp, ctx):
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        event = ctx.time_domain() == TimeDomain.EVENT_TIME
        yield (
            f"timer {timestamp} {ctx.timestamp()} {event} {ctx.get_current_key()}: "
            f"{sorted(self.items.get())} {rules} {ctx.get_broadcast_state(RULES).is_empty()}"
        )


class Plain(BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        pass

    def process_element(self, value, ctx):
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(100)
).with_timestamp_assigner(Second())
rules = env.from_collection(
    [("a", "one", 1), ("b", "two", 2), ("a", "three", 3)],
    Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]),
).assign_timestamps_and_watermarks(strategy)
items = env.from_collection(
    [("x", "p", 1), ("y", "q", 2), ("x", "r", 3), ("x", "s", 30)],
    Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]),
).assign_timestamps_and_watermarks(strategy)
keyed = items.key_by(lambda item: item[0], Types.STRING())
broadcast = rules.broadcast(RULES)
for stream, function in ((items, Match()), (keyed, Plain())):
    try:
        stream.connect(broadcast).process(function)
    except TypeError:
        print("TypeError", type(function).__name__)
keyed.connect(broadcast).process(Match(), Types.STRING()).map(
    lambda line: line, Types.STRING()
).set_parallelism(1).print().set_parallelism(1)
env.execute("broadcast with timers")
