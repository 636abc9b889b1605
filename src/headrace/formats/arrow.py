"""Between rows and Arrow's columns, by declared types.

Files in Parquet and ORC, and Spark's DataFrames, hold columns. A declared type is a
`TypeInformation` or a `DataType` of the Table API. `pyarrow` is imported when it is used.
"""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from headrace.common.errors import GraphError, TypeMismatchError, shorten_repr
from headrace.common.instants import instant_of, utc_time_of
from headrace.common.time import Instant
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.common.types import Row, make_rows, row_of
from headrace.formats.shapes import Convert, Kind, Shape, fitted_decimal, or_none, shape_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "arrow_schema",
    "arrow_type",
    "arrow_type_of",
    "constant_of",
    "numbers_of",
    "record_batch",
    "row_type_of",
    "rows_of",
    "text_scalar",
    "type_info_of",
    "values_of",
]


# Declared types to those of Arrow.


def arrow_schema(row_type: Any) -> pa.Schema:
    """The columns of a declared row type, a `RowTypeInfo` or a `RowType`."""
    import pyarrow as pa

    shape = shape_of(row_type)
    if shape.kind is not Kind.ROW:
        raise GraphError(f"a row type such as DataTypes.ROW([...]) is needed, not {row_type!r}")
    return pa.schema([pa.field(name, arrow_type_of(part)) for name, part in shape.fields])


def arrow_type(declared: Any) -> pa.DataType:
    """Arrow's type for a declared one, a `TypeInformation` or a `DataType`."""
    return arrow_type_of(shape_of(declared))


_SIMPLE = {
    Kind.BOOLEAN: "bool_",
    Kind.FLOAT: "float32",
    Kind.DOUBLE: "float64",
    Kind.TEXT: "string",
    Kind.BYTES: "binary",
    Kind.DATE: "date32",
}


def arrow_type_of(shape: Shape) -> pa.DataType:
    """Arrow's type for a shape."""
    import pyarrow as pa

    kind = shape.kind
    if kind in _SIMPLE:
        return getattr(pa, _SIMPLE[kind])()
    if kind is Kind.INTEGER:
        return {8: pa.int8, 16: pa.int16, 32: pa.int32, 64: pa.int64}[shape.bits]()
    if kind is Kind.DECIMAL and shape.precision is not None:
        return pa.decimal128(shape.precision, shape.scale)
    if kind in (Kind.DECIMAL, Kind.BIG_INTEGER):
        # Flink's tables keep decimals of the DataStream API with this precision, too.
        return pa.decimal128(38, 18 if kind is Kind.DECIMAL else 0)
    if kind is Kind.TIME:
        return pa.time64("us")
    if kind in (Kind.TIMESTAMP, Kind.INSTANT):
        return pa.timestamp("us", "UTC" if kind is Kind.INSTANT else None)
    parts = [arrow_type_of(part) for part in shape.parts]
    if kind is Kind.ARRAY:
        return pa.list_(*parts)
    if kind is Kind.MAP:
        return pa.map_(*parts)
    if kind is Kind.MULTISET:
        return pa.map_(*parts, pa.int32())
    if kind in (Kind.ROW, Kind.TUPLE):
        names = shape.names or [f"f{i}" for i in range(len(parts))]
        return pa.struct([pa.field(n, part) for n, part in zip(names, parts, strict=True)])
    raise GraphError(f"there is no column type for the type {shape}")


# Arrow's types to those of streams.


def row_type_of(schema: pa.Schema) -> RowTypeInfo:
    """The type of the rows that columns give."""
    types = [type_info_of(field.type) for field in schema]
    return RowTypeInfo(types, list(schema.names))


def type_info_of(kind: pa.DataType) -> TypeInformation:
    """The type of a column's values."""
    import pyarrow.types as at

    scalars: list[tuple[Callable[[Any], bool], Callable[[], TypeInformation]]] = [
        (at.is_boolean, Types.BOOLEAN),
        (at.is_int8, Types.BYTE),
        (at.is_int16, Types.SHORT),
        (at.is_int32, Types.INT),
        (at.is_integer, Types.LONG),
        (at.is_float32, Types.FLOAT),
        (at.is_floating, Types.DOUBLE),
        (at.is_string, Types.STRING),
        (at.is_large_string, Types.STRING),
        (at.is_decimal, Types.BIG_DEC),
        (at.is_date, Types.SQL_DATE),
        (at.is_time, Types.SQL_TIME),
    ]
    for is_kind, type_info in scalars:
        if is_kind(kind):
            return type_info()
    if at.is_timestamp(kind):
        return Types.SQL_TIMESTAMP() if kind.tz is None else Types.INSTANT()
    if at.is_binary(kind) or at.is_large_binary(kind) or at.is_fixed_size_binary(kind):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if at.is_map(kind):
        return Types.MAP(type_info_of(kind.key_type), type_info_of(kind.item_type))
    if at.is_list(kind) or at.is_large_list(kind) or at.is_fixed_size_list(kind):
        return Types.LIST(type_info_of(kind.value_type))
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return Types.ROW_NAMED([f.name for f in fields], [type_info_of(f.type) for f in fields])
    if at.is_dictionary(kind):
        return type_info_of(kind.value_type)
    raise GraphError(f"a stream has no type for a column of {kind}; cast it first")


# Rows from columns.


def rows_of(batch: pa.RecordBatch, zone: ZoneInfo | None = None) -> list[Row]:
    """The rows of a batch of columns.

    Args:
        batch: The columns.
        zone: With it, instants are times in this zone instead of `Instant`.
    """
    names = list(batch.schema.names)
    if not names:
        return [row_of([], names) for _ in range(batch.num_rows)]
    columns = [_stream_values(column, zone) for column in batch.columns]
    return make_rows(map(list, zip(*columns, strict=True)), names)


def _stream_values(column: Any, zone: ZoneInfo | None) -> list[Any]:
    convert = _from_arrow(column.type, zone)
    values = values_of(column)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def values_of(column: Any) -> list[Any]:
    """A list of a column: through numpy where there is no NULL, which is several times faster."""
    import pyarrow.types as at

    if column.null_count == 0 and (at.is_integer(column.type) or at.is_floating(column.type)):
        return numbers_of(column).tolist()  # type: ignore[no-any-return]
    if at.is_dictionary(column.type):
        # Equal values are one object, too.
        words = dict(enumerate(values_of(column.dictionary)))
        return list(map(words.get, values_of(column.indices)))
    return column.to_pylist()  # type: ignore[no-any-return]


# Arrow's own ways from and to numpy import pandas first, which takes most of a second in a slot.


def numbers_of(column: Any) -> Any:
    """The numpy array of a column of numbers without NULL."""
    import numpy as np

    if not len(column):
        return np.empty(0, np.int64)
    kind = np.dtype(column.type.to_pandas_dtype())
    end = column.offset + len(column)
    return np.frombuffer(column.buffers()[1], kind, end)[column.offset :]


def text_scalar(text: str) -> Any:
    """A text as Arrow has it."""
    import pyarrow as pa

    data = text.encode()
    ends = pa.py_buffer(array("i", (0, len(data))))
    return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)])[0]


def constant_of(value: Any) -> Any:
    """A text or a number as Arrow has it: its own way would import pandas first."""
    import pyarrow as pa

    if isinstance(value, str):
        return text_scalar(value)
    code, kind = ("d", pa.float64()) if isinstance(value, float) else ("q", pa.int64())
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(array(code, (value,)))])[0]


def _from_arrow(kind: pa.DataType, zone: ZoneInfo | None) -> Convert | None:
    """What turns `to_pylist`'s values into those of a stream; None where they are the same."""
    import pyarrow.types as at

    if at.is_timestamp(kind):
        if kind.tz is not None:
            return instant_of if zone is None else lambda v: v.astimezone(zone)
        return _to_datetime if kind.unit == "ns" else None
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        names = [f.name for f in fields]
        parts = [(f.name, or_none(_from_arrow(f.type, zone))) for f in fields]
        return lambda v: row_of([convert(v[name]) for name, convert in parts], names)
    if at.is_map(kind):
        key, item = (or_none(_from_arrow(k, zone)) for k in (kind.key_type, kind.item_type))
        return lambda v: {key(k): item(i) for k, i in v}
    if at.is_list(kind) or at.is_large_list(kind) or at.is_fixed_size_list(kind):
        of_item = _from_arrow(kind.value_type, zone)
        if of_item is None:
            return None
        element = or_none(of_item)
        return lambda v: [element(i) for i in v]
    return None


def _to_datetime(value: Any) -> datetime.datetime:
    """Without nanoseconds, which Python's times do not have."""
    if isinstance(value, datetime.datetime) and type(value) is not datetime.datetime:
        plain: datetime.datetime = value.to_pydatetime(warn=False)  # type: ignore[attr-defined]
        return plain
    return value  # type: ignore[no-any-return]


# Columns from rows.


def record_batch(rows: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    """The columns of rows, tuples or dicts.

    Raises:
        TypeMismatchError: A value does not fit its column.
    """
    import pyarrow as pa

    names = list(schema.names)
    columns = _columns(rows, names)
    arrays = []
    for field, values in zip(schema, columns, strict=True):
        convert = _to_arrow(field.type)
        try:
            if convert is not None:
                values = [None if v is None else convert(v) for v in values]
            arrays.append(pa.array(values, field.type))
        except _misfits() as error:
            raise _misfit(field, values, convert, error) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(rows: Sequence[Any], names: list[str]) -> list[Sequence[Any]]:
    if not rows:
        return [() for _ in names]
    by_position = [_fields_of(row, names) for row in rows]
    return list(zip(*by_position, strict=True)) if names else []


def _fields_of(row: Any, names: list[str]) -> Sequence[Any]:
    if isinstance(row, Row):
        values: Sequence[Any] = row.get_fields_by_names(names)
    elif isinstance(row, dict):
        values = [row.get(name) for name in names]
    elif isinstance(row, list | tuple):
        values = row
    else:
        values = [row]
    if len(values) != len(names):
        raise TypeMismatchError(
            f"a record has {len(values)} fields, but the columns are {names}: {shorten_repr(row)}"
        )
    return values


def _misfits() -> tuple[type[Exception], ...]:
    """What `pa.array` raises for a value that does not fit."""
    import pyarrow as pa

    return pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError


def _misfit(
    field: pa.Field, values: Sequence[Any], convert: Convert | None, error: Exception
) -> TypeMismatchError:
    import pyarrow as pa

    bad = ""
    for value in values:
        try:
            pa.array([value], field.type)
        except _misfits():
            bad = f" to {shorten_repr(value)}"
            break
    return TypeMismatchError(
        f"column {field.name!r} has the type {field.type}, and a record gives it a value that does "
        f"not fit{bad}: {error}"
    )


def _to_arrow(kind: pa.DataType) -> Convert | None:
    """What turns values of a stream into such that `pa.array` takes."""
    import pyarrow.types as at

    if at.is_timestamp(kind):
        return _time_of_instant
    if at.is_decimal(kind):
        return fitted_decimal(kind.precision, kind.scale)
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        names = [f.name for f in fields]
        parts = [or_none(_to_arrow(f.type)) for f in fields]
        return lambda v: {
            name: convert(value)
            for name, convert, value in zip(names, parts, _fields_of(v, names), strict=True)
        }
    if at.is_map(kind):
        key, item = or_none(_to_arrow(kind.key_type)), or_none(_to_arrow(kind.item_type))
        return lambda v: [(key(k), item(i)) for k, i in dict(v).items()]
    if at.is_list(kind) or at.is_large_list(kind):
        of_item = _to_arrow(kind.value_type)
        if of_item is None:
            return None
        element = or_none(of_item)
        return lambda v: [element(i) for i in v]
    return None


def _time_of_instant(value: Any) -> Any:
    return utc_time_of(value) if isinstance(value, Instant) else value
