"""Sees to it that columns which are declared NOT NULL have no NULL."""

from __future__ import annotations

from headrace.common.errors import HeadraceError
from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.specs import NotNullSpec


class NotNullOperator(RowOperator):
    """Fails at a row with NULL where there must be none, or leaves it out."""

    def __init__(self, spec: NotNullSpec) -> None:
        super().__init__()
        self._columns = spec.columns
        self._names = spec.names
        self._drop = spec.drop

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        wrong = [r for r in batch.values if any(r[c] is None for c in self._columns)]
        if not wrong:
            self.output.emit(batch)
            return
        if not self._drop:
            raise self.failed(self._error(wrong[0]), where="sink") from None
        kept = [r for r in batch.values if all(r[c] is not None for c in self._columns)]
        self.emit_rows(kept)

    def _error(self, row: tuple[object, ...]) -> HeadraceError:
        pairs = zip(self._columns, self._names, strict=True)
        name = next(n for c, n in pairs if row[c] is None)
        return HeadraceError(
            f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can "
            "set job configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this "
            "exception and drop such records silently."
        )
