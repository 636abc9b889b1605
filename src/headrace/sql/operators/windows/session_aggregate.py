"""Aggregates of session windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.sql.operators.windows.sessions import Part, SessionOperator
from headrace.sql.operators.windows.specs import LocalSessionAggregateSpec, SessionAggregateSpec

_PROPERTIES = ("start", "end", "time")


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


class SessionAggregateOperator(SessionOperator):
    """The content of a session is an accumulator."""

    def __init__(self, spec: SessionAggregateSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._parts = SessionParts(spec)
        self._merge = spec.code.merge.load()
        self._value = spec.code.value.load()
        self._picked = [_PROPERTIES.index(p) for p in spec.properties]

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        super().open()

    def parts_of(self, keys: list[Any], rows: list[Any]) -> Iterable[Part]:
        spec = self._spec
        if spec.merges and spec.event_time:
            return rows
        now = self.context.clock()
        if spec.merges:
            return ((key, now, now + spec.gap, a) for key, a in rows)
        if not spec.event_time:
            return self._parts.of_rows(keys, rows, [now] * len(rows))
        times = [row[spec.time] // 1000 for row in rows]
        if min(times) + spec.gap - 1 <= self.watermark:
            # Whether a row is too late depends on those before it.
            return self._parts.of_each(keys, rows, times)
        return self._parts.of_rows(keys, rows, times)

    def merge(self, content: list[Any], other: list[Any]) -> None:
        self._merge(content, other)

    def results(self, key: Any, content: list[Any], window: tuple[int, ...]) -> list[Any]:
        head = (key,) if self._spec.keys == 1 else key
        return [(*head, *self._value(content), *[window[i] for i in self._picked])]
