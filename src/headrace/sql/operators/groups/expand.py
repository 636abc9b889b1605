"""Grouping sets: each row once for every set, with NULL for columns that are not in it."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.groups.specs import ExpandSpec


class ExpandOperator(RowOperator):
    """No state."""

    def __init__(self, spec: ExpandSpec) -> None:
        super().__init__()
        self._spec = spec

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        out: list[tuple[Any, ...]] = []
        changelog = self._spec.changelog
        for row in batch.values:
            tail = row[-1:] if changelog else ()
            for kept, number in self._spec.sets:
                values = [v if k else None for v, k in zip(row, kept, strict=False)]
                out.append((*values, number, *tail))
        self.emit_rows(out)
