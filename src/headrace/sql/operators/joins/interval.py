"""Interval joins: rows with equal keys meet if their times are not too far apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import compress
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.joins.regular import PairCondition, Row, matches_nothing
from headrace.sql.operators.joins.specs import IntervalJoinSpec

Entry = list[Any]
"""A row that is kept: its time, the row itself, and whether it has had a partner."""

_time = itemgetter(0)

_PASSED_MS = 1
"""A row of the last time that a partner can have still finds one when time is just there."""


class IntervalJoinOperator(RowOperator):
    """Joins rows as they come, and keeps each until all that could belong to it has come.

    A row of time t has partners up to t plus what its side is kept for. When time has passed that
    the row is forgotten, and comes out with NULL if it had no partner and its side is an outer one.
    Late rows are joined with what is still there, as in Flink. Since rows come out later than their
    time, the watermark is held back as far as the longer of both sides waits.
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._sides = (spec.left, spec.right)
        self._kept_ms = (-spec.lower_ms, spec.upper_ms)
        outer = spec.left.outer or spec.right.outer
        self._held_back_ms = max(*self._kept_ms, 0) + outer * _PASSED_MS
        self._condition: PairCondition | None = None
        self._nulls = tuple((None,) * side.width for side in (spec.right, spec.left))

    def open(self) -> None:
        self._states = (self.value_state("left"), self.value_state("right"))
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)

    # Input.

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        keys, rows = batch.keys, batch.values
        assert keys is not None
        self.records_in += len(rows)
        now = self._now()
        arrived: list[tuple[Any, Entry]] = []
        alone: list[Entry] = []
        for key, row, time in zip(keys, rows, self._times(input_index, rows, now), strict=True):
            entry = [time, row, False]
            if time is None or matches_nothing(key, self._spec.null_safe):
                alone.append(entry)
            else:
                arrived.append((key, entry))
        out = self._joined(input_index, arrived)
        alone += self._keep(input_index, arrived, now)
        self.forget_key()
        self.emit_rows(out + self._padded(input_index, alone))

    def _now(self) -> int:
        return self.context.clock() if self._spec.times is None else self.watermark

    def _times(self, input_index: int, rows: Sequence[Row], now: int) -> list[int | None]:
        if self._spec.times is None:
            return [now] * len(rows)
        column = self._spec.times[input_index]
        # An outer join below may have left the time out.
        return [None if (at := row[column]) is None else at // 1000 for row in rows]

    def _joined(self, input_index: int, arrived: Sequence[tuple[Any, Entry]]) -> list[Row]:
        """Pairs of new rows with those of the other side; both then have had a partner."""
        own_ms, other_ms = self._kept_ms[input_index], self._kept_ms[1 - input_index]
        state = self._states[1 - input_index]
        others: dict[Any, list[Entry]] = {}
        pairs: list[tuple[Row, Any, Entry, Entry]] = []
        for key, entry in arrived:
            held = others.get(key)
            if held is None:
                self.cell.key = key
                held = others[key] = state.value() or []
            first = bisect_left(held, entry[0] - other_ms, key=_time)
            last = bisect_right(held, entry[0] + own_ms, first, key=_time)
            for other in held[first:last]:
                row = (*other[1], *entry[1]) if input_index else (*entry[1], *other[1])
                pairs.append((row, key, entry, other))
        if self._condition is not None and pairs:
            true = self._condition.fulfilled([row for row, *_ in pairs])
            pairs = list(compress(pairs, true))
        outer = self._sides[1 - input_index].outer
        found: dict[Any, list[Entry]] = {}
        for _, key, entry, other in pairs:
            entry[2] = True
            if outer and not other[2]:
                other[2] = True
                found[key] = others[key]
        self.store(state, found)
        return [row for row, *_ in pairs]

    def _keep(
        self, input_index: int, arrived: Sequence[tuple[Any, Entry]], now: int
    ) -> list[Entry]:
        """Keeps rows that may still find a partner; gives those that never have one."""
        kept_ms, state = self._kept_ms[input_index], self._states[input_index]
        changed: dict[Any, list[Entry]] = {}
        alone: list[Entry] = []
        for key, entry in arrived:
            if entry[0] + kept_ms <= now:
                if not entry[2]:
                    alone.append(entry)
                continue
            held = changed.get(key)
            if held is None:
                self.cell.key = key
                held = changed[key] = state.value() or []
            if not held or entry[0] < held[0][0]:
                self._timers.register(entry[0] + kept_ms + _PASSED_MS, (key, input_index))
            insort(held, entry, key=_time)
        self.store(state, changed)
        return alone

    def _padded(self, input_index: int, entries: Sequence[Entry]) -> list[Row]:
        """Rows without a partner, if their side keeps them."""
        if not self._sides[input_index].outer:
            return []
        nulls = self._nulls[input_index]
        return [(*nulls, *row) if input_index else (*row, *nulls) for _, row, _ in entries]

    # Time.

    @property
    def _timers(self) -> Any:
        return self.processing_timers if self._spec.times is None else self.event_timers

    def process_watermark(self, timestamp: int) -> None:
        if self._spec.times is None:
            super().process_watermark(timestamp)
        elif timestamp > self.watermark:
            self.watermark = timestamp
            self._forget(timestamp)
            held_back = 0 if timestamp == MAX_TIMESTAMP else self._held_back_ms
            self.output.watermark(timestamp - held_back)

    def fire_processing_timers(self, until: int) -> None:
        self._forget(until)

    def _forget(self, until: int) -> None:
        """Rows whose partners would all be late; each key and side waits for its first row."""
        out: list[Row] = []
        for _, (key, input_index) in self._timers.pop_due(until):
            self.cell.key = key
            state, wait_ms = self._states[input_index], self._kept_ms[input_index] + _PASSED_MS
            held = state.value() or []
            over = bisect_right(held, until - wait_ms, key=_time)
            out += self._padded(input_index, [entry for entry in held[:over] if not entry[2]])
            if over == len(held):
                state.clear()
                continue
            if over:
                state.update(held[over:])
            self._timers.register(held[over][0] + wait_ms, (key, input_index))
        self.forget_key()
        self.emit_rows(out)

    def key_of_timer(self, address: Any) -> Any:
        return address[0]
