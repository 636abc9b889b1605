"""Windows of a number of rows: a result when so many rows of a key are there."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.windows.specs import RowWindowAggregateSpec

_STATE = "rows"


class RowWindowAggregateOperator(RowOperator):
    """Keeps the rows of the windows that are not full yet, for each key."""

    def __init__(self, spec: RowWindowAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._value = spec.code.value.load()
        self._state: Any

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        by_key: dict[Any, list[Any]] = {}
        for key, row in zip(batch.keys, batch.values, strict=True):
            by_key.setdefault(key, []).append(row)
        out: list[tuple[Any, ...]] = []
        try:
            for key, rows in by_key.items():
                self._append(key, rows, out)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error
        self.forget_key()
        self.emit_rows(out)

    def _append(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        """Window k has the rows from k * slide on; the first one that is kept begins a window."""
        size, slide = self._spec.size, self._spec.slide
        self.cell.key = key
        # Rows of no window, where the slide is longer than a window, are counted and left out.
        kept, skip = self._state.value() or ([], 0)
        kept = [*kept, *rows[skip:]]
        skip = max(skip - len(rows), 0)
        head = (key,) if self._spec.keys == 1 else key
        while len(kept) >= size:
            accumulator = self._create()
            self._add([0] * size, kept[:size], {0: accumulator}, None)
            out.append((*head, *self._value(accumulator)))
            skip = max(slide - len(kept), 0)
            kept = kept[slide:]
        self._state.update((kept, skip))
