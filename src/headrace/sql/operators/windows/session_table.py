"""SESSION as a table function: rows with the start, end and time of the session they are in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.sql.operators.windows.sessions import Part, SessionOperator
from headrace.sql.operators.windows.specs import SessionTableSpec


class SessionTableOperator(SessionOperator):
    """The content of a session is its rows: they come out when it is over."""

    def __init__(self, spec: SessionTableSpec) -> None:
        super().__init__(spec)
        self._spec = spec

    def parts_of(self, keys: list[Any], rows: list[Any]) -> Iterable[Part]:
        gap, column, now = self._spec.gap, self._spec.time, self.context.clock()
        for key, row in zip(keys, rows, strict=True):
            start = row[column] // 1000 if self._spec.event_time else now
            yield key, start, start + gap, [row]

    def merge(self, content: list[Any], other: list[Any]) -> None:
        content += other

    def results(self, key: Any, content: list[Any], window: tuple[int, ...]) -> list[Any]:
        return [(*row, *window) for row in content]
