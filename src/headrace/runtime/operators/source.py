"""The head of a source vertex: a reader, and watermarks for each of its splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import ColumnRows, ReadBatch, SourceReader
from headrace.datastream.functions import RuntimeContext
from headrace.graph.specs import SourceSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch, ColumnBatch, LazyBatch
from headrace.runtime.functions.checkpointed_function import FunctionCheckpoints
from headrace.runtime.functions.dead_letters import DeadLetters
from headrace.runtime.functions.runtime_context import OperatorRuntimeContext
from headrace.runtime.operator import Operator
from headrace.runtime.operators.poll_size import PollSize
from headrace.runtime.time.alignment import ReadLimit
from headrace.runtime.time.idleness import IdleTimer
from headrace.runtime.time.watermarks import WatermarkTracker


class SourceOperator(Operator):
    """Reads up to the epoch's budget. Its watermark is the minimum of splits that are not idle."""

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__()
        self._source = spec.source
        self._strategy: WatermarkStrategy = (
            spec.watermark_strategy or WatermarkStrategy.no_watermarks()
        )
        self._interval_ms = spec.watermark_interval_ms
        self._plain = self._strategy.kind == "none" and not self._strategy.timestamp_assigner
        self._poll_size = PollSize()
        self._trackers: dict[str, WatermarkTracker] = {}
        self._finished: set[str] = set()
        self._reader: SourceReader
        self._idle_timer: IdleTimer
        self._checkpoints: FunctionCheckpoints
        self._restored_splits: list[Any] = []
        self._no_more_splits = False
        self._told_idle = False
        self._held = False
        self.dead_letters = DeadLetters(spec.error_tag)
        self.ended = False
        self.more_now = False
        """Whether the reader may have more."""
        self._trickles = False

    def open(self) -> None:
        try:
            context = _ReaderContext(self)
            self._reader = self._source.create_reader(context)
            self._checkpoints = FunctionCheckpoints(self._reader.user_function, self)
            self._checkpoints.initialize(context.runtime_context)
            self._reader.open()
            if self._restored_splits:
                self._reader.add_splits(self._restored_splits)
        except Exception as error:
            raise self.failed(error, where="open of the source") from error
        # Without a split there is no tracker that would find out about idleness.
        self._idle_timer = IdleTimer(self._strategy.idle_timeout_ms, self.context.clock)
        self._track(self._restored_splits)

    @property
    def finds_idleness(self) -> bool:
        """Whether splits become idle when they have had nothing for a while."""
        return self._strategy.idle_timeout_ms is not None

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.close()

    def add_splits(self, splits: Sequence[Any], no_more: bool) -> None:
        """Take over splits from the job master."""
        if splits:
            try:
                self._reader.add_splits(splits)
            except Exception as error:
                raise self.failed(error, where="adding splits to the source") from error
            self._track(splits)
        self._no_more_splits = no_more

    def _track(self, splits: Sequence[Any]) -> None:
        """Splits that are read together hold the watermark back before their first record."""
        if self._source.reads_splits_together and not self._plain:
            for split in splits:
                self._tracker(split.split_id)

    @property
    def fed(self) -> bool:
        """Whether records come with the epoch's job."""
        return bool(self._source.fed_by_spark)

    @property
    def reads_whole_splits(self) -> bool:
        """Whether all that was given out for an epoch is to be read in it."""
        return bool(self._source.reads_whole_splits)

    def feed(self, payloads: Iterator[bytes]) -> None:
        """Take what comes with the epoch's job."""
        self._reader.feed(payloads)

    def read(
        self,
        max_records: int,
        deadline: float,
        tick: Callable[[], None],
        max_watermark: int | None = None,
        brief: bool = False,
    ) -> None:
        """Read until the budget is used up or there is nothing more now.

        Args:
            max_records: The budget; with none at all nobody looks whether there is something.
            deadline: When to stop, by the monotonic clock.
            tick: Lets time pass in the chain.
            max_watermark: Stop beyond this watermark, until others have caught up.
            brief: Stop also when a split has twice given less than it was asked for: records that
                trickle in would keep the others waiting for the end of the epoch.
        """
        given: dict[str, int] = {}
        self._trickles = False
        left, limit, found_nothing = max_records, ReadLimit(max_watermark), False
        self._hold(False)
        now = time.monotonic()
        while left > 0:
            if limit.reached(self.watermark):
                self._hold(True)
                break
            wanted = min(left, limit.batch_size, self._poll_size.records)
            batch = self._poll(wanted)
            self.dead_letters.emit(self.output)
            if batch is None:
                self.more_now = False
                found_nothing = True
                break
            left -= len(batch.values)
            records = _records(batch)
            self.records_in += len(records)
            before = self.watermark
            self._emit(batch, records)
            self._forget_finished()
            self.more_now = True
            tick()
            if limit.aligned:
                self._emit_watermarks()
                limit.moved(before, self.watermark)
            began, now = now, time.monotonic()
            self._poll_size.observe(len(batch.values), now - began)
            if now > deadline:
                break
            if brief and len(batch.values) < wanted:
                if batch.split_id in given:
                    self._trickles = len(batch.values) < given[batch.split_id]
                    break
                given[batch.split_id] = len(batch.values)
        self._forget_finished()
        if self._reader.exhausted and self._no_more_splits:
            self._end()
        elif max_records and not self._held:
            self._find_idle_splits(found_nothing)

    def _find_idle_splits(self, found_nothing: bool) -> None:
        """Let splits that have nothing more to read become idle after a while, and only these."""
        if not self._trackers:
            if found_nothing and not self._told_idle and self._idle_timer.found_nothing():
                self._told_idle = True
                self.output.status(True)
            return
        drained = self._reader.drained_splits()
        if drained is None:
            drained = list(self._trackers) if found_nothing else ()
        for split_id in drained:
            if split_id in self._trackers:
                self._trackers[split_id].found_nothing()

    def _hold(self, held: bool) -> None:
        self._held = held
        for tracker in self._trackers.values():
            tracker.held = held

    def _emit_watermarks(self) -> None:
        try:
            for tracker in list(self._trackers.values()):
                tracker.emit_now()
        except Exception as error:
            raise self.failed(error) from error

    @property
    def aligned_watermark(self) -> int | None:
        """The source's watermark; None if others need not wait for it: idle, or nothing to read."""
        if self.ended or self._told_idle or self._reader.exhausted:
            return None
        return self.watermark

    @property
    def exhausted(self) -> bool:
        """Whether all splits so far were read to their end."""
        return self.ended or self._reader.exhausted

    @property
    def has_backlog(self) -> bool:
        """Whether the reader had more than what came while other records were read."""
        return self.more_now and not self._trickles

    def split_watermarks(self, most: int) -> list[tuple[str, int, bool]]:
        """Splits that are furthest behind, with their watermarks and whether they are idle."""
        if self.ended:
            return []
        found = [(split, t.watermark, t.idle) for split, t in self._trackers.items()]
        return sorted(found, key=lambda split: split[1:])[:most]

    def _poll(self, max_records: int) -> ReadBatch | None:
        try:
            return self._reader.poll(max_records)
        except Exception as error:
            raise self.failed(error, where="reading the source") from error

    def _emit(self, batch: ReadBatch, records: Batch) -> None:
        if self._plain:
            self._emit_with_own_marks(batch, records)
            return
        if not batch.values:
            return
        try:
            self._tracker(batch.split_id).process(records, self.output.emit)
        except Exception as error:
            raise self.failed(error) from error

    def _emit_with_own_marks(self, batch: ReadBatch, records: Batch) -> None:
        """No strategy makes watermarks, so those of the source itself count."""
        split_id, watermark = batch.split_id, batch.watermark
        if batch.values:
            if split_id in self._trackers:
                self._trackers[split_id].mark_active()
            self.output.emit(records)
        if watermark is not None:
            self._tracker(split_id).emit_watermark(watermark)
        if batch.idle:
            self._tracker(split_id).mark_idle()

    def _tracker(self, split_id: str) -> WatermarkTracker:
        tracker = self._trackers.get(split_id)
        if tracker is None:
            tracker = self._trackers[split_id] = WatermarkTracker(
                self._strategy, self.context.clock, self._interval_ms, self._changed
            )
            self._drop_finished()
            if self._told_idle:
                self._changed()
        return tracker

    def _forget_finished(self) -> None:
        self._finished.update(s for s in self._reader.finished_splits() if s in self._trackers)
        self._drop_finished()

    def _drop_finished(self) -> None:
        """Finished splits hold nothing back; the last one stays to say how far the source is."""
        while self._finished and len(self._trackers) > 1:
            del self._trackers[self._finished.pop()]
            self._changed()

    def drain(self) -> None:
        """End here, as if the source had: the rest is for the job started from the savepoint."""
        self._end()

    def _end(self) -> None:
        if self.ended:
            return
        self.ended = True
        self.more_now = False
        self.watermark = MAX_TIMESTAMP
        self.output.watermark(MAX_TIMESTAMP)
        self.output.end()

    def process_time(self, now: int) -> None:
        if self.ended:
            return
        try:
            for tracker in list(self._trackers.values()):
                tracker.process_time(now)
        except Exception as error:
            raise self.failed(error) from error

    def wake_up_at(self) -> int | None:
        if self.ended:
            return None
        now = self.context.clock()
        times = [t.wake_up_at() for t in self._trackers.values()]
        if not self._trackers and not self._told_idle:
            times.append(self._idle_timer.due_at)
        if not self._held:
            times.append(now if self.more_now else self._reader.available_at(now))
        return min((t for t in times if t is not None), default=None)

    def _changed(self) -> None:
        trackers = self._trackers.values()
        idle = all(t.idle for t in trackers)
        if idle != self._told_idle:
            self._told_idle = idle
            self.output.status(idle)
        active = [t.watermark for t in trackers if not t.idle]
        watermark = min(active) if active else max(t.watermark for t in trackers)
        if watermark > self.watermark:
            self.watermark = watermark
            self.output.watermark(watermark)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._reader.on_checkpoint(checkpoint)
        self._checkpoints.before_snapshot(checkpoint, timestamp)

    def notify_checkpoint(self, checkpoint: int, completed: bool) -> None:
        self._checkpoints.notify(checkpoint, completed)
        if not completed:
            return
        try:
            self._reader.on_checkpoint_complete(checkpoint)
        except Exception as error:
            raise self.failed(error, where="a checkpoint's completion") from error

    def snapshot(self) -> dict[str, Any]:
        if self._reader.user_function is not None:
            # Its thread goes on after the reader's snapshot, and may change what it put there.
            self.operator_state.detach_lists()
        return {**super().snapshot(), "splits": self._reader.snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._restored_splits = list(snapshot.get("splits", ()))


def _records(batch: ReadBatch) -> Batch:
    if batch.columns:
        (columns,) = batch.values
        return ColumnBatch(columns)
    values: Any = batch.values
    if isinstance(values, ColumnRows):
        return LazyBatch(values.columns, len(values), values.make)
    return Batch(values, batch.timestamps)


class _ReaderContext:
    def __init__(self, operator: SourceOperator) -> None:
        self._operator = operator
        self._context = operator.context

    @property
    def subtask(self) -> int:
        return self._context.task.subtask

    @property
    def parallelism(self) -> int:
        return self._context.task.parallelism

    @property
    def runtime_context(self) -> RuntimeContext:
        return OperatorRuntimeContext(self._context)

    def now_ms(self) -> int:
        return self._context.clock()

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        letters = self._operator.dead_letters
        if letters:
            letters.add(self._context.name, error, record, "deserialization", timestamp)
        return bool(letters)

    @property
    def finds_idleness(self) -> bool:
        return self._operator.finds_idleness

    def data_available(self) -> None:
        self._context.services.data_available()
