"""Streams as PyFlink's documentation shows them: windows, triggers, state, timers, joins of two."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def records(stream):
    with stream.execute_and_collect() as results:
        return list(results)


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


events = env.from_collection(
    [("a", 1), ("b", 2), ("a", 4), ("a", 11), ("b", 12), ("a", 13), ("a", 3), ("c", 25), ("a", 40)],
    PAIR,
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2)).with_timestamp_assigner(
        Second()
    )
)
keyed = events.key_by(lambda v: v[0], Types.STRING())


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [
            f"{key} {context.window()} {[e[1] for e in elements]} {context.current_watermark()}"
        ]


class ShowAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{context.window()} {[e[1] for e in elements]}"


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        return [f"{key} {window.start} {window.end} {window.max_timestamp()} {len(list(inputs))}"]


class ApplyAll(AllWindowFunction):
    def apply(self, window, inputs):
        return [f"{window.start} {sum(v for _, v in inputs)}"]


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def each(*streams):
    for s in streams:
        for r in records(s):
            print(r)
        print("-")


plain = env.from_collection([("a", 1), ("b", 2)], PAIR)
numbers = env.from_collection([1, 2, 5], Types.INT())


# --- sessions
class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 3 if element[0] == "a" else 12


each(
    keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).process(Show()),
    keyed.window(EventTimeSessionWindows.with_dynamic_gap(Gap())).process(Show()),
    keyed.window(DynamicEventTimeSessionWindows.with_dynamic_gap(Gap())).process(Show()),
    keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).aggregate(
        Mean(), accumulator_type=Types.TUPLE([Types.INT(), Types.INT()]), output_type=Types.DOUBLE()
    ),
)

# --- counts
each(
    keyed.window(CountTumblingWindowAssigner.of(2)).process(Show()),
    keyed.count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1])),
    keyed.count_window(3, 1).reduce(lambda a, b: (a[0], a[1] + b[1])),
    keyed.window(CountSlidingWindowAssigner.of(3, 2)).process(Show()),
)


# --- keyed state of all kinds
class States(KeyedProcessFunction):
    def open(self, ctx):
        self.value = ctx.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = ctx.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = ctx.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.INT()))
        self.sum = ctx.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
        )
        self.mean = ctx.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        before = (
            self.value.value(),
            list(self.list),
            sorted(self.map.items()),
            self.sum.get(),
            self.mean.get(),
        )
        self.value.update(value[1])
        self.list.add(value[1])
        self.list.add_all([value[1], 0])
        self.map.put(str(value[1]), value[1])
        self.map.put_all([("x", 1)])
        self.sum.add(value[1])
        self.mean.add(value)
        yield ctx.get_current_key(), before
        if value[1] == 11:
            self.list.update([7])
            self.map.remove("x")
            self.sum.clear()
            self.mean.clear()
            self.value.clear()
            yield (
                "cleared",
                list(self.list.get()),
                self.map.contains("x"),
                self.map.is_empty(),
                self.sum.get(),
                self.value.value(),
                self.map.get("none"),
            )


each(keyed.process(States()))


# --- timers
class Timers(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} at {ctx.timestamp()} watermark {ctx.timer_service().current_watermark()}"
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        if value[1] == 4:
            ctx.timer_service().delete_event_time_timer(14)

    def on_timer(self, timestamp, ctx):
        yield f"timer {timestamp} of {ctx.get_current_key()} {ctx.time_domain()} {ctx.timestamp()} {ctx.timer_service().current_watermark()}"


each(keyed.process(Timers()))


# --- two streams without keys
class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield "first", value

    def process_element2(self, value, ctx):
        yield "second", value


class Maps(CoMapFunction):
    def map1(self, value):
        return f"one {value}"

    def map2(self, value):
        return None if value > 3 else f"two {value}"


class FlatMaps(CoFlatMapFunction):
    def flat_map1(self, value):
        yield value
        yield value

    def flat_map2(self, value):
        return


print(sorted(records(numbers.connect(plain).process(Both())), key=str))
print(sorted(records(numbers.connect(numbers).map(Maps(), Types.STRING())), key=str))
print(sorted(records(numbers.connect(numbers).flat_map(FlatMaps(), Types.INT())), key=str))

# --- broadcast state
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Ruled(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield "element", value, rules.contains("never")

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], value[1])
        yield "rule", value, sorted(rules.items())


class KeyedRuled(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1000)
        yield ctx.get_current_key(), value

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, sorted(ctx.get_broadcast_state(RULES).items())


class Writes(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put("a", 1)
        yield value

    def process_broadcast_element(self, value, ctx):
        yield value


rules = env.from_collection([("x", 1), ("y", 2), ("x", 3)], PAIR)
print(sorted(records(numbers.connect(rules.broadcast(RULES)).process(Ruled())), key=str))
print(
    sorted(
        records(
            keyed.connect(
                rules.assign_timestamps_and_watermarks(
                    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
                ).broadcast(RULES)
            ).process(KeyedRuled())
        ),
        key=str,
    )
)
raises(lambda: records(numbers.connect(rules.broadcast(RULES)).process(Writes())), Exception)
print(RULES.get_name(), ValueStateDescriptor("v", Types.INT()).get_name())
