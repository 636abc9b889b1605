"""Files, windows, metrics and what functions are told, in small jobs."""

import os
import tempfile
from pathlib import Path

from pyflink.common import Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    KeySelector,
    MapFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
from pyflink.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    CountTrigger,
    GlobalWindows,
    PurgingTrigger,
    TumblingEventTimeWindows,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def pairs():
    return env.from_collection([("a", 1), ("b", 2), ("a", 3)], PAIR)


def collected(stream, order=True):
    with stream.execute_and_collect() as results:
        found = list(results)
    for one in sorted(found, key=repr) if order else found:
        print(repr(one))


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


def stamped():
    return pairs().assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    )


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield str((key, list(elements)))


# --- a sink of files
folder = tempfile.mkdtemp()
sink = (
    FileSink.for_row_format(folder, Encoder.simple_string_encoder())
    .with_output_file_config(
        OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".suf").build()
    )
    .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    .with_rolling_policy(RollingPolicy.default_rolling_policy())
    .build()
)
pairs().map(lambda p: p[0], Types.STRING()).sink_to(sink)
env.execute()
for root, _, files in os.walk(folder):
    for name in files:
        print(
            name.startswith("pre-"),
            name.endswith(".suf"),
            name.count("-"),
            Path(root, name).read_text().split(),
        )

# --- a sink of files by time
folder = tempfile.mkdtemp()
sink = (
    FileSink.for_row_format(folder, Encoder.simple_string_encoder())
    .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy", "UTC"))
    .build()
)
pairs().sink_to(sink)
env.execute()
print([len(d) for _, dirs, _ in os.walk(folder) for d in dirs])
for root, _, files in os.walk(folder):
    for name in files:
        print(name.startswith("part-"), Path(root, name).read_text().splitlines())

# --- rows of a sink of files
folder = tempfile.mkdtemp()
ROW = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.DOUBLE()])
env.from_collection([Row("x", 1.0), Row(None, 2.5)], ROW).sink_to(
    FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
)
env.execute()
print([Path(root, name).read_text() for root, _, files in os.walk(folder) for name in files])

# --- a source of text files
folder = Path(tempfile.mkdtemp())
(folder / "a.txt").write_text("one\ntwo\n\nthree")
(folder / ".hidden").write_text("no")
(folder / "_also").write_text("no")
(folder / "sub").mkdir()
(folder / "sub" / "b.txt").write_text("four\r\nfive\n")
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder)).build()
collected(env.from_source(source, WatermarkStrategy.no_watermarks(), "text"))

# --- text files that are not there
raises(
    lambda: collected(
        env.from_source(
            FileSource.for_record_stream_format(
                StreamFormat.text_line_format(), "/no/such"
            ).build(),
            WatermarkStrategy.no_watermarks(),
            "x",
        )
    ),
    Exception,
    "/no/such",
)

# --- CSV that does not fit
folder = Path(tempfile.mkdtemp())
(folder / "a.csv").write_text("1,x,y\n")
schema = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
source = FileSource.for_record_stream_format(
    CsvReaderFormat.for_schema(schema), str(folder)
).build()
raises(
    lambda: collected(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")),
    Exception,
    "",
)
(folder / "a.csv").write_text("x,1\n")
raises(
    lambda: collected(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")),
    Exception,
    "",
)
(folder / "a.csv").write_text("1\n")
raises(
    lambda: collected(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")),
    Exception,
    "",
)

# --- sequences
collected(env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "n"))
raises(lambda: NumberSequenceSource(4, 1), Exception, "")
print(
    env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "n").get_type()
)


# --- order of calls
class Calls(MapFunction):
    def open(self, context):
        self.calls = ["open"]

    def map(self, value):
        self.calls.append("map")
        return str(self.calls)

    def close(self):
        self.calls.append("close")


collected(env.from_collection([1, 2], Types.INT()).map(Calls(), Types.STRING()), False)


# --- state without keys
class NoKey(MapFunction):
    def open(self, context):
        self.state = context.get_state(ValueStateDescriptor("v", Types.INT()))

    def map(self, value):
        return value


raises(
    lambda: collected(env.from_collection([1], Types.INT()).map(NoKey(), Types.INT())),
    Exception,
    "",
)


# --- timers without keys
class NoTimers(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)
        yield value


raises(
    lambda: collected(env.from_collection([1], Types.INT()).process(NoTimers(), Types.INT())),
    Exception,
    "Register timers is only supported on a keyed stream.",
)


# --- all windows
class AllCount(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield str(
            (
                context.window().start if hasattr(context.window(), "start") else "global",
                sorted(elements),
            )
        )


collected(
    stamped()
    .window_all(TumblingEventTimeWindows.of(Time.seconds(2)))
    .process(AllCount(), Types.STRING())
)
collected(
    stamped()
    .window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
    .reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), output_type=PAIR)
)


# --- counts
def many():
    return env.from_collection([("a", i) for i in range(5)] + [("b", 9)], PAIR).key_by(
        lambda p: p[0]
    )


collected(many().count_window(2).process(Count(), Types.STRING()))
collected(many().count_window(3, 2).process(Count(), Types.STRING()))
collected(
    many()
    .window(GlobalWindows.create())
    .trigger(PurgingTrigger.of(CountTrigger.of(2)))
    .process(Count(), Types.STRING())
)


# --- failures of jobs
def fails(value):
    raise ValueError("a bad value")


pairs().map(fails).print()
try:
    env.execute()
except Exception as error:
    print("a bad value" in str(error), "ValueError" in str(error))


class FailsInOpen(MapFunction):
    def open(self, context):
        raise RuntimeError("not opened")

    def map(self, value):
        return value


raises(lambda: collected(pairs().map(FailsInOpen())), Exception, "not opened")


# --- metrics
class Counts(MapFunction):
    def open(self, context):
        group = context.get_metrics_group().add_group("g", "v")
        self.counter = group.counter("c")
        self.meter = group.meter("m")
        self.distribution = group.distribution("d")
        group.gauge("ga", lambda: 3)

    def map(self, value):
        self.counter.inc()
        self.counter.inc(2)
        self.counter.dec()
        self.meter.mark_event()
        self.distribution.update(5)
        return self.counter.get_count()


collected(env.from_collection([1, 2], Types.INT()).map(Counts(), Types.INT()), False)


# --- watermarks inside of functions
class Marks(ProcessFunction):
    def process_element(self, value, ctx):
        yield str((value, ctx.timestamp(), ctx.timer_service().current_watermark() < 0))


collected(stamped().process(Marks(), Types.STRING()))


# --- keys of classes
class Key(KeySelector):
    def get_key(self, value):
        return value[0]


collected(pairs().key_by(Key(), Types.STRING()).map(lambda p: p[1], Types.INT()))
collected(pairs().key_by(Key()).flat_map(lambda p: [p[1]] * p[1], Types.INT()))
collected(pairs().key_by(Key()).filter(lambda p: p[1] > 1))


# --- keys that are no number
def with_key(make):
    return numbers().key_by(make).reduce(lambda a, b: a + b)


def numbers():
    return env.from_collection([1, 2, 3, 4], Types.INT())


collected(with_key(lambda v: float("nan")))
collected(with_key(lambda v: float("nan") if v % 2 else v))
collected(with_key(lambda v: None))
collected(with_key(lambda v: [v % 2]))

# --- collections from other collections
collected(env.from_collection((1, 2), Types.INT()))
collected(env.from_collection({3: 1}.keys(), Types.INT()))
collected(env.from_collection(iter([5]), Types.INT()))
collected(env.from_collection((x for x in [6]), Types.INT()))
