"""Of all changes of a key in an epoch, the last one: for sinks in which rows replace each other."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import HoldingOperator
from headrace.sql.operators.changes.specs import LastChangesSpec


class LastChangesOperator(HoldingOperator):
    """Holds the rows of an epoch; a checkpoint is taken after they have gone on."""

    def __init__(self, spec: LastChangesSpec) -> None:
        super().__init__()
        self._key = itemgetter(*spec.keys)
        self._rows: dict[Any, tuple[Any, ...]] = {}

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        rows = self._rows
        for key, row in zip(map(self._key, batch.values), batch.values, strict=True):
            # Rows go on in the order of their last change.
            rows.pop(key, None)
            rows[key] = row

    def flush(self) -> None:
        rows, self._rows = self._rows, {}
        self.emit_rows(list(rows.values()))
