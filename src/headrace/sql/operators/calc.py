"""Filter and projection: one call of generated code for a batch."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch, LazyBatch
from headrace.sql.codegen.column_calc import ColumnCalc
from headrace.sql.codegen.column_calls import columns_in, computed
from headrace.sql.operators.base import OpenedCode, RowOperator
from headrace.sql.operators.specs import CalcSpec


class CalcOperator(RowOperator):
    """New rows of rows, no state."""

    def __init__(self, spec: CalcSpec) -> None:
        super().__init__()
        self._spec = spec
        self._code: OpenedCode

    def open(self) -> None:
        try:
            self._code = OpenedCode(self._spec.code, self)
        except Exception as error:
            raise self.failed(error, where="open") from error

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch)
        if isinstance(batch, LazyBatch) and self._spec.columns is not None:
            kept = passed(self._spec.columns, batch)
            if kept is not None:
                self.output.emit(kept)
                return
        values = batch.values
        try:
            rows = self._code.run(values)
        except Exception as error:
            raise self.failed_in(self._code.run, values, error) from error
        if rows:
            self.output.emit(Batch(rows))


def passed(calc: ColumnCalc, batch: LazyBatch) -> LazyBatch | None:
    """The rows that pass, still as columns; None if a column is not one of Arrow's."""
    from pyarrow import compute

    mask: Any = None
    for test in calc.tests:
        if any(isinstance(batch.columns[i], list) for i in columns_in(test)):
            return None
        found = computed(test, batch.columns)
        mask = found if mask is None else compute.and_(mask, found)
    if calc.picks is not None:
        batch = batch.picked(calc.picks)
    return batch if mask is None else batch.kept(mask)
