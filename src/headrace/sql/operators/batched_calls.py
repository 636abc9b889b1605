"""Functions of many rows at once: their results become columns."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch, LazyBatch
from headrace.sql.formats.base import rows_of_columns
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
        self.records_in += len(batch)
        size, places = self._spec.size, self._spec.places
        for start in range(0, len(batch), size):
            if isinstance(batch, LazyBatch) and places is not None:
                self._process_columns([c[start : start + size] for c in batch.columns], places)
            else:
                self._process(batch.values[start : start + size])

    def _process_columns(self, columns: list[Any], places: tuple[tuple[int, ...], ...]) -> None:
        """Columns stay columns: a function gets those that are its arguments."""
        try:
            made = [
                function.columns([columns[i] for i in arguments])
                for function, arguments in zip(self._spec.functions, places, strict=True)
            ]
        except Exception as error:
            raise self.failed(error, where="function of a batch") from error
        self.output.emit(LazyBatch([*columns, *made], len(columns[0]), rows_of_columns))

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
