"""Streams that run: what functions are given and give, and what ends a job."""

import datetime
import glob
import os
import tempfile
from decimal import Decimal

from pyflink.common import Duration, Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)
from pyflink.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from pyflink.datastream.functions import (
    ProcessFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from pyflink.table import DataTypes

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)


def records(stream):
    with stream.execute_and_collect() as results:
        return list(results)


def refused(call):
    try:
        return call()
    except Exception:
        return "refused"


def written(folder):
    found = []
    for path in glob.glob(f"{folder}/**/*", recursive=True):
        if os.path.isfile(path):
            with open(path) as file:
                found += file.read().splitlines()
    return sorted(found)


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())

# --- values that come back
for values, type_ in [
    ([(1, ("a", (2.5, [1, 2])))], None),
    (
        [(1, ("a", (2.5, [1, 2])))],
        Types.TUPLE(
            [
                Types.INT(),
                Types.TUPLE(
                    [Types.STRING(), Types.TUPLE([Types.DOUBLE(), Types.LIST(Types.INT())])]
                ),
            ]
        ),
    ),
    ([{"a": (1, 2)}], Types.MAP(Types.STRING(), Types.TUPLE([Types.INT(), Types.INT()]))),
    ([Row(a=1, b="x")], Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])),
    ([Decimal("1.50")], Types.BIG_DEC()),
    ([datetime.date(2020, 1, 2)], Types.SQL_DATE()),
    ([datetime.time(1, 2, 3)], Types.SQL_TIME()),
    ([[1.5, 2.5]], Types.PRIMITIVE_ARRAY(Types.DOUBLE())),
    ([["a", None]], Types.BASIC_ARRAY(Types.STRING())),
    ([None, 1], Types.INT()),
    ([{1, 2}], None),
    ([True, False], Types.BOOLEAN()),
]:
    print(
        type_, refused(lambda: records(env.from_collection(values, type_).map(lambda v: v, type_)))
    )

# --- what functions are given of a type
for value, type_ in [
    (1.1, Types.FLOAT()),
    (300, Types.BYTE()),
    (2**40, Types.INT()),
    ((1, "a"), Types.ROW([Types.INT(), Types.STRING()])),
    (Row(1, "a"), Types.TUPLE([Types.INT(), Types.STRING()])),
    ({"x": 1, "y": "a"}, Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])),
    ([1, 2], Types.PRIMITIVE_ARRAY(Types.INT())),
    ("text", Types.STRING()),
]:
    print(
        type_,
        refused(
            lambda: records(
                env.from_collection([value], type_).map(lambda v: f"{type(v).__name__} {v!r}")
            )
        ),
    )

# --- results that are not of their type
for value, type_ in [
    ("x", Types.INT()),
    (1, Types.STRING()),
    (1.5, Types.INT()),
    ((1,), Types.ROW([Types.INT(), Types.INT()])),
    (1, Types.TUPLE([Types.INT()])),
    ("x", Types.BOOLEAN()),
]:
    print(type_, refused(lambda: records(env.from_collection([1]).map(lambda _: value, type_))))


# --- results of asynchronous functions
class Async(AsyncFunction):
    def __init__(self, result):
        self.result = result

    async def async_invoke(self, value):
        return self.result


class NotAsync(AsyncFunction):
    def async_invoke(self, value):
        return [value]


for result in [[1, 2], [], (3,), None, 5, "ab"]:
    stream = AsyncDataStream.unordered_wait(
        env.from_collection([1]), Async(result), Time.seconds(5), 2, Types.INT()
    )
    print(repr(result), refused(lambda: records(stream)))
raises(
    lambda: AsyncDataStream.unordered_wait(env.from_collection([1]), NotAsync(), Time.seconds(5)),
    Exception,
    "Method 'async_invoke' of class",
    "should be declared as 'async def'",
)
raises(
    lambda: AsyncDataStream.unordered_wait_with_retry(
        env.from_collection([1]), Async([1]), Time.seconds(5), None
    ),
    Exception,
    "Async retry strategy should not be None",
)

# --- streams without event time
stream = env.from_collection([("a", 1), ("b", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))
bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
print(records(stream.assign_timestamps_and_watermarks(bounded)))
print(
    records(
        stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()).map(
            lambda v: v[0]
        )
    )
)
print(
    records(
        stream.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
        .key_by(lambda v: v[0])
        .sum(1)
    )
)
print(
    records(
        env.from_source(
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), __file__).build(),
            WatermarkStrategy.for_monotonous_timestamps(),
            "lines",
        )
    )[0]
)


class Times(ProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], ctx.timestamp(), ctx.timer_service().current_watermark()


print(records(stream.process(Times())))
print(records(stream.assign_timestamps_and_watermarks(bounded).process(Times())))
print(records(stream.assign_timestamps_and_watermarks(in_order).process(Times())))


# --- windows of users that merge
class Gap(MergingWindowAssigner):
    def merge_windows(self, windows, callback):
        windows = sorted(windows, key=lambda w: w.start)
        group = []
        for window in windows:
            if group and window.start > max(w.end for w in group):
                self.merged(group, callback)
                group = []
            group.append(window)
        self.merged(group, callback)

    def merged(self, group, callback):
        if len(group) > 1:
            callback.merge(
                group, TimeWindow(min(w.start for w in group), max(w.end for w in group))
            )

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 10)]

    def get_default_trigger(self, env):
        return ThirdOrEnd()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class ThirdOrEnd(Trigger):
    count = ValueStateDescriptor("count", Types.INT())

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if element[2] == "now" else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return (
            TriggerResult.FIRE_AND_PURGE
            if time == window.max_timestamp()
            else TriggerResult.CONTINUE
        )

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, [e[1] for e in elements]


sessions = env.from_collection(
    [
        ("a", 1, ""),
        ("a", 5, "now"),
        ("b", 3, ""),
        ("a", 30, ""),
        ("a", 38, ""),
        ("b", 50, "now"),
        ("a", 14, ""),
    ],
    Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()]),
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(40)).with_timestamp_assigner(
        Second()
    )
)
print(sorted(records(sessions.key_by(lambda v: v[0]).window(Gap()).process(Show()))))
print(
    sorted(
        records(
            sessions.key_by(lambda v: v[0])
            .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
            .trigger(ThirdOrEnd())
            .process(Show())
        )
    )
)

# --- aggregates of tuples, rows and numbers
pairs = env.from_collection(
    [("a", 1), ("b", 5), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()])
)
rows = env.from_collection(
    [Row("a", 1), Row("a", 3)], Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
)
print(records(pairs.key_by(lambda v: v[0]).sum(1)), records(pairs.key_by(lambda v: v[0]).max(1)))
print(
    records(rows.key_by(lambda v: v[0]).sum("v")), records(rows.key_by(lambda v: v.k).min_by("v"))
)
print(records(env.from_collection([1, 2, 3], Types.INT()).key_by(lambda v: 0).sum()))
print(
    refused(lambda: records(env.from_collection([1, 2, 3], Types.INT()).key_by(lambda v: 0).sum(1)))
)
print(refused(lambda: records(pairs.key_by(lambda v: v[0]).sum(5))))
print(refused(lambda: records(pairs.key_by(lambda v: v[0]).sum(0))))

# --- limits and closing
stream = env.from_collection([1, 2, 3, 4, 5], Types.INT())
print(list(stream.execute_and_collect(limit=2)), list(stream.execute_and_collect("named", 3)))
with env.from_collection([1, 2], Types.INT()).execute_and_collect() as results:
    print(next(results), next(results))
    raises(lambda: next(results), StopIteration)

# --- files of streams
folder = tempfile.mkdtemp()
rows = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
rows.map(str, Types.STRING()).sink_to(
    FileSink.for_row_format(folder, Encoder.simple_string_encoder())
    .with_output_file_config(
        OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
    )
    .build()
)
env.execute()
print(
    written(folder),
    all(
        os.path.basename(p).startswith("pre-") and p.endswith(".txt")
        for p in glob.glob(f"{folder}/*/*")
    ),
)

# --- decimals of CSV
schema = (
    CsvSchema.builder()
    .add_number_column("d", DataTypes.DECIMAL(2, 0))
    .add_number_column("e", DataTypes.DECIMAL(4, 2))
    .build()
)
folder = tempfile.mkdtemp()
with open(f"{folder}/a.csv", "w") as file:
    file.write("1.5,2.345\n-2.5,7\n123.4,1\n")
source = FileSource.for_record_stream_format(
    CsvReaderFormat.for_schema(schema), f"{folder}/a.csv"
).build()
print(records(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").map(str)))
folder = tempfile.mkdtemp()
env.from_collection(
    [Row(Decimal("1.5"), Decimal("2.345")), Row(Decimal("123.4"), Decimal("2"))],
    Types.ROW_NAMED(["d", "e"], [Types.BIG_DEC(), Types.BIG_DEC()]),
).sink_to(FileSink.for_bulk_format(folder, CsvBulkWriters.for_schema(schema)).build())
env.execute()
print(written(folder))

# --- records of keyed streams
pairs = env.from_collection([("a", 1), ("b", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))
by_name = pairs.key_by(lambda pair: pair[0], Types.STRING())
print(records(by_name))
print(pairs.key_by(lambda pair: pair[1], Types.INT()).execute_and_collect(limit=1))

# --- lines of CSV
schema = (
    CsvSchema.builder()
    .add_number_column("n", DataTypes.INT())
    .add_string_column("s")
    .add_number_column("d", DataTypes.DECIMAL(10, 3))
    .add_boolean_column("b")
    .add_array_column("a", separator="#", element_type=DataTypes.INT())
    .set_column_separator("|")
    .set_escape_char("\\")
    .set_null_value("NULL")
    .build()
)
print(schema.size(), len(schema))
folder = tempfile.mkdtemp()
env.from_collection(
    [Row(1, "a|b", Decimal("1.500"), True, [1, 2]), Row(2, 'say "x"', Decimal("2"), False, [])],
    Types.ROW_NAMED(
        ["n", "s", "d", "b", "a"],
        [
            Types.INT(),
            Types.STRING(),
            Types.BIG_DEC(),
            Types.BOOLEAN(),
            Types.BASIC_ARRAY(Types.INT()),
        ],
    ),
).sink_to(FileSink.for_bulk_format(folder, CsvBulkWriters.for_schema(schema)).build())
env.execute()
print(written(folder))

# --- side outputs of all kinds
even = OutputTag("even", Types.INT())


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield value
        else:
            yield even, value


stream = env.from_collection([1, 2, 3, 4], Types.INT()).process(Split(), Types.INT())
print(
    records(stream.get_side_output(even)),
    records(stream.get_side_output(even).union(stream)) and "both",
)
raises(lambda: stream.get_side_output("even"), Exception)

# --- batch mode
batch = StreamExecutionEnvironment.get_execution_environment()
batch.set_parallelism(1)
batch.set_runtime_mode(RuntimeExecutionMode.BATCH)
pairs = batch.from_collection(
    [("b", 1), ("a", 5), ("b", 3)], Types.TUPLE([Types.STRING(), Types.INT()])
)
print(sorted(records(pairs.key_by(lambda v: v[0]).reduce(lambda x, y: (x[0], x[1] + y[1])))))
print(sorted(records(pairs.key_by(lambda v: v[0]).sum(1))))


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} {ctx.timestamp()}"


print(sorted(records(pairs.key_by(lambda v: v[0]).max(1).process(Stamp()))))
