"""Output tags, slot groups, checkpoint settings, backends, storages and retry strategies."""

from __future__ import annotations

import os
import pickle
from datetime import timedelta
from functools import partial

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError
from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from headrace.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.checkpoint_storage import (
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.datastream.functions import AsyncRetryStrategy
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from headrace.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
)


def test_output_tags_are_equal_by_id():
    tag = OutputTag("late", Types.STRING())
    assert tag == OutputTag("late")
    assert tag != OutputTag("other")
    assert {tag: 1}[pickle.loads(pickle.dumps(tag))] == 1
    assert (tag.get_id(), tag.get_type_info()) == ("late", Types.STRING())


def test_output_tag_types():
    assert OutputTag("a").type_info == Types.PICKLED_BYTE_ARRAY()
    assert OutputTag("a", [Types.LONG()]).type_info == Types.ROW([Types.LONG()])
    for wrong in ("", None):
        with pytest.raises(GraphError):
            OutputTag(wrong)
    with pytest.raises(FunctionTypeError):
        OutputTag(3)
    with pytest.raises(FunctionTypeError, match=r"Types\.STRING"):
        OutputTag("a", "STRING")


def test_memory_size():
    size = MemorySize.of_mebi_bytes(3 * 1024)
    assert size.get_bytes() == 3 << 30
    assert (size.get_kibi_bytes(), size.get_mebi_bytes()) == (3 << 20, 3072)
    assert (size.get_gibi_bytes(), size.get_tebi_bytes()) == (3, 0)
    texts = {0: "0 bytes", 1: "1 bytes", 1024: "1 kb", 1500: "1500 bytes", 1 << 20: "1 mb"}
    assert {n: str(MemorySize(n)) for n in texts} == texts
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2) == MemorySize(bytes_size=2)
    assert MemorySize(3) > MemorySize(2) != 2
    assert MemorySize.parse("64mb") == MemorySize.of_mebi_bytes(64)
    assert MemorySize() == MemorySize(0)
    assert len({MemorySize(1), MemorySize(1)}) == 1
    with pytest.raises(GraphError):
        MemorySize(-1)
    with pytest.raises(FunctionTypeError):
        MemorySize("64mb")


def test_slot_sharing_group_without_resources():
    group = SlotSharingGroup.builder("g").build()
    assert group.get_name() == "g"
    assert group.get_cpu_cores() is None
    assert group.get_task_heap_memory() is None
    assert group.get_managed_memory() is None
    assert group.get_external_resources() == {}


def test_slot_sharing_group_with_resources():
    def build(cores):
        return (
            SlotSharingGroup.builder("g")
            .set_cpu_cores(cores)
            .set_task_heap_memory_mb(100)
            .set_task_off_heap_memory_mb(200)
            .set_managed_memory(MemorySize.of_mebi_bytes(300))
            .set_external_resource("gpu", 1)
            .build()
        )

    group = build(1)
    assert group.get_cpu_cores() == 1.0
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(200)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(300)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert group == build(1.0)
    assert hash(group) == hash(build(1.0))
    assert group != build(2)
    assert pickle.loads(pickle.dumps(group)) == group


def test_slot_sharing_group_needs_cores_and_heap_together():
    half = SlotSharingGroup.builder("g").set_cpu_cores(1.0)
    with pytest.raises(GraphError, match="set_task_heap_memory_mb"):
        half.build()
    with pytest.raises(GraphError):
        SlotSharingGroup.builder("g").set_managed_memory_mb(1).build()
    group = half.set_task_heap_memory_mb(1).build()
    assert group.get_managed_memory() == MemorySize(0) == group.get_task_off_heap_memory()
    for wrong in (
        lambda b: b.set_cpu_cores(0),
        lambda b: b.set_task_heap_memory_mb(0),
        lambda b: b.set_task_heap_memory(512),
    ):
        with pytest.raises(GraphError):
            wrong(SlotSharingGroup.builder("g"))
    with pytest.raises(GraphError):
        SlotSharingGroup.builder("").build()


def test_checkpoint_config_defaults_are_flinks():
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert config.get_externalized_checkpoint_retention() is retention
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)


def test_checkpoint_config_setters():
    config = (
        CheckpointConfig()
        .set_checkpoint_interval(1000)
        .set_checkpoint_timeout(timedelta(seconds=20))
        .set_min_pause_between_checkpoints(500)
        .set_max_concurrent_checkpoints(2)
        .set_fail_on_checkpointing_errors(False)
        .set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        )
        .enable_unaligned_checkpoints()
        .set_alignment_timeout(Duration.of_seconds(3))
        .set_force_unaligned_checkpoints()
    )
    assert config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == 1000
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == 20_000
    assert config.get_min_pause_between_checkpoints() == 500
    assert config.get_max_concurrent_checkpoints() == 2
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert not config.is_fail_on_checkpointing_errors()
    assert config.is_externalized_checkpoints_enabled()
    assert config.is_unaligned_checkpoints_enabled()
    assert config.is_force_unaligned_checkpoints()
    assert config.get_alignment_timeout() == Duration.of_seconds(3)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert not config.disable_checkpointing().is_checkpointing_enabled()
    assert "AT_LEAST_ONCE" in repr(config)


def test_checkpoint_config_reads_and_writes_its_configuration():
    configuration = Configuration.from_dict(
        {
            "execution.checkpointing.interval": "3 min",
            "execution.checkpointing.externalized-checkpoint-retention": "retain-on-cancellation",
        }
    )
    config = CheckpointConfig(configuration)
    assert config.configuration is configuration
    assert config.get_checkpoint_interval() == 180_000
    retain = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert config.get_externalized_checkpoint_retention() is retain
    config.set_max_concurrent_checkpoints(4)
    key = "execution.checkpointing.max-concurrent-checkpoints"
    assert configuration.get_integer(key, 1) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c: c.set_checkpoint_interval(9),
        lambda c: c.set_checkpoint_interval(-1),
        lambda c: c.set_checkpoint_timeout(9),
        lambda c: c.set_min_pause_between_checkpoints(-1),
        lambda c: c.set_max_concurrent_checkpoints(0),
        lambda c: c.set_tolerable_checkpoint_failure_number(-1),
    ],
)
def test_checkpoint_config_refuses_wrong_values_and_names_the_key(wrong):
    with pytest.raises(ConfigurationError, match=r"execution\.checkpointing"):
        wrong(CheckpointConfig())


def test_checkpoint_config_refuses_wrong_kinds():
    with pytest.raises(FunctionTypeError, match="CheckpointingMode"):
        CheckpointConfig().set_checkpointing_mode("EXACTLY_ONCE")
    with pytest.raises(FunctionTypeError):
        CheckpointConfig().set_externalized_checkpoint_retention(True)
    with pytest.raises(FunctionTypeError):
        CheckpointConfig().set_max_concurrent_checkpoints(1.5)


def test_hash_map_backend():
    configuration = Configuration()
    HashMapStateBackend().apply_to(configuration)
    assert configuration.to_dict() == {"state.backend.type": "hashmap"}
    assert str(HashMapStateBackend()) == "HashMapStateBackend()"


def test_rocksdb_backend_defaults_write_only_its_name():
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_incremental_checkpoints_enabled()
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert backend.get_options() is None
    assert backend.get_number_of_transfer_threads() == 4
    assert backend.get_db_storage_paths() == []
    configuration = Configuration()
    backend.apply_to(configuration)
    assert configuration.to_dict() == {"state.backend.type": "rocksdb"}


def test_rocksdb_backend_settings():
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/a/", "file:///b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("os.path:join")
    backend.set_number_of_transfer_threads(8)
    backend = pickle.loads(pickle.dumps(backend))
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_options() == "os.path:join"
    configuration = Configuration()
    backend.apply_to(configuration)
    assert configuration.to_dict() == {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        "state.backend.rocksdb.localdir": "/a,/b",
        "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED",
        "state.backend.rocksdb.options-factory": "os.path:join",
        "state.backend.rocksdb.checkpoint.transfer.thread.num": "8",
    }
    assert "FLASH_SSD_OPTIMIZED" in str(backend)
    backend.set_db_storage_paths()
    assert backend.get_db_storage_paths() == []


def java_options():
    backend = EmbeddedRocksDBStateBackend()
    backend.set_options("org.apache.flink.Factory")
    assert backend.get_options() == "org.apache.flink.Factory"
    return backend


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: EmbeddedRocksDBStateBackend("yes"),
        lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths("hdfs://host/a"),
        lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths("relative/a"),
        lambda: EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(0),
        lambda: EmbeddedRocksDBStateBackend().set_predefined_options("DEFAULT"),
        lambda: EmbeddedRocksDBStateBackend().set_options(len),
        lambda: java_options().apply_to(Configuration()),
        lambda: CustomStateBackend("org.apache.flink.Backend"),
        lambda: CustomStateBackend(object()),
    ],
)
def test_state_backends_refuse_wrong_settings(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


def test_custom_state_backend_is_named_by_its_factory():
    configuration = Configuration()
    CustomStateBackend("os.path.join").apply_to(configuration)
    assert configuration.get_string("state.backend.type", "") == "os.path.join"


def test_job_manager_storage():
    storage = JobManagerCheckpointStorage()
    assert storage.get_checkpoint_path() is None
    assert storage.get_savepoint_path() is None
    assert storage.get_max_state_size() == 5 * 1024 * 1024
    configuration = Configuration()
    JobManagerCheckpointStorage("file:///a", 10).apply_to(configuration)
    assert configuration.to_dict() == {
        "execution.checkpointing.storage": "jobmanager",
        "execution.checkpointing.dir": "file:///a",
    }
    with pytest.raises(ConfigurationError):
        JobManagerCheckpointStorage(None, 0)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("file:///tmp/x/", "file:///tmp/x"),
        ("/tmp/x", "file:///tmp/x"),
        ("hdfs://host:9000/a", "hdfs://host:9000/a"),
        ("s3://bucket", "s3://bucket"),
    ],
)
def test_file_system_storage_paths(given, path):
    assert FileSystemCheckpointStorage(given).get_checkpoint_path() == path


def test_file_system_storage_takes_path_objects(tmp_path):
    expected = "file://" + os.fspath(tmp_path)
    assert FileSystemCheckpointStorage(tmp_path).get_checkpoint_path() == expected


def test_file_system_storage_settings():
    storage = FileSystemCheckpointStorage("file:///a")
    assert storage.get_min_file_size_threshold() == 20480
    assert storage.get_write_buffer_size() == 4096
    assert storage.get_savepoint_path() is None
    storage = FileSystemCheckpointStorage("file:///a", 0, 100)
    assert storage.get_min_file_size_threshold() == 0
    assert storage.get_write_buffer_size() == 100
    configuration = Configuration()
    storage.apply_to(configuration)
    assert configuration.to_dict() == {
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": "file:///a",
        "execution.checkpointing.data-inline-threshold": "0",
        "execution.checkpointing.write-buffer-size": "100",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        ("relative",),
        ("file:///",),
        ("/",),
        ("s3://",),
        ("file:///a", 1024 * 1024 + 1),
        ("file:///a", -2),
        ("file:///a", None, -2),
    ],
)
def test_file_system_storage_refuses_wrong_settings(arguments):
    with pytest.raises(ConfigurationError):
        FileSystemCheckpointStorage(*arguments)


def test_custom_storage_is_a_python_subclass():
    with pytest.raises(FunctionTypeError, match="Java"):
        CustomCheckpointStorage("org.apache.flink.Storage")

    class Own(CustomCheckpointStorage):
        def get_name(self):
            return "shop.storage:make"

    configuration = Configuration()
    Own().apply_to(configuration)
    assert configuration.get_string("execution.checkpointing.storage", "") == "shop.storage:make"


def test_fixed_delay():
    strategy = FixedDelayRetryStrategy(3, 50, empty_result_predicate, has_exception_predicate)
    assert [strategy.can_retry(n) for n in (1, 3, 4)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 50
    assert strategy.get_retry_predicate().result_predicate() is empty_result_predicate
    assert strategy.get_retry_predicate().exception_predicate() is has_exception_predicate


def test_exponential_backoff_depends_on_the_attempt_alone():
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 35, 1.5, None, None)
    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    assert [strategy.get_backoff_time_millis(n) for n in range(1, 7)] == [10, 15, 22, 33, 35, 35]
    assert strategy.get_backoff_time_millis(2) == 15
    assert [strategy.can_retry(n) for n in (9, 10)] == [True, False]


def test_no_retry():
    assert AsyncRetryStrategy.no_restart() is NO_RETRY_STRATEGY
    assert not NO_RETRY_STRATEGY.can_retry(1)
    assert NO_RETRY_STRATEGY.get_backoff_time_millis(1) == -1
    assert NO_RETRY_STRATEGY.get_retry_predicate().exception_predicate() is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: AsyncRetryStrategy.fixed_delay(0, 1, None, None),
        lambda: AsyncRetryStrategy.fixed_delay(1, 0, None, None),
        lambda: AsyncRetryStrategy.fixed_delay(1, 1, 3, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 0, 1, 2, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 0, 2, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0, None, None),
    ],
)
def test_retry_strategies_refuse_wrong_settings(wrong):
    with pytest.raises(GraphError):
        wrong()


def test_predicates():
    assert empty_result_predicate(None)
    assert empty_result_predicate([])
    assert not empty_result_predicate([1])
    assert has_exception_predicate(ValueError())
    assert not has_exception_predicate(None)
    is_os_error = partial(exception_type_predicate, expected_error_type=OSError)
    assert is_os_error(ConnectionError())
    assert not is_os_error(ValueError())
