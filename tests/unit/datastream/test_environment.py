from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common import (
    Configuration,
    RestartStrategies,
    RestartStrategyConfiguration,
    options,
)
from headrace.common.errors import ConfigurationError, GraphError
from headrace.datastream import (
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointCleanup,
    FsStateBackend,
    MemoryStateBackend,
    RocksDBStateBackend,
    StateBackend,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from headrace.testing import collect


def environment(**settings: str) -> StreamExecutionEnvironment:
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(named))


def test_a_buffer_timeout_that_is_off_is_minus_one() -> None:
    assert environment().get_buffer_timeout() == 100
    assert environment(execution__buffer_timeout="5 ms").get_buffer_timeout() == 5
    assert environment(execution__buffer_timeout__enabled="false").get_buffer_timeout() == -1


def test_files_of_the_configuration_have_a_name_and_a_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"pipeline\.cached-files needs a name and a path"):
        environment(pipeline__cached_files=f"path:{tmp_path}")
    with pytest.raises(ValueError, match="there is no file"):
        environment(pipeline__cached_files="name:cities,path:/no/such")


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(3, 2_000),
        RestartStrategies.failure_rate_restart(2, 60_000, 5),
        RestartStrategies.exponential_delay_restart(1, 2, 1.5, 4, 0.2),
        RestartStrategies.fall_back_restart(),
    ],
)
def test_restart_strategies_as_in_pyflink_1(strategy: RestartStrategyConfiguration) -> None:
    env = environment()
    with pytest.warns(DeprecationWarning, match=r"restart-strategy\.type") as warned:
        env.set_restart_strategy(strategy)
    assert warned[0].filename == __file__
    assert env.get_restart_strategy() == strategy


def test_methods_of_pyflink_1(tmp_path: Path) -> None:
    env = environment()
    config = env.get_checkpoint_config()
    retain = ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION
    with pytest.warns(DeprecationWarning, match="set_state_backend is deprecated"):
        env.set_state_backend(EmbeddedRocksDBStateBackend())
    with pytest.warns(DeprecationWarning, match="enable_externalized_checkpoints is deprecated"):
        config.enable_externalized_checkpoints(retain)
    with pytest.warns(DeprecationWarning, match="set_checkpoint_storage_dir is deprecated"):
        config.set_checkpoint_storage_dir(f"file://{tmp_path}")
    with pytest.warns(DeprecationWarning, match="from_elements is deprecated"):
        numbers = env.from_elements(1, 2)
    settings = env.get_configuration()
    assert settings.get(options.STATE_BACKEND) == "rocksdb"
    assert settings.get(options.EXTERNALIZED_CHECKPOINT_RETENTION) == "RETAIN_ON_CANCELLATION"
    assert settings.get(options.CHECKPOINTING_DIR).endswith(str(tmp_path))
    assert collect(numbers) == [1, 2]


@pytest.mark.parametrize(
    ("backend", "name", "storage"),
    [
        (MemoryStateBackend(), "hashmap", "jobmanager"),
        (FsStateBackend("file:///checkpoints"), "hashmap", "filesystem"),
        (RocksDBStateBackend("file:///checkpoints", True), "rocksdb", "filesystem"),
    ],
)
def test_backends_of_pyflink_1(backend: StateBackend, name: str, storage: str) -> None:
    env = environment()
    with pytest.warns(DeprecationWarning, match="set_state_backend is deprecated"):
        env.set_state_backend(backend)
    settings = env.get_configuration()
    assert settings.get(options.STATE_BACKEND) == name
    assert settings.get(options.CHECKPOINTING_STORAGE) == storage
    directory = settings.get(options.CHECKPOINTING_DIR)
    assert directory == (None if storage == "jobmanager" else "file:///checkpoints")
    assert settings.get(options.CHECKPOINTING_INCREMENTAL) == (name == "rocksdb")


def test_the_time_of_pyflink_1() -> None:
    env = environment()
    with pytest.warns(DeprecationWarning, match="choose windows and timers"):
        env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    assert env.get_config().get_auto_watermark_interval() == 200
    with pytest.warns(DeprecationWarning, match="choose windows and timers"):
        env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    assert env.get_config().get_auto_watermark_interval() == 0
    with pytest.raises(ConfigurationError, match="for_monotonous_timestamps"):
        env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)


def test_a_source_that_nothing_reads_is_not_part_of_the_program() -> None:
    env = environment(execution__runtime_mode="AUTOMATIC")
    unread = env.socket_text_stream("localhost", 1).name("unread")
    with pytest.raises(GraphError, match="No operators defined in streaming topology"):
        env.execute()
    env.from_collection([1]).map(str).print()
    assert [n.name for n in env.get_stream_graph().nodes.values()] == [
        "Source: Collection Source",
        "Map",
        "Sink: Print to Std. Out",
    ]
    unread.print()
    assert len(env.get_stream_graph(clear=True).nodes) == 5
    # It is there again, with what is added after a job has begun.
    unread.map(str).print()
    assert not env.is_batch()
    assert "unread" in env.get_execution_plan()


def test_python_files_come_before_earlier_ones() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file("old/tool.py")
    env.add_python_file("new/tool.py")
    assert env.get_configuration().get(options.PYTHON_FILES) == ["new/tool.py", "old/tool.py"]
