"""Functions of many rows at once: their results become columns."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import OpenedCode, RowOperator
from headrace.sql.operators.specs import BatchedCallsSpec


class BatchedCallsOperator(RowOperator):
    """No state but that of the users' functions."""

    def __init__(self, spec: BatchedCallsSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codes: list[OpenedCode] = []

    def open(self) -> None:
        self.open_functions(self._spec.functions)
        self._codes = [OpenedCode(code, self) for code in self._spec.arguments]

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        for start in range(0, len(rows), self._spec.size):
            self._process(rows[start : start + self._spec.size])

    def _process(self, rows: list[Any]) -> None:
        try:
            columns = [
                function.batch(code.run(rows))
                for function, code in zip(self._spec.functions, self._codes, strict=True)
            ]
        except Exception as error:
            raise self.failed(error, where="function of a batch") from error
        results = zip(*columns, strict=True)
        if self._spec.changelog:
            out = [(*r[:-1], *new, r[-1]) for r, new in zip(rows, results, strict=True)]
        else:
            out = [(*r, *new) for r, new in zip(rows, results, strict=True)]
        self.emit_rows(out)

    def close(self) -> None:
        super().close()
        for code in self._codes:
            code.close()
