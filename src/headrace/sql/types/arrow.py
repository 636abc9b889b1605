"""SQL types of Arrow's, and the other way round, as PyFlink has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["arrow_type_of", "create_arrow_schema", "data_type_of"]


_PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _unit(precision: int) -> str:
    """The unit of times with so many digits of seconds."""
    return next(unit for unit, digits in _PRECISIONS.items() if precision <= digits)


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> Any:
    """Arrow's schema of columns with names and types."""
    import pyarrow as pa

    pairs = zip(field_names, field_types, strict=True)
    return pa.schema([pa.field(n, arrow_type_of(x), x.is_nullable) for n, x in pairs])


def data_type_of(kind: Any, nullable: bool = True) -> DataType:
    """The type of a column of Arrow."""
    import pyarrow as pa

    simple = {
        pa.bool_(): DataTypes.BOOLEAN(),
        pa.int8(): DataTypes.TINYINT(),
        pa.int16(): DataTypes.SMALLINT(),
        pa.int32(): DataTypes.INT(),
        pa.int64(): DataTypes.BIGINT(),
        pa.float32(): DataTypes.FLOAT(),
        pa.float64(): DataTypes.DOUBLE(),
        pa.date32(): DataTypes.DATE(),
    }
    if kind in simple:
        return simple[kind]
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return DataTypes.STRING()
    if types.is_fixed_size_binary(kind):
        return DataTypes.BINARY(kind.byte_width)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return DataTypes.BYTES()
    if types.is_decimal(kind):
        return DataTypes.DECIMAL(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        # With a zone, too, as in PyFlink: it is then the clock of UTC.
        return DataTypes.TIMESTAMP(_PRECISIONS[kind.unit])
    if types.is_time(kind):
        return DataTypes.TIME(_PRECISIONS[kind.unit])
    if types.is_list(kind) or types.is_large_list(kind):
        return DataTypes.ARRAY(data_type_of(kind.value_type))
    if types.is_map(kind):
        return DataTypes.MAP(data_type_of(kind.key_type), data_type_of(kind.item_type))
    if types.is_struct(kind):
        return DataTypes.ROW([t.RowField(f.name, data_type_of(f.type)) for f in kind])
    if types.is_null(kind):
        return DataTypes.NULL()
    raise FunctionTypeError(f"Unsupported data type to convert to Arrow type: {kind}")


def arrow_type_of(type_: DataType) -> Any:
    """Arrow's type for values of a type, as users' objects."""
    import pyarrow as pa

    simple: dict[type, Any] = {
        t.BooleanType: pa.bool_(),
        t.TinyIntType: pa.int8(),
        t.SmallIntType: pa.int16(),
        t.IntType: pa.int32(),
        t.BigIntType: pa.int64(),
        t.FloatType: pa.float32(),
        t.DoubleType: pa.float64(),
        t.CharType: pa.string(),
        t.VarCharType: pa.string(),
        t.VarBinaryType: pa.binary(),
        t.DateType: pa.date32(),
        t.NullType: pa.null(),
        t.DayTimeIntervalType: pa.duration("us"),
    }
    found = simple.get(type(type_))
    if found is not None:
        return found
    if isinstance(type_, t.BinaryType):
        return pa.binary(type_.length)
    if isinstance(type_, t.TimeType):
        unit = _unit(type_.precision)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return pa.timestamp(_unit(type_.precision))
    if isinstance(type_, t.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, t.RowType):
        return pa.struct([(f.name, arrow_type_of(f.data_type)) for f in type_.fields])
    if isinstance(type_, t.MapType):
        return pa.map_(arrow_type_of(type_.key_type), arrow_type_of(type_.value_type))
    if isinstance(type_, t.ArrayType) and not isinstance(type_, t.MultisetType):
        return pa.list_(arrow_type_of(type_.element_type))
    raise FunctionTypeError(f"Arrow has no type for {type_.sql_text()}")
