"""Filter and projection: one call of generated code for a batch."""

from __future__ import annotations

from headrace.runtime.batch import Batch, LazyBatch
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
        if isinstance(batch, LazyBatch) and self._spec.picks is not None:
            self.output.emit(batch.picked(self._spec.picks))
            return
        values = batch.values
        try:
            rows = self._code.run(values)
        except Exception as error:
            raise self.failed_in(self._code.run, values, error) from error
        if rows:
            self.output.emit(Batch(rows))

    def close(self) -> None:
        if hasattr(self, "_code"):
            self._code.close()
