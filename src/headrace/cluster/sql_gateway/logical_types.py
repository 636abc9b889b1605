"""SQL types as the gateway's JSON has them, in Flink's form."""

from __future__ import annotations

from typing import Any

from headrace.sql import types as t
from headrace.sql.types import DataType

__all__ = ["column_type_of", "logical_type"]

_NAMES: dict[type[DataType], str] = {
    t.IntType: "INTEGER",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
}
_MONTHS = {1: "YEAR", 2: "MONTH", 3: "YEAR_TO_MONTH"}


def logical_type(type_: DataType) -> dict[str, Any]:
    """The JSON of a type. What only Python knows is text, since that is how it is sent."""
    if isinstance(type_, t.NullType):
        return {"type": "NULL"}
    if isinstance(type_, t.UserDefinedType):
        return logical_type(type_.sql_type())
    if isinstance(type_, t.RawType):
        return logical_type(t.VarCharType(t.MAX_LENGTH, type_.is_nullable))
    name = _NAMES.get(type(type_)) or type_.root
    return {"type": name, "nullable": type_.is_nullable, **_details(type_)}


def _details(type_: DataType) -> dict[str, Any]:
    if isinstance(type_, t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType):
        return {"length": type_.length}
    if isinstance(type_, t.DecimalType):
        return {"precision": type_.precision, "scale": type_.scale}
    if isinstance(type_, t.TimeType | t.TimestampType | t.LocalZonedTimestampType):
        return {"precision": type_.precision}
    if isinstance(type_, t.YearMonthIntervalType):
        return {"precision": type_.precision, "resolution": _MONTHS[type_.resolution]}
    if isinstance(type_, t.DayTimeIntervalType):
        return {
            "precision": type_.day_precision,
            "fractionalPrecision": type_.fractional_precision,
            "resolution": type_.resolution.name,
        }
    if isinstance(type_, t.ArrayType):
        return {"elementType": logical_type(type_.element_type)}
    if isinstance(type_, t.MapType):
        return {
            "keyType": logical_type(type_.key_type),
            "valueType": logical_type(type_.value_type),
        }
    if isinstance(type_, t.RowType):
        fields = [{"name": f.name, "fieldType": logical_type(f.data_type)} for f in type_.fields]
        return {"fields": fields}
    return {}


_PLAIN = {
    "BOOLEAN": t.BooleanType,
    "TINYINT": t.TinyIntType,
    "SMALLINT": t.SmallIntType,
    "INTEGER": t.IntType,
    "BIGINT": t.BigIntType,
    "FLOAT": t.FloatType,
    "DOUBLE": t.DoubleType,
    "DATE": t.DateType,
}
_PRECISE = {
    "TIME_WITHOUT_TIME_ZONE": t.TimeType,
    "TIMESTAMP_WITHOUT_TIME_ZONE": t.TimestampType,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": t.LocalZonedTimestampType,
}


def column_type_of(json: dict[str, Any]) -> DataType:
    """The type of a column that is shown as text; what has no width of its own is text itself."""
    name = json["type"]
    if name in _PLAIN:
        return _PLAIN[name]()
    if name in _PRECISE:
        return _PRECISE[name](json["precision"])
    if name == "DECIMAL":
        return t.DecimalType(json["precision"], json["scale"])
    return t.VarCharType(t.MAX_LENGTH)
