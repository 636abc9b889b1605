"""What a function changes after it has emitted it: what was emitted stays as it was."""

from pyflink.common import Row, Types
from pyflink.datastream import (
    AggregateFunction,
    CoFlatMapFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    MapStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import CountTrigger, GlobalWindows

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2, 3], Types.INT())
keyed = numbers.key_by(lambda v: "k", Types.STRING())


def show(**streams):
    """What the streams have, by their names."""
    named = [
        stream.map(lambda v, name=name: f"{name} {v}", Types.STRING())
        for name, stream in streams.items()
    ]
    with named[0].union(*named[1:]).execute_and_collect() as results:
        print(*sorted(results), sep="\n")


class Keeps(KeyedProcessFunction):
    def __init__(self, type_, change):
        self.type = type_
        self.change = change

    def open(self, context):
        types = {"any": Types.PICKLED_BYTE_ARRAY(), "list": Types.LIST(Types.INT())}
        self.state = context.get_state(ValueStateDescriptor("kept", types[self.type]))

    def process_element(self, value, ctx):
        kept = self.change(self.state.value(), value)
        self.state.update(kept)
        yield kept


def appended(kept, value):
    kept = kept or []
    kept.append(value)
    return kept


def counted(kept, value):
    kept = kept or {"n": 0, "items": []}
    kept["n"] += 1
    kept["items"].append(value)
    return kept


class Buffer(MapFunction):
    def open(self, context):
        self.buffer = []

    def map(self, value):
        self.buffer.append(value)
        return self.buffer


class OneRow(MapFunction):
    def open(self, context):
        self.row = Row(n=0, items=[])

    def map(self, value):
        self.row["n"] = value
        self.row["items"].append(value)
        return self.row


class Grows(FlatMapFunction):
    def flat_map(self, value):
        grown = []
        for number in range(value):
            grown.append(number)
            yield grown


class GrowsTwice(CoFlatMapFunction):
    def open(self, context):
        self.seen = []

    def flat_map1(self, value):
        self.seen.append(value)
        yield self.seen, "one"

    def flat_map2(self, value):
        yield []


def plus(one, other):
    one.append(other[0])
    return one


class Listed(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, one, other):
        return one + other


class InMap(KeyedProcessFunction):
    def open(self, context):
        self.state = context.get_map_state(
            MapStateDescriptor("m", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        kept = appended(self.state.get("x"), value)
        self.state.put("x", kept)
        yield OutputTag("side", Types.PICKLED_BYTE_ARRAY()), kept
        yield value, kept
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp, ctx):
        kept = self.state.get("x")
        kept.append(-timestamp)
        self.state.put("x", kept)
        yield timestamp, kept


# --- what is in state
in_map = keyed.process(InMap())
show(
    lists=keyed.process(Keeps("any", appended)),
    typed=keyed.process(Keeps("list", appended)),
    typed_results=keyed.process(Keeps("list", appended), Types.LIST(Types.INT())),
    dicts=keyed.process(Keeps("any", counted)),
    maps=in_map,
    side=in_map.get_side_output(OutputTag("side", Types.PICKLED_BYTE_ARRAY())),
    reduced=numbers.map(lambda v: [v]).key_by(lambda v: "k").reduce(plus),
)

# --- what is in a function
show(
    maps=numbers.map(Buffer()),
    rows=numbers.map(OneRow()),
    flat_maps=numbers.flat_map(Grows()),
    both=numbers.connect(numbers).flat_map(GrowsTwice()).filter(lambda v: v),
)

# --- what is in a window
show(
    lists=keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).aggregate(Listed()),
)
