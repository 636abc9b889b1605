"""Columns that headrace's own code computes inside a query of Spark, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.segments.columns import RowsOfColumns, arrow_type
from headrace.sql.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PythonColumns"]


@dataclass(frozen=True)
class PythonColumns:
    """Makes new batches of columns of batches.

    Attributes:
        rows: Rows of the columns that the code looks at, which come after all others.
        code: Gives rows of new values.
        computed: Types of the columns that come out, in order; None for one that is passed on.
        names: Their names.
    """

    rows: RowsOfColumns
    code: GeneratedCode
    computed: tuple[DataType | None, ...]
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        run = self.code.load()
        passed = self.computed.count(None)
        places = list(range(passed, passed + len(self.rows.positions)))
        for batch in batches:
            columns = iter(batch.columns[:passed])
            values = zip(*run(self.rows(batch.select(places))), strict=True)
            arrays = [
                next(columns) if x is None else pa.array(next(values, ()), arrow_type(x))
                for x in self.computed
            ]
            yield pa.RecordBatch.from_arrays(arrays, list(self.names))
