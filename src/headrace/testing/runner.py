"""A whole job in this process, step by step: the job master of a cluster, and slots in here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, cycle
from typing import Any

from headrace.common.errors import HeadraceError, JobCancelledError
from headrace.common.job_id import JobID
from headrace.coordination.access.program_jobs import EarlierRun
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.coordination.job.master import JobMaster
from headrace.coordination.job.options import EpochSummary, JobMasterOptions
from headrace.coordination.job.restart_policy import RestartPolicy
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import EpochReport, SubtaskKey
from headrace.runtime.subtask import Subtask
from headrace.runtime.subtask_figures import MetricSettings
from headrace.testing.clock import GivenTime, ManualClock, SimulatedTime
from headrace.testing.local_carrier import LocalCarrier
from headrace.testing.memory_storage import SCHEME, MemoryStorage
from headrace.testing.recording import RecordingServices

__all__ = ["MiniRunner"]

EpochRecords = int | Iterable[int] | Callable[[int], int]
_READ_MS = 60_000
_DEFAULT_RECORDS = 1_000
_NEVER_MS = 10**15
_ALL = 10**6


class MiniRunner:
    """Runs a job graph epoch by epoch.

    Args:
        job_graph: What to run: `env.get_job_graph()`.
        epoch_records: How many records each source subtask reads in an epoch: a number, numbers
            that are repeated in turn, or a function of the number of the epoch (from 1).
        clock: Processing time. A `ManualClock` moves by `epoch_ms` with each epoch; any other
            callable is asked for the time in milliseconds.
        epoch_ms: What an epoch takes on a manual clock.
        shuffle_seed: Deliver the frames of an epoch in a random order, as Spark may.
        job_parameters: What functions see as global job parameters.
        cached_files: Paths by name.
        metrics: What subtasks report about themselves.
        restore_path: The directory of a snapshot to start from.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        *,
        epoch_records: EpochRecords = _DEFAULT_RECORDS,
        clock: Callable[[], int] | None = None,
        epoch_ms: int = 1_000,
        shuffle_seed: int | None = None,
        job_parameters: dict[str, str] | None = None,
        cached_files: dict[str, str] | None = None,
        metrics: MetricSettings | None = None,
        restore_path: str | None = None,
    ) -> None:
        self.job_graph = job_graph
        self.epochs = 0
        self.records_per_epoch: list[int] = []
        self._budget = _GivenBudget(epoch_records)
        self._clock = ManualClock() if clock is None else clock
        self._epoch_ms = epoch_ms
        self._carrier = LocalCarrier(self._clock, shuffle_seed)
        self._restarts = _WhenAsked()
        self._options = JobMasterOptions(
            job_parameters=job_parameters or {},
            cached_files=cached_files or {},
            metrics=metrics or MetricSettings(),
            restarts=self._restarts,
            restore_path=restore_path,
            run=EarlierRun(JobID().to_hex_string()),
        )
        self._master: JobMaster | None = None
        self._steps: Iterator[None] = iter(())

    @property
    def services(self) -> RecordingServices:
        """What was printed and collected."""
        return self._carrier.services

    @property
    def clock(self) -> Callable[[], int]:
        """Processing time."""
        return self._clock

    @property
    def reports(self) -> Mapping[SubtaskKey, EpochReport]:
        """The last report of each subtask, since the job last went on from a snapshot."""
        attempt = None if self._master is None else self._master.attempt
        return {} if attempt is None else attempt.reports

    @property
    def finished(self) -> bool:
        """Whether all subtasks have come to their end."""
        reports = self.reports
        return bool(reports) and all(r.finished for r in reports.values())

    @property
    def subtasks(self) -> Mapping[SubtaskKey, Subtask]:
        """All subtasks, by vertex and number."""
        return self._carrier.subtasks

    def subtask(self, name: str, index: int = 0) -> Subtask:
        """The subtask of the vertex that has an operator of this name."""
        for (_, number), subtask in self.subtasks.items():
            if number == index and any(o.name == name for o in subtask.vertex.operators):
                return subtask
        raise HeadraceError(f"no vertex has an operator {name!r} with subtask {index}")

    def open(self, *, checkpointing: bool = False) -> None:
        """Build the subtasks and open their functions.

        Args:
            checkpointing: Whether sinks commit with snapshots, and not with each epoch.
        """
        clock = self._clock
        self._master = JobMaster(
            self.job_graph,
            self._carrier,
            self._options_with(checkpointing),
            on_epoch=self._on_epoch,
            budget=self._budget,
            clock=SimulatedTime(clock) if isinstance(clock, ManualClock) else GivenTime(clock),
        )
        self._steps = self._master.steps()
        self._step()

    def run_epoch(self) -> None:
        """Wait until there is something to do, and run one epoch: every subtask once.

        Of a job that rests, this is a look for splits or a checkpoint instead.
        """
        self._step()

    def wait_ms(self) -> int | None:
        """How long the next epoch has to wait; None if only a source can tell."""
        left_s = self._running.time_left_s()
        return None if left_s is None else round(left_s * 1000)

    def run(
        self,
        max_epochs: int | None = None,
        restore_after: Collection[int] = (),
        rescale_after: Mapping[int, int] | None = None,
    ) -> None:
        """Open, run to the end or for `max_epochs`, and close.

        Args:
            max_epochs: End the job after so many epochs, or as much else that it does at rest.
            restore_after: Numbers of epochs after which the job fails and goes on from its state.
            rescale_after: Numbers of epochs after which another parallelism is asked for: one epoch
                later the job goes on with it, from a savepoint.
        """
        rescales = rescale_after or {}
        self.open(checkpointing=bool(restore_after or rescales))
        rested = 0
        while not self.finished and (max_epochs is None or self.epochs + rested < max_epochs):
            ran = self.epochs
            self.run_epoch()
            if self.epochs == ran:
                rested += 1
                continue
            if self.epochs in restore_after and not self.finished:
                self.snapshot_and_restore()
            if self.epochs in rescales and not self.finished:
                self.rescale(rescales[self.epochs])
        self.close()

    def checkpoint(self) -> CompletedCheckpoint:
        """A checkpoint between two epochs, which sinks have committed."""
        return self._running.checkpoint_now()

    def snapshot(self) -> CompletedCheckpoint:
        """A checkpoint between two epochs, of which the subtasks have not heard yet."""
        self._carrier.deaf = True
        try:
            return self.checkpoint()
        finally:
            self._carrier.deaf = False

    def restore(self, snapshot: CompletedCheckpoint) -> None:
        """Fail, and go on with fresh subtasks and function objects from a snapshot."""
        master = self._running
        store = master.checkpoints.store
        while store.latest is not None and store.latest is not snapshot:
            store.drop(store.latest)
        assert master.attempt is not None
        self.restart_after_failure()
        master.attempt.fail(f"it was made to go back to snapshot {snapshot.checkpoint}")
        self._step()

    def restart_after_failure(self) -> None:
        """Let the next failure not be the end: the job goes on from its last checkpoint."""
        self._restarts.allowed = True

    def snapshot_and_restore(self) -> None:
        """Fail and recover between two epochs."""
        self.restore(self.snapshot())

    def rescale(self, parallelism: int) -> None:
        """Take a savepoint, and go on from it at another parallelism."""
        done = self._running.rescale(parallelism)
        while not done.done() and not self.finished:
            self._step()
        if done.done():
            done.result()
            self.job_graph = self._running.job_graph

    def close(self, quietly: bool = False) -> None:
        """End the job and close all functions; with `quietly` what they raise is dropped."""
        if self._master is None:
            return
        if not self.finished:
            self._master.cancel()
        for _ in self._steps:
            pass
        error = self._error()
        if error is not None and not quietly and not isinstance(error, JobCancelledError):
            raise error

    def accumulators(self) -> dict[str, Any]:
        """Values of accumulators, merged over subtasks."""
        return self._running.accumulators()

    @property
    def _running(self) -> JobMaster:
        if self._master is None:
            raise HeadraceError("the job is not open")
        return self._master

    def _options_with(self, checkpointing: bool) -> JobMasterOptions:
        checkpoints = CheckpointSettings(
            interval_ms=_NEVER_MS if checkpointing else None,
            retained=_ALL,
            directory=f"{SCHEME}://{self._options.run.job_id}",
        )
        return replace(self._options, checkpoints=checkpoints)

    def _step(self) -> None:
        """Go on to the next moment between two epochs."""
        for _ in self._steps:
            return
        error = self._error()
        if error is not None:
            raise error

    def _error(self) -> BaseException | None:
        """Why the job failed, if it did; it has ended."""
        MemoryStorage().delete_directory(f"{SCHEME}://{self._options.run.job_id}")
        error = self._running.result_future().exception()
        cause = None if error is None else error.__cause__
        # What somebody did to this process, and not to the job.
        return cause if isinstance(cause, KeyboardInterrupt) else error

    def _on_epoch(self, summary: EpochSummary) -> None:
        self.epochs = summary.epoch
        self.records_per_epoch.append(sum(r.records_read for r in summary.reports if r.source))
        if isinstance(self._clock, ManualClock):
            self._clock.advance(self._epoch_ms)


class _GivenBudget:
    """Reads as much in each epoch as somebody said."""

    max_read_ms = _READ_MS

    def __init__(self, epoch_records: EpochRecords) -> None:
        self._next = _numbers(epoch_records)
        self.max_records = next(self._next)

    def observe(self, work_s: float, most_read: int) -> None:
        """An epoch is over."""
        self.max_records = next(self._next)


def _numbers(epoch_records: EpochRecords) -> Iterator[int]:
    if callable(epoch_records):
        return map(epoch_records, count(1))
    return cycle([epoch_records] if isinstance(epoch_records, int) else epoch_records)


class _WhenAsked(RestartPolicy):
    """Starts a job again only if its failure was wanted."""

    def __init__(self) -> None:
        self.allowed = False

    def delay_s(self, now_s: float) -> float | None:
        """No time at all."""
        allowed, self.allowed = self.allowed, False
        return 0.0 if allowed else None
