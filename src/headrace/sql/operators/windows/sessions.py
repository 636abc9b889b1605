"""Session windows: those of a key that are closer than the gap are merged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.functions.builtin.times import to_local
from headrace.sql.operators.base import RowOperator, zone_of
from headrace.sql.operators.windows.specs import SessionAggregateSpec, SessionTableSpec

_STATE = "sessions"
_start, _end = itemgetter(0), itemgetter(1)

Part = tuple[Any, int, int, list[Any]]
"""A part of a session: key, start, end and content. Ends are exclusive."""


class SessionOperator(RowOperator):
    """Keeps for each key a list of sessions `[start, end, content]`, the first one first."""

    def __init__(self, spec: SessionAggregateSpec | SessionTableSpec) -> None:
        super().__init__()
        self._event_time = spec.event_time
        self._zone = zone_of(spec.zone)
        self._sessions: dict[Any, list[list[Any]]] = {}
        # Ends of first sessions with a number against comparing keys; a session may have grown
        # since then. What counts of a key is the end in `_scheduled`.
        self._due: list[tuple[int, int, Any]] = []
        self._scheduled: dict[Any, int] = {}
        self._number = 0
        self._saved: set[Any] = set()

    def parts_of(self, keys: list[Any], rows: list[Any]) -> Iterable[Part]:
        """What rows bring to sessions."""
        raise NotImplementedError

    def merge(self, content: list[Any], other: list[Any]) -> None:
        """Adds the content of a later part of the session."""
        raise NotImplementedError

    def results(self, key: Any, content: list[Any], window: tuple[int, ...]) -> list[Any]:
        """The rows of a session that is over; its window is start, end and time."""
        raise NotImplementedError

    def open(self) -> None:
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
            for part in self.parts_of(batch.keys, batch.values):
                self._insert(*part)
        except Exception as error:
            raise self.failed(error, where="sessions") from error

    def _insert(self, key: Any, start: int, end: int, content: list[Any]) -> None:
        sessions = self._sessions.get(key, [])
        # Sessions do not touch each other, so their ends are in order as well.
        low = bisect_left(sessions, start, key=_end)
        high = bisect_right(sessions, end, key=_start)
        touching = sessions[low:high]
        if touching:
            for other in touching:
                self.merge(other[2], content)
                content = other[2]
            start, end = min(start, touching[0][0]), max(end, touching[-1][1])
        elif self._event_time and end - 1 <= self.watermark:
            return
        sessions[low:high] = [[start, end, content]]
        if low == 0 and not touching:
            self._sessions[key] = sessions
            self._schedule(key, end)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        if self._event_time:
            self._fire(timestamp)
        self.output.watermark(timestamp)

    def process_time(self, now: int) -> None:
        if not self._event_time:
            self._fire(now)

    def wake_up_at(self) -> int | None:
        return None if self._event_time or not self._due else self._due[0][0] - 1

    def _fire(self, until: int) -> None:
        out: list[tuple[Any, ...]] = []
        while self._due and self._due[0][0] - 1 <= until:
            end, _, key = heappop(self._due)
            if self._scheduled.get(key) != end:
                continue
            sessions = self._sessions[key]
            if sessions[0][1] == end:
                start, end, content = sessions.pop(0)
                out += self.results(key, content, self._window(start, end))
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

    def _window(self, start: int, end: int) -> tuple[int, ...]:
        """Start, end and time, in microseconds."""
        shown = start * 1000, end * 1000
        if self._zone is not None:
            shown = to_local(self._zone, shown[0]), to_local(self._zone, shown[1])
        return (*shown, (end - 1) * 1000)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._sessions)
        self._saved |= self._sessions.keys()
        self.forget_key()
