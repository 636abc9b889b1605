"""What a job needs of the system that carries it: slots for its subtasks, and data between them.

The job master knows nothing of Spark, nor of processes. It asks a carrier for the slots of each
attempt, tells them what to do, and hears from them as a listener.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headrace.coordination.slots.heartbeats import HeartbeatSettings
from headrace.graph.ids import SlotId

# Every Spark worker imports this module, and needs none of these.
if TYPE_CHECKING:
    from headrace.graph.physical_graph import PhysicalGraph
    from headrace.runtime.epoch import EpochPlan, SubtaskKey
    from headrace.runtime.slot import messages as m


@dataclass(frozen=True)
class SlotEnvironment:
    """What all slots of a job start with."""

    python_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    first_python_path: tuple[str, ...] = ()
    working_directory: str | None = None
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlotsWanted:
    """The slots of one attempt: their number is in the physical graph."""

    attempt: int
    physical: PhysicalGraph
    environment: SlotEnvironment = field(default_factory=SlotEnvironment)
    heartbeats: HeartbeatSettings = field(default_factory=HeartbeatSettings)


class SlotListener(Protocol):
    """Hears of the slots of one attempt, on any thread."""

    def on_message(self, message: Any) -> None:
        """A slot said something."""

    def on_lost(self, slot: SlotId, why: str) -> None:
        """A slot is gone, or counts as gone, and says nothing any more."""

    def on_error(self, error: Exception) -> None:
        """What a slot said could not be understood here."""

    def on_tick(self) -> None:
        """Some time has passed, while slots may be busy."""


class Slots(Protocol):
    """The slots of one attempt, from their start to their end."""

    @property
    def hellos(self) -> Mapping[SlotId, m.Hello]:
        """The slots that have called, and where they are."""

    def start(self) -> None:
        """Start all slots. Returns when they have called; raises if one cannot be started."""

    def send(self, slot: SlotId, message: Any) -> None:
        """Tell a slot something; one that is gone is reported to the listener, not here."""

    def broadcast(self, message: Any) -> None:
        """Tell all slots."""

    def goes_live(self) -> bool:
        """Called before each epoch: whether it is carried live, so that nothing starts for it."""

    def run_epoch(self, plan: EpochPlan) -> None:
        """Carry an epoch to its end. Raises if a part of it could not be run."""

    def cancel(self) -> None:
        """End what is running, from any thread."""

    def close(self) -> None:
        """Let the slots go."""


class Carrier(Protocol):
    """Has slots for a job, attempt after attempt."""

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> Slots:
        """The slots of an attempt; they are not started yet."""


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
    """One epoch of slots that are processes: levels of partitions, data between them."""

    epoch: int
    attempt: int
    token: str
    levels: tuple[tuple[PartitionRun, ...], ...]
    splits: Mapping[SubtaskKey, Sequence[Any]] = field(default_factory=dict)
    """What sources were given to read; the carrier itself reads those that it can."""
