"""Types of Spark, as its schemas have them in JSON, as types of SQL, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.types.atomic import MAX_LENGTH

__all__ = ["spark_type", "sql_type"]

_SIMPLE: dict[str, Callable[[bool], t.DataType]] = {
    "boolean": t.BooleanType,
    "byte": t.TinyIntType,
    "short": t.SmallIntType,
    "integer": t.IntType,
    "long": t.BigIntType,
    "float": t.FloatType,
    "double": t.DoubleType,
    "date": t.DateType,
    "string": lambda nullable: t.VarCharType(MAX_LENGTH, nullable),
    "binary": lambda nullable: t.VarBinaryType(MAX_LENGTH, nullable),
    "timestamp": lambda nullable: t.LocalZonedTimestampType(6, nullable),
    "timestamp_ntz": lambda nullable: t.TimestampType(6, nullable),
}
_TEXTS: dict[type[t.DataType], str] = {
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INT",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DateType: "DATE",
    t.CharType: "STRING",
    t.VarCharType: "STRING",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "BINARY",
    t.LocalZonedTimestampType: "TIMESTAMP",
    t.TimestampType: "TIMESTAMP_NTZ",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def sql_type(type_: Any, nullable: bool, column: str) -> t.DataType:
    """The type of a column.

    Args:
        type_: What `StructType.jsonValue()` has for it.
        nullable: Whether it may be NULL.
        column: Its name, for messages.
    """
    if isinstance(type_, dict):
        return _nested(type_, nullable, column)
    if type_ in _SIMPLE:
        return _SIMPLE[type_](nullable)
    decimal = _DECIMAL.fullmatch(type_)
    if decimal is not None:
        return t.DecimalType(int(decimal[1]), int(decimal[2]), nullable)
    raise SqlError(f"column {column} is {type_} in Spark, for which there is no type")


def _nested(type_: dict[str, Any], nullable: bool, column: str) -> t.DataType:
    if type_["type"] == "array":
        element = sql_type(type_["elementType"], type_["containsNull"], column)
        return t.ArrayType(element, nullable)
    if type_["type"] == "map":
        key = sql_type(type_["keyType"], False, column)
        value = sql_type(type_["valueType"], type_["valueContainsNull"], column)
        return t.MapType(key, value, nullable)
    if type_["type"] == "struct":
        fields = [
            t.RowField(f["name"], sql_type(f["type"], f["nullable"], f"{column}.{f['name']}"))
            for f in type_["fields"]
        ]
        return t.RowType(fields, nullable)
    raise SqlError(f"column {column} is {type_['type']} in Spark, for which there is no type")


def spark_type(type_: t.DataType) -> str:
    """The type that values of a type have in Spark's SQL.

    Raises:
        SqlError: Spark has none.
    """
    if isinstance(type_, t.DecimalType):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if isinstance(type_, t.ArrayType):
        return f"ARRAY<{spark_type(type_.element_type)}>"
    if isinstance(type_, t.MapType):
        return f"MAP<{spark_type(type_.key_type)}, {spark_type(type_.value_type)}>"
    if isinstance(type_, t.RowType):
        fields = [f"`{f.name}`: {spark_type(f.data_type)}" for f in type_.fields]
        return f"STRUCT<{', '.join(fields)}>"
    found = _TEXTS.get(type(type_))
    if found is None:
        raise SqlError(f"Spark has no type for {type_.sql_text()}")
    return found
