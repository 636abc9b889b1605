"""Starts checkpoints, gathers their parts, and completes each one or gives it up.

Why a completed checkpoint is consistent:

- A checkpoint is requested in the plan of an epoch, and every subtask takes its snapshot when it
  has processed that epoch and nothing of the next. The parts therefore describe one moment; the
  end of the epoch does what barriers do in Flink.
- The metadata is written last, atomically, and only when every subtask has delivered its part. A
  crash before that leaves a directory without metadata, which recovery ignores; a crash after it
  leaves a checkpoint that recovery finds.
- Sinks commit only after the metadata is written. If the job fails in between, it is restored from
  that very checkpoint, which holds what is still to be committed.
- A part that arrives after its checkpoint was given up is deleted, so that it cannot complete it.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from headrace.common.crash_points import crash_point
from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.coordination.bodies.checkpoints import Checkpoint
from headrace.coordination.checkpoint_failures import ToleratedFailures
from headrace.coordination.checkpoint_history import checkpoint_entry
from headrace.coordination.checkpoint_schedule import CheckpointSchedule
from headrace.coordination.checkpoint_store import (
    METADATA,
    CheckpointStore,
    CompletedCheckpoint,
    Increment,
    OperatorEntry,
    SourceEntry,
)
from headrace.graph.ids import CheckpointId, VertexId
from headrace.graph.job_graph import JobGraph, JobVertex
from headrace.runtime.epoch import CheckpointRequest, SubtaskKey
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.slot.protocol import steady_ms
from headrace.runtime.snapshots.writer import Seal
from headrace.runtime.storage import Storages, join, name_of, relative_to, resolve

_log = logging.getLogger(__name__)

_HISTORY = 50


@dataclass(frozen=True)
class CheckpointSettings:
    """When checkpoints are taken, and how many may fail."""

    interval_ms: int | None = None
    min_pause_ms: int = 0
    timeout_ms: int = 600_000
    max_concurrent: int = 1
    tolerable_failures: int = 0
    retained: int = 1
    directory: str | None = None
    savepoint_directory: str | None = None
    keep_on_cancellation: bool = False
    storages: Storages = field(default_factory=Storages)
    incremental: bool = False
    most_increments: int = 100
    compress: bool = False
    local_recovery: bool = False
    local_directory: str | None = None
    unaligned: bool = False
    aligned_timeout_ms: int = 0

    @property
    def enabled(self) -> bool:
        return self.interval_ms is not None

    @property
    def limit(self) -> int:
        """How many may run at once; with a minimum pause between them it is one, as in Flink."""
        return 1 if self.min_pause_ms > 0 else max(self.max_concurrent, 1)

    @property
    def tracks_changes(self) -> bool:
        """Whether slots record what has changed since the last checkpoint."""
        return self.enabled and self.incremental


@dataclass
class SavepointOrder:
    """A savepoint that a caller is waiting for; without a directory, an ordinary checkpoint.

    Attributes:
        directory: Where the user wants the savepoint.
        done: Resolves to the savepoint's directory.
        stop: Whether the job ends with it.
        drain: Whether the highest watermark comes first, so that all timers and windows fire.
        rescaled: The graph with which the job continues, if it changes its parallelism.
        resumed: Resolves when the job runs again as that graph.
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

    @property
    def aligned(self) -> bool:
        """Whether it has nothing that is on its way: as in Flink, so that a program may change."""
        return self.directory is not None or self.ends_attempt


@dataclass
class _Pending:
    checkpoint: CheckpointId
    directory: str
    started_ms: int
    expires_at: int
    enumerators: dict[VertexId, Any]
    order: SavepointOrder | None
    parts: dict[SubtaskKey, Snapshotted] = field(default_factory=dict)
    acknowledged_ms: dict[SubtaskKey, int] = field(default_factory=dict)
    final: bool = False
    base: CompletedCheckpoint | None = None

    @property
    def savepoint(self) -> bool:
        """Whether the user asked for it, and so owns its files."""
        return self.order is not None and self.order.directory is not None

    @property
    def binding(self) -> bool:
        """Whether recovery may go back to it, and sinks commit with it.

        As in Flink, neither is true of a savepoint after which the job continues: its files belong
        to the user, who may move or delete them.
        """
        return not self.savepoint or (self.order is not None and self.order.stop)


class CheckpointCoordinator:
    """The checkpoints of one job, across all its attempts. Parts arrive on other threads.

    The time of day is only shown to people. Durations are measured with `clock`, which nobody can
    set back.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        job_id: str,
        settings: CheckpointSettings,
        store: CheckpointStore,
        on_end: Callable[[CheckpointId, bool], None] = lambda checkpoint, completed: None,
        clock: Callable[[], int] = steady_ms,
    ) -> None:
        self.job_graph = job_graph
        self._job_id = job_id
        self._settings = settings
        self.store = store
        self._on_end = on_end
        self._clock = clock
        self._lock = threading.Lock()
        # Held while a checkpoint is being completed. An attempt that ends at the same time must
        # find it either completed, with everything that follows from that, or not at all.
        self._completing = threading.Lock()
        self._next_id = 1
        # The last number that is written down as used, by one thread at a time.
        self._claimed = 0
        self._claiming = threading.Lock()
        # A process of an earlier driver that was killed may still be writing. With names of its
        # own, it cannot write to a file of this driver.
        self._suffix = f"-{secrets.token_hex(4)}"
        self._pending: dict[CheckpointId, _Pending] = {}
        self._ending = 0
        self._orders: list[SavepointOrder] = []
        self._schedule = CheckpointSchedule(
            settings.interval_ms, settings.min_pause_ms, settings.limit, clock
        )
        self._failures = ToleratedFailures(settings.tolerable_failures)
        self.history: list[Checkpoint] = []
        self.totals = {"COMPLETED": 0, "FAILED": 0}

    # When.

    def order(self, order: SavepointOrder) -> None:
        """Ask for a savepoint; it starts with one of the next epochs."""
        with self._lock:
            self._orders.append(order)

    def next_due(self, now_ms: int) -> int | None:
        """When a checkpoint must be started or given up next, as a time of day.

        Args:
            now_ms: The time of day now.
        """
        with self._lock:
            expiry = [p.expires_at for p in self._pending.values()]
            start = self._schedule.next_start(len(self._pending), bool(self._orders))
        due = min((*expiry, *([] if start is None else [start])), default=None)
        return None if due is None else now_ms + due - self._clock()

    def expected_in_ms(self) -> tuple[int | None, bool]:
        """In what time the next one would start, and whether others must be complete before."""
        with self._lock:
            start = self._schedule.expected_start()
            must_wait = len(self._pending) >= self._settings.limit
        return None if start is None else start - self._clock(), must_wait

    @property
    def ordered(self) -> bool:
        """Whether somebody waits for one that has not started."""
        with self._lock:
            return bool(self._orders)

    def begin(
        self,
        now_ms: int,
        enumerators: Callable[[], dict[VertexId, Any]],
        scheduled_only: bool = False,
    ) -> tuple[CheckpointRequest, SavepointOrder | None] | None:
        """Start a checkpoint if one is due; the request goes into the epoch's plan.

        Args:
            now_ms: The time of day.
            enumerators: Gives the state of all enumerators, if it is wanted.
            scheduled_only: Whether orders wait for another time.
        """
        with self._lock:
            ordered = bool(self._orders) and not scheduled_only
            if not self._schedule.is_due(len(self._pending), ordered):
                return None
        # Nobody else starts one, so it stays due.
        given_out = enumerators()
        with self._lock:
            order = self._orders.pop(0) if self._orders and not scheduled_only else None
            checkpoint = self._next_checkpoint()
            if order is not None and order.directory is not None:
                directory = self.store.savepoint_directory(order.directory, self._job_id)
            else:
                directory = self.store.directory_of(checkpoint)
                self._schedule.started()
            pending = _Pending(checkpoint, directory, now_ms, self._expiry(), given_out, order)
            if not pending.savepoint:
                pending.base = self._base()
        return (self._request(pending), order) if self._started(pending) else None

    def begin_final(self, now_ms: int, enumerators: dict[VertexId, Any]) -> CheckpointRequest:
        """Start the last checkpoint of a job whose input has ended; no other may be in progress."""
        with self._lock:
            checkpoint = self._next_checkpoint()
            directory = self.store.directory_of(checkpoint)
            pending = _Pending(
                checkpoint, directory, now_ms, self._expiry(), enumerators, None, final=True
            )
            pending.base = self._base()
        self._started(pending)
        return self._request(pending)

    def _expiry(self) -> int:
        return self._clock() + self._settings.timeout_ms

    def _started(self, pending: _Pending) -> bool:
        """Record the checkpoint's number durably; whether that worked and the checkpoint runs.

        The number is claimed first so that no later driver uses it again for other files.

        Raises:
            CheckpointError: It did not work, and it was the last checkpoint or one too many.
        """
        try:
            self._claim(pending.checkpoint)
        except OSError as error:
            why = f"its number could not be written to {self.store.directory}: {error}"
            verdict = self._give_up(pending, CheckpointFailureReason.IO_ERROR, why)
            if verdict is not None or pending.final:
                raise verdict or CheckpointError(why, CheckpointFailureReason.IO_ERROR) from error
            return False
        with self._lock:
            self._pending[pending.checkpoint] = pending
        crash_point("checkpoint-begun")
        return True

    def _claim(self, checkpoint: CheckpointId) -> None:
        with self._claiming:
            if checkpoint > self._claimed:
                self.store.claim(checkpoint)
                self._claimed = checkpoint

    def _claim_next(self) -> None:
        """Now, while epochs run: the next checkpoint need not wait for it."""
        with self._lock:
            checkpoint = CheckpointId(self._next_id)
        # Who needs the number tries again, and tells.
        with contextlib.suppress(OSError):
            self._claim(checkpoint)

    def _request(self, pending: _Pending) -> CheckpointRequest:
        base = None if pending.base is None else pending.base.checkpoint
        return CheckpointRequest(
            pending.checkpoint,
            pending.directory,
            base,
            pending.savepoint,
            self._settings.compress,
            self._suffix,
        )

    def _base(self) -> CompletedCheckpoint | None:
        if not self._settings.incremental:
            return None
        return self.store.base(self._job_id, self._settings.most_increments)

    def begin_commit(self) -> CheckpointId:
        """The number under which a job without checkpoints commits an epoch."""
        with self._lock:
            return self._next_checkpoint()

    def _next_checkpoint(self) -> CheckpointId:
        checkpoint = CheckpointId(self._next_id)
        self._next_id += 1
        return checkpoint

    @property
    def under_way(self) -> bool:
        """Whether a checkpoint is in progress, or is just being completed or given up."""
        with self._lock:
            return bool(self._pending) or self._ending > 0

    # Parts.

    def on_snapshot(self, part: Snapshotted, now_ms: int) -> CheckpointError | None:
        """Take in the part of a subtask; returns an error if too many checkpoints have failed."""
        with self._completing:
            return self._take_part(part, now_ms)

    def _take_part(self, part: Snapshotted, now_ms: int) -> CheckpointError | None:
        with self._lock:
            pending = self._pending.get(part.checkpoint)
            if pending is not None:
                pending.parts[part.vertex, part.subtask] = part
                pending.acknowledged_ms[part.vertex, part.subtask] = now_ms
                total = sum(v.parallelism for v in self.job_graph.vertices)
                if part.error is None and len(pending.parts) < total:
                    return None
                del self._pending[part.checkpoint]
                self._ending += 1
        if pending is None:
            self._drop_late(part)
            return None
        try:
            return self._end(pending, part, now_ms)
        finally:
            with self._lock:
                self._ending -= 1

    def _end(self, pending: _Pending, part: Snapshotted, now_ms: int) -> CheckpointError | None:
        if part.error is not None:
            name = self.job_graph.vertex(part.vertex).name
            why = f"subtask {part.subtask} of {name!r} could not write its snapshot: {part.error}"
            return self._give_up(pending, CheckpointFailureReason.IO_ERROR, why)
        return self._complete(pending, now_ms)

    def _drop_late(self, part: Snapshotted) -> None:
        """Delete a part whose checkpoint was given up before it arrived: nobody else would."""
        directory = resolve(part.path, "..")
        storage = self.store.storages.of(directory)
        if not self.store.needs(directory) and not storage.exists(join(directory, METADATA)):
            storage.delete_directory(directory)

    def _complete(self, pending: _Pending, now_ms: int) -> CheckpointError | None:
        completed = self._assemble(pending, now_ms)
        crash_point("metadata-begun")
        try:
            completed.write_metadata()
        except OSError as error:
            why = f"its metadata could not be written: {error}"
            return self._give_up(pending, CheckpointFailureReason.FINALIZE_FAILURE, why)
        crash_point("metadata-written")
        subsumed: list[_Pending] = []
        delete_useless: Callable[[], None] | None = None
        with self._lock:
            self._failures.succeeded()
            self._schedule.completed()
            full_size = sum(i.size for i in completed.increments)
            self._remember(pending, "COMPLETED", full_size, now_ms)
            if pending.binding:
                # A checkpoint in progress may still complete as an increment of its base, so the
                # store must not delete that base yet.
                bases = [p.base for p in self._pending.values() if p.base is not None]
                delete_useless = self.store.add(completed, bases)
                older = [c for c, p in self._pending.items() if c < pending.checkpoint]
                subsumed = [self._pending.pop(c) for c in older if not self._pending[c].order]
        if pending.binding:
            self._on_end(pending.checkpoint, True)
        crash_point("checkpoint-announced")
        if delete_useless is not None:
            # Without the lock: epochs and commits do not wait for the storage.
            delete_useless()
        _log.info(
            "checkpoint %s of job %s is complete: %d bytes in %d ms",
            pending.checkpoint,
            self._job_id,
            completed.size,
            now_ms - pending.started_ms,
        )
        for older_pending in subsumed:
            reason = CheckpointFailureReason.SUBSUMED
            self._give_up(older_pending, reason, f"checkpoint {pending.checkpoint} came before it")
        if pending.order is not None:
            pending.order.done.set_result(pending.directory)
        if not pending.final:
            self._claim_next()
        return None

    def _assemble(self, pending: _Pending, now_ms: int) -> CompletedCheckpoint:
        operators: list[OperatorEntry] = []
        sources: dict[str, SourceEntry] = {}
        for vertex in self.job_graph.vertices:
            parts = [pending.parts[vertex.id, i] for i in range(vertex.parallelism)]
            files = tuple(name_of(p.path) for p in parts)
            bases = tuple(self._bases(pending, vertex, p) for p in parts)
            operators += [
                OperatorEntry(
                    o.operator_id,
                    o.uid,
                    o.name,
                    vertex.parallelism,
                    vertex.max_parallelism,
                    files,
                    bases if any(bases) else (),
                )
                for o in vertex.operators
            ]
            if vertex.id in pending.enumerators:
                splits = {p.subtask: p.splits or [] for p in parts}
                sources[vertex.operators[0].operator_id] = SourceEntry(
                    pending.enumerators[vertex.id], splits
                )
        size = sum(p.size for p in pending.parts.values())
        return CompletedCheckpoint(
            pending.checkpoint,
            pending.directory,
            self._job_id,
            now_ms,
            pending.savepoint,
            tuple(operators),
            sources,
            size,
            pending.final,
            (*self._increments(pending), Increment(pending.checkpoint, size)),
            self._seals(pending, operators),
            self.store.storages,
        )

    @staticmethod
    def _seals(pending: _Pending, operators: list[OperatorEntry]) -> dict[str, Seal]:
        """The seals of its own files, and of all files that they are increments of."""
        known = {name_of(p.path): p.seal for p in pending.parts.values() if p.seal is not None}
        if pending.base is not None:
            for file, seal in pending.base.seals.items():
                path = resolve(pending.base.directory, file)
                known[relative_to(pending.directory, path)] = seal
        needed = {file for o in operators for chain in o.chains for file in chain}
        return {file: seal for file, seal in known.items() if file in needed}

    @staticmethod
    def _bases(pending: _Pending, vertex: JobVertex, part: Snapshotted) -> tuple[str, ...]:
        """The files that a part is an increment of, relative to the checkpoint's directory."""
        if part.base is None:
            return ()
        assert pending.base is not None
        assert pending.base.checkpoint == part.base
        chain = pending.base.chain_of(vertex.operators[0].operator_id, part.subtask)
        return tuple(relative_to(pending.directory, file) for file in chain)

    @staticmethod
    def _increments(pending: _Pending) -> tuple[Increment, ...]:
        is_changes = any(part.base is not None for part in pending.parts.values())
        return pending.base.increments if pending.base is not None and is_changes else ()

    def progress(self) -> dict[str, int] | None:
        """How far the newest checkpoint in progress has come, if there is one."""
        with self._lock:
            if not self._pending:
                return None
            newest = self._pending[max(self._pending)]
            return {
                "checkpoint": newest.checkpoint,
                "subtasks_done": len(newest.parts),
                "subtasks": sum(v.parallelism for v in self.job_graph.vertices),
                "bytes": sum(p.size for p in newest.parts.values()),
            }

    # Giving up.

    def expire(self) -> CheckpointError | None:
        """Give up checkpoints that take too long; returns an error if too many have failed."""
        timeout_ms = self._settings.timeout_ms
        with self._lock:
            if not self._late():
                # The next epoch need not wait for one that is just being completed.
                return None
        with self._completing:
            with self._lock:
                late = self._late()
                for pending in late:
                    del self._pending[pending.checkpoint]
            verdicts = [
                self._give_up(
                    pending,
                    CheckpointFailureReason.EXPIRED,
                    f"it was not complete after {timeout_ms} ms (execution.checkpointing.timeout)",
                )
                for pending in late
            ]
        return next((verdict for verdict in verdicts if verdict is not None), None)

    def _late(self) -> list[_Pending]:
        now = self._clock()
        return [p for p in self._pending.values() if now >= p.expires_at]

    def abort_pending(self, reason: CheckpointFailureReason, keep_orders: bool = False) -> None:
        """Give up all checkpoints in progress, because their attempt has ended."""
        with self._completing, self._lock:
            pending, self._pending = list(self._pending.values()), {}
            orders = [] if keep_orders else self._orders
            self._orders = [o for o in self._orders if o not in orders]
        for given_up in pending:
            self._give_up(given_up, reason, reason.value)
        for order in orders:
            order.done.set_exception(CheckpointError(f"no savepoint: {reason.value}", reason))

    def _give_up(
        self, pending: _Pending, reason: CheckpointFailureReason, why: str
    ) -> CheckpointError | None:
        """Delete a checkpoint's files and record why; returns an error if too many have failed."""
        _log.warning("checkpoint %s of job %s failed: %s", pending.checkpoint, self._job_id, why)
        self.store.storages.of(pending.directory).delete_directory(pending.directory)
        error = CheckpointError(
            f"checkpoint {pending.checkpoint} failed: {why}",
            reason,
            checkpoint_id=pending.checkpoint,
        )
        with self._lock:
            self._remember(pending, "FAILED", 0, int(time.time() * 1000), why)
            verdict = self._failures.failed(error) if pending.order is None else None
        self._on_end(pending.checkpoint, False)
        if pending.order is not None:
            pending.order.done.set_exception(error)
        return verdict

    def _remember(
        self, pending: _Pending, status: str, size: int, now_ms: int, why: str | None = None
    ) -> None:
        entry = checkpoint_entry(self.job_graph, pending, status, now_ms, size, why)
        self.history.append(entry)
        self.totals[status] += 1
        del self.history[:-_HISTORY]

    def entries(self) -> list[Checkpoint]:
        """The last checkpoints, oldest first, including those in progress."""
        now_ms = int(time.time() * 1000)
        with self._lock:
            return [
                *self.history,
                *(
                    checkpoint_entry(self.job_graph, pending, "IN_PROGRESS", now_ms, 0)
                    for pending in self._pending.values()
                ),
            ]

    def continue_after(self, checkpoint: CheckpointId) -> None:
        """Continue numbering after the checkpoint, perhaps of another job, that was restored."""
        with self._lock:
            self._next_id = max(self._next_id, checkpoint + 1)
