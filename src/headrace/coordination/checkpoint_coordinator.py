"""Decides when a checkpoint is taken, gathers its parts, and makes it complete or gives it up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.coordination.checkpoint_store import (
    CheckpointStore,
    CompletedCheckpoint,
    OperatorEntry,
    SourceEntry,
)
from headrace.graph.ids import CheckpointId, VertexId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import CheckpointRequest, SubtaskKey
from headrace.runtime.messages import Snapshotted
from headrace.runtime.storage import Storages, name_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckpointSettings:
    """When checkpoints are taken, and how many may fail."""

    interval_ms: int | None = None
    min_pause_ms: int = 0
    timeout_ms: int = 600_000
    tolerable_failures: int = 0
    retained: int = 1
    directory: str | None = None
    savepoint_directory: str | None = None
    keep_on_cancellation: bool = False
    storages: Storages = field(default_factory=Storages)

    @property
    def enabled(self) -> bool:
        return self.interval_ms is not None


@dataclass
class SavepointOrder:
    """A savepoint that somebody waits for, or without a directory an ordinary checkpoint.

    `stop` says whether the job ends with it, `rescaled` whether it goes on as another graph; that
    is then `resumed`.
    """

    directory: str | None
    done: Future[str] = field(default_factory=Future)
    stop: bool = False
    drain: bool = False
    rescaled: JobGraph | None = None
    resumed: Future[None] = field(default_factory=Future)

    @property
    def ends_attempt(self) -> bool:
        return self.stop or self.rescaled is not None


@dataclass
class _Pending:
    checkpoint: CheckpointId
    directory: str
    started_ms: int
    enumerators: dict[VertexId, Any]
    order: SavepointOrder | None
    parts: dict[SubtaskKey, Snapshotted] = field(default_factory=dict)
    final: bool = False

    @property
    def savepoint(self) -> bool:
        """Whether it belongs to the user."""
        return self.order is not None and self.order.directory is not None


class CheckpointCoordinator:
    """Checkpoints of one job, over all its attempts. Parts arrive on other threads."""

    def __init__(
        self,
        job_graph: JobGraph,
        job_id: str,
        settings: CheckpointSettings,
        store: CheckpointStore,
        on_end: Callable[[CheckpointId, bool], None] = lambda checkpoint, completed: None,
    ) -> None:
        self.job_graph = job_graph
        self._job_id = job_id
        self._settings = settings
        self.store = store
        self._on_end = on_end
        self._lock = threading.Lock()
        # Held while a checkpoint becomes complete: an attempt that ends meanwhile must see it
        # either complete, with all that follows from it, or never.
        self._completing = threading.Lock()
        self._next_id = 1
        self._pending: _Pending | None = None
        self._orders: list[SavepointOrder] = []
        self._last_start_ms: int | None = None
        self._last_end_ms: int | None = None
        self._failures_in_a_row = 0
        self.history: list[dict[str, Any]] = []

    # When.

    def order(self, order: SavepointOrder) -> None:
        """Somebody wants a savepoint."""
        with self._lock:
            self._orders.append(order)

    def next_due(self, now_ms: int) -> int | None:
        """When the next checkpoint should start; None if none is wanted or one is under way."""
        with self._lock:
            if self._pending is not None:
                return self._pending.started_ms + self._settings.timeout_ms
            if self._orders:
                return now_ms
            if self._settings.interval_ms is None:
                return None
            start = self._last_start_ms if self._last_start_ms is not None else now_ms
            if self._last_start_ms is None:
                self._last_start_ms = now_ms
            due = start + self._settings.interval_ms
            if self._last_end_ms is not None:
                due = max(due, self._last_end_ms + self._settings.min_pause_ms)
            return due

    def begin(
        self, now_ms: int, enumerators: dict[VertexId, Any]
    ) -> tuple[CheckpointRequest, SavepointOrder | None] | None:
        """Start a checkpoint if one is due: the request for the epoch's plan."""
        self.expire(now_ms)
        due = self.next_due(now_ms)
        with self._lock:
            if self._pending is not None or due is None or due > now_ms:
                return None
            order = self._orders.pop(0) if self._orders else None
            checkpoint = self._next_checkpoint()
            if order is not None and order.directory is not None:
                directory = self.store.savepoint_directory(order.directory, self._job_id)
            else:
                directory = self.store.directory_of(checkpoint)
                self._last_start_ms = now_ms
            self._pending = _Pending(checkpoint, directory, now_ms, enumerators, order)
            return CheckpointRequest(checkpoint, directory), order

    def begin_final(self, now_ms: int, enumerators: dict[VertexId, Any]) -> CheckpointRequest:
        """Start the checkpoint of a job that has come to its end; none may be under way."""
        with self._lock:
            checkpoint = self._next_checkpoint()
            directory = self.store.directory_of(checkpoint)
            self._pending = _Pending(checkpoint, directory, now_ms, enumerators, None, final=True)
        return CheckpointRequest(checkpoint, directory)

    def begin_commit(self) -> CheckpointId:
        """A number for what is committed without a checkpoint."""
        with self._lock:
            return self._next_checkpoint()

    def _next_checkpoint(self) -> CheckpointId:
        checkpoint = CheckpointId(self._next_id)
        self._next_id += 1
        return checkpoint

    @property
    def under_way(self) -> bool:
        """Whether a checkpoint is neither complete nor given up."""
        with self._lock:
            return self._pending is not None

    # Parts.

    def on_snapshot(self, part: Snapshotted, now_ms: int) -> CheckpointError | None:
        """A subtask's part arrived. An error if too many checkpoints have failed now."""
        with self._completing:
            return self._take_part(part, now_ms)

    def _take_part(self, part: Snapshotted, now_ms: int) -> CheckpointError | None:
        with self._lock:
            pending = self._pending
            if pending is None or pending.checkpoint != part.checkpoint:
                return None
            pending.parts[part.vertex, part.subtask] = part
            total = sum(v.parallelism for v in self.job_graph.vertices)
            if part.error is None and len(pending.parts) < total:
                return None
            self._pending = None
        if part.error is not None:
            name = self.job_graph.vertex(part.vertex).name
            why = f"subtask {part.subtask} of {name!r} could not write its snapshot: {part.error}"
            return self._give_up(pending, CheckpointFailureReason.IO_ERROR, why)
        return self._complete(pending, now_ms)

    def _complete(self, pending: _Pending, now_ms: int) -> CheckpointError | None:
        completed = self._assemble(pending, now_ms)
        try:
            completed.write_metadata()
        except OSError as error:
            return self._give_up(pending, CheckpointFailureReason.FINALIZE_FAILURE, str(error))
        with self._lock:
            self._failures_in_a_row = 0
            self._last_end_ms = now_ms
            self.store.add(completed)
            self._remember(pending, "COMPLETED", completed.size, now_ms)
        self._on_end(pending.checkpoint, True)
        _log.info(
            "checkpoint %s of job %s is complete: %d bytes in %d ms",
            pending.checkpoint,
            self._job_id,
            completed.size,
            now_ms - pending.started_ms,
        )
        if pending.order is not None:
            pending.order.done.set_result(pending.directory)
        return None

    def _assemble(self, pending: _Pending, now_ms: int) -> CompletedCheckpoint:
        operators: list[OperatorEntry] = []
        sources: dict[str, SourceEntry] = {}
        for vertex in self.job_graph.vertices:
            parts = [pending.parts[vertex.id, i] for i in range(vertex.parallelism)]
            files = tuple(name_of(p.path) for p in parts)
            operators += [
                OperatorEntry(
                    o.operator_id, o.uid, o.name, vertex.parallelism, vertex.max_parallelism, files
                )
                for o in vertex.operators
            ]
            if vertex.id in pending.enumerators:
                splits = {p.subtask: p.splits or [] for p in parts}
                sources[vertex.operators[0].operator_id] = SourceEntry(
                    pending.enumerators[vertex.id], splits
                )
        return CompletedCheckpoint(
            pending.checkpoint,
            pending.directory,
            self._job_id,
            now_ms,
            pending.savepoint,
            tuple(operators),
            sources,
            sum(p.size for p in pending.parts.values()),
            pending.final,
            self.store.storages,
        )

    def progress(self) -> dict[str, int] | None:
        """How far the checkpoint is that is under way, if one is."""
        with self._lock:
            if self._pending is None:
                return None
            total = sum(v.parallelism for v in self.job_graph.vertices)
            return {
                "checkpoint": self._pending.checkpoint,
                "subtasks_done": len(self._pending.parts),
                "subtasks": total,
                "bytes": sum(p.size for p in self._pending.parts.values()),
            }

    # Giving up.

    def expire(self, now_ms: int) -> None:
        """Give up what takes too long."""
        with self._lock:
            pending = self._pending
            if pending is None or now_ms < pending.started_ms + self._settings.timeout_ms:
                return
            self._pending = None
        self._give_up(
            pending,
            CheckpointFailureReason.EXPIRED,
            f"it was not complete after {self._settings.timeout_ms} ms",
        )

    def abort_pending(self, reason: CheckpointFailureReason, keep_orders: bool = False) -> None:
        """The attempt is over, and with it what was under way."""
        with self._completing, self._lock:
            pending, self._pending = self._pending, None
            orders = [] if keep_orders else self._orders
            self._orders = [o for o in self._orders if o not in orders]
        if pending is not None:
            self._give_up(pending, reason, reason.value)
        for order in orders:
            order.done.set_exception(CheckpointError(f"no savepoint: {reason.value}", reason))

    def _give_up(
        self, pending: _Pending, reason: CheckpointFailureReason, why: str
    ) -> CheckpointError | None:
        _log.warning("checkpoint %s of job %s failed: %s", pending.checkpoint, self._job_id, why)
        self.store.storages.of(pending.directory).delete_directory(pending.directory)
        error = CheckpointError(
            f"checkpoint {pending.checkpoint} failed: {why}",
            reason,
            checkpoint_id=pending.checkpoint,
        )
        with self._lock:
            self._remember(pending, "FAILED", 0, pending.started_ms)
            if pending.order is None and reason is not CheckpointFailureReason.JOB_FAILURE:
                self._failures_in_a_row += 1
            too_many = self._failures_in_a_row > self._settings.tolerable_failures
        self._on_end(pending.checkpoint, False)
        if pending.order is not None:
            pending.order.done.set_exception(error)
            return None
        return error if too_many and reason is not CheckpointFailureReason.JOB_FAILURE else None

    def _remember(self, pending: _Pending, status: str, size: int, now_ms: int) -> None:
        self.history.append(
            {
                "id": pending.checkpoint,
                "status": status,
                "is_savepoint": pending.savepoint,
                "trigger_timestamp": pending.started_ms,
                "end_to_end_duration": now_ms - pending.started_ms,
                "state_size": size,
                "external_path": pending.directory,
            }
        )
        del self.history[:-100]

    def continue_after(self, checkpoint: CheckpointId) -> None:
        """Ids go on rising when a job is restored from another one's checkpoint."""
        with self._lock:
            self._next_id = max(self._next_id, checkpoint + 1)
