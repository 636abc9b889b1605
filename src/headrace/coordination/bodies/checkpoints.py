"""Checkpoints as `/jobs/:id/checkpoints` and what is below it show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from headrace.coordination.bodies.flink_json import OMITTED, called, snake_case

__all__ = [
    "Checkpoint",
    "CheckpointConfiguration",
    "CheckpointCounts",
    "CheckpointDetails",
    "CheckpointSubtask",
    "CheckpointSummary",
    "CheckpointTask",
    "Checkpoints",
    "Externalization",
    "LatestCheckpoints",
    "RestoredCheckpoint",
    "Statistics",
    "SubtaskAlignment",
    "SubtaskDurations",
    "TaskSummary",
    "statistics",
]


@snake_case
@dataclass(frozen=True)
class Statistics:
    """Smallest, largest, mean and percentiles; zeros without values, as in Flink."""

    min: float = 0
    max: float = 0
    avg: float = 0
    p50: float = 0
    p90: float = 0
    p95: float = 0
    p99: float = 0
    p999: float = 0


def statistics(values: Iterable[float]) -> Statistics:
    """The statistics of numbers."""
    ordered = sorted(values)
    if not ordered:
        return Statistics()
    shares = (0.5, 0.9, 0.95, 0.99, 0.999)
    percentiles = (ordered[round(share * (len(ordered) - 1))] for share in shares)
    return Statistics(ordered[0], ordered[-1], sum(ordered) // len(ordered), *percentiles)


# By subtask.


@dataclass(frozen=True)
class SubtaskDurations:
    """How long a subtask worked on its part."""

    sync: int = 0
    asynchronous: int = field(default=0, metadata=called("async"))


@dataclass(frozen=True)
class SubtaskAlignment:
    """How long a subtask waited for barriers after the first one, and what it processed meanwhile.

    What it had not processed when an epoch was cut short was persisted. Without a live job a
    barrier is the end of an epoch: there is nothing to align.
    """

    buffered: int = 0
    processed: int = 0
    persisted: int = 0
    duration: int = 0


@snake_case
@dataclass(frozen=True)
class CheckpointSubtask:
    """What a subtask did for a checkpoint; of one that has not answered, little is known."""

    index: int
    status: str = "pending_or_failed"
    ack_timestamp: int | None = field(default=None, metadata=OMITTED)
    end_to_end_duration: int | None = field(default=None, metadata=OMITTED)
    checkpointed_size: int | None = field(default=None, metadata=OMITTED)
    state_size: int | None = field(default=None, metadata=OMITTED)
    checkpoint: SubtaskDurations | None = field(default=None, metadata=OMITTED)
    alignment: SubtaskAlignment | None = field(default=None, metadata=OMITTED)
    start_delay: int | None = field(default=None, metadata=OMITTED)
    unaligned_checkpoint: bool | None = field(default=None, metadata=OMITTED)
    aborted: bool | None = field(default=None, metadata=OMITTED)

    @classmethod
    def completed(
        cls,
        index: int,
        at_ms: int,
        took_ms: int,
        size: int,
        alignment: SubtaskAlignment,
        *,
        unaligned: bool = False,
    ) -> CheckpointSubtask:
        """One that has written its part."""
        durations = SubtaskDurations(0, took_ms)
        flags = (0, unaligned, False)
        return cls(index, "completed", at_ms, took_ms, size, size, durations, alignment, *flags)


@snake_case
@dataclass(frozen=True)
class DurationSummary:
    """Over the subtasks of a vertex."""

    sync: Statistics
    asynchronous: Statistics = field(metadata=called("async"))


@snake_case
@dataclass(frozen=True)
class AlignmentSummary:
    """Over the subtasks of a vertex."""

    buffered: Statistics = Statistics()
    processed: Statistics = Statistics()
    persisted: Statistics = Statistics()
    duration: Statistics = Statistics()


@snake_case
@dataclass(frozen=True)
class TaskSummary:
    """Sizes and durations over the subtasks of a vertex."""

    checkpointed_size: Statistics
    state_size: Statistics
    end_to_end_duration: Statistics
    start_delay: Statistics
    checkpoint_duration: DurationSummary
    alignment: AlignmentSummary = AlignmentSummary()


@snake_case
@dataclass(frozen=True)
class CheckpointTask:
    """What a vertex did for a checkpoint."""

    id: int
    status: str
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    num_subtasks: int
    num_acknowledged_subtasks: int
    alignment_buffered: int = 0
    processed_data: int = 0
    persisted_data: int = 0
    subtasks: tuple[CheckpointSubtask, ...] | None = field(default=None, metadata=OMITTED)
    summary: TaskSummary | None = field(default=None, metadata=OMITTED)

    def summed_up(self) -> CheckpointTask:
        """With what the subtasks did on average."""
        done = [s for s in self.subtasks or () if s.status == "completed"]
        took = statistics(s.end_to_end_duration or 0 for s in done)
        size = statistics(s.state_size or 0 for s in done)
        nothing = statistics(0 for _ in done)
        durations = DurationSummary(nothing, took)
        alignments = [s.alignment for s in done if s.alignment is not None]
        alignment = AlignmentSummary(
            processed=statistics(a.processed for a in alignments),
            persisted=statistics(a.persisted for a in alignments),
            duration=statistics(a.duration for a in alignments),
        )
        return replace(self, summary=TaskSummary(size, size, took, nothing, durations, alignment))


# By checkpoint.


@snake_case
@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, complete or not, with what each vertex did for it."""

    class_name: str = field(metadata=called("className"))
    id: int
    status: str
    is_savepoint: bool
    savepoint_format: str | None = field(metadata=called("savepointFormat"))
    trigger_timestamp: int
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    num_subtasks: int
    num_acknowledged_subtasks: int
    checkpoint_type: str
    tasks: dict[str, CheckpointTask]
    external_path: str
    discarded: bool
    failure_message: str | None
    failure_timestamp: int | None = field(default=None, metadata=OMITTED)
    alignment_buffered: int = 0
    processed_data: int = 0
    persisted_data: int = 0

    def in_short(self, *, tasks: bool = False) -> Checkpoint:
        """Without its subtasks, and if not wanted without its tasks."""
        shown = {vertex: replace(task, subtasks=None) for vertex, task in self.tasks.items()}
        return replace(self, tasks=shown if tasks else {})


@dataclass(frozen=True)
class CheckpointDetails:
    """A checkpoint with its tasks, and each of them with its subtasks."""

    checkpoint: Checkpoint
    vertices: dict[str, CheckpointTask]


# All of them.


@snake_case
@dataclass(frozen=True)
class CheckpointCounts:
    """How many there were, by outcome."""

    restored: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0


@snake_case
@dataclass(frozen=True)
class CheckpointSummary:
    """Sizes and durations over checkpoints."""

    checkpointed_size: Statistics = Statistics()
    state_size: Statistics = Statistics()
    end_to_end_duration: Statistics = Statistics()
    alignment_buffered: Statistics = Statistics()
    processed_data: Statistics = Statistics()
    persisted_data: Statistics = Statistics()

    @classmethod
    def of(cls, completed: Sequence[Checkpoint]) -> CheckpointSummary:
        """Over those that are complete."""
        return cls(
            statistics(c.checkpointed_size for c in completed),
            statistics(c.state_size for c in completed),
            statistics(c.end_to_end_duration for c in completed),
            processed_data=statistics(c.processed_data for c in completed),
            persisted_data=statistics(c.persisted_data for c in completed),
        )


@snake_case
@dataclass(frozen=True)
class RestoredCheckpoint:
    """What a job started from."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str


@dataclass(frozen=True)
class LatestCheckpoints:
    """The last of each kind."""

    completed: Checkpoint | None = None
    savepoint: Checkpoint | None = None
    failed: Checkpoint | None = None
    restored: RestoredCheckpoint | None = None


@dataclass(frozen=True)
class Checkpoints:
    """Counts, the latest ones, and the history, the newest first."""

    counts: CheckpointCounts = CheckpointCounts()
    summary: CheckpointSummary = CheckpointSummary()
    latest: LatestCheckpoints = LatestCheckpoints()
    history: tuple[Checkpoint, ...] = ()


@snake_case
@dataclass(frozen=True)
class Externalization:
    """Whether checkpoints outlive their job."""

    enabled: bool
    delete_on_cancellation: bool


@snake_case
@dataclass(frozen=True)
class CheckpointConfiguration:
    """How checkpoints are taken."""

    interval: int | None
    timeout: int
    min_pause: int
    max_concurrent: int
    externalization: Externalization
    state_backend: str
    checkpoint_storage: str
    tolerable_failed_checkpoints: int
    mode: str = "exactly_once"
    unaligned_checkpoints: bool = False
    aligned_checkpoint_timeout: int = 0
    checkpoints_after_tasks_finish: bool = True
    state_changelog_enabled: bool = False
    changelog_periodic_materialization_interval: int = 0
    changelog_storage: str = ""
