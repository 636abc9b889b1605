"""What limits a job now, in a sentence, and what to do about it: a function of its figures."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.coordination.bodies.jobs import Diagnosis, Finding, HeldWatermark

__all__ = [
    "CheckpointPicture",
    "JobPicture",
    "LongEpoch",
    "SubtaskPicture",
    "VertexPicture",
    "diagnose",
    "findings_of",
]

_BUSY = 0.5
_SKEW = 1.5
_HOT = 0.3
_OVERHEAD = 0.5
_BEHIND_MS = 60_000
_MANY_FAILURES = 3
_RANKS = ("critical", "warning", "hint", "ok")


@dataclass(frozen=True)
class SubtaskPicture:
    """A subtask: shares of its time, and its hottest key with the share of its records."""

    index: int
    busy: float = 0.0
    back_pressured: float = 0.0
    records_in: float = 0.0
    hot_key: str | None = None
    hot_share: float = 0.0


@dataclass(frozen=True)
class VertexPicture:
    """A vertex with its subtasks."""

    id: str
    name: str
    source: bool
    subtasks: tuple[SubtaskPicture, ...]

    @property
    def busiest(self) -> SubtaskPicture:
        """The subtask that works most."""
        return max(self.subtasks, key=lambda s: s.busy)

    @property
    def mean_busy(self) -> float:
        """How busy its subtasks are on average."""
        return sum(s.busy for s in self.subtasks) / len(self.subtasks)


@dataclass(frozen=True)
class LongEpoch:
    """An epoch that has been running for long: for whom a slot works, and the line it is at."""

    seconds: float
    subtask: str | None
    place: str


@dataclass(frozen=True)
class CheckpointPicture:
    """Checkpoints that failed since the last one that did not, and whether there is one at all."""

    failed_in_a_row: int = 0
    last_failure: str = ""
    completed: bool = False


@dataclass(frozen=True)
class JobPicture:
    """All that the diagnosis looks at.

    Attributes:
        state: The state of the job.
        vertices: Vertices with their subtasks.
        records_per_s: What sources read.
        more: Whether sources had more to read than was read, in most of the last epochs.
        spark_share: Share of the epochs' time that Spark took beyond the work in the slots.
        held: Who holds the watermark back.
        checkpoints: How checkpoints go.
        recent_restarts: Restarts in the last ten minutes.
        last_failure: What the last restart, or the end, was due to.
        long_epoch: The current epoch, if it runs for long.
    """

    state: str
    vertices: tuple[VertexPicture, ...] = ()
    records_per_s: float = 0.0
    more: bool = False
    spark_share: float = 0.0
    held: HeldWatermark | None = None
    checkpoints: CheckpointPicture = field(default_factory=CheckpointPicture)
    recent_restarts: int = 0
    last_failure: str = ""
    long_epoch: LongEpoch | None = None


def diagnose(job: JobPicture) -> Diagnosis:
    """The most important finding, with the others."""
    first, *others = findings_of(job)
    return Diagnosis(**vars(first), findings=tuple(others))


def findings_of(job: JobPicture) -> list[Finding]:
    """What is to be said about a job, the most important first; never empty."""
    if job.state != "RUNNING":
        return [_not_running(job)]
    found = [
        *_long_epoch(job),
        *_restarts(job),
        *_checkpoints(job),
        *_limit(job),
        *_overhead(job),
        *_watermark(job),
    ]
    if not any(
        f.code in ("long-epoch", "busy-vertex", "busy-subtask", "hot-key", "overhead")
        for f in found
    ):
        found.append(_keeps_up(job))
    return sorted(found, key=lambda f: _RANKS.index(f.status))


def _not_running(job: JobPicture) -> Finding:
    why = f": {_first_line(job.last_failure)}" if job.last_failure else ""
    if job.state == "FAILED":
        again = "; start it again from its last checkpoint" if job.checkpoints.completed else ""
        advice = f"The exceptions of the job have the traceback{again}."
        return Finding("critical", "ended", f"The job failed{why}.", advice)
    if job.state in ("FINISHED", "CANCELED"):
        return Finding("ok", "ended", f"The job is {job.state}.", "")
    if job.state in ("RESTARTING", "FAILING"):
        advice = (
            "It will continue from its last checkpoint; the exceptions of the job have the "
            "traceback."
        )
        return Finding("critical", "restarting", f"The job is restarting{why}.", advice)
    if job.state == "CANCELLING":
        return Finding("ok", "ended", "The job is being cancelled.", "")
    return Finding("ok", "starting", "The job is starting.", "")


def _long_epoch(job: JobPicture) -> list[Finding]:
    long = job.long_epoch
    if long is None:
        return []
    who = f'"{long.subtask}"' if long.subtask else "a slot, between two subtasks,"
    return [
        Finding(
            "warning",
            "long-epoch",
            f"The current epoch has been running for {long.seconds:.0f} s: {who} is at "
            f"{long.place}.",
            "Until it returns nothing is read, no checkpoint is taken and no result is committed. "
            "The thread dump and the flame graph show how it got there.",
        )
    ]


def _restarts(job: JobPicture) -> list[Finding]:
    if job.recent_restarts == 0:
        return []
    times = "once" if job.recent_restarts == 1 else f"{job.recent_restarts} times"
    return [
        Finding(
            "critical" if job.recent_restarts >= _MANY_FAILURES else "warning",
            "restarting",
            f"The job restarted {times} in the last 10 minutes, last because of: "
            f"{_first_line(job.last_failure)}.",
            "Every restart repeats what came after the last checkpoint. The exceptions of the job "
            "have the traceback of what failed.",
        )
    ]


def _checkpoints(job: JobPicture) -> list[Finding]:
    failed = job.checkpoints.failed_in_a_row
    if failed == 0:
        return []
    which = "The last checkpoint" if failed == 1 else f"The last {failed} checkpoints"
    return [
        Finding(
            "critical" if failed >= _MANY_FAILURES else "warning",
            "checkpoints-failing",
            f"{which} failed: {_first_line(job.checkpoints.last_failure)}.",
            "Until one completes, a failure sets the job far back. Check the checkpoint storage, "
            "and execution.checkpointing.timeout if they take too long.",
        )
    ]


def _limit(job: JobPicture) -> list[Finding]:
    """The vertex that takes most of the time, if sources have more than the job can take."""
    working = [v for v in job.vertices if v.subtasks]
    if not job.more or not working:
        return []
    vertex = max(working, key=lambda v: v.busiest.busy)
    busiest = vertex.busiest
    everybody = sum(v.busiest.busy for v in working)
    if busiest.busy < _BUSY and (everybody < _BUSY or job.spark_share > _OVERHEAD):
        return []
    found = [_busy(vertex, busiest)]
    waiting = [v for v in working if v.busiest.back_pressured > _BUSY and v is not vertex]
    if waiting:
        sources = ", ".join(f'"{v.name}"' for v in waiting)
        found.append(
            Finding(
                "hint",
                "back-pressure",
                f'{sources} wait{"s" if len(waiting) == 1 else ""} for "{vertex.name}" '
                f"{_percent(max(v.busiest.back_pressured for v in waiting))} of the time.",
                f'Make "{vertex.name}" faster, and those upstream get faster as well.',
                waiting[0].id,
            )
        )
    return found


def _busy(vertex: VertexPicture, busiest: SubtaskPicture) -> Finding:
    others = [s.busy for s in vertex.subtasks if s is not busiest]
    mean_of_others = sum(others) / len(others) if others else busiest.busy
    skewed = bool(others) and busiest.busy > _SKEW * max(mean_of_others, 0.05)
    sentence = f'Subtask {busiest.index} of "{vertex.name}" is busy {_percent(busiest.busy)}'
    if busiest.hot_key is not None and busiest.hot_share >= _HOT:
        return Finding(
            "warning",
            "hot-key",
            f"{sentence}; key {busiest.hot_key} has {_percent(busiest.hot_share)} of its records.",
            "More parallelism does not help against one key. Aggregate in two stages: first by the "
            "key and a number from 0 to n, then by the key.",
            vertex.id,
            busiest.index,
        )
    if skewed:
        return Finding(
            "warning",
            "busy-subtask",
            f"{sentence}, the others {_percent(mean_of_others)} on average.",
            "Its keys have more records than those of the others, or its splits do: choose a key "
            "that spreads better, rebalance() before this operator, or raise the parallelism.",
            vertex.id,
            busiest.index,
        )
    return Finding(
        "warning",
        "busy-vertex",
        f'"{vertex.name}" limits the job: its subtasks are busy {_percent(vertex.mean_busy)}.',
        "Raise its parallelism if there are cores for it; its flame graph shows what takes the "
        "time.",
        vertex.id,
    )


def _overhead(job: JobPicture) -> list[Finding]:
    if not job.more or job.spark_share <= _OVERHEAD:
        return []
    return [
        Finding(
            "hint",
            "overhead",
            f"Starting Spark's tasks takes {_percent(job.spark_share)} of the time of an epoch.",
            "Make epochs longer (execution.epoch.target), or use fewer exchanges and a lower "
            "parallelism: the work in the slots is short.",
        )
    ]


def _watermark(job: JobPicture) -> list[Finding]:
    held = job.held
    if held is None or (held.behind_ms is not None and held.behind_ms < _BEHIND_MS):
        return []
    who = f'subtask {held.subtask} of "{held.name}"'
    if held.split is not None:
        who = f"split {held.split} of {who}"
    behind = (
        "has no watermark yet"
        if held.behind_ms is None
        else f"is {_duration(held.behind_ms)} behind the others"
    )
    return [
        Finding(
            "hint",
            "watermark-held",
            f"Event time waits: {who} {behind}.",
            "If it has no data, let it become idle (with_idleness on the watermark strategy); if "
            "it is only slower, align the sources (with_watermark_alignment).",
            held.vertex,
            held.subtask,
        )
    ]


def _keeps_up(job: JobPicture) -> Finding:
    busiest = max((v.busiest.busy for v in job.vertices if v.subtasks), default=0.0)
    if job.records_per_s < 0.5:
        return Finding(
            "ok", "idle", "The job is idle: its sources have nothing to read right now.", ""
        )
    return Finding(
        "ok",
        "source-limited",
        f"The job keeps up: its sources give {job.records_per_s:,.0f} records a second, and the "
        f"busiest subtask is busy {_percent(busiest)}.",
        "",
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _duration(ms: int) -> str:
    seconds = ms // 1000
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "unknown"
    return line.rstrip(".") if len(line) <= 300 else f"{line[:300]}..."
