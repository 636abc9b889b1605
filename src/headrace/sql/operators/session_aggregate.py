"""Aggregates of session windows: windows of a key that are closer than the gap are merged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.functions.builtin.times import to_local
from headrace.sql.operators.base import RowOperator, zone_of
from headrace.sql.operators.specs import LocalSessionAggregateSpec, SessionAggregateSpec

_STATE = "sessions"
_PROPERTIES = ("start", "end", "time")
_start, _end = itemgetter(0), itemgetter(1)

Part = tuple[Any, int, int, list[Any]]
"""A part of a session: key, start, end and accumulator. Ends are exclusive."""


class SessionParts:
    """Aggregates rows into parts of sessions."""

    def __init__(self, spec: LocalSessionAggregateSpec | SessionAggregateSpec) -> None:
        self._gap = spec.gap
        self._add = spec.code.add.load()
        self._create: Callable[[], list[Any]] = spec.code.create.load()

    def of_rows(self, keys: Sequence[Any], rows: list[Any], times: list[int]) -> list[Part]:
        """One part for all rows of a key whose times are in the same slice of the gap's length."""
        gap, create = self._gap, self._create
        slots = [(key, time // gap) for key, time in zip(keys, times, strict=True)]
        accumulators: dict[Any, list[Any]] = {}
        self._add(slots, rows, accumulators, lambda slot: create())
        numbers = sorted(range(len(times)), key=times.__getitem__)
        in_order = [(slots[i], times[i]) for i in numbers]
        firsts, lasts = dict(reversed(in_order)), dict(in_order)
        return [(s[0], firsts[s], lasts[s] + gap, a) for s, a in accumulators.items()]

    def of_each(self, keys: Sequence[Any], rows: list[Any], times: list[int]) -> Iterable[Part]:
        """One part for each row."""
        for key, row, time in zip(keys, rows, times, strict=True):
            accumulators = {0: self._create()}
            self._add((0,), (row,), accumulators, None)
            yield key, time, time + self._gap, accumulators[0]


class SessionAggregateOperator(RowOperator):
    """Keeps for each key a list of sessions `[start, end, accumulator]`, the first one first."""

    def __init__(self, spec: SessionAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._zone = zone_of(spec.zone)
        self._parts = SessionParts(spec)
        self._merge = spec.code.merge.load()
        self._value = spec.code.value.load()
        self._picked = [_PROPERTIES.index(p) for p in spec.properties]
        self._sessions: dict[Any, list[list[Any]]] = {}
        # Ends of first sessions with a number against comparing keys; a session may have grown
        # since then. What counts of a key is the end in `_scheduled`.
        self._due: list[tuple[int, int, Any]] = []
        self._scheduled: dict[Any, int] = {}
        self._number = 0
        self._saved: set[Any] = set()

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE)
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys(_STATE):
            self.cell.key = key
            sessions = self._sessions[key] = sorted(self._state.value(), key=_start)
            self._saved.add(key)
            self._schedule(key, sessions[0][1])
        self.forget_key()

    def _schedule(self, key: Any, end: int) -> None:
        self._number += 1
        self._scheduled[key] = end
        heappush(self._due, (end, self._number, key))

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        try:
            for part in self._parts_of(batch.keys, batch.values):
                self._insert(*part)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error

    def _parts_of(self, keys: list[Any], values: list[Any]) -> Iterable[Part]:
        spec = self._spec
        if spec.merges and spec.event_time:
            return values
        now = self.context.clock()
        if spec.merges:
            return ((key, now, now + spec.gap, a) for key, a in values)
        if not spec.event_time:
            return self._parts.of_rows(keys, values, [now] * len(values))
        times = [row[spec.time] // 1000 for row in values]
        if min(times) + spec.gap - 1 <= self.watermark:
            # Whether a row is too late depends on those before it.
            return self._parts.of_each(keys, values, times)
        return self._parts.of_rows(keys, values, times)

    def _insert(self, key: Any, start: int, end: int, accumulator: list[Any]) -> None:
        sessions = self._sessions.get(key, [])
        # Sessions do not touch each other, so their ends are in order as well.
        low = bisect_left(sessions, start, key=_end)
        high = bisect_right(sessions, end, key=_start)
        touching = sessions[low:high]
        if touching:
            for other in touching:
                self._merge(other[2], accumulator)
                accumulator = other[2]
            start, end = min(start, touching[0][0]), max(end, touching[-1][1])
        elif self._spec.event_time and end - 1 <= self.watermark:
            return
        sessions[low:high] = [[start, end, accumulator]]
        if low == 0 and not touching:
            self._sessions[key] = sessions
            self._schedule(key, end)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        if self._spec.event_time:
            self._fire(timestamp)
        self.output.watermark(timestamp)

    def process_time(self, now: int) -> None:
        if not self._spec.event_time:
            self._fire(now)

    def wake_up_at(self) -> int | None:
        return None if self._spec.event_time or not self._due else self._due[0][0] - 1

    def _fire(self, until: int) -> None:
        out: list[tuple[Any, ...]] = []
        while self._due and self._due[0][0] - 1 <= until:
            end, _, key = heappop(self._due)
            if self._scheduled.get(key) != end:
                continue
            sessions = self._sessions[key]
            if sessions[0][1] == end:
                out.append(self._row(key, *sessions.pop(0)))
            if sessions:
                self._schedule(key, sessions[0][1])
            else:
                self._forget(key)
        self.emit_rows(out)

    def _forget(self, key: Any) -> None:
        del self._sessions[key], self._scheduled[key]
        if key in self._saved:
            self._saved.discard(key)
            self.cell.key = key
            self._state.clear()
            self.forget_key()

    def _row(self, key: Any, start: int, end: int, accumulator: list[Any]) -> tuple[Any, ...]:
        values = [start * 1000, end * 1000, (end - 1) * 1000]
        if self._zone is not None:
            values[:2] = [to_local(self._zone, v) for v in values[:2]]
        columns = [values[i] for i in self._picked]
        head = (key,) if self._spec.keys == 1 else key
        return (*head, *self._value(accumulator), *columns)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._sessions)
        self._saved |= self._sessions.keys()
        self.forget_key()
