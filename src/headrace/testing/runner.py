"""A whole job in this process: the subtasks of a cluster, with a loop in the place of Spark."""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

from headrace.common.errors import HeadraceError, JobExecutionError
from headrace.common.job_id import JobID
from headrace.graph.ids import CheckpointId, EpochId, SlotId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.epoch import EpochPlan, EpochReport, SubtaskKey
from headrace.runtime.exchange.wire import destination
from headrace.runtime.failure import report_failure
from headrace.runtime.operator import TaskInfo
from headrace.runtime.slot.deployment import JobDeployment, JobSettings, VertexDeployment, pack_job
from headrace.runtime.subtask import Subtask
from headrace.runtime.subtask_figures import MetricSettings
from headrace.testing.clock import ManualClock
from headrace.testing.recording import RecordingServices
from headrace.testing.snapshots import SubtaskSnapshot, restore_subtask, snapshot_subtask

__all__ = ["MiniRunner"]

EpochRecords = int | Iterable[int] | Callable[[int], int]
_READ_MS = 60_000
_DEFAULT_RECORDS = 1_000


@dataclass(frozen=True)
class JobSnapshot:
    """The state of a whole job between two epochs."""

    subtasks: dict[SubtaskKey, SubtaskSnapshot]
    enumerators: dict[Any, Any]


class MiniRunner:
    """Runs a job graph epoch by epoch.

    Records pass from subtask to subtask as the bytes that Spark would carry, so what cannot be
    pickled fails here too.

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
    ) -> None:
        self.job_graph = job_graph
        self.services = RecordingServices()
        self.reports: dict[SubtaskKey, EpochReport] = {}
        self.epochs = 0
        self.records_per_epoch: list[int] = []
        self._physical = build_physical_graph(job_graph)
        self._id = JobID()
        settings = JobSettings(
            self._id.to_hex_string(),
            job_graph.job_name,
            job_parameters=job_parameters or {},
            cached_files=cached_files or {},
            metrics=metrics or MetricSettings(),
        )
        self._deployment: JobDeployment = pickle.loads(
            pack_job(job_graph, self._physical, settings)
        )
        self._budget = _budgets(epoch_records)
        self._clock = ManualClock() if clock is None else clock
        self._epoch_ms = epoch_ms
        self._random = None if shuffle_seed is None else random.Random(shuffle_seed)
        self._subtasks: dict[SubtaskKey, Subtask] = {}
        self._sources: Any = None
        self._alignment: Any = None
        self._incarnation = 1
        self._checkpointing = False

    @property
    def clock(self) -> Callable[[], int]:
        """Processing time."""
        return self._clock

    @property
    def finished(self) -> bool:
        """Whether all subtasks have come to their end."""
        return bool(self.reports) and all(r.finished for r in self.reports.values())

    def subtask(self, name: str, index: int = 0) -> Subtask:
        """The subtask of the chain that has an operator of this name."""
        for (_, number), subtask in self._subtasks.items():
            if number == index and any(o.name == name for o in subtask.vertex.operators):
                return subtask
        raise HeadraceError(f"no chain has an operator {name!r} with subtask {index}")

    def open(self) -> None:
        """Build the subtasks and open their functions."""
        self._deploy(None)

    def run_epoch(self) -> None:
        """Run one epoch: every subtask once, level after level."""
        self.epochs += 1
        budget = next(self._budget)
        plan = EpochPlan(
            EpochId(self.epochs),
            1,
            budget,
            _READ_MS,
            self._sources.discover(self._clock()),
            self._sources.finished_vertices,
            commit=CheckpointId(self.epochs),
            max_watermarks=self._alignment.limits(self._clock()),
        )
        inputs: list[list[list[bytes]]] = [[[] for _ in level] for level in self._physical.levels]

        def send(frame: bytes) -> None:
            level, partition = destination(frame)
            inputs[level][partition].append(frame)

        read = 0
        for level, partitions in enumerate(self._physical.levels):
            for number, partition in enumerate(partitions):
                frames = inputs[level][number]
                if self._random is not None:
                    self._random.shuffle(frames)
                subtask = self._subtasks[partition.vertex, partition.subtask]
                report = self._guarded(subtask, subtask.run_epoch, plan, frames, send)
                self.reports[partition.vertex, partition.subtask] = report
                read += report.records_read if report.source else 0
        self.records_per_epoch.append(read)
        for subtask in self._subtasks.values():
            self._guarded(subtask, subtask.commit, CheckpointId(self.epochs))
        self._alignment.observe(self.reports.values())
        self._sources.observe(self.reports.values())
        if isinstance(self._clock, ManualClock):
            self._clock.advance(self._epoch_ms)

    def run(self, max_epochs: int | None = None, restore_after: Collection[int] = ()) -> None:
        """Open, run to the end or for `max_epochs`, and close.

        Args:
            max_epochs: End the job after so many epochs.
            restore_after: Numbers of epochs after which the job fails and goes on from its state.
        """
        self._checkpointing = bool(restore_after)
        try:
            self.open()
            while not self.finished and (max_epochs is None or self.epochs < max_epochs):
                self.run_epoch()
                if not self.finished:
                    self.wait_for_work()
                    if self.epochs in restore_after:
                        self.snapshot_and_restore()
        except BaseException:
            self.close(quietly=True)
            raise
        self.close()

    def wait_for_work(self) -> None:
        """Let time pass until a subtask or a source has something to do."""
        now = self._clock()
        times = [r.wake_up_at for r in self.reports.values() if not r.finished]
        times += [self._sources.next_discovery(now), self._alignment.resume_at()]
        due = min((t for t in times if t is not None), default=None)
        if isinstance(self._clock, ManualClock):
            if due is not None and due > now:
                self._clock.advance_to(due)
        elif due is None or due > now:
            time.sleep(0.01 if due is None else min((due - now) / 1000, 0.01))

    def snapshot(self) -> JobSnapshot:
        """The state of the job, between two epochs."""
        return JobSnapshot(
            {key: snapshot_subtask(s) for key, s in self._subtasks.items()},
            self._sources.snapshot(),
        )

    def restore(self, snapshot: JobSnapshot) -> None:
        """Go on with fresh subtasks and function objects that have the state of a snapshot."""
        self.close()
        self._incarnation += 1
        self.reports = {}
        self._deploy(snapshot)

    def snapshot_and_restore(self) -> None:
        """Fail and recover between two epochs."""
        self.restore(self.snapshot())

    def close(self, quietly: bool = False) -> None:
        """Close all functions; with `quietly` what they raise is dropped."""
        subtasks, self._subtasks = self._subtasks, {}
        first: JobExecutionError | None = None
        for subtask in subtasks.values():
            try:
                self._guarded(subtask, subtask.close)
            except JobExecutionError as error:
                first = first or error
        if self._sources is not None:
            self._sources.close()
            self._sources = None
        if first is not None and not quietly:
            raise first

    def accumulators(self) -> dict[str, Any]:
        """Values of accumulators, merged over subtasks."""
        merged: dict[str, Any] = {}
        for report in self.reports.values():
            for name, accumulator in report.accumulators.items():
                if name in merged:
                    merged[name].merge(accumulator)
                else:
                    merged[name] = accumulator.clone()
        return {name: accumulator.get_local_value() for name, accumulator in merged.items()}

    def _deploy(self, snapshot: JobSnapshot | None) -> None:
        from headrace.coordination.job.source_coordinator import SourceCoordinator
        from headrace.coordination.job.watermark_alignment import WatermarkAligner

        self._alignment = WatermarkAligner(self.job_graph)
        self._sources = SourceCoordinator(self.job_graph)
        if snapshot is not None:
            self._sources.restore(snapshot.enumerators)
        for slot in range(self._physical.slots):
            for partition, deployment in self._deployment.subtasks_of(SlotId(slot)):
                subtask = self._build(int(partition.subtask), deployment)
                if snapshot is not None:
                    same_vertex = [
                        snapshot.subtasks[partition.vertex, i]
                        for i in range(deployment.vertex.parallelism)
                    ]
                    restore_subtask(subtask, same_vertex)
                self._subtasks[partition.vertex, partition.subtask] = subtask
                self._guarded(subtask, subtask.open)

    def _build(self, index: int, deployment: VertexDeployment) -> Subtask:
        settings, vertex = self._deployment.settings, deployment.vertex
        task = TaskInfo(
            job_id=settings.job_id,
            job_name=settings.job_name,
            vertex_name=vertex.name,
            subtask=index,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            attempt=self._incarnation - 1,
            incarnation=self._incarnation,
            checkpointing=self._checkpointing,
            job_parameters=settings.job_parameters,
            cached_files=settings.cached_files,
        )
        metrics = self._deployment.settings.metrics
        return Subtask(deployment, task, self.services, self._clock, metrics=metrics)

    def _guarded(self, subtask: Subtask, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            failure = report_failure(
                error,
                vertex_name=subtask.vertex.name,
                subtask=subtask.task.subtask,
                parallelism=subtask.task.parallelism,
            )
            raise failure.to_error(
                self._id.to_hex_string(), self.job_graph.job_name
            ) from failure.cause()


def _budgets(epoch_records: EpochRecords) -> Iterator[int]:
    if callable(epoch_records):
        return map(epoch_records, count(1))
    return cycle([epoch_records] if isinstance(epoch_records, int) else epoch_records)
