"""Aggregates of session windows: windows of a key that are closer than the gap are merged."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.builtin.times import to_local
from headrace.sql.operators.base import RowOperator, zone_of
from headrace.sql.specs import SessionAggregateSpec

_STATE = "sessions"


class SessionAggregateOperator(RowOperator):
    """Keeps for each key a list of sessions `[start, end, accumulator]`; ends are exclusive."""

    def __init__(self, spec: SessionAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._zone = zone_of(spec.zone)
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._merge = spec.code.merge.load()
        self._value = spec.code.value.load()
        self._sessions: dict[Any, list[list[Any]]] = {}
        # Ends of sessions with a number against comparing keys; a session may have moved on.
        self._due: list[tuple[int, int, Any]] = []
        self._number = 0
        self._saved: set[Any] = set()

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE)
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys(_STATE):
            self.cell.key = key
            self._sessions[key] = self._state.value()
            self._saved.add(key)
            for session in self._sessions[key]:
                self._schedule(key, session)
        self.forget_key()

    def _schedule(self, key: Any, session: list[Any]) -> None:
        self._number += 1
        heappush(self._due, (session[1], self._number, key))

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        column, gap = self._spec.time, self._spec.gap
        now = self.context.clock()
        for key, row in zip(batch.keys, batch.values, strict=True):
            time = row[column] // 1000 if self._spec.event_time else now
            accumulators = {0: self._create()}
            self._add((0,), (row,), accumulators, None)
            self._insert(key, [time, time + gap, accumulators[0]])

    def _insert(self, key: Any, new: list[Any]) -> None:
        sessions = self._sessions.setdefault(key, [])
        touching = [s for s in sessions if s[0] <= new[1] and new[0] <= s[1]]
        if not touching and self._spec.event_time and new[1] - 1 <= self.watermark:
            if not sessions:
                del self._sessions[key]
            return
        for other in touching:
            new = [min(new[0], other[0]), max(new[1], other[1]), self._merged(other[2], new[2])]
            sessions.remove(other)
        sessions.append(new)
        self._schedule(key, new)

    def _merged(self, first: list[Any], second: list[Any]) -> list[Any]:
        self._merge(first, second)
        return first

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
            sessions = self._sessions.get(key, [])
            for session in [s for s in sessions if s[1] == end]:
                sessions.remove(session)
                out.append(self._row(key, session))
            if not sessions:
                self._forget(key)
        self.emit_rows(out)

    def _forget(self, key: Any) -> None:
        self._sessions.pop(key, None)
        if key in self._saved:
            self._saved.discard(key)
            self.cell.key = key
            self._state.clear()
            self.forget_key()

    def _row(self, key: Any, session: list[Any]) -> tuple[Any, ...]:
        start, end, accumulator = session
        values = {"start": start * 1000, "end": end * 1000, "time": (end - 1) * 1000}
        if self._zone is not None:
            values["start"] = to_local(self._zone, values["start"])
            values["end"] = to_local(self._zone, values["end"])
        columns = [values[p] for p in self._spec.properties]
        head = (key,) if self._spec.keys == 1 else key
        return (*head, *self._value(accumulator), *columns)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._sessions)
        self._saved |= self._sessions.keys()
        self.forget_key()
