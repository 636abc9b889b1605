"""Arrow batches of internal values that come from Spark's JVM, in a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import numbers_of, values_of
from headrace.runtime.batch import LazyBatch
from headrace.runtime.whole_keys import MOST_COLUMNS
from headrace.sql import types as t
from headrace.sql.segments.expressions import storage
from headrace.sql.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "KeyedRowsOfColumns",
    "KeysOfColumns",
    "RowsOfColumns",
    "arrow_schema",
    "arrow_stream",
    "arrow_type",
    "column_of_numbers",
    "filled_values",
    "joined",
    "key_values",
]


@dataclass(frozen=True)
class RowsOfColumns:
    """Rows as tuples; columns that nobody needs are None.

    Attributes:
        width: How many columns a row has.
        positions: Where the columns of a batch belong.
    """

    width: int
    positions: tuple[int, ...]

    def __call__(self, batch: pa.RecordBatch) -> list[Any]:
        return self.lazy(batch).values

    def lazy(self, batch: pa.RecordBatch) -> LazyBatch:
        """The same, made when somebody looks at them; their columns are in their places."""
        count = batch.num_rows
        columns: list[Any] = [None] * self.width
        for position, column in zip(self.positions, batch.columns, strict=True):
            columns[position] = column

        def rows(columns: list[Any]) -> list[Any]:
            lists = [repeat(None, count) if c is None else values_of(c) for c in columns]
            return list(zip(*lists, strict=True)) if lists else [()] * count

        return LazyBatch(columns, count, rows)


@dataclass(frozen=True)
class KeysOfColumns:
    """Keys of rows; `positions` are those of a batch's columns that make them."""

    positions: tuple[int, ...]

    def __call__(self, batch: pa.RecordBatch) -> list[Any]:
        return key_values([values_of(batch.column(i)) for i in self.positions], batch.num_rows)

    def numbers(self, batch: pa.RecordBatch) -> list[Any] | None:
        """Columns of whole numbers, none of them NULL, as arrays of numpy."""
        import pyarrow.types as at

        columns = [batch.column(i) for i in self.positions]
        whole = all(at.is_integer(c.type) and c.null_count == 0 for c in columns)
        return list(map(numbers_of, columns)) if whole and len(columns) <= MOST_COLUMNS else None


@dataclass(frozen=True)
class KeyedRowsOfColumns:
    """Rows with their keys."""

    rows: RowsOfColumns
    keys: KeysOfColumns

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        return self.rows(batch), self.keys(batch)


def key_values(columns: list[list[Any]], count: int) -> list[Any]:
    """Keys of rows: a single value is not a tuple."""
    if len(columns) == 1:
        return columns[0]
    return list(zip(*columns, strict=True)) if columns else [()] * count


def filled_values(column: pa.Array, empty: Any) -> list[Any]:
    """The values of a column of accumulators; `empty` stands for NULL."""
    if column.null_count == 0 or empty is None:
        return values_of(column)
    return [empty if v is None else v for v in column.to_pylist()]


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches in one."""
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    columns = map(pa.concat_arrays, zip(*(b.columns for b in batches), strict=True))
    return pa.RecordBatch.from_arrays(list(columns), batches[0].schema.names)


def column_of_numbers(numbers: Any) -> pa.Array:
    """The column of a numpy array of 64-bit numbers, without pandas, which Arrow would import."""
    import numpy as np
    import pyarrow as pa

    buffer = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, buffer])


def arrow_schema(types: Sequence[DataType]) -> bytes:
    """The schema of batches whose columns have these types, as bytes."""
    import pyarrow as pa

    fields = [pa.field(f"o{i}", arrow_type(x)) for i, x in enumerate(types)]
    schema: bytes = pa.schema(fields).serialize().to_pybytes()
    return schema


def arrow_stream(rows: Sequence[Any], types: Sequence[DataType], names: Sequence[str]) -> bytes:
    """Rows of internal values as columns in an Arrow stream."""
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, arrow_type(x)) for c, x in zip(columns, types, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, list(names))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def arrow_type(type_: DataType) -> Any:
    """Arrow's type for internal values of a type."""
    import pyarrow as pa

    if isinstance(type_, t.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    return {
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "STRING": pa.string(),
        "BINARY": pa.binary(),
    }[storage(type_)]
