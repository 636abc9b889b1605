"""Segments whose columns Arrow reads from files in the slots, without Spark's JVM.

Spark makes rows of the columns of a file, and columns of these rows again. Where a segment only
chooses, compares and counts columns, Arrow does the same in a fraction of the time, and no query
has to be planned and compiled first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.errors import HeadraceError
from headrace.sql.codegen.column_calls import ColumnValue, computed
from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.operators.groups.column_groups import aggregated
from headrace.sql.segments.columns import arrow_type
from headrace.sql.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NULL_TIME", "ColumnReading", "Groups", "Keep", "Require"]

NULL_TIME = "RowTime field should not be null, please convert it to a non-null long value."
_MOST_ROWS = 500_000


@dataclass(frozen=True)
class Keep:
    """Keeps rows that pass."""

    test: ColumnValue


@dataclass(frozen=True)
class Require:
    """Fails the job for a row without a time."""

    time: ColumnValue


@dataclass(frozen=True)
class Groups:
    """Groups rows, many at once; their columns are named by numbers."""

    keys: tuple[str, ...]
    places: tuple[ColumnPlace, ...]

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keys and aggregates; a key may come again."""
        some: list[pa.RecordBatch] = []
        for batch in batches:
            some.append(batch)
            if sum(b.num_rows for b in some) >= _MOST_ROWS:
                yield from self._grouped(some)
                some = []
        if some:
            yield from self._grouped(some)

    def _grouped(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        import pyarrow as pa

        groups = aggregated(pa.Table.from_batches(batches), list(self.keys), self.places)
        # Without keys there is one that stands for none.
        columns = groups.columns[-len(self.keys) - len(self.places) :]
        return pa.table(columns, [str(i) for i in range(len(columns))]).to_batches()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ColumnReading:
    """What is made of the columns of a file.

    Attributes:
        names: Columns of the file.
        types: Their types.
        checks: Which rows count, in order.
        outputs: Names and values of what comes out, or is grouped.
        groups: How it is grouped.
    """

    names: tuple[str, ...]
    types: tuple[DataType, ...]
    checks: tuple[Keep | Require, ...]
    outputs: tuple[tuple[str, ColumnValue], ...]
    groups: Groups | None = None

    @property
    def modules(self) -> tuple[str, ...]:
        """What is imported for it, and takes a while."""
        return (__name__, *(["pyarrow.acero"] if self.groups is not None else []))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = (batch for batch in map(self._columns, batches) if batch.num_rows)
        if self.groups is None:
            return found
        return self.groups.of(found)

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        there = {name: i for i, name in enumerate(batch.schema.names)}
        columns = [
            _internal(batch.column(there[name]), type_)
            if name in there
            else pa.nulls(batch.num_rows, arrow_type(type_))
            for name, type_ in zip(self.names, self.types, strict=True)
        ]
        count = batch.num_rows
        for check in self.checks:
            if isinstance(check, Keep):
                mask = computed(check.test, columns)
                columns, count = [c.filter(mask) for c in columns], mask.true_count
            elif computed(check.time, columns).null_count:
                raise HeadraceError(NULL_TIME)
        if not count:
            return pa.RecordBatch.from_arrays([], [])
        values = [computed(value, columns) for _, value in self.outputs]
        return pa.RecordBatch.from_arrays(values, [name for name, _ in self.outputs])


def _internal(column: pa.Array, type_: DataType) -> pa.Array:
    """A column of a file as internal values: times are microseconds, dates are days."""
    import pyarrow as pa

    kind = arrow_type(type_)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column if column.type == kind else column.cast(kind)
