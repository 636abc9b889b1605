"""What a slot does, whichever process it is in: it builds its subtasks and lets them work.

Everything happens on the thread that calls. What the job master should know is sent to it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from headrace.graph.ids import SlotId
from headrace.runtime.epoch import EpochPlan, EpochReport, SubtaskKey
from headrace.runtime.exchange.carry_over import Cutoff
from headrace.runtime.exchange.frame_queue import FrameMemory
from headrace.runtime.exchange.live import LiveExchange
from headrace.runtime.exchange.wire import PeerGoneError
from headrace.runtime.failure import FailureReport, report_failure
from headrace.runtime.operator import SubtaskServices, TaskInfo
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.deployment import JobDeployment
from headrace.runtime.slot.observation import RecordTaps
from headrace.runtime.slot.protocol import now_ms
from headrace.runtime.slot.queryable import answer_query
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.state.factory import StateBackends
from headrace.runtime.subtask import Subtask


class SlotWorker:
    """The subtasks of one slot.

    Args:
        slot: The slot.
        attempt: The number of the attempt at the job that it belongs to.
        send: Sends a message to the job master.
        services: What subtasks ask of their surroundings.
        snapshots: Takes and restores snapshots.
        clock: Processing time.
        on_job: Called with the job before its functions are unpickled.
    """

    def __init__(
        self,
        slot: SlotId,
        attempt: int,
        send: Callable[[Any], None],
        services: SubtaskServices,
        snapshots: SlotSnapshots,
        clock: Callable[[], int] = now_ms,
        on_job: Callable[[JobDeployment], None] = lambda job: None,
    ) -> None:
        self._id = slot
        self._attempt = attempt
        self._send = send
        self._services = services
        self._snapshots = snapshots
        self._clock = clock
        self._on_job = on_job
        self._taps = RecordTaps(slot, send)
        self.memory = FrameMemory()
        """What frames that wait may take."""
        self.subtasks: dict[SubtaskKey, Subtask] = {}
        self.broken = False
        """Whether something failed: the state is of no epoch any more."""
        self.current: SubtaskKey | None = None
        """The subtask that works just now."""

    def handle(self, message: Any) -> None:
        """Do what the job master says between two epochs."""
        if isinstance(message, m.Deploy):
            self._deploy(message)
        elif isinstance(message, m.CheckpointsEnded):
            self._checkpoints_ended(message)
        elif isinstance(message, m.Commit):
            if self._each(partial(Subtask.commit, number=message.number)):
                self._send(m.Committed(self._id, message.number))
        elif isinstance(message, m.TakeSnapshot):
            self._each(partial(self._snapshots.take, request=message.request))
        elif isinstance(message, m.QueryState):
            subtask = self.subtasks.get((message.vertex, message.subtask))
            operators = subtask.operators.values() if subtask else ()
            self._send(answer_query(self._id, message, operators))
        elif isinstance(message, m.PeekRecords):
            self._taps.start(message, self.subtasks)
        elif isinstance(message, m.StopPeeking):
            self._taps.stop(message.request)

    def run_epoch(
        self,
        subtask: Subtask,
        plan: EpochPlan,
        frames: Iterable[bytes],
        send: Callable[[bytes], None],
    ) -> bool:
        """Let a subtask take part in an epoch; whether it could. The job master is told."""
        report = self._take_part(subtask, plan, frames, send)
        if report is not None:
            self._send(m.Reported(self._id, (report,)))
        return report is not None

    def run_live(
        self, plan: EpochPlan, live: LiveExchange, frames: Callable[[Subtask], Iterable[bytes]]
    ) -> None:
        """Let all subtasks take part in an epoch, upstream first, with what `live` carries."""
        reports = []
        cutoff = None if plan.cut_after_ms is None else Cutoff(plan.cut_after_ms)
        for subtask in self.subtasks.values():
            report = self._take_part(subtask, plan, frames(subtask), live.send, live, cutoff)
            if report is None:
                return
            reports.append(report)
        live.flush()
        self._send(m.Reported(self._id, tuple(reports)))

    def _take_part(
        self,
        subtask: Subtask,
        plan: EpochPlan,
        frames: Iterable[bytes],
        send: Callable[[bytes], None],
        live: LiveExchange | None = None,
        cutoff: Cutoff | None = None,
    ) -> EpochReport | None:
        """Let a subtask take part in an epoch; its report if it could."""
        self.current = (subtask.vertex.id, subtask.task.subtask)
        try:
            at_barrier = partial(self._snapshots.take, subtask)
            return subtask.run_epoch(plan, frames, send, at_barrier, live, cutoff)
        except PeerGoneError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the job fails with it
            self._fail(error, subtask)
            return None
        finally:
            self.current = None

    def close(self) -> m.Closed:
        """Close all functions, also when one of them fails: the last word to the job master."""
        failure = None
        for subtask in self.subtasks.values():
            try:
                subtask.close()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the job fails with it
                failure = failure or _failure_of(error, subtask)
        accumulators = [s.accumulators for s in self.subtasks.values() if s.accumulators]
        return m.Closed(self._id, accumulators, failure)

    def _deploy(self, message: m.Deploy) -> None:
        vertex = task = None
        try:
            job: JobDeployment = pickle.loads(message.job)
            self._on_job(job)
            self.memory.resize(job.settings.buffer_memory)
            self._snapshots.use(job.settings.storages, job.settings.local_copies())
            state_backends = StateBackends(job.settings.state_backend)
            for partition, deployment in job.subtasks_of(self._id):
                vertex = deployment.vertex
                task = TaskInfo(
                    job_id=job.settings.job_id,
                    job_name=job.settings.job_name,
                    vertex_name=vertex.name,
                    subtask=int(partition.subtask),
                    parallelism=vertex.parallelism,
                    max_parallelism=vertex.max_parallelism,
                    restarts=job.settings.restarts,
                    attempt=self._attempt,
                    checkpointing=job.settings.checkpointing,
                    job_parameters=job.settings.job_parameters,
                    cached_files=job.settings.cached_files,
                )
                subtask = Subtask(
                    deployment,
                    task,
                    self._services,
                    self._clock,
                    job.settings.track_changes,
                    state_backends,
                    job.settings.metrics,
                    self.memory,
                )
                self.subtasks[partition.vertex, task.subtask] = subtask
                self._snapshots.restore(subtask, message.restore)
                subtask.open()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the job fails with it
            self._failed(
                report_failure(
                    error,
                    vertex_name=vertex.name if vertex else "",
                    subtask=task.subtask if task else None,
                    parallelism=task.parallelism if task else None,
                )
            )
            return
        self._send(m.Ready(self._id))

    def _checkpoints_ended(self, message: m.CheckpointsEnded) -> None:
        for checkpoint in message.aborted:
            self._snapshots.ended(checkpoint, completed=False)
            self._each(partial(Subtask.checkpoint_ended, checkpoint=checkpoint, completed=False))
        for checkpoint in message.completed:
            told = partial(Subtask.checkpoint_ended, checkpoint=checkpoint, completed=True)
            self._snapshots.ended(checkpoint, completed=True)
            if self._each(told):
                self._send(m.Committed(self._id, checkpoint))

    def _each(self, call: Callable[[Subtask], None]) -> bool:
        """Call something for each subtask between epochs; whether all went well."""
        for subtask in self.subtasks.values():
            if self.broken:
                return False
            try:
                call(subtask)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the job fails with it
                self._fail(error, subtask)
        return not self.broken

    def fail(self, error: Exception) -> None:
        """The slot itself cannot go on."""
        self._failed(report_failure(error, vertex_name="", subtask=None, parallelism=None))

    def _fail(self, error: BaseException, subtask: Subtask) -> None:
        self._failed(_failure_of(error, subtask))

    def _failed(self, failure: FailureReport) -> None:
        self.broken = True
        self._send(m.Failed(self._id, failure))


def _failure_of(error: BaseException, subtask: Subtask) -> FailureReport:
    return report_failure(
        error,
        vertex_name=subtask.vertex.name,
        subtask=subtask.task.subtask,
        parallelism=subtask.task.parallelism,
    )
