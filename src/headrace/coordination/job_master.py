"""The master of one job: places its slots, runs epoch after epoch, and ends it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import HeadraceError, JobCancelledError, JobExecutionError
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.carrier import Carrier, EpochRun, PartitionRun
from headrace.coordination.control import ControlServer
from headrace.coordination.dependencies import PythonDependencies
from headrace.coordination.epoch_pacer import EpochPacer
from headrace.coordination.outputs import Collector, Terminal
from headrace.coordination.source_coordinator import SourceCoordinator
from headrace.coordination.watermark_alignment import WatermarkAligner
from headrace.graph.execution_graph import ExecutionGraph, ExecutionState
from headrace.graph.ids import EpochId, SlotId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime import messages as m
from headrace.runtime.deployment import JobSettings, pack_job
from headrace.runtime.epoch import EpochPlan, EpochReport, SubtaskKey
from headrace.runtime.failure import FailureReport
from headrace.runtime.slot_protocol import SlotLaunch, now_ms

_log = logging.getLogger(__name__)

_SLOT_START_S = 120.0
_REPORT_WAIT_S = 60.0
_CLOSE_WAIT_S = 10.0


@dataclass(frozen=True)
class JobMasterOptions:
    """How a job is run."""

    epoch_target_s: float = 1.0
    epoch_max_records: int | None = None
    python_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    job_parameters: dict[str, str] = field(default_factory=dict)
    cached_files: dict[str, str] = field(default_factory=dict)
    dependencies: PythonDependencies = PythonDependencies()


@dataclass(frozen=True)
class EpochSummary:
    """One epoch that is over, for those who watch."""

    epoch: int
    duration_s: float
    reports: tuple[EpochReport, ...]


class JobMaster:
    """Runs a job on a thread of its own. This is also the `JobHandle` behind a `JobClient`."""

    def __init__(
        self,
        job_graph: JobGraph,
        carrier: Carrier,
        options: JobMasterOptions,
        terminal: Terminal | None = None,
        collectors: dict[str, Collector] | None = None,
        on_epoch: Callable[[EpochSummary], None] | None = None,
    ) -> None:
        self.job_graph = job_graph
        self.physical = build_physical_graph(job_graph)
        self.execution = ExecutionGraph(job_graph)
        self._id = JobID()
        self._carrier = carrier
        self._options = options
        self._terminal = terminal or Terminal()
        self._collectors = collectors or {}
        self._on_epoch = on_epoch
        self._changed = threading.Condition()
        self._status = JobStatus.CREATED
        self.status_since: dict[JobStatus, float] = {JobStatus.CREATED: time.time()}
        self._result: Future[JobExecutionResult] = Future()
        self._failure: FailureReport | str | None = None
        self._cancelling = False
        self._ready: set[SlotId] = set()
        self._reports: dict[SubtaskKey, EpochReport] = {}
        self._closed: dict[SlotId, m.Closed] = {}
        self._data_available = False
        self._incarnation = 1
        self._token = secrets.token_hex(16)
        self._directory = ""
        self._server: ControlServer
        self._sources: SourceCoordinator
        self._alignment: WatermarkAligner
        self._pacer = EpochPacer(options.epoch_target_s, options.epoch_max_records)
        self._started = time.monotonic()
        self.last_epoch: EpochSummary | None = None

    # JobHandle.

    @property
    def job_id(self) -> JobID:
        return self._id

    def status(self) -> JobStatus:
        return self._status

    def cancel(self) -> Future[None]:
        """Cancel the job; what runs is ended, functions are closed."""
        with self._changed:
            if not self._status.is_terminal_state():
                self._cancelling = True
                self._set_status(JobStatus.CANCELLING)
                self._changed.notify_all()
        self._carrier.cancel()
        done: Future[None] = Future()
        self._result.add_done_callback(lambda _: done.set_result(None))
        return done

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        raise HeadraceError("savepoints are not there yet; cancel() ends the job without one")

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        raise HeadraceError("savepoints are not there yet")

    def accumulators(self) -> dict[str, Any]:
        if self._closed:
            parts = [a for c in self._closed.values() for a in c.accumulators]
        else:
            parts = [r.accumulators for r in self._reports.values() if r.accumulators]
        return _merged(parts)

    def result_future(self) -> Future[JobExecutionResult]:
        return self._result

    # Life.

    def start(self) -> None:
        """Run the job on a thread of its own."""
        name = f"headrace-job-{self._id.to_hex_string()[:8]}"
        threading.Thread(target=self._run, daemon=True, name=name).start()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._deploy()
            self._set_status(JobStatus.RUNNING)
            self._run_epochs()
        except BaseException as raised:
            error = self._translated(raised)
            self._set_status(JobStatus.CANCELLING if self._cancelling else JobStatus.FAILING)
            self.execution.move_all(
                ExecutionState.CANCELING if self._cancelling else ExecutionState.FAILED
            )
        late = self._close()
        if error is None and late is not None:
            error = self._error_of(late)
        self._finish(error)

    def _finish(self, error: BaseException | None) -> None:
        status = JobStatus.FINISHED if error is None else JobStatus.FAILED
        if isinstance(error, JobCancelledError):
            status = JobStatus.CANCELED
        self.execution.move_all(
            ExecutionState.FINISHED if error is None else ExecutionState.CANCELED
        )
        self._set_status(status)
        _log.info("job %s (%s) is %s", self._id, self.job_graph.job_name, status.name)
        for collector in self._collectors.values():
            collector.end(error)
        if error is not None:
            self._result.set_exception(error)
        else:
            runtime_ms = int((time.monotonic() - self._started) * 1000)
            self._result.set_result(
                JobExecutionResult(self._id, runtime_ms, self.accumulators())
            )

    def _deploy(self) -> None:
        self.execution.move_all(ExecutionState.SCHEDULED, ExecutionState.DEPLOYING)
        self._sources = SourceCoordinator(self.job_graph)
        self._alignment = WatermarkAligner(self.job_graph)
        settings = JobSettings(
            self._id.to_hex_string(),
            self.job_graph.job_name,
            job_parameters=self._options.job_parameters,
            cached_files=self._options.cached_files,
        )
        job = pack_job(self.job_graph, self.physical, settings)
        self._directory = tempfile.mkdtemp(prefix="headrace-")
        address = self._carrier.control_address() or os.path.join(self._directory, "control")
        self._server = ControlServer(
            address, self._token, self._incarnation, self._on_message, self._on_lost
        )
        launches = [
            SlotLaunch(
                slot,
                self._incarnation,
                self._server.address,
                self._token,
                self._directory,
                self._options.python_path,
                self._options.preload,
                first_python_path=self._options.dependencies.python_path,
                working_directory=self._options.dependencies.working_directory,
            )
            for slot in range(self.physical.slots)
        ]
        self._carrier.start_slots(launches)
        self._wait(lambda: len(self._server.hellos) == self.physical.slots, _SLOT_START_S, "start")
        self._server.broadcast(m.Deploy(job))
        self._wait(lambda: len(self._ready) == self.physical.slots, None, "open their functions")
        self.execution.move_all(ExecutionState.RUNNING)

    def _run_epochs(self) -> None:
        epoch = 0
        while True:
            epoch += 1
            started = time.monotonic()
            reports = self._run_epoch(EpochId(epoch))
            self._alignment.observe(reports)
            duration = time.monotonic() - started
            self._pacer.observe(self._work_s(), max(r.records_read for r in reports if r.source))
            self.last_epoch = EpochSummary(epoch, duration, reports)
            if self._on_epoch is not None:
                self._on_epoch(self.last_epoch)
            for report in reports:
                if report.finished:
                    subtask = self.execution.subtasks[report.vertex, report.subtask]  # type: ignore[index]
                    subtask.move_to(ExecutionState.FINISHED)
            if all(r.finished for r in reports):
                return
            self._wait_for_work(reports)

    def _run_epoch(self, epoch: EpochId) -> tuple[EpochReport, ...]:
        now = now_ms()
        self._data_available = False
        splits = self._sources.discover(now)
        plan = EpochPlan(
            epoch,
            self._incarnation,
            self._pacer.max_records,
            self._pacer.max_read_ms,
            splits,
            self._sources.finished_vertices,
            max_watermarks=self._alignment.limits(now),
        )
        self._server.broadcast(m.BeginEpoch(plan))
        hellos = self._server.hellos
        levels = tuple(
            tuple(
                PartitionRun(p.vertex, p.subtask, hellos[p.slot].data_address) for p in partitions
            )
            for partitions in self.physical.levels
        )
        self._check()
        self._carrier.run_epoch(EpochRun(epoch, self._incarnation, self._token, levels))
        self._wait(
            lambda: len(self._reports) == len(self.execution.subtasks)
            and all(r.epoch == epoch for r in self._reports.values()),
            _REPORT_WAIT_S,
            f"report on epoch {epoch}",
        )
        return tuple(self._reports.values())

    def _work_s(self) -> float:
        """How long subtasks worked in the last epoch: levels wait for each other, subtasks of one do not."""
        slowest = (
            max(self._reports[p.vertex, p.subtask].busy_ms for p in partitions)
            for partitions in self.physical.levels
        )
        return sum(slowest) / 1000

    def _wait_for_work(self, reports: tuple[EpochReport, ...]) -> None:
        """Sleep until there is something to do: data, a timer, a discovery; no Spark job runs meanwhile."""
        for collector in self._collectors.values():
            while collector.full:
                collector.wait_while_full(0.5)
                self._check()
        due = [r.wake_up_at for r in reports if not r.finished and r.wake_up_at is not None]
        others = (self._sources.next_discovery(now_ms()), self._alignment.resume_at())
        due += [t for t in others if t is not None]
        until = min(due, default=None)
        with self._changed:
            while not (self._data_available or self._cancelling or self._failure):
                left = None if until is None else (until - now_ms()) / 1000
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
        self._check()

    def _close(self) -> FailureReport | None:
        """Close the functions and let the slots go; the failure of a close() if there was one."""
        if not self._directory:
            return None
        self._server.broadcast(m.Close())
        with self._changed:
            expected = set(self._server.hellos)
            self._changed.wait_for(lambda: expected <= set(self._closed), _CLOSE_WAIT_S)
        self._server.close()
        self._sources.close()
        shutil.rmtree(self._directory, ignore_errors=True)
        return next((c.failure for c in self._closed.values() if c.failure is not None), None)

    # Messages of slots, on the threads of their connections.

    def _on_message(self, message: Any) -> None:
        if isinstance(message, m.Printed):
            self._terminal.write(message.text, message.to_stderr)
            return
        if isinstance(message, m.Collected):
            self._collectors[message.collect_id].put(message.payload)
            return
        with self._changed:
            if isinstance(message, m.Ready):
                self._ready.add(message.slot)
            elif isinstance(message, m.Reported):
                report = message.report
                self._reports[report.vertex, report.subtask] = report
            elif isinstance(message, m.DataAvailable):
                self._data_available = True
            elif isinstance(message, m.Closed):
                self._closed[message.slot] = message
            elif isinstance(message, m.Failed) and self._failure is None:
                self._failure = message.failure
            self._changed.notify_all()
        if isinstance(message, m.Failed):
            self._carrier.cancel()

    def _on_lost(self, slot: SlotId) -> None:
        with self._changed:
            hello = self._server.hellos[slot]
            self._closed.setdefault(slot, m.Closed(slot))
            if self._failure is None:
                self._failure = (
                    f"slot {slot} (process {hello.pid} on {hello.host}) ended unexpectedly: it was killed, "
                    "ran out of memory, or its executor is gone; the cluster's logs tell more"
                )
            self._changed.notify_all()
        self._carrier.cancel()

    # Waiting and failing.

    def _wait(self, condition: Callable[[], bool], timeout_s: float | None, what: str) -> None:
        with self._changed:
            done = self._changed.wait_for(
                lambda: condition() or self._failure is not None or self._cancelling, timeout_s
            )
        self._check()
        if not done:
            raise HeadraceError(f"the slots of the job did not {what} within {timeout_s:.0f} s")

    def _check(self) -> None:
        if self._failure is not None:
            raise self._error_of(self._failure)
        if self._cancelling:
            raise self._cancelled()

    def _set_status(self, status: JobStatus) -> None:
        if not self._status.is_terminal_state():
            self._status = status
            self.status_since[status] = time.time()

    def _translated(self, raised: BaseException) -> BaseException:
        """The error to show: a slot's report says more than what Spark made of it."""
        if isinstance(raised, JobExecutionError):
            return raised
        if self._failure is not None:
            return self._error_of(self._failure)
        if self._cancelling:
            return self._cancelled()
        error = JobExecutionError(
            f"{type(raised).__name__}: {raised}",
            job_id=self._id.to_hex_string(),
            job_name=self.job_graph.job_name,
        )
        error.__cause__ = raised
        return error

    def _cancelled(self) -> JobCancelledError:
        return JobCancelledError(
            "the job was cancelled",
            job_id=self._id.to_hex_string(),
            job_name=self.job_graph.job_name,
        )

    def _error_of(self, failure: FailureReport | str) -> JobExecutionError:
        job_id, job_name = self._id.to_hex_string(), self.job_graph.job_name
        if isinstance(failure, str):
            return JobExecutionError(failure, job_id=job_id, job_name=job_name)
        error = failure.to_error(job_id, job_name)
        error.__cause__ = failure.cause()
        return error


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Values of accumulators, merged over subtasks."""
    merged: dict[str, Any] = {}
    for part in parts:
        for name, accumulator in part.items():
            if name in merged:
                merged[name].merge(accumulator)
            else:
                merged[name] = accumulator.clone()
    return {name: accumulator.get_local_value() for name, accumulator in merged.items()}


def python_path() -> tuple[str, ...]:
    """Where slots on this machine look for the user's modules: where this process does."""
    return tuple(os.path.abspath(p) if p == "" else p for p in sys.path)
