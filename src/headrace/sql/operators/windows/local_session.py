"""The part of an aggregate of sessions before the exchange."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import HoldingOperator
from headrace.sql.operators.windows.session_aggregate import SessionParts
from headrace.sql.operators.windows.sessions import Part
from headrace.sql.operators.windows.specs import LocalSessionAggregateSpec

_MOST_LOCAL = 200_000


class LocalSessionAggregateOperator(HoldingOperator):
    """Aggregates rows of a key that are in the same session for sure; emits parts of sessions."""

    def __init__(self, spec: LocalSessionAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = itemgetter(*spec.key) if spec.key else None
        self._parts = SessionParts(spec)
        self._merge = spec.code.merge.load()
        self._held: dict[Any, Part] = {}
        self._first: int | None = None

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        spec = self._spec
        times = [row[spec.time] // 1000 for row in rows]
        keys = [()] * len(rows) if self._key is None else list(map(self._key, rows))
        first = min(times)
        try:
            if first + spec.gap - 1 <= self.watermark:
                # Whether a row is too late depends on those before it.
                self.flush()
                self.emit_rows(list(self._parts.of_each(keys, rows, times)))
                return
            self._hold(self._parts.of_rows(keys, rows, times))
        except Exception as error:
            raise self.failed(error, where="aggregates") from error
        self._first = first if self._first is None else min(first, self._first)
        if len(self._held) > _MOST_LOCAL:
            self.flush()

    def _hold(self, parts: list[Part]) -> None:
        held, gap = self._held, self._spec.gap
        for part in parts:
            key, start, end, accumulator = part
            slot = (key, start // gap)
            other = held.get(slot)
            if other is not None:
                self._merge(other[3], accumulator)
                part = (key, min(start, other[1]), max(end, other[2]), other[3])
            held[slot] = part

    def process_watermark(self, timestamp: int) -> None:
        """A session that is over now may go on with what is here."""
        if self._first is not None and self._first - 1 <= timestamp:
            self.flush()
        super().process_watermark(timestamp)

    def flush(self) -> None:
        parts = list(self._held.values())
        self._held = {}
        self._first = None
        self.emit_rows(parts)
