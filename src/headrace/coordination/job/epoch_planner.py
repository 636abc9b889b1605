"""When an epoch runs, and what it may read: decided from the reports on the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from headrace.coordination.job.clock import JobClock
from headrace.coordination.job.source_coordinator import SourceCoordinator
from headrace.coordination.job.watermark_alignment import WatermarkAligner
from headrace.graph.ids import CheckpointId, EpochId, VertexId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport, SubtaskKey


class Budget(Protocol):
    """How much each source subtask may read in an epoch."""

    @property
    def max_records(self) -> int:
        """So many records."""

    @property
    def max_read_ms(self) -> int:
        """For so long, however few records that gives."""

    def observe(self, work_s: float, most_read: int) -> None:
        """Learn from an epoch: how long subtasks worked, and the most that one source read."""


class EpochPlanner:
    """Plans the epochs of one attempt: those that are carried live have a budget of their own."""

    def __init__(
        self,
        job_graph: JobGraph,
        physical: PhysicalGraph,
        budget: Budget,
        clock: JobClock,
        live_budget: Budget | None = None,
    ) -> None:
        self._physical = physical
        self._budgets = {False: budget, True: live_budget or budget}
        self._live = False
        self._carries = False
        self._worked_s, self._most_read = 0.0, 0
        self._clock = clock
        self._sources = SourceCoordinator(job_graph)
        self._alignment = WatermarkAligner(job_graph)

    def restore(
        self, enumerators: dict[VertexId, Any], splits: dict[VertexId, dict[int, list[Any]]]
    ) -> None:
        """Go on with the sources of a checkpoint, before the first epoch."""
        self._sources.restore(enumerators, splits)

    def discover(self) -> dict[SubtaskKey, list[Any]]:
        """New splits for the next epoch."""
        return self._sources.discover(self._clock.steady_ms())

    def enumerators(self) -> dict[VertexId, Any]:
        """The state of all enumerators, with what was discovered given out."""
        return self._sources.snapshot()

    def plan(
        self,
        epoch: int,
        attempt: int,
        splits: dict[SubtaskKey, list[Any]],
        checkpoint: CheckpointRequest | None,
        commit: CheckpointId | None,
        drain: bool,
        live: bool = False,
        cut_after_ms: int | None = None,
    ) -> EpochPlan:
        """The next epoch. Sources read nothing while others have something from the last one."""
        self._live = live
        return EpochPlan(
            EpochId(epoch),
            attempt,
            0 if self._carries or cut_after_ms == 0 else self._budget.max_records,
            self._budget.max_read_ms,
            splits,
            self._sources.finished_vertices,
            checkpoint,
            commit,
            drain,
            self._alignment.limits(self._clock.steady_ms()),
            brief=live,
            cut_after_ms=cut_after_ms,
        )

    @property
    def _budget(self) -> Budget:
        return self._budgets[self._live]

    def observe(self, reports: Sequence[EpochReport]) -> None:
        """Learn from an epoch."""
        self._alignment.observe(reports)
        self._sources.observe(reports)
        self._worked_s += self._work_s(reports)
        self._most_read += max(r.records_read for r in reports if r.source)
        self._carries = any(r.carries for r in reports)
        # What was read has not been worked on before nothing of it is carried over any more.
        if not self._carries:
            self._budget.observe(self._worked_s, self._most_read)
            self._worked_s, self._most_read = 0.0, 0

    def _work_s(self, reports: Sequence[EpochReport]) -> float:
        """How long subtasks worked.

        Levels wait for each other, the subtasks of one level do not.
        """
        busy_ms = {(r.vertex, r.subtask): r.busy_ms for r in reports}
        slowest = (
            max(busy_ms[p.vertex, p.subtask] for p in partitions)
            for partitions in self._physical.levels
        )
        return sum(slowest) / 1000

    def look_for_splits(self) -> bool:
        """Ask enumerators between two epochs; whether one is to follow, before any checkpoint."""
        return self._sources.look(self._clock.steady_ms()) or self.discovery_left_s() == 0

    def discovery_left_s(self) -> float | None:
        """How long no enumerator wants to be asked."""
        steady = self._clock.steady_ms()
        return seconds_until(self._sources.next_discovery(steady), steady)

    def time_left_s(
        self, reports: Sequence[EpochReport], commit_due_ms: int | None
    ) -> float | None:
        """How long no epoch is due: no timer, no source and no commit; None for any time.

        Times are turned into durations here, once: whoever waits must not look at a clock again
        that may be set meanwhile.
        """
        now, steady = self._clock.now_ms(), self._clock.steady_ms()
        left = [seconds_until(r.wake_up_at, now) for r in reports if not r.finished]
        left.append(seconds_until(commit_due_ms, now))
        left.append(seconds_until(self._alignment.resume_at(), steady))
        return min((ms for ms in left if ms is not None), default=None)

    def close(self) -> None:
        """Close all enumerators."""
        self._sources.close()


def seconds_until(due_ms: int | None, now_ms: int) -> float | None:
    """How long it is to a time; nothing if that is over."""
    return None if due_ms is None else max(due_ms - now_ms, 0) / 1000
