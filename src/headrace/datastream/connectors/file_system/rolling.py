"""When a part file is finished and the next one begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.common.errors import FunctionTypeError, GraphError

__all__ = [
    "CheckpointRollingPolicy",
    "DefaultRollingPolicy",
    "OnCheckpointRollingPolicy",
    "PartFileInfo",
    "RollingPolicy",
]


class PartFileInfo(Protocol):
    """What a policy may know of the file that is being written."""

    @property
    def bucket_id(self) -> str:
        """The bucket of the file."""

    @property
    def creation_time(self) -> int:
        """Processing time of its first record, in milliseconds."""

    @property
    def last_update_time(self) -> int:
        """Processing time of its last record, in milliseconds."""

    @property
    def size(self) -> int:
        """Bytes so far."""


class RollingPolicy(ABC):
    """Decides when a part file is finished. Subclasses are picklable."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """Asked at a checkpoint."""

    @abstractmethod
    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """Asked before a record is written: whether it goes to a new file."""

    @abstractmethod
    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """Asked from time to time."""

    def roll_at(self, part_file: PartFileInfo) -> int | None:
        """When a file is rolled by time if no record comes; None if not known."""
        return None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Finish a file by its size and age.

        Args:
            part_size: Bytes after which a file is finished.
            rollover_interval: Milliseconds after its first record.
            inactivity_interval: Milliseconds after its last record.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Finish all files at each checkpoint, and only then."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """By size and age; see `RollingPolicy.default_rolling_policy`."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def __post_init__(self) -> None:
        """Check the limits where the user wrote them."""
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise FunctionTypeError(f"{name} of a rolling policy must be an int, not {value!r}")
            if value <= 0:
                raise GraphError(f"{name} of a rolling policy must be positive, not {value!r}")

    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """By size."""
        return part_file.size > self.part_size

    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """By size."""
        return part_file.size > self.part_size

    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """By age."""
        return current_time >= self.roll_at(part_file)

    def roll_at(self, part_file: PartFileInfo) -> int:
        """When the file is old enough."""
        return min(
            part_file.creation_time + self.rollover_interval,
            part_file.last_update_time + self.inactivity_interval,
        )


class CheckpointRollingPolicy(RollingPolicy):
    """At each checkpoint, and possibly before: what bulk formats need.

    A file in a bulk format cannot be continued after a restore.
    """

    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class OnCheckpointRollingPolicy(CheckpointRollingPolicy):
    """At each checkpoint, and only then."""

    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """Never."""
        return False

    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """Never."""
        return False
