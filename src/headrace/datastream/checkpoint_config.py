"""Settings of checkpoints, as methods over the job's `Configuration`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

from headrace.common import options
from headrace.common.config_options import ConfigOption
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.time import Duration, Time, to_millis
from headrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
)
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.earlier_methods import deprecated
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

T = TypeVar("T")

_MINIMAL_CHECKPOINT_TIME_MS = 10
_INT_MAX = 2**31 - 1


class CheckpointConfig:
    """When and how checkpoints are taken; from `StreamExecutionEnvironment.get_checkpoint_config`.

    It holds no settings of its own: it reads and writes the configuration it was made with, so that
    `env.configure(...)` and these methods agree. Every setter returns the object.

    Args:
        configuration: The configuration to read and write; a new one if left out.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @property
    def configuration(self) -> Configuration:
        """The configuration behind."""
        return self._configuration

    def is_checkpointing_enabled(self) -> bool:
        """Returns whether an interval is set."""
        return self.get_checkpoint_interval() > 0

    def disable_checkpointing(self) -> CheckpointConfig:
        """Removes the interval, so that no more checkpoints are taken by themselves."""
        self._configuration.remove_config(options.CHECKPOINTING_INTERVAL.key)
        return self

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Returns the guarantee; at least once while checkpointing is off."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return CheckpointingMode[self._get(options.CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Sets the guarantee."""
        _require(checkpointing_mode, CheckpointingMode)
        return self._set(options.CHECKPOINTING_MODE, checkpointing_mode.name)

    def get_checkpoint_interval(self) -> int:
        """Returns the interval in milliseconds, or -1 if none is set."""
        interval = self._configuration.get(options.CHECKPOINTING_INTERVAL)
        return -1 if interval is None else to_millis(interval)

    def set_checkpoint_interval(
        self, checkpoint_interval: int | Duration | Time | timedelta
    ) -> CheckpointConfig:
        """Sets how often a checkpoint is started; milliseconds, at least 10."""
        return self._set_time(
            options.CHECKPOINTING_INTERVAL, checkpoint_interval, _MINIMAL_CHECKPOINT_TIME_MS
        )

    def get_checkpoint_timeout(self) -> int:
        """Returns after how many milliseconds an unfinished checkpoint is given up."""
        return to_millis(self._get(options.CHECKPOINTING_TIMEOUT))

    def set_checkpoint_timeout(
        self, checkpoint_timeout: int | Duration | Time | timedelta
    ) -> CheckpointConfig:
        """Sets when an unfinished checkpoint is given up; milliseconds, at least 10."""
        return self._set_time(
            options.CHECKPOINTING_TIMEOUT, checkpoint_timeout, _MINIMAL_CHECKPOINT_TIME_MS
        )

    def get_min_pause_between_checkpoints(self) -> int:
        """Returns the least time from the end of a checkpoint to the next, in milliseconds."""
        return to_millis(self._get(options.CHECKPOINTING_MIN_PAUSE))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int | Duration | Time | timedelta
    ) -> CheckpointConfig:
        """Sets the least time from the end of a checkpoint to the start of the next."""
        return self._set_time(options.CHECKPOINTING_MIN_PAUSE, min_pause_between_checkpoints, 0)

    def get_max_concurrent_checkpoints(self) -> int:
        """Returns how many checkpoints may be under way at once."""
        return self._get(options.CHECKPOINTING_MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Sets how many checkpoints may be under way at once; at least 1."""
        return self._set_number(options.CHECKPOINTING_MAX_CONCURRENT, max_concurrent_checkpoints, 1)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Returns whether the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Sets whether the first failed checkpoint fails the job, or none ever does."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else _INT_MAX
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Returns how many checkpoints in a row may fail before the job does."""
        return self._get(options.CHECKPOINTING_TOLERABLE_FAILURES)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Sets how many checkpoints in a row may fail before the job does."""
        return self._set_number(
            options.CHECKPOINTING_TOLERABLE_FAILURES, tolerable_checkpoint_failure_number, 0
        )

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Sets what becomes of the last checkpoint when the job is cancelled."""
        _require(retention_mode, ExternalizedCheckpointRetention)
        return self._set(options.EXTERNALIZED_CHECKPOINT_RETENTION, retention_mode.name)

    def enable_externalized_checkpoints(
        self, cleanup_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """`set_externalized_checkpoint_retention`, as PyFlink 1.x calls it."""
        deprecated("enable_externalized_checkpoints", "set_externalized_checkpoint_retention()")
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    def set_externalized_checkpoint_cleanup(
        self, cleanup_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """`set_externalized_checkpoint_retention`, as PyFlink 1.x calls it."""
        deprecated("set_externalized_checkpoint_cleanup", "set_externalized_checkpoint_retention()")
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set where checkpoints are kept; `execution.checkpointing.storage` does the same."""
        _require(storage, CheckpointStorage)
        deprecated("set_checkpoint_storage", f"set {options.CHECKPOINTING_DIR.key}")
        storage.apply_to(self._configuration)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set the directory of checkpoints; `execution.checkpointing.dir` does the same."""
        deprecated("set_checkpoint_storage_dir", f"set {options.CHECKPOINTING_DIR.key}")
        FileSystemCheckpointStorage(checkpoint_path).apply_to(self._configuration)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Returns whether a checkpoint may outlive the job."""
        no_externalized = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not no_externalized

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Returns what becomes of the last checkpoint when the job is cancelled."""
        return ExternalizedCheckpointRetention[self._get(options.EXTERNALIZED_CHECKPOINT_RETENTION)]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Returns whether unaligned checkpoints are on, which needs the exactly-once mode."""
        if self.get_checkpointing_mode() is not CheckpointingMode.EXACTLY_ONCE:
            return False
        return self._get(options.UNALIGNED_ENABLED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Switches unaligned checkpoints on.

        In a live job a checkpoint then does not wait until all records before it are processed:
        those that wait become part of it. Elsewhere no record is on its way between two epochs.
        """
        return self._set(options.UNALIGNED_ENABLED, bool(enabled))

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Switches unaligned checkpoints off."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(
        self, alignment_timeout: Duration | Time | timedelta | int
    ) -> CheckpointConfig:
        """Sets when an aligned checkpoint becomes unaligned."""
        return self._set_time(options.ALIGNED_CHECKPOINT_TIMEOUT, alignment_timeout, 0)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Returns after what time an aligned checkpoint becomes unaligned."""
        return Duration.of(self._get(options.ALIGNED_CHECKPOINT_TIMEOUT))

    def set_alignment_timeout(
        self, alignment_timeout: Duration | Time | timedelta | int
    ) -> CheckpointConfig:
        """Same as `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Same as `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Sets whether unaligned checkpoints are forced; accepted, without effect."""
        return self._set(options.UNALIGNED_FORCED, bool(force_unaligned_checkpoints))

    def is_force_unaligned_checkpoints(self) -> bool:
        """Returns whether unaligned checkpoints are forced."""
        return self._get(options.UNALIGNED_FORCED)

    def _get(self, option: ConfigOption[T]) -> T:
        value: T = self._configuration.get(option)
        return value

    def _set(self, option: ConfigOption[Any], value: Any) -> CheckpointConfig:
        self._configuration.set(option, value)
        return self

    def _set_time(
        self,
        option: ConfigOption[timedelta],
        amount: int | Duration | Time | timedelta,
        least_ms: int,
    ) -> CheckpointConfig:
        millis = to_millis(amount, option.key)
        if millis < least_ms:
            raise ConfigurationError(
                f"{option.key!r} must be at least {least_ms} ms, got {millis} ms",
                key=option.key,
                value=amount,
            )
        return self._set(option, Duration.of_millis(millis))

    def _set_number(self, option: ConfigOption[int], number: int, least: int) -> CheckpointConfig:
        if isinstance(number, bool) or not isinstance(number, int):
            raise FunctionTypeError(f"{option.key!r} must be a whole number, not {number!r}")
        if number < least:
            raise ConfigurationError(
                f"{option.key!r} must be at least {least}, got {number}",
                key=option.key,
                value=number,
            )
        return self._set(option, number)

    def __repr__(self) -> str:
        """Shows interval and mode."""
        return (
            f"CheckpointConfig(interval={self.get_checkpoint_interval()} ms, "
            f"mode={self.get_checkpointing_mode().name})"
        )


def _require(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise FunctionTypeError(f"a {kind.__name__} is needed, not {value!r}")
