"""Broadcast state in batch mode: the broadcast stream comes first, all numbers meet all rules."""

from pyflink.common import Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())
LARGE = OutputTag("large", Types.STRING())


class Filter(BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], value[1])
        ctx.get_broadcast_state(NAMES)[value[0]] = value[0].upper()
        if value[0] == "gone":
            rules.remove("gone")
        yield f"rule {value[0]} {value[1]} {ctx.timestamp()}"

    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        names = ctx.get_broadcast_state(NAMES)
        for name, limit in sorted(rules.items()):
            if value > limit:
                yield LARGE, f"{value} is above {names.get(name)}"
            else:
                yield f"{value} is fine for {names[name]}"
        if value == 1:
            yield f"{'gone' in rules} {'gone' in names} {sorted(rules.keys())} {rules.get('none')}"


class Count(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        total = sum(ctx.get_broadcast_state(RULES).values())
        yield f"key {ctx.get_current_key()} count {count} of {total}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
env.set_parallelism(1)
rules = env.from_collection(
    [("low", 2), ("gone", 0), ("high", 4)], Types.TUPLE([Types.STRING(), Types.LONG()])
)
numbers = env.from_collection([1, 2, 3, 4, 5], Types.LONG())
filtered = numbers.connect(rules.broadcast(RULES, NAMES)).process(Filter(), Types.STRING())
filtered.print()
filtered.get_side_output(LARGE).print()
keyed = numbers.key_by(lambda x: x % 2, Types.LONG())
keyed.connect(rules.broadcast(RULES)).process(Count(), Types.STRING()).print()
env.execute("broadcast in batch mode")
