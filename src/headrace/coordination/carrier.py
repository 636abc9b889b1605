"""What the coordinator needs of the system that carries the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.runtime.epoch import SubtaskKey
from headrace.runtime.slot.protocol import SlotLaunch


@dataclass(frozen=True)
class PartitionRun:
    """One partition of a level in an epoch: the subtask, its slot, and the slot's addresses."""

    vertex: str
    subtask: int
    data_address: str
    tcp_address: tuple[str, int] | None = None
    slot: int = 0


@dataclass(frozen=True)
class EpochRun:
    """One epoch as the carrier sees it: levels of partitions, data between them."""

    epoch: int
    incarnation: int
    token: str
    levels: tuple[tuple[PartitionRun, ...], ...]
    splits: Mapping[SubtaskKey, Sequence[Any]] = field(default_factory=dict)
    """What sources were given to read; the carrier itself reads those that it can."""


class Carrier(Protocol):
    """Starts slots on the cluster's hosts, and carries frames from level to level."""

    def start_slots(self, launches: list[SlotLaunch]) -> None:
        """Start a process for each launch, spread over the hosts. Returns when they are started."""

    def run_epoch(self, run: EpochRun) -> None:
        """Run an epoch to its end. Raises if a part of it could not be run."""

    def cancel(self) -> None:
        """End what is running, from another thread."""

    def control_address(self) -> tuple[str, int] | None:
        """Where the control server should listen for slots to reach it; None for a local socket."""
