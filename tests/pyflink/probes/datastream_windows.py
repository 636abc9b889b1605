"""Windows, triggers and state of windows."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    KeyedCoProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    TriggerResult,
    TumblingEventTimeWindows,
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
        print(*sorted(records(s), key=str), sep="\n")


plain = env.from_collection([("a", 1), ("b", 2)], PAIR)
numbers = env.from_collection([1, 2, 5], Types.INT())

# --- tumbling windows
each(
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(
        Show(), Types.STRING()
    ),
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(3))).apply(
        Apply(), Types.STRING()
    ),
    events.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).aggregate(Mean()),
)

# --- triggers of windows
each(
    keyed.window(GlobalWindows.create())
    .trigger(PurgingTrigger.of(CountTrigger.of(2)))
    .process(Show()),
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    .trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(10)))
    .process(Show()),
)


# --- state inside of windows
class Counting(ProcessWindowFunction):
    def process(self, key, context, elements):
        mine = context.window_state().get_state(ValueStateDescriptor("w", Types.INT()))
        all_ = context.global_state().get_state(ValueStateDescriptor("g", Types.INT()))
        mine.update((mine.value() or 0) + 1)
        all_.update((all_.value() or 0) + 1)
        yield key, context.window().start, mine.value(), all_.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("w", Types.INT())).clear()


each(
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    .trigger(CountTrigger.of(1))
    .process(Counting())
)


# --- two functions of a window
class Named(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, next(iter(elements))


each(
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).reduce(
        lambda a, b: (a[0], a[1] + b[1]), Named()
    ),
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).aggregate(Mean(), Named()),
)


# --- two keyed streams
class Joined(KeyedCoProcessFunction):
    def open(self, ctx):
        self.left = ctx.get_list_state(ListStateDescriptor("left", Types.INT()))

    def process_element1(self, value, ctx):
        self.left.add(value[1])
        ctx.timer_service().register_event_time_timer(100)

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(101)
        return []

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, list(self.left)


each(keyed.connect(keyed).process(Joined()))


# --- timestamps of results
class Stamped(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} at {ctx.timestamp()}"


class Early(EventTimeTrigger):
    """Fires 2 ms after each record, too."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(timestamp + 2)
        return super().on_element(element, timestamp, window, ctx)

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE


def added(a, b):
    return a[0], a[1] + b[1]


def of_its_own(records):
    # PyFlink cannot chain in an environment that has run a chain before.
    own = StreamExecutionEnvironment.get_execution_environment()
    own.set_parallelism(1)
    return own.from_collection(records, PAIR)


def by_key():
    stream = of_its_own(
        [("a", 1), ("b", 2), ("a", 4), ("a", 11), ("b", 12), ("a", 13), ("a", 3), ("c", 25)]
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    )
    return stream.key_by(lambda v: v[0], Types.STRING())


def tens():
    return by_key().window(TumblingEventTimeWindows.of(Time.milliseconds(10)))


numbers = of_its_own([("a", 1), ("a", 2)]).key_by(lambda v: v[0])
each(
    tens().reduce(added).process(Stamped()),
    tens().trigger(Early()).reduce(added).process(Stamped()),
    tens().trigger(CountTrigger.of(1)).reduce(added).process(Stamped()),
    by_key().count_window(2).reduce(added).process(Stamped()),
    numbers.count_window(1).reduce(added).process(Stamped()),
    by_key()
    .count_window(2)
    .reduce(added)
    .key_by(lambda v: v[0])
    .window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    .process(Show()),
)
