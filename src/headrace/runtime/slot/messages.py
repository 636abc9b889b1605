"""What slot and job master say to each other over the control connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.graph.ids import CheckpointId, SlotId, VertexId
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport
from headrace.runtime.failure import FailureReport
from headrace.runtime.slot.thread_dump import ThreadStack
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.writer import Seal

Stack = tuple[str, ...]
"""Names of functions from the outermost to the one that runs."""

# From the job master to a slot.


@dataclass(frozen=True)
class Deploy:
    """Build, restore and open your subtasks.

    `restore` has the snapshot files by operator id: for each subtask of the checkpoint a full one
    and the changes on top of it.
    """

    job: bytes
    restore: dict[str, list[list[SnapshotRef]]] = field(default_factory=dict)


@dataclass(frozen=True)
class BeginEpoch:
    """An epoch starts; tasks will connect for each of your subtasks."""

    plan: EpochPlan


@dataclass(frozen=True)
class GoLive:
    """A Spark job begins that carries your frames from epoch to epoch; its tasks will connect.

    `hosts` says for each slot to which task of the job its frames go.
    """

    number: int
    hosts: tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """Send an empty frame to the next slot through that job, and wait for the one before yours."""

    number: int


@dataclass(frozen=True)
class RunEpoch:
    """Run your part of an epoch with what that job brings; barriers are among the frames."""

    plan: EpochPlan


@dataclass(frozen=True)
class HangUp:
    """Let the tasks of that job go: no frame is on its way between two epochs."""

    number: int


@dataclass(frozen=True)
class TakeSnapshot:
    """A checkpoint between two epochs, at the end of the job."""

    request: CheckpointRequest


@dataclass(frozen=True)
class CheckpointsEnded:
    """Checkpoints are complete, so that sinks commit them, or will never be."""

    completed: tuple[CheckpointId, ...] = ()
    aborted: tuple[CheckpointId, ...] = ()


@dataclass(frozen=True)
class Commit:
    """Sinks commit an epoch that succeeded, of a job without checkpoints."""

    number: CheckpointId


@dataclass(frozen=True)
class Ping:
    """Say that you are alive."""


@dataclass(frozen=True)
class Close:
    """Close the functions and end.

    What user code does is interrupted, again and again in this interval, but `close()` never is.
    A process that has not ended after the timeout, if there is one, ends at once.
    """

    interval_s: float = 30.0
    timeout_s: float | None = 180.0


@dataclass(frozen=True)
class QueryState:
    """Read the state of a key for a client outside the job; answered between two tasks."""

    request: int
    vertex: VertexId
    subtask: int
    name: str
    key: bytes


@dataclass(frozen=True)
class SampleStacks:
    """Sample the stacks of a vertex for a number of seconds."""

    request: int
    vertex: VertexId
    seconds: float


@dataclass(frozen=True)
class DumpThreads:
    """Tell what all threads do."""

    request: int


@dataclass(frozen=True)
class PeekRecords:
    """Show the next records of an operator until `StopPeeking`."""

    request: int
    vertex: VertexId
    operator: str
    limit: int


@dataclass(frozen=True)
class StopPeeking:
    """Enough was seen."""

    request: int


# From a slot to the job master.


@dataclass(frozen=True)
class Hello:
    """The first message: who and where."""

    slot: SlotId
    attempt: int
    pid: int
    host: str
    data_address: str
    tcp_address: tuple[str, int] | None = None


@dataclass(frozen=True)
class Pong:
    """The slot lives, whatever its functions are at."""

    slot: SlotId


@dataclass(frozen=True)
class Ready:
    """All functions are open."""

    slot: SlotId


@dataclass(frozen=True)
class Connected:
    """A task of the job that carries frames has called."""

    slot: SlotId
    number: int
    role: str


@dataclass(frozen=True)
class Disconnected:
    """A task of the job that carries frames is gone in the middle of an epoch."""

    slot: SlotId
    number: int
    why: str


@dataclass(frozen=True)
class Probed:
    """A frame came through that job."""

    slot: SlotId
    number: int


@dataclass(frozen=True)
class Reported:
    """Subtasks are through with an epoch."""

    slot: SlotId
    reports: tuple[EpochReport, ...]


@dataclass(frozen=True)
class Snapshotted:
    """The snapshot of a subtask is in storage, or could not be written.

    `base` is the checkpoint that is needed beside it, if it has changes only. The alignment is the
    time from the first barrier to the last one, and what was processed in between; of an unaligned
    one, what was carried over is in the snapshot.
    """

    slot: SlotId
    vertex: VertexId
    subtask: int
    checkpoint: CheckpointId
    path: str
    seal: Seal | None = None
    splits: list[Any] | None = None
    error: str | None = None
    base: CheckpointId | None = None
    alignment_ms: float = 0.0
    alignment_bytes: int = 0
    unaligned: bool = False
    carried_bytes: int = 0

    @property
    def size(self) -> int:
        """How much was written."""
        return 0 if self.seal is None else self.seal.size


@dataclass(frozen=True)
class Committed:
    """Everything of a completed checkpoint is committed in this slot."""

    slot: SlotId
    checkpoint: CheckpointId


@dataclass(frozen=True)
class Failed:
    """Something went wrong; the epoch cannot complete."""

    slot: SlotId
    failure: FailureReport


@dataclass(frozen=True)
class Printed:
    """Lines for the user's terminal."""

    slot: SlotId
    text: str
    to_stderr: bool = False


@dataclass(frozen=True)
class Collected:
    """Records for the program's iterator, pickled."""

    slot: SlotId
    collect_id: str
    payload: bytes
    count: int


@dataclass(frozen=True)
class StateRead:
    """The answer to a query: content if the key has some, else the names that are known here."""

    slot: SlotId
    request: int
    kind: str = ""
    content: bytes | None = None
    names: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class StacksSampled:
    """How often each stack was seen, by subtask and whether it was on a CPU."""

    slot: SlotId
    request: int
    counts: dict[tuple[int, bool, Stack], int]


@dataclass(frozen=True)
class ThreadsDumped:
    """What all threads of a slot do, and for which subtask its main thread works, if for any."""

    slot: SlotId
    request: int
    threads: tuple[ThreadStack, ...]
    subtask: str | None


@dataclass(frozen=True)
class PeekedRecord:
    """A record as text."""

    subtask: int
    value: str
    timestamp: int | None
    key: str | None


@dataclass(frozen=True)
class RecordsPeeked:
    """Records that an operator emitted."""

    slot: SlotId
    request: int
    records: tuple[PeekedRecord, ...]


@dataclass(frozen=True)
class DataAvailable:
    """A reader has data although no epoch runs."""

    slot: SlotId


@dataclass(frozen=True)
class Closed:
    """The functions are closed; the last word of a slot."""

    slot: SlotId
    accumulators: list[dict[str, Any]] = field(default_factory=list)
    failure: FailureReport | None = None
