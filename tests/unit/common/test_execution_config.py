from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Configuration, ExecutionConfig
from headrace.common.errors import FunctionTypeError, GraphError


def test_defaults() -> None:
    config = ExecutionConfig()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 200
    assert config.get_latency_tracking_interval() == 0
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 180_000
    assert config.get_global_job_parameters() == {}
    assert config.is_closure_cleaner_enabled()
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parallelism", 4),
        ("max_parallelism", 32768),
        ("auto_watermark_interval", 0),
        ("latency_tracking_interval", 5),
        ("task_cancellation_interval", 6),
        ("task_cancellation_timeout", 7),
    ],
)
def test_numbers_are_kept(name: str, value: int) -> None:
    config = ExecutionConfig()
    assert getattr(config, f"set_{name}")(value) is config
    assert getattr(config, f"get_{name}")() == value


@pytest.mark.parametrize(
    ("enable", "disable", "asked"),
    [
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled"),
        ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled"),
        ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled"),
        ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled"),
        ("disable_generic_types", "enable_generic_types", "has_generic_types_disabled"),
        (
            "enable_auto_generated_uids",
            "disable_auto_generated_uids",
            "has_auto_generated_uids_enabled",
        ),
    ],
)
def test_switches(enable: str, disable: str, asked: str) -> None:
    config = ExecutionConfig()
    assert getattr(config, enable)() is config
    assert getattr(config, asked)() is True
    assert getattr(config, disable)() is config
    assert getattr(config, asked)() is False


def test_it_is_a_view_of_the_configuration() -> None:
    configuration = Configuration().set_string("parallelism.default", "3")
    config = ExecutionConfig(configuration)
    assert config.get_parallelism() == 3
    config.set_parallelism(5)
    assert configuration.get_integer("parallelism.default", 0) == 5
    config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert not configuration.contains_key("parallelism.default")
    config.set_auto_watermark_interval(timedelta(seconds=1))  # type: ignore[arg-type]
    assert configuration.get_string("pipeline.auto-watermark-interval", "") == "1000 ms"


def test_job_parameters_are_texts() -> None:
    config = ExecutionConfig().set_global_job_parameters({"city": "Oslo", "size": 3, "big": True})
    assert config.get_global_job_parameters() == {"city": "Oslo", "size": "3", "big": "True"}


def test_compression() -> None:
    config = ExecutionConfig()
    assert config.is_use_snapshot_compression() is False
    assert config.set_use_snapshot_compression(True).is_use_snapshot_compression() is True


@pytest.mark.parametrize(
    ("method", "value", "error"),
    [
        ("set_parallelism", 0, GraphError),
        ("set_parallelism", -2, GraphError),
        ("set_parallelism", "4", FunctionTypeError),
        ("set_parallelism", True, FunctionTypeError),
        ("set_max_parallelism", 0, GraphError),
        ("set_max_parallelism", 32769, GraphError),
        ("set_max_parallelism", 1.5, FunctionTypeError),
        ("set_auto_watermark_interval", -1, GraphError),
        ("set_auto_watermark_interval", "1 s", FunctionTypeError),
        ("set_global_job_parameters", ["a"], FunctionTypeError),
    ],
)
def test_wrong_values(method: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(ExecutionConfig(), method)(value)


def test_equality() -> None:
    assert ExecutionConfig().set_parallelism(2) == ExecutionConfig().set_parallelism(2)
    assert ExecutionConfig().set_parallelism(2) != ExecutionConfig()
