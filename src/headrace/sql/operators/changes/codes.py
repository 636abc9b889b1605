"""TO_CHANGELOG and FROM_CHANGELOG: the kinds of rows as codes in a column, and back."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import INSERT, RowOperator
from headrace.sql.operators.changes.specs import FromChangelogSpec, ToChangelogSpec


class ToChangelogOperator(RowOperator):
    """A row for each change that has a code; no state."""

    def __init__(self, spec: ToChangelogSpec) -> None:
        super().__init__()
        self._spec = spec

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        codes = self._spec.codes
        if self._spec.changes:
            coded = ((codes[row[-1]], *row[:-1]) for row in batch.values)
        else:
            coded = ((codes[INSERT], *row) for row in batch.values)
        self.emit_rows([row for row in coded if row[0] is not None])


class FromChangelogOperator(RowOperator):
    """A change for each row; no state."""

    def __init__(self, spec: FromChangelogSpec) -> None:
        super().__init__()
        self._op = spec.op
        self._kinds = dict(spec.kinds)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        op, kinds = self._op, self._kinds
        out: list[tuple[Any, ...]] = []
        for row in batch.values:
            kind = kinds.get(row[op])
            if kind is None:
                raise self.failed(self._unknown(row[op]), row)
            out.append((*row[:op], *row[op + 1 :], kind))
        self.emit_rows(out)

    def _unknown(self, code: str | None) -> ValueError:
        if code is None:
            return ValueError(
                "Received NULL op code. Every changelog row must carry an operation code."
            )
        known = ", ".join(self._kinds)
        return ValueError(f"Received invalid op code '{code}'. Defined op codes are: {known}.")
