"""What is refused where a program is built or run, with words that programs may look for."""

from pyflink.common import Configuration, Row, Time, Types
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from pyflink.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from pyflink.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from pyflink.datastream.state import (
    MapStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

env = StreamExecutionEnvironment.get_execution_environment(Configuration())
numbers = env.from_collection([1, 2], Types.INT())
keyed = numbers.key_by(lambda v: v)
long_min = -9223372036854775808


def run(stream):
    with stream.execute_and_collect() as results:
        return list(results)


class Asked(AsyncFunction):
    async def async_invoke(self, value):
        return [value]


# --- rows and types
raises(lambda: Row(1, a=2), ValueError, "Can not use both args", "and kwargs to create Row")
raises(lambda: Row(1).as_dict(), TypeError, "Cannot convert a Row class into dict")
raises(lambda: Row("a")(1, 2), ValueError, "Can not create Row with fields", "expected 1 values")
raises(
    lambda: Row(a=1).get_fields_by_names(["b"]), Exception, "Field names ['b'] not exist in ['a']."
)
raises(lambda: Row(a=1)["b"], ValueError, "b")
raises(lambda: Row(a=1).b, AttributeError, "b")
raises(lambda: Row(1)[3], IndexError)
raises(
    lambda: Types.ROW([Types.INT()]).to_internal_type(5),
    Exception,
    "Unexpected tuple 5 with RowTypeInfo",
)
raises(
    lambda: Types.TUPLE([Types.INT()]).to_internal_type(5),
    Exception,
    "Unexpected tuple 5 with TupleTypeInfo",
)

# --- asynchronous functions
raises(
    lambda: AsyncDataStream.unordered_wait_with_retry(numbers, Asked(), Time.seconds(1), None),
    Exception,
    "Async retry strategy should not be None",
)

# --- asynchronous functions in threads
threads = Configuration()
threads.set_string("python.execution-mode", "thread")
ones = StreamExecutionEnvironment.get_execution_environment(threads).from_collection([1])
raises(
    lambda: AsyncDataStream.unordered_wait(ones, Asked(), Time.seconds(1)),
    Exception,
    "AsyncFunction is still not supported for 'thread' mode.",
)

# --- windows
raises(
    lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)),
    Exception,
    "EventTimeSessionWindows parameters must satisfy 0 < size",
)
raises(
    lambda: ProcessingTimeSessionWindows.with_gap(Time.seconds(0)),
    Exception,
    "ProcessingTimeSessionWindows parameters must satisfy 0 < size",
)
raises(
    lambda: SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(1), Time.seconds(2)),
    Exception,
    "SlidingEventTimeWindows parameters must satisfy abs(offset) < slide and size > 0",
)
raises(
    lambda: SlidingProcessingTimeWindows.of(Time.seconds(1), Time.seconds(1), Time.seconds(2)),
    Exception,
    "SlidingProcessingTimeWindows parameters must satisfy abs(offset) < slide and size > 0",
)
for tumbling in (TumblingEventTimeWindows, TumblingProcessingTimeWindows):
    words = f"{tumbling.__name__} parameters must satisfy abs(offset) < size"
    raises(lambda: tumbling.of(Time.seconds(0)), Exception, words)
    raises(lambda: tumbling.of(Time.seconds(-1)), Exception, words)
    raises(lambda: tumbling.of(Time.seconds(1), Time.seconds(2)), Exception, words)
raises(
    lambda: SlidingEventTimeWindows.of(Time.seconds(0), Time.seconds(0)),
    Exception,
    "SlidingEventTimeWindows parameters must satisfy abs(offset) < slide and size > 0",
)
for assigner in (
    TumblingEventTimeWindows.of(Time.seconds(1)),
    SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)),
):
    raises(
        lambda: assigner.assign_windows(1, long_min, None),
        Exception,
        "Record has Java Long.MIN_VALUE timestamp (= no timestamp marker)",
        "assign_timestamps_and_watermarks(...)",
    )


class NoGap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 0


raises(
    lambda: EventTimeSessionWindows.with_dynamic_gap(NoGap()).assign_windows(1, 1, None),
    Exception,
    "Dynamic session time gap must satisfy 0 < gap",
)

# --- CSV, JSON and Avro
raises(
    lambda: CsvSchema.builder().set_column_separator(";;"),
    ValueError,
    "Column separator must be a single char, got ;;",
)
raises(
    lambda: CsvSchema.builder().set_quote_char("''"),
    ValueError,
    "Quote char must be a single char, got ''",
)
raises(
    lambda: CsvSchema.builder().set_escape_char("ab"),
    ValueError,
    "Escape char must be a single char, got ab",
)
for schema in (CsvRowSerializationSchema, CsvRowDeserializationSchema):
    raises(lambda: schema.Builder(None), TypeError, "Type information must not be None")
raises(
    lambda: JsonRowDeserializationSchema.builder().json_schema(None),
    TypeError,
    "The json_schema must not be None",
)
raises(lambda: JsonRowSerializationSchema.builder().build(), TypeError, "Typeinfo should be set")
for schema in (AvroRowSerializationSchema, AvroRowDeserializationSchema):
    raises(lambda: schema(), TypeError, "record_class or avro_schema_string should be specified")

# --- functions of another kind
window = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1)))
raises(lambda: numbers.map(5), TypeError, "The input must be a MapFunction or a callable function")
raises(lambda: numbers.flat_map(5), TypeError, "The input must be a FlatMapFunction or a callable")
raises(lambda: numbers.filter(5), TypeError, "The input must be a FilterFunction or a callable")
raises(lambda: numbers.key_by(5), TypeError, "Parameter key_selector should be type of KeySelector")
raises(lambda: keyed.reduce(5), TypeError, "The input must be a ReduceFunction or a callable")
raises(lambda: keyed.process(5), TypeError, "KeyedProcessFunction is required for KeyedStream.")
both = numbers.connect(numbers)
raises(lambda: both.map(5), TypeError, "The input function must be a CoMapFunction!")
raises(lambda: both.flat_map(5), TypeError, "The input must be a CoFlatMapFunction")
raises(lambda: both.process(5), TypeError, "must be a CoProcessFunction or KeyedCoProcessFunction")
raises(
    lambda: window.reduce(lambda a, b: a, 5),
    TypeError,
    "window_function should be a WindowFunction or ProcessWindowFunction",
)
raises(
    lambda: numbers.window_all(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(max, 5),
    TypeError,
    "window_function should be a AllWindowFunction or ProcessAllWindowFunction",
)

# --- arguments of another kind
raises(lambda: numbers.map(str).project(0), Exception, "Only Tuple DataStreams can be projected.")
pairs = env.from_collection([(1, 2)], Types.TUPLE([Types.INT(), Types.INT()]))
raises(lambda: pairs.project(), Exception, "project() needs to select at least one (1) field.")
raises(lambda: pairs.project(2), Exception)
raises(lambda: numbers.print(5), Exception)
raises(lambda: OutputTag(""), ValueError, "OutputTag tag_id cannot be None or empty string")
raises(lambda: OutputTag("x", 5), TypeError, "OutputTag type_info must be None, list or TypeInfor")
raises(lambda: keyed.sum(None), TypeError, "The field position must be of int or str type")
raises(
    lambda: AsyncRetryStrategy.fixed_delay(0, 1, None, None),
    Exception,
    "max_attempts should be greater than zero.",
)
raises(
    lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 0, 2, None, None),
    Exception,
    "max_retry_delay should be greater than zero.",
)


# --- state of streams without keys
class Keeps(MapFunction):
    def open(self, context):
        context.get_state(ValueStateDescriptor("v", Types.INT()))

    def map(self, value):
        return value


raises(
    lambda: run(numbers.map(Keeps())),
    Exception,
    "This state is only accessible by functions executed on a KeyedStream.",
)


# --- a name for two states
class Twice(KeyedProcessFunction):
    def open(self, context):
        context.get_state(ValueStateDescriptor("x", Types.INT()))
        context.get_map_state(MapStateDescriptor("x", Types.INT(), Types.INT()))

    def process_element(self, value, ctx):
        yield value


raises(lambda: run(keyed.process(Twice())), Exception, "The state name 'x' is already in use")


# --- keys of streams without keys
class AsksForKey(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key()


raises(lambda: run(numbers.process(AsksForKey())), Exception)

# --- fields of plain values
together = numbers.key_by(lambda v: 0)
raises(lambda: run(together.sum(1)), Exception, "The 1 field selected on a basic type.")
raises(lambda: run(together.max("x")), Exception, "The x field selected on a basic type.")

# --- partitions that are not there
raises(
    lambda: run(numbers.partition_custom(lambda key, n: -1, lambda v: v).map(str)),
    Exception,
    "The partition number should be a positive value, got -1",
)

# --- a program that has run
again = StreamExecutionEnvironment.get_execution_environment()
ended = again.from_collection([1], Types.INT()).map(lambda v: 1 // (v - 1))
ended.print()
raises(again.execute, Exception, "ZeroDivisionError")
raises(again.execute, Exception, "No operators defined in streaming topology")
print(run(again.from_collection([5], Types.INT())))
raises(again.execute, Exception, "No operators defined in streaming topology")

# --- numbers that are too large for their type
for number, type_ in ((300, Types.BYTE()), (40000, Types.SHORT()), (2**31, Types.INT())):
    raises(lambda: run(numbers.map(lambda v: number, type_)), Exception)
    print(run(env.from_collection([number], type_)))
raises(lambda: run(numbers.map(lambda v: 2**63, Types.LONG())), Exception)
raises(lambda: run(env.from_collection([2**63], Types.LONG())), Exception)
raises(
    lambda: run(numbers.map(lambda v: (v, 300), Types.TUPLE([Types.INT(), Types.BYTE()]))),
    Exception,
)
