"""Streams and environments that are built but not run: types, texts, settings and refusals."""

from pyflink.common import (
    Configuration,
    Duration,
    ExecutionConfig,
    Row,
    Time,
    Types,
    WatermarkStrategy,
)
from pyflink.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    OutputTag,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
keyed = numbers.key_by(lambda v: v[1], key_type=Types.STRING())


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


# --- functions that are not functions
raises(lambda: numbers.map(1), TypeError, "The input must be a MapFunction or a callable function")
raises(
    lambda: numbers.flat_map(1),
    TypeError,
    "The input must be a FlatMapFunction or a callable function",
)
raises(
    lambda: numbers.filter(1),
    TypeError,
    "The input must be a FilterFunction or a callable function",
)
raises(
    lambda: numbers.key_by(1),
    TypeError,
    "Parameter key_selector should be type of KeySelector or a callable function",
)
raises(
    lambda: numbers.partition_custom(1, lambda v: v),
    TypeError,
    "Parameter partitioner should be type of Partitioner or a callable function",
)
raises(
    lambda: numbers.partition_custom(lambda k, n: 0, 1),
    TypeError,
    "Parameter key_selector should be type of KeySelector or a callable function",
)
raises(lambda: keyed.map(1), TypeError, "The input must be a MapFunction or a callable function")
raises(
    lambda: keyed.flat_map(1),
    TypeError,
    "The input must be a FlatMapFunction or a callable function",
)
raises(
    lambda: keyed.filter(1), TypeError, "The input must be a FilterFunction or a callable function"
)
raises(
    lambda: keyed.reduce(1), TypeError, "The input must be a ReduceFunction or a callable function"
)
raises(
    lambda: keyed.process(Plain()), TypeError, "KeyedProcessFunction is required for KeyedStream."
)
raises(
    lambda: keyed.sum(1.5),
    TypeError,
    "The field position must be of int or str type to locate the value to calculate for min, max, min_by, max_by and sum.",
)
raises(lambda: numbers.connect(numbers).map(1), TypeError, "must be a CoMapFunction")
raises(
    lambda: numbers.connect(numbers).flat_map(1), TypeError, "The input must be a CoFlatMapFunction"
)
raises(
    lambda: numbers.connect(numbers).process(1),
    TypeError,
    "The input must be a CoProcessFunction or KeyedCoProcessFunction",
)
raises(
    lambda: numbers.broadcast(1), TypeError, "broadcast_state_descriptor must be MapStateDescriptor"
)

# --- what keyed streams refuse
for name, args in [
    ("shuffle", ()),
    ("rebalance", ()),
    ("rescale", ()),
    ("forward", ()),
    ("broadcast", ()),
    ("partition_custom", (lambda k, n: 0, lambda v: v)),
    ("set_parallelism", (1,)),
    ("name", ("x",)),
    ("get_name", ()),
    ("uid", ("x",)),
    ("set_uid_hash", ("x",)),
    ("set_max_parallelism", (3,)),
    ("force_non_parallel", ()),
    ("set_buffer_timeout", (3,)),
    ("start_new_chain", ()),
    ("disable_chaining", ()),
    ("slot_sharing_group", ("x",)),
    ("cache", ()),
]:
    try:
        getattr(keyed, name)(*args)
        print(name, "is accepted")
    except Exception as error:
        print(name, str(error).split(".")[0])

# --- types of streams
print(numbers.get_type())
print(numbers.map(lambda v: v).get_type(), numbers.map(lambda v: v[0], Types.INT()).get_type())
print(numbers.flat_map(lambda v: [v]).get_type(), numbers.filter(lambda v: True).get_type())
print(numbers.process(Plain(), Types.ROW([Types.INT()])).get_type())
print(
    keyed.reduce(lambda a, b: a).get_type(),
    keyed.sum(0).get_type(),
    keyed.process(Keyed()).get_type(),
)
print(
    numbers.union(numbers).get_type(), numbers.rebalance().get_type(), numbers.project(1).get_type()
)
print(env.from_collection([1, 2]).get_type())
print(numbers.key_by(lambda v: v[0], Types.INT()).map(lambda v: v).get_type())
print(keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(lambda a, b: a).get_type())
raises(
    lambda: env.from_collection([1]).project(0),
    Exception,
    "Only Tuple DataStreams can be projected",
)

# --- names and parallelism
mapped = numbers.map(lambda v: v).name("mine").set_parallelism(3)
print(mapped.get_name(), numbers.map(lambda v: v).get_name())
print(numbers.filter(lambda v: v).get_name(), numbers.flat_map(lambda v: v).get_name())
print(numbers.get_name(), keyed.sum(0).get_name(), keyed.reduce(lambda a, b: a).get_name())
print(numbers.process(Plain()).get_name(), keyed.process(Keyed()).get_name())
print(env.get_parallelism(), env.get_max_parallelism())
raises(lambda: env.set_parallelism(0), Exception)
raises(lambda: env.set_max_parallelism(0), Exception)
raises(lambda: env.set_max_parallelism(40000), Exception)
raises(lambda: numbers.map(lambda v: v).set_parallelism(0), Exception)
raises(lambda: numbers.map(lambda v: v).name("x").uid("u").set_uid_hash("short"), Exception)

# --- parallelism by configuration
conf = Configuration()
conf.set_integer("parallelism.default", 5)
other = StreamExecutionEnvironment.get_execution_environment(conf)
print(other.get_parallelism())
conf = Configuration()
conf.set_integer("parallelism.default", 7)
conf.set_string("pipeline.max-parallelism", "70")
conf.set_string("pipeline.object-reuse", "true")
conf.set_string("execution.checkpointing.interval", "10s")
conf.set_string("execution.runtime-mode", "BATCH")
conf.set_string("pipeline.auto-watermark-interval", "321ms")
other.configure(conf)
print(
    other.get_parallelism(),
    other.get_max_parallelism(),
    other.get_config().is_object_reuse_enabled(),
)
print(
    other.get_checkpoint_config().get_checkpoint_interval(),
    other.get_config().get_auto_watermark_interval(),
)
raises(
    lambda: StreamExecutionEnvironment.get_execution_environment().configure({"a": 1}), Exception
)

# --- default parallelism of all environments
earlier = StreamExecutionEnvironment.get_execution_environment()
cores = earlier.get_default_local_parallelism()
earlier.set_default_local_parallelism(8)
later = StreamExecutionEnvironment.get_execution_environment()
print(earlier.get_default_local_parallelism(), later.get_default_local_parallelism())
print(later.get_parallelism(), later.set_parallelism(3).get_parallelism())
later.set_default_local_parallelism(cores)

# --- settings of checkpoints
fresh = StreamExecutionEnvironment.get_execution_environment(Configuration())
checkpoints = fresh.get_checkpoint_config()
print(
    checkpoints.is_checkpointing_enabled(),
    checkpoints.get_checkpoint_interval(),
    checkpoints.get_checkpointing_mode(),
)
fresh.enable_checkpointing(5000, CheckpointingMode.AT_LEAST_ONCE)
print(
    checkpoints.is_checkpointing_enabled(),
    fresh.get_checkpoint_interval(),
    fresh.get_checkpointing_mode(),
)
print(checkpoints.get_checkpoint_timeout(), checkpoints.get_min_pause_between_checkpoints())
print(
    checkpoints.get_max_concurrent_checkpoints(),
    checkpoints.get_tolerable_checkpoint_failure_number(),
)
print(
    checkpoints.get_externalized_checkpoint_retention(),
    checkpoints.is_externalized_checkpoints_enabled(),
)
checkpoints.set_checkpoint_timeout(300).set_min_pause_between_checkpoints(200)
checkpoints.set_max_concurrent_checkpoints(1).set_tolerable_checkpoint_failure_number(2)
checkpoints.set_externalized_checkpoint_retention(
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
)
print(checkpoints.get_checkpoint_timeout(), checkpoints.get_min_pause_between_checkpoints())
print(
    checkpoints.get_tolerable_checkpoint_failure_number(),
    checkpoints.get_externalized_checkpoint_retention(),
)
print(
    checkpoints.is_externalized_checkpoints_enabled(),
    checkpoints.is_unaligned_checkpoints_enabled(),
)
print(checkpoints.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled())
print(checkpoints.is_force_unaligned_checkpoints())
raises(lambda: checkpoints.set_checkpoint_timeout(-1), Exception)
raises(lambda: checkpoints.set_checkpoint_interval(0), Exception)
raises(lambda: checkpoints.set_max_concurrent_checkpoints(0), Exception)
raises(lambda: fresh.enable_checkpointing(-5), Exception)

# --- backends and storages
backend = HashMapStateBackend()
print(type(backend).__name__)
rocks = EmbeddedRocksDBStateBackend(True)
print(type(rocks).__name__, rocks.is_incremental_checkpoints_enabled())
rocks.set_db_storage_paths("file:///tmp/a", "/tmp/b")
print(
    rocks.get_db_storage_paths(),
    rocks.get_predefined_options(),
    rocks.get_number_of_transfer_threads(),
)
rocks.set_db_storage_paths("file://var/a/", "file:///tmp/b/")
print(rocks.get_db_storage_paths())
rocks.set_number_of_transfer_threads(7)
print(
    rocks.get_number_of_transfer_threads(),
    EmbeddedRocksDBStateBackend().is_incremental_checkpoints_enabled(),
)
raises(
    lambda: EmbeddedRocksDBStateBackend("x"),
    TypeError,
    "Unsupported input for 'enable_incremental_checkpointing'",
)
raises(lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths("hdfs://host/a"), Exception)
storage = FileSystemCheckpointStorage(
    "file:///tmp/points", file_state_size_threshold=100, write_buffer_size=2048
)
print(storage.get_min_file_size_threshold(), storage.get_write_buffer_size())
memory = JobManagerCheckpointStorage(max_state_size=1000)
print(memory.get_max_state_size(), memory.get_checkpoint_path(), memory.get_savepoint_path())
raises(lambda: FileSystemCheckpointStorage(None), ValueError, "checkpoint_path must not be None")

# --- state descriptors
raises(
    lambda: ReducingStateDescriptor("r", 1, Types.INT()),
    TypeError,
    "The input must be a ReduceFunction or a callable function",
)
raises(
    lambda: AggregatingStateDescriptor("r", 1, Types.INT()),
    TypeError,
    "The input must be a",
    "AggregateFunction",
)
print(
    ValueStateDescriptor("v", Types.INT()).get_name(),
    ListStateDescriptor("l", Types.INT()).get_name(),
)
print(
    ValueStateDescriptor("v", Types.INT()).type_info,
    MapStateDescriptor("m", Types.INT(), Types.STRING()).type_info,
)
print(ListStateDescriptor("l", Types.INT()).type_info)
ttl = (
    StateTtlConfig.new_builder(Time.seconds(1))
    .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
    .never_return_expired()
    .build()
)
print(
    ttl.get_ttl(),
    ttl.get_update_type(),
    ttl.get_state_visibility(),
    ttl.get_ttl_time_characteristic(),
    ttl.is_enabled(),
)
print(StateTtlConfig.new_builder(Duration.of_seconds(1)).build().get_update_type())
print(
    StateTtlConfig.new_builder(Time.seconds(1))
    .cleanup_full_snapshot()
    .cleanup_incrementally(10, True)
    .build()
    .get_cleanup_strategies()
    .in_full_snapshot()
)

# --- windows
print(
    TimeWindow(1, 2),
    repr(TimeWindow(1, 2)),
    TimeWindow(1, 2) == TimeWindow(1, 2),
    TimeWindow(1, 2) < TimeWindow(1, 3),
)
print(
    TimeWindow(0, 5).intersects(TimeWindow(3, 8)),
    TimeWindow(0, 5).cover(TimeWindow(3, 8)),
    TimeWindow(0, 5).max_timestamp(),
)
print(CountWindow(3), repr(CountWindow(3)), GlobalWindow(), GlobalWindow() == GlobalWindow())
print(
    TimeWindow.get_window_start_with_offset(7, 0, 5),
    hash(TimeWindow(1, 2)) == hash(TimeWindow(1, 2)),
)
raises(lambda: TimeWindow(1, 2) < 3, Exception)
for assigner in [
    TumblingEventTimeWindows.of(Time.seconds(5)),
    TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1)),
    TumblingProcessingTimeWindows.of(Time.seconds(5)),
    SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(1)),
    SlidingProcessingTimeWindows.of(Time.seconds(5), Time.seconds(1)),
    EventTimeSessionWindows.with_gap(Time.seconds(5)),
    ProcessingTimeSessionWindows.with_gap(Time.seconds(5)),
]:
    print(assigner, assigner.is_event_time())
raises(
    lambda: TumblingEventTimeWindows.of(Time.seconds(1), Time.seconds(2)),
    Exception,
    "TumblingEventTimeWindows parameters must satisfy abs(offset) < size",
)
raises(
    lambda: TumblingProcessingTimeWindows.of(Time.seconds(1), Time.seconds(2)),
    Exception,
    "TumblingProcessingTimeWindows parameters must satisfy abs(offset) < size",
)
raises(lambda: SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(0)), Exception)
raises(lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)), Exception)
for result in TriggerResult:
    print(result, result.is_fire(), result.is_purge())


# --- triggers that cannot merge
class Own(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass

    @staticmethod
    def create():
        return Own()


raises(
    lambda: numbers.window_all(EventTimeSessionWindows.with_gap(Time.seconds(1))).trigger(Own()),
    TypeError,
    "A merging window assigner cannot be used with a trigger that does not support merging",
)
raises(
    lambda: keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(lambda a, b: a, 1),
    TypeError,
    "a WindowFunction or ProcessWindowFunction",
)
raises(
    lambda: numbers.window_all(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(
        lambda a, b: a, 1
    ),
    TypeError,
    "a AllWindowFunction or ProcessAllWindowFunction",
)

# --- side outputs
raises(lambda: OutputTag(""), ValueError, "OutputTag tag_id cannot be None or empty string")
raises(lambda: OutputTag(None), ValueError, "OutputTag tag_id cannot be None or empty string")
raises(
    lambda: OutputTag("x", 1),
    TypeError,
    "OutputTag type_info must be None, list or TypeInformation",
)
print(
    OutputTag("x").type_info,
    OutputTag("x", [Types.INT()]).type_info,
    OutputTag("x", Types.INT()).tag_id,
)


# --- broadcasts
class OfPlain(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


class OfKeyed(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


rules = numbers.broadcast(MapStateDescriptor("rules", Types.STRING(), Types.STRING()))
print(type(rules).__name__, type(numbers.connect(rules)).__name__)
raises(
    lambda: keyed.connect(rules).process(OfPlain()),
    TypeError,
    "BroadcastProcessFunction should be applied to non-keyed DataStream",
)
raises(
    lambda: numbers.connect(rules).process(OfKeyed()),
    TypeError,
    "KeyedBroadcastProcessFunction should be applied to keyed DataStream",
)
raises(
    lambda: numbers.connect(rules).process(OfPlain(), output_type=1),
    TypeError,
    "output_type must be None, list or TypeInformation",
)

# --- groups of slots
print(
    MemorySize.of_mebi_bytes(100),
    MemorySize(bytes_size=1024),
    MemorySize.of_mebi_bytes(1).get_bytes(),
    MemorySize(bytes_size=1024).get_kibi_bytes(),
)
print(
    MemorySize(bytes_size=1) < MemorySize(bytes_size=2),
    MemorySize(bytes_size=1) == MemorySize(bytes_size=1),
    MemorySize.of_mebi_bytes(3).get_mebi_bytes(),
)
group = (
    SlotSharingGroup.builder("g")
    .set_cpu_cores(1.5)
    .set_task_heap_memory_mb(100)
    .set_external_resource("gpu", 2.0)
    .build()
)
print(
    group.get_name(),
    group.get_cpu_cores(),
    group.get_task_heap_memory(),
    group.get_managed_memory(),
    group.get_external_resources(),
)
raises(lambda: MemorySize(bytes_size=1) < 3, Exception)

# --- nothing to run
raises(
    lambda: StreamExecutionEnvironment.get_execution_environment(Configuration()).execute(),
    Exception,
    "No operators defined in streaming topology. Cannot execute.",
)
raises(lambda: env.from_collection([1, "x"], Types.INT()), Exception)
raises(lambda: env.set_runtime_mode("x"), Exception)
print(
    RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING.name, CheckpointingMode.EXACTLY_ONCE
)

# --- the type of a keyed stream
pairs = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
print(pairs.key_by(lambda v: v[0], Types.INT()).get_type())
print(pairs.key_by(lambda v: v[0]).get_type())
print(pairs.key_by(lambda v: v[0], Types.INT()).filter(lambda v: True).get_type())
