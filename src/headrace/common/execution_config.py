"""`ExecutionConfig`: how a program runs, as methods over the settings in its `Configuration`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from headrace.common import options
from headrace.common.config_options import ConfigOption
from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import to_millis

__all__ = ["ExecutionConfig"]

_MAX_PARALLELISM_LIMIT = 1 << 15


class ExecutionConfig:
    """How a program runs. `env.get_config()` returns it.

    It keeps nothing of its own: every method reads or writes the configuration of the environment,
    so a setting can be made in either place. Settings about Java serializers are accepted and kept,
    but have no effect.
    """

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    """Stands for the default parallelism of the environment."""

    PARALLELISM_UNKNOWN: ClassVar[int] = -2
    """Stands for a parallelism that is not known."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        """Reads and writes the given configuration; one of its own by default."""
        self._configuration = Configuration() if configuration is None else configuration

    def _set(self, option: ConfigOption[Any], value: Any) -> ExecutionConfig:
        self._configuration.set(option, value)
        return self

    def _get(self, option: ConfigOption[Any], default: Any = None) -> Any:
        return self._configuration.get(option, default)

    def _millis(self, option: ConfigOption[Any]) -> int:
        return to_millis(self._get(option))

    # -- Parallelism

    def get_parallelism(self) -> int:
        """The parallelism of operators that set none; `PARALLELISM_DEFAULT` if it is not set."""
        return int(self._get(options.PARALLELISM_DEFAULT, self.PARALLELISM_DEFAULT))

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the parallelism of operators that set none; -1 takes an earlier setting back."""
        _require_whole("parallelism", parallelism)
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(options.PARALLELISM_DEFAULT.key)
            return self
        if parallelism < 1:
            raise GraphError(f"parallelism must be at least 1 (or -1 for default): {parallelism}")
        return self._set(options.PARALLELISM_DEFAULT, parallelism)

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1 if it is not set."""
        return int(self._get(options.MAX_PARALLELISM, -1))

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the number of key groups, and so the limit of parallelism: 1 to 32768."""
        _require_whole("max_parallelism", max_parallelism)
        if not 1 <= max_parallelism <= _MAX_PARALLELISM_LIMIT:
            raise GraphError(
                f"max_parallelism must be from 1 to {_MAX_PARALLELISM_LIMIT}, not {max_parallelism}"
            )
        return self._set(options.MAX_PARALLELISM, max_parallelism)

    # -- Times

    def get_auto_watermark_interval(self) -> int:
        """How often generators are asked for watermarks, in milliseconds."""
        return self._millis(options.AUTO_WATERMARK_INTERVAL)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Sets how often generators are asked for watermarks, in milliseconds; 0 for never."""
        return self._set_millis(options.AUTO_WATERMARK_INTERVAL, "interval", interval)

    def get_latency_tracking_interval(self) -> int:
        """How often sources send latency markers, in milliseconds; 0 for never."""
        return self._millis(options.METRICS_LATENCY_INTERVAL)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Sets how often sources send latency markers, in milliseconds; 0 or less for never."""
        millis = max(0, to_millis(interval, "interval"))
        return self._set(options.METRICS_LATENCY_INTERVAL, f"{millis} ms")

    def get_task_cancellation_interval(self) -> int:
        """Time between two attempts at cancelling a subtask, in milliseconds."""
        return self._millis(options.TASK_CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Sets the time between two attempts at cancelling a subtask, in milliseconds."""
        return self._set_millis(options.TASK_CANCELLATION_INTERVAL, "interval", interval)

    def get_task_cancellation_timeout(self) -> int:
        """How long cancelling may take before a slot is killed, in milliseconds."""
        return self._millis(options.TASK_CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Sets how long cancelling may take before a slot is killed, in milliseconds."""
        return self._set_millis(options.TASK_CANCELLATION_TIMEOUT, "timeout", timeout)

    def _set_millis(self, option: ConfigOption[Any], what: str, value: Any) -> ExecutionConfig:
        millis = to_millis(value, what)
        if millis < 0:
            raise GraphError(f"{what} cannot be negative: {millis} ms")
        return self._set(option, f"{millis} ms")

    # -- Types, uids, objects

    def enable_generic_types(self) -> ExecutionConfig:
        """Allows streams without a declared type."""
        return self._set(options.GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Makes a stream without a declared type an error."""
        return self._set(options.GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """Whether every stream needs a declared type."""
        return not self._get(options.GENERIC_TYPES)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Gives operators without a uid an id made from the shape of the program."""
        return self._set(options.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Makes an operator without a uid an error."""
        return self._set(options.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators may go without a uid."""
        return bool(self._get(options.AUTO_GENERATE_UIDS))

    def enable_object_reuse(self) -> ExecutionConfig:
        """Let branches of a stream share the objects of a record, which none may change then.

        Without it each branch has objects of its own. Functions one after the other in a chain
        always get the same objects.
        """
        return self._set(options.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Takes `enable_object_reuse` back."""
        return self._set(options.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether object reuse was asked for."""
        return bool(self._get(options.OBJECT_REUSE))

    def is_use_snapshot_compression(self) -> bool:
        """Whether state in checkpoints is compressed."""
        return bool(self._get(options.SNAPSHOT_COMPRESSION))

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Sets whether state in checkpoints is compressed."""
        return self._set(options.SNAPSHOT_COMPRESSION, use_snapshot_compression)

    # -- Parameters of the user

    def get_global_job_parameters(self) -> dict[str, str]:
        """The parameters of the user, which functions find in their runtime context."""
        return dict(self._get(options.GLOBAL_JOB_PARAMETERS))

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, Any]
    ) -> ExecutionConfig:
        """Sets the parameters of the user; values become texts."""
        if not isinstance(global_job_parameters_dict, Mapping):
            raise FunctionTypeError(
                f"global job parameters are a dict, not {global_job_parameters_dict!r}"
            )
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        return self._set(options.GLOBAL_JOB_PARAMETERS, texts)

    # -- Accepted for Flink's sake

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted; Python functions need no cleaning."""
        return self._set(options.CLOSURE_CLEANER_LEVEL, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted; Python functions need no cleaning."""
        return self._set(options.CLOSURE_CLEANER_LEVEL, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set last; true at first."""
        return bool(self._get(options.CLOSURE_CLEANER_LEVEL) != "NONE")

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted; there is no Java serialization here."""
        return self._set(options.FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted; there is no Java serialization here."""
        return self._set(options.FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set last; false at first."""
        return bool(self._get(options.FORCE_KRYO))

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted; there is no Java serialization here."""
        return self._set(options.FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted; there is no Java serialization here."""
        return self._set(options.FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """What was set last; false at first."""
        return bool(self._get(options.FORCE_AVRO))

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Always empty: there is no Java serialization here."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Always empty: there is no Java serialization here."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Always empty: there is no Java serialization here."""
        return []

    def __eq__(self, other: object) -> bool:
        """Equal if all settings are."""
        if not isinstance(other, ExecutionConfig):
            return NotImplemented
        return self._configuration == other._configuration

    def __hash__(self) -> int:
        """Consistent with equality; changes when a setting does."""
        return hash(self._configuration)


def _require_whole(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FunctionTypeError(f"{what} must be a whole number, not {value!r}")
