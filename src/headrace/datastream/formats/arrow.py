"""Between rows and Arrow's columns, by declared types.

Files in Parquet and ORC, and Spark's DataFrames, hold columns. A declared type is a
`TypeInformation` or a `DataType` of the Table API. `pyarrow` is imported when it is used.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError, TypeMismatchError, shorten_repr
from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row, make_rows, row_of
from headrace.datastream.formats.instants import instant_of, utc_time_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_schema", "record_batch", "row_type_of", "rows_of", "type_info_of"]

Convert = Callable[[Any], Any]


# Declared types to those of Arrow.


def arrow_schema(row_type: Any) -> pa.Schema:
    """The columns of a declared row type, a `RowTypeInfo` or a `RowType`."""
    import pyarrow as pa

    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in _fields(row_type)])


def _fields(row_type: Any) -> list[tuple[str, Any]]:
    if isinstance(row_type, RowTypeInfo):
        names, types = row_type.get_field_names(), row_type.get_field_types()
        return list(zip(names, types, strict=True))
    if _kind(row_type) == "RowType":
        return [(field.name, field.data_type) for field in row_type.fields]
    raise GraphError(f"a row type such as DataTypes.ROW([...]) is needed, not {row_type!r}")


def arrow_type(declared: Any) -> pa.DataType:
    """Arrow's type for a declared one."""
    found = (
        _arrow_of_type_info(declared)
        if isinstance(declared, TypeInformation)
        else _arrow_of_data_type(declared)
    )
    if found is None:
        raise GraphError(f"there is no column type for the type {declared}")
    return found


def _struct(row_type: Any) -> pa.DataType:
    import pyarrow as pa

    return pa.struct([pa.field(name, arrow_type(kind)) for name, kind in _fields(row_type)])


_BASIC = {
    BasicType.STRING: "string",
    BasicType.CHAR: "string",
    BasicType.BYTE: "int8",
    BasicType.BOOLEAN: "bool_",
    BasicType.SHORT: "int16",
    BasicType.INT: "int32",
    BasicType.LONG: "int64",
    BasicType.FLOAT: "float32",
    BasicType.DOUBLE: "float64",
}


def _arrow_of_type_info(declared: TypeInformation) -> pa.DataType | None:
    import pyarrow as pa

    if isinstance(declared, ExternalTypeInfo):
        return arrow_type(declared.type_info)
    if isinstance(declared, InstantTypeInfo):
        return pa.timestamp("us", "UTC")
    if isinstance(declared, BasicTypeInfo):
        if declared.basic_type in _BASIC:
            return getattr(pa, _BASIC[declared.basic_type])()
        # Flink's tables keep decimals of the DataStream API with this precision, too.
        scale = 0 if declared.basic_type is BasicType.BIG_INT else 18
        return pa.decimal128(38, scale)
    if isinstance(declared, PrimitiveArrayTypeInfo) and declared.element_type == Types.BYTE():
        return pa.binary()
    if isinstance(
        declared,
        PrimitiveArrayTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | ListTypeInfo,
    ):
        return pa.list_(arrow_type(declared.element_type))
    if isinstance(declared, MapTypeInfo):
        return pa.map_(arrow_type(declared.key_type), arrow_type(declared.value_type))
    if isinstance(declared, RowTypeInfo):
        return _struct(declared)
    if isinstance(declared, TupleTypeInfo):
        types = declared.get_field_types()
        return pa.struct([pa.field(f"f{i}", arrow_type(t)) for i, t in enumerate(types)])
    return _arrow_of_time(declared)


def _arrow_of_time(declared: TypeInformation) -> pa.DataType | None:
    import pyarrow as pa

    kind = declared.time_type if isinstance(declared, LocalTimeTypeInfo) else None
    local = LocalTimeTypeInfo.TimeType
    if isinstance(declared, DateTypeInfo) or kind is local.LOCAL_DATE:
        return pa.date32()
    if isinstance(declared, TimeTypeInfo) or kind is local.LOCAL_TIME:
        return pa.time64("us")
    if isinstance(declared, TimestampTypeInfo) or kind is local.LOCAL_DATE_TIME:
        return pa.timestamp("us")
    return None


# By name, since the types of the Table API belong to a layer above this one.
_DATA_TYPES = {
    "BooleanType": "bool_",
    "TinyIntType": "int8",
    "SmallIntType": "int16",
    "IntType": "int32",
    "BigIntType": "int64",
    "FloatType": "float32",
    "DoubleType": "float64",
    "CharType": "string",
    "VarCharType": "string",
    "BinaryType": "binary",
    "VarBinaryType": "binary",
    "DateType": "date32",
}


def _kind(declared: Any) -> str:
    return type(declared).__name__


def _arrow_of_data_type(declared: Any) -> pa.DataType | None:
    import pyarrow as pa

    kind = _kind(declared)
    if kind in _DATA_TYPES:
        return getattr(pa, _DATA_TYPES[kind])()
    if kind == "DecimalType":
        return pa.decimal128(declared.precision, declared.scale)
    if kind == "TimeType":
        return pa.time64("us")
    if kind in ("TimestampType", "LocalZonedTimestampType"):
        return pa.timestamp("us", None if kind == "TimestampType" else "UTC")
    if kind == "MultisetType":
        return pa.map_(arrow_type(declared.element_type), pa.int32())
    if kind == "ArrayType":
        return pa.list_(arrow_type(declared.element_type))
    if kind == "MapType":
        return pa.map_(arrow_type(declared.key_type), arrow_type(declared.value_type))
    return _struct(declared) if kind == "RowType" else None


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


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch of columns."""
    names = list(batch.schema.names)
    if not names:
        return [row_of([], names) for _ in range(batch.num_rows)]
    columns = [_values(column) for column in batch.columns]
    return make_rows(map(list, zip(*columns, strict=True)), names)


def _values(column: Any) -> list[Any]:
    import pyarrow.types as at

    kind = column.type
    if column.null_count == 0 and (at.is_integer(kind) or at.is_floating(kind)):
        # Several times as fast as `to_pylist`, which looks at each value.
        numbers: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return numbers
    convert = _from_arrow(kind)
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _from_arrow(kind: pa.DataType) -> Convert | None:
    """What turns `to_pylist`'s values into those of a stream; None where they are the same."""
    import pyarrow.types as at

    if at.is_timestamp(kind):
        if kind.tz is not None:
            return instant_of
        return _to_datetime if kind.unit == "ns" else None
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        names = [f.name for f in fields]
        parts = [(f.name, _nullable(_from_arrow(f.type))) for f in fields]
        return lambda v: row_of([convert(v[name]) for name, convert in parts], names)
    if at.is_map(kind):
        key, item = _nullable(_from_arrow(kind.key_type)), _nullable(_from_arrow(kind.item_type))
        return lambda v: {key(k): item(i) for k, i in v}
    if at.is_list(kind) or at.is_large_list(kind) or at.is_fixed_size_list(kind):
        of_item = _from_arrow(kind.value_type)
        if of_item is None:
            return None
        element = _nullable(of_item)
        return lambda v: [element(i) for i in v]
    return None


def _nullable(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda v: v
    return lambda v: None if v is None else convert(v)


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
        except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as error:
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


def _misfit(
    field: pa.Field, values: Sequence[Any], convert: Convert | None, error: Exception
) -> TypeMismatchError:
    import pyarrow as pa

    bad = ""
    for value in values:
        try:
            pa.array([value], field.type)
        except Exception:
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
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        names = [f.name for f in fields]
        parts = [_nullable(_to_arrow(f.type)) for f in fields]
        return lambda v: {
            name: convert(value)
            for name, convert, value in zip(names, parts, _fields_of(v, names), strict=True)
        }
    if at.is_map(kind):
        key, item = _nullable(_to_arrow(kind.key_type)), _nullable(_to_arrow(kind.item_type))
        return lambda v: [(key(k), item(i)) for k, i in dict(v).items()]
    if at.is_list(kind) or at.is_large_list(kind):
        of_item = _to_arrow(kind.value_type)
        if of_item is None:
            return None
        element = _nullable(of_item)
        return lambda v: [element(i) for i in v]
    return None


def _time_of_instant(value: Any) -> Any:
    return utc_time_of(value) if isinstance(value, Instant) else value
