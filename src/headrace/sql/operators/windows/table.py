"""Window table functions: rows with the start, end and time of each window they are in."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.windows.slices import SliceAssigner, window_columns
from headrace.sql.operators.windows.specs import WindowTableSpec

_ALL = ("start", "end", "time")


class WindowTableOperator(RowOperator):
    """No state: each row becomes as many rows as it has windows."""

    def __init__(self, spec: WindowTableSpec) -> None:
        super().__init__()
        self._spec = spec
        self._slices = SliceAssigner(spec.slices)
        self._instant = spec.slices.zone is not None
        self._known: dict[int, list[Any]] = {}

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        spec, slices = self._spec, self._slices
        if spec.event_time:
            times = [r[spec.time] for r in rows]
        else:
            times = [self.context.clock() * 1000] * len(rows)
        out: list[tuple[Any, ...]] = []
        ends = slices.slice_ends(slices.local_millis(times))
        for row, end in zip(rows, ends, strict=True):
            for columns in self._windows(end):
                out.append((*row, *columns))
        self.emit_rows(out)

    def _windows(self, slice_end: int) -> list[Any]:
        found = self._known.get(slice_end)
        if found is None:
            if len(self._known) > 1000:
                self._known.clear()
            ends = self._slices.windows_of(slice_end)
            found = [window_columns(self._slices, e, _ALL, self._instant) for e in ends]
            self._known[slice_end] = found
        return found
