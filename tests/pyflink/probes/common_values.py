"""Types, rows, times and settings: their texts, what is equal, and what is refused."""

import copy
import pickle

from pyflink.common import (
    Configuration,
    Duration,
    ExecutionConfig,
    Instant,
    JobStatus,
    Row,
    RowKind,
    SimpleStringSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from pyflink.common.serialization import RowFieldExtractorSchema
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment

# --- texts of types
for t in [
    Types.STRING(),
    Types.BYTE(),
    Types.BOOLEAN(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.FLOAT(),
    Types.DOUBLE(),
    Types.CHAR(),
    Types.BIG_INT(),
    Types.BIG_DEC(),
    Types.INSTANT(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.PICKLED_BYTE_ARRAY(),
    Types.TUPLE([Types.INT(), Types.TUPLE([Types.STRING()])]),
    Types.ROW([Types.INT(), Types.STRING()]),
    Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.ROW([Types.LONG()])]),
    Types.PRIMITIVE_ARRAY(Types.INT()),
    Types.BASIC_ARRAY(Types.STRING()),
    Types.OBJECT_ARRAY(Types.ROW([Types.INT()])),
    Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
    Types.LIST(Types.SQL_DATE()),
]:
    print(str(t), repr(t), type(t).__name__)

# --- equality of types
print(Types.INT() == Types.INT(), Types.INT() == Types.LONG(), Types.INT() != Types.LONG())
print(Types.ROW([Types.INT()]) == Types.ROW_NAMED(["x"], [Types.INT()]))
print(Types.ROW([Types.INT()]) == Types.TUPLE([Types.INT()]))
print(Types.LIST(Types.INT()) == Types.LIST(Types.INT()))
print(Types.MAP(Types.INT(), Types.INT()) == Types.MAP(Types.INT(), Types.LONG()))
print(Types.PRIMITIVE_ARRAY(Types.INT()) == Types.BASIC_ARRAY(Types.INT()))
print(Types.SQL_DATE() == Types.SQL_DATE(), Types.SQL_DATE() == Types.SQL_TIME())
print(Types.INT() == 1, Types.PICKLED_BYTE_ARRAY() == Types.PICKLED_BYTE_ARRAY())

# --- fields of row types
t = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
print(t.get_field_names(), t.get_field_types())
t = Types.ROW([Types.INT(), Types.STRING()])
print(t.get_field_names(), t.get_field_types())
print(Types.TUPLE([Types.INT(), Types.STRING()]).get_field_types())
print(Types.INT().need_conversion(), Types.SQL_DATE().need_conversion())
print(Types.ROW([Types.INT()]).need_conversion(), Types.TUPLE([Types.SQL_TIME()]).need_conversion())

# --- rows
row = Row(1, "a", None)
print(row, repr(row), len(row), list(row), row[0], row[1:], row.get_row_kind())
named = Row(name="ada", age=36)
print(named, named.name, named["age"], named.as_dict(), named.get_fields_by_names(["age", "name"]))
person = Row("name", "age")
print(person, person("ada", 36), person("ada", 36).as_dict())
print(Row(x=Row(y=1), z=[Row(y=2)]).as_dict(recursive=True))
print("name" in named, 1 in row, hash(row) == hash(Row(1, "a", None)))
print(Row(1) == Row(1), Row(1) == (1,), Row(a=1) == Row(b=1), Row(1) != Row(2))
print(Row.of_kind(RowKind.DELETE, 1, 2), Row.of_kind(RowKind.DELETE, 1).get_row_kind())
print(Row(1) == Row.of_kind(RowKind.DELETE, 1))
print(pickle.loads(pickle.dumps(named)))
row[0] = 5
named.set_field_names(["n", "a"])
print(row, named, named.n)
row.set_row_kind(RowKind.UPDATE_AFTER)
print(row.get_row_kind(), str(row.get_row_kind()), repr(row.get_row_kind()))
print(sorted([Row(2, "b"), Row(1, "z")], key=lambda r: r[0]), Row(), Row(None))

# --- rows that are refused
raises(lambda: Row(1, a=2), ValueError, "Can not use both args and kwargs to create Row")
raises(lambda: Row(1, 2).as_dict(), TypeError, "Cannot convert a Row class into dict")
raises(lambda: Row(a=1).b, AttributeError, "b")
raises(lambda: Row(a=1)["b"], ValueError, "b")
raises(lambda: Row(a=1)[3], IndexError)
raises(lambda: Row("a", "b")(1, 2, 3), ValueError, "expected 2 values but got (1, 2, 3)")
raises(
    lambda: Row(a=1).get_fields_by_names(["c"]), Exception, "Field names ['c'] not exist in ['a']."
)

# --- kinds of rows
for kind in RowKind:
    print(kind, repr(kind), kind.name, kind.value)

# --- times
print(Time.seconds(5), repr(Time.minutes(2)) != "", Time.hours(1).to_milliseconds())
print(Time.days(1) == Time.hours(24), Time.milliseconds(5) == 5)
print(
    Duration.of_seconds(5) == Duration.of_millis(5000), Duration.of_days(1) == Duration.of_hours(24)
)
print(Instant.of_epoch_milli(1500), Instant(1, 5), Instant.of_epoch_milli(1500).to_epoch_milli())
print(Instant(1, 5) == Instant(1, 5), Instant(1, 5) == Instant(1, 6))

# --- configurations
conf = Configuration()
conf.set_string("a", "text").set_integer("b", 1).set_float("c", 1.5).set_boolean("d", True)
print(
    conf.get_string("a", ""),
    conf.get_integer("b", 0),
    conf.get_float("c", 0.0),
    conf.get_boolean("d", False),
)
print(conf.get_string("missing", "default"))
print(sorted(conf.key_set()), conf.contains_key("a"), conf.contains_key("z"))
print(sorted(conf.to_dict().items()))
other = Configuration()
other.set_string("a", "text")
print(
    other,
    other == Configuration(),
    other.remove_config("a"),
    other.remove_config("a"),
    other == Configuration(),
)
conf = Configuration()
conf.set_string("x", "1")
more = Configuration()
more.add_all(conf, "pre.")
print(more, more.to_dict())
print(conf.get_integer("x", 5), conf.get_string("x", ""), conf.get_boolean("none", True))
conf.set_string("truth", "true").set_string("number", "12")
print(
    conf.get_boolean("truth", False), conf.get_integer("number", 0), conf.get_float("number", 0.0)
)
raises(lambda: Configuration().set_string("n", "x").get_integer("n", 0), Exception)

# --- texts of configurations
conf = Configuration()
for key in (
    "parallelism.default",
    "a",
    "pipeline.name",
    "state.backend.type",
    "b",
    "some.password",
):
    conf.set_string(key, f"of {key}")
print(conf)
print(conf.set_integer("n", 3).set_boolean("t", True).set_float("f", 2))
for number in (1e20, 1e-7, 1e8, 0.1, 1e7, 123456.75):
    print(Configuration().set_float("x", number), Configuration().set_float("x", number).to_dict())
print(Configuration.from_dict({"x": "1", "y": "z"}), Configuration.from_dict({}))
print(Configuration.from_dict({"x": "1"}) == Configuration().set_string("x", "1"))
print(Configuration(conf) == conf, hash(Configuration(conf)) == hash(conf), conf == 5)
target = {"old": 1}
Configuration().set_integer("n", 3).set_boolean("t", True).set_float("f", 2).add_all_to_dict(target)
print(sorted(target.items()))
for text in ("a;b;c", "[a, b]", "['a', 'b;c']", "- a\n- b", "a", "", None):
    print(Configuration.parse_list_value(text))
conf.set_bytearray("bytes", bytearray(b"abc"))
print(conf.get_bytearray("bytes", bytearray()), conf.get_bytearray("none", bytearray(b"q")))
copied = copy.deepcopy(conf)
copied.set_string("more", "x")
print(conf.contains_key("more"), copied.contains_key("more"), copied == conf)
raises(
    lambda: Configuration().set_string("x", "1.5").get_integer("x", 0), Exception, "'1.5'", "'x'"
)
raises(
    lambda: Configuration().set_string("x", "y").get_boolean("x", False), Exception, "'y'", "'x'"
)

# --- parameters of a job
config = StreamExecutionEnvironment.get_execution_environment().get_config()
config.set_global_job_parameters({"n": 1, "t": True, "none": None, "list": [1, "a"], "s": "x"})
print(sorted(config.get_global_job_parameters().items()))

# --- settings of execution that are rarely used
config = StreamExecutionEnvironment.get_execution_environment().get_config()
for interval in (100, 0, -1):
    print(config.set_latency_tracking_interval(interval) is config)
print(config.has_auto_generated_uids_enabled())
print(config.disable_auto_generated_uids().has_auto_generated_uids_enabled())
print(config.is_object_reuse_enabled(), config.enable_object_reuse().is_object_reuse_enabled())
print(config.set_use_snapshot_compression(True).is_use_snapshot_compression())
print(config.get_global_job_parameters(), config.set_parallelism(-1).get_parallelism())
print(config.set_task_cancellation_timeout(0).get_task_cancellation_timeout())
print(ExecutionConfig.PARALLELISM_DEFAULT, ExecutionConfig.PARALLELISM_UNKNOWN)
raises(lambda: config.set_parallelism(0), Exception, "arallelism must be at least")
raises(lambda: config.set_task_cancellation_timeout(-1), Exception)

# --- settings of execution
config = StreamExecutionEnvironment.get_execution_environment().get_config()
print(
    config.get_parallelism() != 0,
    config.get_max_parallelism(),
    config.get_auto_watermark_interval(),
)
config.set_parallelism(4).set_max_parallelism(12).set_auto_watermark_interval(1000)
print(config.get_parallelism(), config.get_max_parallelism(), config.get_auto_watermark_interval())
config.set_task_cancellation_interval(1000).set_task_cancellation_timeout(1001)
print(config.get_task_cancellation_interval(), config.get_task_cancellation_timeout())
print(
    config.is_closure_cleaner_enabled(),
    config.disable_closure_cleaner().is_closure_cleaner_enabled(),
)

# --- states of jobs
for status in JobStatus:
    print(status, status.name, status.is_terminal_state(), status.is_globally_terminal_state())

# --- schemas and encoders
raises(lambda: RowFieldExtractorSchema(-1), ValueError, "Field index must be non-negative, got: -1")
print(type(SimpleStringSchema()).__name__, type(SimpleStringSchema("UTF-16")).__name__)


# --- watermark strategies
class First(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
print(type(strategy).__name__, type(strategy.with_timestamp_assigner(First())).__name__)
print(type(strategy.with_idleness(Duration.of_minutes(1))).__name__)
print(
    type(WatermarkStrategy.no_watermarks()).__name__,
    type(WatermarkStrategy.for_monotonous_timestamps()).__name__,
)
print(
    type(
        strategy.with_watermark_alignment("g", Duration.of_seconds(1), Duration.of_seconds(1))
    ).__name__
)
