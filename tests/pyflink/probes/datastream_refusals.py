"""What is refused where a program is built, with the words that programs may look for."""

from pyflink.common import Configuration, Row, Time, Types
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
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
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
)

env = StreamExecutionEnvironment.get_execution_environment(Configuration())
numbers = env.from_collection([1, 2], Types.INT())
long_min = -9223372036854775808


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
