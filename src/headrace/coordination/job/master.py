"""The master of one job, from its start to its end.

It runs epoch after epoch and goes back to the last checkpoint after a failure.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.common.errors import (
    CheckpointFailureReason,
    JobCancelledError,
    JobExecutionError,
    StateError,
)
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.bodies.checkpoints import RestoredCheckpoint
from headrace.coordination.carrier import Carrier, SlotsWanted
from headrace.coordination.checkpoint_coordinator import CheckpointCoordinator, SavepointOrder
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.coordination.commit_record import CommitRecord
from headrace.coordination.global_commits import GlobalCommits
from headrace.coordination.job.accumulators import merged
from headrace.coordination.job.attempt import AttemptFailedError, JobAttempt
from headrace.coordination.job.checkpoint_files import CheckpointFiles
from headrace.coordination.job.clock import JobClock
from headrace.coordination.job.epoch_pacer import FIRST_LIVE_RECORDS, FIRST_RECORDS, EpochPacer
from headrace.coordination.job.epoch_planner import Budget, EpochPlanner
from headrace.coordination.job.epochs import Epochs
from headrace.coordination.job.errors import job_error
from headrace.coordination.job.failover import Failover
from headrace.coordination.job.figures import JobFigures
from headrace.coordination.job.history import JobHistory
from headrace.coordination.job.options import EpochSummary, JobMasterOptions
from headrace.coordination.job.orders import Orders
from headrace.coordination.job.outputs import CollectedOutput, Collector, Terminal
from headrace.coordination.restore_points import RestorePoints
from headrace.coordination.slots.logs import SlotLogs
from headrace.coordination.slots.state_queries import QueriedState
from headrace.graph.execution_graph import ExecutionGraph, ExecutionState
from headrace.graph.ids import CheckpointId, SubtaskIndex
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.epoch import EpochReport
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.deployment import deployment_of, library_modules
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.storage import shared

_log = logging.getLogger(__name__)

_LIVE_TARGET_S = 0.1
"""An epoch of a live job costs little, so also the epochs of a backlog can be short."""


class JobMaster:
    """Runs a job, on a thread of its own or step by step in the hands of its caller.

    This is also the `JobHandle` behind a `JobClient`.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        carrier: Carrier,
        options: JobMasterOptions,
        terminal: Terminal | None = None,
        collectors: dict[str, Collector] | None = None,
        on_epoch: Callable[[EpochSummary], None] | None = None,
        budget: Budget | None = None,
        clock: JobClock | None = None,
    ) -> None:
        self.job_graph = job_graph
        self.physical = build_physical_graph(job_graph)
        self.execution = ExecutionGraph(job_graph)
        self._id = JobID(options.run.job_id)
        self._carrier = carrier
        self._options = options
        self._terminal = terminal or Terminal()
        self._slot_logs = SlotLogs.of_environment()
        self._collected = CollectedOutput(
            collectors or {},
            remember=options.checkpoints.retained > 1 or options.restore_path is not None,
        )
        self._on_epoch = on_epoch
        self._clock = clock or JobClock()
        self.history = JobHistory()
        self._result: Future[JobExecutionResult] = Future()
        self._cancelling = threading.Event()
        self._accumulators: dict[str, Any] = {}
        # Of attempts that ended without a failure, because the parallelism was changed.
        self._earlier: list[dict[str, Any]] = []
        self._started = time.monotonic()
        self._budget = budget or self._pacer(options.epoch_target_s)
        self._live_budget = budget or self._pacer(
            min(options.epoch_target_s, _LIVE_TARGET_S), FIRST_LIVE_RECORDS
        )
        self._planner = self._new_planner()
        job = self._id.to_hex_string()
        self._files = CheckpointFiles(job, options.checkpoints)
        self.checkpoints = CheckpointCoordinator(
            job_graph,
            job,
            options.checkpoints,
            self._files.store,
            self._on_checkpoint_end,
            self._clock.steady_ms,
        )
        self._orders = Orders(
            self._take_order,
            self.status,
            self._result,
            options.checkpoints.savepoint_directory,
        )
        self._restore_points = RestorePoints(self.checkpoints.store)
        self._failover = Failover(
            f"{self._id} ({job_graph.job_name})",
            options.restarts,
            self.history,
            self._restore_points,
            self._collected,
            self._cancelling,
        )
        # On the caller's thread, so that what the program changes afterwards is not in it.
        self._deployment = deployment_of(job_graph, self.physical)
        self._global_commits = GlobalCommits(job_graph, job)
        self._commits = CommitRecord(options.commit_marker, job)
        self.figures = JobFigures()
        self._epochs = Epochs(
            options,
            self.checkpoints,
            self._collected,
            self._commits,
            self._global_commits,
            self.figures,
            self._clock,
            self._cancelling,
            self._expire,
            self._tell,
        )
        self.attempt: JobAttempt | None = None
        self._attempts = 0
        self.last_epoch: EpochSummary | None = None
        self.restored: RestoredCheckpoint | None = None

    def _pacer(self, target_s: float, first_records: int = FIRST_RECORDS) -> EpochPacer:
        """No epoch should be much longer than the time between checkpoints."""
        interval_ms = self._options.checkpoints.interval_ms
        return EpochPacer(
            target_s if interval_ms is None else min(target_s, interval_ms / 1000),
            self._options.epoch_max_records,
            first_records,
            exchanges=len(self.physical.levels) > 1,
        )

    def _new_planner(self) -> EpochPlanner:
        return EpochPlanner(
            self.job_graph, self.physical, self._budget, self._clock, self._live_budget
        )

    # JobHandle.

    @property
    def job_id(self) -> JobID:
        return self._id

    @property
    def live(self) -> bool:
        """Whether the last epoch was carried live."""
        return self._epochs.live

    @property
    def options(self) -> JobMasterOptions:
        """How the job is run."""
        return self._options

    @property
    def restarts(self) -> int:
        """How often the job was started again after a failure."""
        return self._failover.restarts

    def status(self) -> JobStatus:
        return self.history.status

    def cancel(self) -> Future[None]:
        """Cancel the job; what runs is ended, functions are closed."""
        self.history.move_to(JobStatus.CANCELLING)
        self._cancelling.set()
        attempt = self.attempt
        if attempt is not None:
            attempt.cancel()
        done: Future[None] = Future()
        self._result.add_done_callback(lambda _: done.set_result(None))
        return done

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        return self._orders.savepoint(savepoint_directory)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        return self._orders.stop(advance_to_end_of_event_time, savepoint_directory)

    def rescale(self, parallelism: int) -> Future[None]:
        """Go on at another parallelism from the next epoch boundary on, without replay."""
        return self._orders.rescale(self.job_graph, parallelism)

    def _take_order(self, order: SavepointOrder) -> None:
        self.checkpoints.order(order)
        # It may sleep until the next timer.
        if self.attempt is not None:
            self.attempt.wake()

    def accumulators(self) -> dict[str, Any]:
        if self._result.done() or self.attempt is None:
            return self._accumulators
        reported = [r.accumulators for r in self.attempt.reports.values() if r.accumulators]
        return merged([*self._earlier, *reported])

    def facts(self) -> dict[str, object]:
        reports = () if self.attempt is None else tuple(self.attempt.reports.values())
        read = sum(r.operators[0].records_out for r in reports if r.source and r.operators)
        return {"records read": f"{read:,}", "restarts": self.restarts}

    def query_state(self, name: str, key: Any) -> Future[QueriedState]:
        """The state of a key, by its queryable name, as it is between two epochs."""
        if self.attempt is None or self.status() is not JobStatus.RUNNING:
            raise StateError(f"the job is {self.status().name}: its state cannot be read now")
        return self.attempt.queries.ask(self.job_graph, name, key)

    def result_future(self) -> Future[JobExecutionResult]:
        return self._result

    # Life.

    def start(self) -> None:
        """Run the job on a thread of its own."""
        name = f"headrace-job-{self._id.to_hex_string()[:8]}"
        threading.Thread(target=self.run, daemon=True, name=name).start()

    def run(self) -> None:
        """Run the job to its end on this thread."""
        deque(self.steps(), maxlen=0)

    def steps(self) -> Iterator[None]:
        """Run the job on this thread, stopping when an attempt has its slots and after each epoch.

        What the next step waits for, it waits for when it is asked for. Nothing is raised: the
        result of the job has its error.
        """
        error: JobExecutionError | None = None
        try:
            restore = self._first_restore()
            while True:
                error = yield from self._run_attempt(restore)
                if error is None and self._epochs.rescaling is None:
                    break
                if error is None:
                    restore = self._restore_points.latest
                elif self._failover.goes_on(error):
                    restore = self._failover.restore_after(error, restore)
                    for subtask in self.execution:
                        subtask.next_attempt()
                else:
                    break
                if self._epochs.rescaling is not None:
                    self._change_graph(self._epochs.rescaling)
        except BaseException as raised:  # noqa: BLE001 - the top of the job: it ends with this
            error = self._as_error(raised)
            if not isinstance(error, JobCancelledError):
                self._failover.note(error)
        self._finish(error)

    def _first_restore(self) -> CompletedCheckpoint | None:
        self.checkpoints.continue_after(self.checkpoints.store.last_number)
        if self._options.run.again and not self._options.checkpoints.enabled:
            # Nobody wrote down how far the commits of the earlier run got. Under the same numbers
            # sinks would take those of this one for done.
            self.checkpoints.continue_after(CheckpointId(self._clock.now_ms()))
        path = self._options.restore_path
        if path is None:
            return None
        checkpoint = self._restore_points.start_from(
            shared(path), claim=self._options.claim_restored
        )
        self.checkpoints.continue_after(self._restore_points.highest)
        return checkpoint

    def _change_graph(self, order: SavepointOrder) -> None:
        """Become the job at another scale; the checkpoint at the boundary is the latest."""
        graph = order.rescaled
        assert graph is not None
        self.history.move_to(JobStatus.RESTARTING)
        _log.info("job %s (%s) changes its parallelism", self._id, graph.job_name)
        self.job_graph = self.checkpoints.job_graph = graph
        self.physical = build_physical_graph(graph)
        self.execution = ExecutionGraph(graph)
        self._deployment = self._deployment.rebuilt(graph, self.physical)

    def _run_attempt(
        self, restore: CompletedCheckpoint | None
    ) -> Generator[None, None, JobExecutionError | None]:
        """Run the job from a checkpoint on; the error that ended it, if one did."""
        self._attempts += 1
        attempt = JobAttempt(
            SlotsWanted(
                self._attempts,
                self.physical,
                replace(self._options.slots, modules=library_modules(self.job_graph)),
                self._options.heartbeats,
            ),
            self._carrier,
            partial(self._on_output, self._attempts),
            self._on_snapshot,
            self._on_committed,
            cancellation=self._options.cancellation,
            on_tick=self._expire,
            clock=self._clock,
        )
        self.attempt = attempt
        self._collected.attempt_started(self._attempts)
        if self._cancelling.is_set():
            attempt.cancel()
        error: JobExecutionError | None = None
        try:
            self._deploy(attempt, restore)
            self.history.move_to(JobStatus.RUNNING)
            if restore is not None:
                self._commits.finish(restore.checkpoint)
            if self._epochs.rescaling is not None:
                self._epochs.rescaling.resumed.set_result(None)
                self._epochs.rescaling = None
            if restore is not None:
                self._global_commits.restored(restore.checkpoint, restore.job_id)
            # Restored from its last checkpoint a job has nothing left to do: sinks have committed.
            if restore is None or not restore.final:
                yield
                attempt.check()
                yield from self._epochs.run(attempt, self._planner)
                self._global_commits.commit(attempt.committed)
        except BaseException as raised:  # noqa: BLE001 - what follows is decided below
            error = self._as_error(attempt.reason_of(raised))
            self._decide(error, attempt, restore)
        reason = (
            CheckpointFailureReason.COORDINATOR_SHUTDOWN
            if error is None or isinstance(error, JobCancelledError)
            else CheckpointFailureReason.JOB_FAILURE
        )
        self.checkpoints.abort_pending(reason, keep_orders=self._epochs.rescaling is not None)
        if error is not None:
            self._collected.attempt_failed(self._epochs.epoch)
        self.figures.attempt_ended()
        closed = attempt.close()
        self._planner.close()
        accumulators = [*self._earlier, *(a for c in closed for a in c.accumulators)]
        self._accumulators = merged(accumulators)
        if error is None and self._epochs.rescaling is not None:
            self._earlier = accumulators
        late = next((c.failure for c in closed if c.failure is not None), None)
        if error is None and late is not None:
            error = self._as_error(AttemptFailedError(late))
            self._decide(error, attempt, restore)
        return error

    def _decide(
        self, error: JobExecutionError, attempt: JobAttempt, restore: CompletedCheckpoint | None
    ) -> None:
        """What follows the end of an attempt: shown before its slots are let go."""
        if isinstance(error, JobCancelledError):
            self.history.move_to(JobStatus.CANCELLING)
            self.execution.move_all(ExecutionState.CANCELING)
        else:
            self._failover.decide(error, attempt, restore)
            self.execution.move_all(ExecutionState.FAILED)

    def _deploy(self, attempt: JobAttempt, restore: CompletedCheckpoint | None) -> None:
        self.execution.move_all(ExecutionState.SCHEDULED, ExecutionState.DEPLOYING)
        if attempt.number > 1:
            self._planner = self._new_planner()
        files: dict[str, list[list[SnapshotRef]]] = {}
        if restore is not None:
            files = restore.files_for(self.job_graph, self._options.allow_unmatched_state)
            by_vertex = {
                v.id: restore.sources[v.operators[0].operator_id]
                for v in self.job_graph.vertices
                if v.operators[0].operator_id in restore.sources
            }
            self._planner.restore(
                {v: s.enumerator for v, s in by_vertex.items()},
                {v: s.splits for v, s in by_vertex.items()},
            )
            self.restored = RestoredCheckpoint(
                restore.checkpoint, self._clock.now_ms(), restore.savepoint, restore.directory
            )
            _log.info("job %s continues from checkpoint %s", self._id, restore.checkpoint)
        settings = self._options.for_slots(
            self._id.to_hex_string(), self.job_graph.job_name, self.restarts
        )
        attempt.deploy(self._deployment.packed(settings), files)
        self.execution.move_all(ExecutionState.RUNNING)
        self.figures.attempt_started(self.restarts + 1, self.physical)

    def checkpoint_now(self) -> CompletedCheckpoint:
        """Take a checkpoint between two steps, and wait for it: for who drives the job by steps."""
        assert self.attempt is not None
        return self._epochs.checkpoint_now(self.attempt, self._planner)

    def time_left_s(self) -> float | None:
        """How long nothing is due, between two steps; None if only a source can tell."""
        return self._epochs.time_left_s(self.attempt, self._planner)

    def _tell(self, epoch: int, duration_s: float, reports: tuple[EpochReport, ...]) -> None:
        self.last_epoch = EpochSummary(epoch, duration_s, reports, self.job_graph)
        for report in reports:
            if report.finished:
                key = (report.vertex, SubtaskIndex(report.subtask))
                self.execution.subtasks[key].move_to(ExecutionState.FINISHED)
        if self._on_epoch is not None:
            self._on_epoch(self.last_epoch)

    def _finish(self, error: JobExecutionError | None) -> None:
        status = JobStatus.FINISHED if error is None else JobStatus.FAILED
        if isinstance(error, JobCancelledError):
            status = JobStatus.CANCELED
        self.execution.move_all(
            ExecutionState.FINISHED if error is None else ExecutionState.CANCELED
        )
        self._files.clean_up(status)
        if status is JobStatus.FAILED:
            self.history.move_to(JobStatus.FAILING)
        self.history.move_to(status)
        _log.info("job %s (%s) is %s", self._id, self.job_graph.job_name, status.name)
        self._collected.end(error)
        if self._epochs.rescaling is not None:
            self._epochs.rescaling.resumed.set_exception(error or self._orders.ended_already())
        if error is not None:
            self._result.set_exception(error)
        else:
            runtime_ms = int((time.monotonic() - self._started) * 1000)
            self._result.set_result(JobExecutionResult(self._id, runtime_ms, self._accumulators))

    # Messages of slots, on other threads.

    def _on_output(self, attempt: int, message: m.Printed | m.Collected) -> None:
        if isinstance(message, m.Printed):
            self._terminal.write(message.text, message.to_stderr)
            self._slot_logs.write(message.slot, message.text)
        else:
            self._collected.put(attempt, message)

    def _on_snapshot(self, part: m.Snapshotted) -> None:
        error = self.checkpoints.on_snapshot(part, self._clock.now_ms())
        if error is not None and self.attempt is not None:
            self.attempt.fail(str(error))

    def _expire(self) -> None:
        """Give up checkpoints that take too long, and with too many of them the attempt."""
        error = self.checkpoints.expire()
        if error is not None and self.attempt is not None:
            self.attempt.fail(str(error))

    def _on_checkpoint_end(self, checkpoint: CheckpointId, completed: bool) -> None:
        if completed:
            oldest = self.checkpoints.store.completed[0].checkpoint
            self._collected.checkpoint_completed(checkpoint, oldest)
            self._record(self._commits.begin, checkpoint)
        if self.attempt is not None:
            self.attempt.checkpoint_ended(checkpoint, completed)

    def _on_committed(self, checkpoint: CheckpointId) -> None:
        self._record(self._commits.finish, checkpoint)

    def _record(self, how: Callable[[CheckpointId], None], checkpoint: CheckpointId) -> None:
        try:
            how(checkpoint)
        except OSError as error:
            if self.attempt is not None:
                self.attempt.fail(f"the commit marker cannot be written: {error}")

    # Errors.

    def _as_error(self, raised: BaseException) -> JobExecutionError:
        return job_error(raised, self._id.to_hex_string(), self.job_graph.job_name)
