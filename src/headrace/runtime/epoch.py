"""An epoch as a subtask sees it: what it is told before, and what it reports after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.graph.ids import CheckpointId, EpochId, VertexId

SubtaskKey = tuple[VertexId, int]


@dataclass(frozen=True)
class CheckpointRequest:
    """Take a snapshot at the end of the epoch and write it into a directory.

    Attributes:
        checkpoint: The number of the checkpoint.
        directory: Where its files go.
        base: A complete checkpoint; if you know what changed since then, write only that.
        savepoint: Whether nothing will ever build upon it.
        compress: Whether its files are to be compressed.
        suffix: What names of files end with, so that no other driver of the job writes the same.
    """

    checkpoint: CheckpointId
    directory: str
    base: CheckpointId | None = None
    savepoint: bool = False
    compress: bool = False
    suffix: str = ""


@dataclass(frozen=True)
class EpochPlan:
    """Everything that a slot must know to run its part of an epoch.

    `commit` is the number under which sinks commit the epoch without a checkpoint, if they do.
    In a `brief` epoch sources do not wait for more than is there. `cut_after_ms` says when it is to
    end, because a checkpoint waits for it: what a subtask has not processed by then it carries over
    to the next epoch.
    """

    epoch: EpochId
    attempt: int
    max_records: int
    max_read_ms: int
    splits: dict[SubtaskKey, list[Any]] = field(default_factory=dict)
    no_more_splits: frozenset[VertexId] = frozenset()
    checkpoint: CheckpointRequest | None = None
    commit: CheckpointId | None = None
    drain: bool = False
    max_watermarks: dict[VertexId, int] = field(default_factory=dict)
    brief: bool = False
    cut_after_ms: int | None = None


@dataclass(frozen=True)
class OperatorReport:
    """Counts of one operator since the job started."""

    name: str
    records_in: int
    records_out: int
    watermark: int


@dataclass(frozen=True)
class SplitReport:
    """How far a source is in one of its splits."""

    split: str
    watermark: int
    idle: bool


@dataclass(frozen=True)
class HotKey:
    """The key with most records of a subtask lately, and its share of them."""

    key: str
    share: float


@dataclass(frozen=True)
class ChannelReport:
    """The channels of a subtask in an epoch that was carried live.

    Attributes:
        in_usage: The most bytes that waited for it, as a share of a pool.
        out_usage: The most bytes that it had sent and nobody took yet, as a share of a pool.
        in_queue: Frames that waited for it.
        out_queue: Frames that nobody took yet.
        alignment_ms: The time from the first barrier to the last one.
        alignment_bytes: What came in between and was processed.
        carried_frames: Frames that are carried over to the next epoch.
        carried_bytes: Their bytes.
        cut: Whether the epoch was cut short.
    """

    in_usage: float = 0.0
    out_usage: float = 0.0
    in_queue: int = 0
    out_queue: int = 0
    alignment_ms: float = 0.0
    alignment_bytes: int = 0
    carried_frames: int = 0
    carried_bytes: int = 0
    cut: bool = False


@dataclass(frozen=True)
class EpochReport:
    """What a subtask did in an epoch.

    Attributes that need a word: `records_sent` counts what left for other vertices since the job
    started; `exhausted` says that a source has read all splits that it has,
    `more` that there was more to read when the epoch ended, `commits` that it has sinks that
    commit; `metrics` are those of user functions
    by operator id, `latencies` are by source and operator; `channels` is known of live epochs.
    """

    vertex: VertexId
    subtask: int
    epoch: EpochId
    finished: bool
    operators: tuple[OperatorReport, ...]
    source: bool
    records_read: int
    records_sent: int
    bytes_in: int
    bytes_out: int
    busy_ms: float
    watermark: int
    wake_up_at: int | None
    commits: bool = True
    committables: int = 0
    aligned_watermark: int | None = None
    exhausted: bool = False
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    latencies: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    more: bool = False
    splits: tuple[SplitReport, ...] = ()
    hot_key: HotKey | None = None
    channels: ChannelReport | None = None

    @property
    def carries(self) -> bool:
        """Whether it carries something over to the next epoch."""
        return self.channels is not None and self.channels.carried_frames > 0
