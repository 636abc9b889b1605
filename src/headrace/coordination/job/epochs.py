"""The epochs of a job: each is planned, run and committed, and then the job waits for work."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator

from headrace.coordination.checkpoint_coordinator import CheckpointCoordinator, SavepointOrder
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.coordination.commit_record import CommitRecord
from headrace.coordination.global_commits import GlobalCommits
from headrace.coordination.job.attempt import JobAttempt
from headrace.coordination.job.clock import JobClock
from headrace.coordination.job.epoch_cutter import EpochCutter
from headrace.coordination.job.epoch_pacer import Linger
from headrace.coordination.job.epoch_planner import EpochPlanner, seconds_until
from headrace.coordination.job.figures import EpochTimes, JobFigures
from headrace.coordination.job.options import JobMasterOptions
from headrace.coordination.job.outputs import CollectedOutput
from headrace.coordination.job.uncovered_commits import UncoveredCommits
from headrace.graph.ids import CheckpointId
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport

_LOOK_S = 1.0
"""How often a job that only waits for a checkpoint looks whether it takes too long."""
_REST_S = 0.001
"""Who sleeps so long had nothing to do."""


class Epochs:
    """Runs the epochs of one attempt after the other; their numbers go on over all attempts.

    Args:
        options: How the job is run.
        checkpoints: Begins checkpoints, and says when the next one is due.
        collected: Holds back what a program collects until its epoch counts.
        commits: Where it is written down that sinks commit.
        global_commits: Commits of the job as a whole.
        figures: Are told of each epoch.
        clock: The time of the job.
        cancelling: Set when the job is cancelled.
        expire: Gives up checkpoints that take too long.
        on_epoch: Called with the number, duration and reports of each epoch.
    """

    def __init__(
        self,
        options: JobMasterOptions,
        checkpoints: CheckpointCoordinator,
        collected: CollectedOutput,
        commits: CommitRecord,
        global_commits: GlobalCommits,
        figures: JobFigures,
        clock: JobClock,
        cancelling: threading.Event,
        expire: Callable[[], None],
        on_epoch: Callable[[int, float, tuple[EpochReport, ...]], None],
    ) -> None:
        self._options = options
        self._checkpoints = checkpoints
        self._collected = collected
        self._commits = commits
        self._global_commits = global_commits
        self._figures = figures
        self._clock = clock
        self._cancelling = cancelling
        self._expire = expire
        self._on_epoch = on_epoch
        self._cutter = EpochCutter(options.checkpoints, checkpoints)
        self._linger = Linger(options.live_linger_s)
        self._uncovered = UncoveredCommits(int(options.epoch_target_s * 1000))
        self._rests = False
        self.epoch = 0
        """The number of the last epoch that began."""
        self.live = False
        """Whether it was carried live."""
        self.rescaling: SavepointOrder | None = None
        """The order with which the last attempt ended, if the job goes on at another scale."""

    def run(self, attempt: JobAttempt, planner: EpochPlanner) -> Iterator[None]:
        """Run epochs until there is nothing left to do, or an order ends the attempt."""
        self._cutter = EpochCutter(self._options.checkpoints, self._checkpoints)
        since = math.inf
        while True:
            self.epoch += 1
            self._figures.epoch_started()
            self.live = attempt.goes_live()
            started = time.monotonic()
            plan, order = self._plan(attempt, planner)
            planned = time.monotonic()
            reports = attempt.run_epoch(plan)
            ran = time.monotonic()
            planner.observe(reports)
            self._cutter.observe(plan, reports)
            self._uncovered.observe(any(r.commits for r in reports))
            finished = all(r.finished for r in reports)
            self._collected.epoch_ended(self.epoch, final=not self._options.checkpoints.enabled)
            if plan.commit is not None and any(r.committables for r in reports):
                self._commits.begin(plan.commit)
                attempt.commit(plan.commit)
                if finished:
                    attempt.wait_for_commit(plan.commit)
            self._global_commits.commit(attempt.committed)
            times = EpochTimes(min(since, started), started, planned, ran, time.monotonic())
            since = started
            self._figures.epoch_ended(plan, times, reports)
            read = sum(r.records_read for r in reports if r.source)
            self._linger.observe(started, read, any(r.more for r in reports))
            self._rests = read == 0
            self._on_epoch(self.epoch, ran - started, reports)
            yield
            if order is not None and order.ends_attempt and self._ended_by(order, attempt):
                assert plan.checkpoint is not None
                attempt.wait_for_commit(plan.checkpoint.checkpoint)
                return
            if finished and self._uncovered.pending:
                self._uncovered.hurry()
                continue
            if finished:
                self._take_final_checkpoint(attempt, planner)
                return
            if self._wait_for_work(attempt, planner):
                since = math.inf
            while self._needs_no_epoch(attempt, planner):
                since = math.inf
                yield
                attempt.wait(lambda: self.time_left_s(attempt, planner))

    def _plan(
        self, attempt: JobAttempt, planner: EpochPlanner
    ) -> tuple[EpochPlan, SavepointOrder | None]:
        self._expire()
        splits = planner.discover()
        begun = self._checkpoints.begin(self._clock.now_ms(), planner.enumerators)
        request, order = begun if begun is not None else (None, None)
        if request is not None:
            self._collected.planned(request.checkpoint, self.epoch)
        plan = planner.plan(
            self.epoch,
            attempt.number,
            splits,
            request,
            None if request is not None else self._uncovered_commit(),
            drain=order is not None and order.drain,
            live=self.live,
            cut_after_ms=self._cutter.cut_after_ms(request, order) if self.live else None,
        )
        return plan, order

    def _uncovered_commit(self) -> CheckpointId | None:
        """The number under which an epoch without a checkpoint is committed, if it is."""
        if self._options.checkpoints.enabled:
            return None
        now = self._clock.steady_ms()
        commits = self._uncovered.due(now, self.live)
        self._uncovered.planned(now, commits)
        return self._checkpoints.begin_commit() if commits else None

    def _ended_by(self, order: SavepointOrder, attempt: JobAttempt) -> bool:
        """Wait for the snapshot that ends the attempt; one that failed lets the job go on."""
        while not order.done.done():
            now = self._clock.now_ms()
            attempt.wait_for(order.done, seconds_until(self._checkpoints.next_due(now), now))
            self._expire()
        failed = order.done.exception() is not None
        if failed and order.drain:
            order.done.result()
        if not failed and order.rescaled is not None:
            self.rescaling = order
        return not failed

    def _take_final_checkpoint(self, attempt: JobAttempt, planner: EpochPlanner) -> None:
        """Nothing follows: have a last checkpoint taken, and end when its sinks have committed."""
        checkpoints = self._checkpoints
        if not self._options.checkpoints.enabled:
            return
        while True:
            while not attempt.wait_until(lambda: not checkpoints.under_way, _LOOK_S):
                self._expire()
            latest = checkpoints.store.latest
            if latest is not None and latest.final:
                attempt.wait_for_commit(latest.checkpoint)
                return
            now = self._clock.now_ms()
            self._take(attempt, checkpoints.begin_final(now, planner.enumerators()))

    def checkpoint_now(self, attempt: JobAttempt, planner: EpochPlanner) -> CompletedCheckpoint:
        """Take a checkpoint between two epochs, and wait for it."""
        checkpoints = self._checkpoints
        order = SavepointOrder(None)
        checkpoints.order(order)
        begun = checkpoints.begin(self._clock.now_ms(), planner.enumerators)
        assert begun is not None
        self._take(attempt, begun[0])
        attempt.wait_for(order.done, None)
        order.done.result()
        latest = checkpoints.store.latest
        assert latest is not None
        return latest

    def _take(self, attempt: JobAttempt, request: CheckpointRequest) -> None:
        self._collected.planned(request.checkpoint, self.epoch)
        attempt.take_snapshots(request)

    def _wait_for_work(self, attempt: JobAttempt, planner: EpochPlanner) -> bool:
        """Sleep until there is something to do; no Spark job runs while it waits.

        Whether there was nothing to do for a moment: what then comes has not waited.
        """
        self._collected.wait_while_full(self._cancelling)
        # Records may wait for others, but not timers, checkpoints and commits.
        due_s = self.time_left_s(attempt, planner, sources=False) if self.live else None
        if self.live and (pause_s := self._linger.pause_s(time.monotonic(), due_s)) > 0:
            attempt.wait_until(lambda: self._checkpoints.ordered, pause_s)
        began = time.monotonic()
        attempt.wait(lambda: self.time_left_s(attempt, planner))
        return time.monotonic() - began > _REST_S

    def _needs_no_epoch(self, attempt: JobAttempt, planner: EpochPlanner) -> bool:
        """Do what is due, if a job in which nothing happens can do that between two epochs.

        So what carries a live job ends although checkpoints and looks for splits go on.
        """
        if not self._rests or attempt.woken or self._checkpoints.ordered:
            return False
        looks = planner.discovery_left_s() == 0
        if self._work_left_s(attempt, planner) == 0 or planner.look_for_splits():
            return False
        self._expire()
        begun = self._checkpoints.begin(
            self._clock.now_ms(), planner.enumerators, scheduled_only=True
        )
        if begun is not None:
            self._take(attempt, begun[0])
        self._global_commits.commit(attempt.committed)
        # If neither was due, only an epoch can tell what ended the wait.
        return looks or begun is not None

    def time_left_s(
        self, attempt: JobAttempt | None, planner: EpochPlanner, sources: bool = True
    ) -> float | None:
        """How long nothing is due, between two epochs; None if only a source can tell."""
        now = self._clock.now_ms()
        left_s = (
            self._work_left_s(attempt, planner, sources),
            planner.discovery_left_s(),
            seconds_until(self._checkpoints.next_due(now), now),
        )
        return min((s for s in left_s if s is not None), default=None)

    def _work_left_s(
        self, attempt: JobAttempt | None, planner: EpochPlanner, sources: bool = True
    ) -> float | None:
        """The same of what needs an epoch in any case."""
        told = () if attempt is None else tuple(attempt.reports.values())
        commit_due = self._uncovered.next_due()
        if commit_due is not None:
            commit_due += self._clock.now_ms() - self._clock.steady_ms()
        return planner.time_left_s([r for r in told if sources or not r.source], commit_due)
