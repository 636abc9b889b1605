"""Types of streams and types of columns: which one stands for which."""

from __future__ import annotations

from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.sql import types as t
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["data_type_of", "type_of_rows"]

_BASIC = {
    BasicType.STRING: DataTypes.STRING(),
    BasicType.BYTE: DataTypes.TINYINT(),
    BasicType.BOOLEAN: DataTypes.BOOLEAN(),
    BasicType.SHORT: DataTypes.SMALLINT(),
    BasicType.INT: DataTypes.INT(),
    BasicType.LONG: DataTypes.BIGINT(),
    BasicType.FLOAT: DataTypes.FLOAT(),
    BasicType.DOUBLE: DataTypes.DOUBLE(),
    BasicType.CHAR: DataTypes.CHAR(1),
    BasicType.BIG_INT: DataTypes.DECIMAL(38, 0),
    BasicType.BIG_DEC: DataTypes.DECIMAL(38, 18),
}

_LOCAL_TIMES: dict[LocalTimeTypeInfo.TimeType, DataType] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DataTypes.DATE(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: DataTypes.TIME(),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: DataTypes.TIMESTAMP(9),
}


def data_type_of(info: TypeInformation) -> DataType:
    """The SQL type of a stream's type."""
    if isinstance(info, ExternalTypeInfo):
        return data_type_of(info.type_info)
    if isinstance(info, BasicTypeInfo):
        found = _BASIC.get(info.basic_type)
        if found is not None:
            return found
    if isinstance(info, RowTypeInfo | TupleTypeInfo):
        types = [data_type_of(i) for i in info.get_field_types()]
        names = [f"f{i}" for i in range(len(types))]
        if isinstance(info, RowTypeInfo):
            names = list(info.get_field_names())
        return t.RowType([t.RowField(a, b) for a, b in zip(names, types, strict=True)])
    if isinstance(info, PrimitiveArrayTypeInfo):
        element = data_type_of(info.element_type)
        if isinstance(element, t.TinyIntType):
            return DataTypes.BYTES()
        return DataTypes.ARRAY(element.not_null())
    if isinstance(info, ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo):
        return DataTypes.ARRAY(data_type_of(info.element_type))
    if isinstance(info, MapTypeInfo):
        return DataTypes.MAP(data_type_of(info.key_type), data_type_of(info.value_type))
    if isinstance(info, LocalTimeTypeInfo):
        return _LOCAL_TIMES[info.time_type]
    name = str(info).upper()
    for word, made in (
        ("TIMESTAMP", DataTypes.TIMESTAMP(9)),
        ("LOCALDATETIME", DataTypes.TIMESTAMP(9)),
        ("INSTANT", DataTypes.TIMESTAMP_LTZ(9)),
        ("DATE", DataTypes.DATE()),
        ("TIME", DataTypes.TIME()),
    ):
        if word in name:
            return made
    return t.RawType()


def type_of_rows(schema: Schema) -> TypeInformation:
    """The type of a table's rows as records of a stream."""
    return ExternalTypeInfo(
        Types.ROW_NAMED(list(schema.names), [_type_info_of(x) for x in schema.types])
    )


_INFOS: dict[type[DataType], TypeInformation] = {
    t.CharType: Types.STRING(),
    t.VarCharType: Types.STRING(),
    t.BooleanType: Types.BOOLEAN(),
    t.TinyIntType: Types.BYTE(),
    t.SmallIntType: Types.SHORT(),
    t.IntType: Types.INT(),
    t.BigIntType: Types.LONG(),
    t.FloatType: Types.FLOAT(),
    t.DoubleType: Types.DOUBLE(),
    t.DecimalType: Types.BIG_DEC(),
    t.BinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.VarBinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.DateType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE),
    t.TimeType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME),
    t.TimestampType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME),
    t.LocalZonedTimestampType: Types.INSTANT(),
}


def _type_info_of(type_: DataType) -> TypeInformation:
    if isinstance(type_, t.RowType):
        return Types.ROW_NAMED(type_.names, [_type_info_of(f.data_type) for f in type_.fields])
    if isinstance(type_, t.MapType):
        return Types.MAP(_type_info_of(type_.key_type), _type_info_of(type_.value_type))
    if isinstance(type_, t.ArrayType) and not isinstance(type_, t.MultisetType):
        return Types.OBJECT_ARRAY(_type_info_of(type_.element_type))
    return _INFOS.get(type(type_), Types.PICKLED_BYTE_ARRAY())
