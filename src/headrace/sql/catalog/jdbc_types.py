"""Types of database columns as types of SQL, as in Flink's jdbc catalog."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.types.atomic import MAX_LENGTH

__all__ = ["DatabaseColumn", "mysql_type", "postgres_type"]

_MOST_DIGITS = 38


@dataclass(frozen=True)
class DatabaseColumn:
    """A column, as `information_schema.columns` has it."""

    name: str
    type: str
    is_nullable: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    time_precision: int | None = None

    @property
    def nullable(self) -> bool:
        """Whether it may be NULL."""
        return self.is_nullable == "YES"


Maker = Callable[[DatabaseColumn, bool], t.DataType]


def _string(column: DatabaseColumn, nullable: bool) -> t.DataType:
    return t.VarCharType(MAX_LENGTH, nullable)


def _bytes(column: DatabaseColumn, nullable: bool) -> t.DataType:
    return t.VarBinaryType(MAX_LENGTH, nullable)


def _decimal(column: DatabaseColumn, nullable: bool) -> t.DataType:
    # PostgreSQL's NUMERIC without a precision.
    precision, scale = column.precision or _MOST_DIGITS, column.scale
    if precision > _MOST_DIGITS:
        raise SqlError(
            f"column {column.name} has {precision} digits, but a DECIMAL has at most {_MOST_DIGITS}"
        )
    scale = scale if scale is not None else 18
    return t.DecimalType(precision, scale, nullable)


def _char(column: DatabaseColumn, nullable: bool) -> t.DataType:
    return t.CharType(column.length or 1, nullable)


def _varchar(column: DatabaseColumn, nullable: bool) -> t.DataType:
    return t.VarCharType(column.length or MAX_LENGTH, nullable)


def _precision(column: DatabaseColumn) -> int:
    return 6 if column.time_precision is None else column.time_precision


def _plain(made: Callable[[bool], t.DataType]) -> Maker:
    return lambda column, nullable: made(nullable)


_POSTGRES: dict[str, Maker] = {
    "bool": _plain(t.BooleanType),
    "int2": _plain(t.SmallIntType),
    "int4": _plain(t.IntType),
    "int8": _plain(t.BigIntType),
    "float4": _plain(t.FloatType),
    "float8": _plain(t.DoubleType),
    "date": _plain(t.DateType),
    "numeric": _decimal,
    "text": _string,
    "bpchar": _char,
    "varchar": _varchar,
    "bytea": _bytes,
    "time": lambda c, n: t.TimeType(_precision(c), n),
    "timestamp": lambda c, n: t.TimestampType(_precision(c), n),
    "timestamptz": lambda c, n: t.LocalZonedTimestampType(_precision(c), n),
}

_MYSQL: dict[str, Maker] = {
    "bit": _plain(t.BooleanType),
    "tinyint": _plain(t.TinyIntType),
    "tinyint unsigned": _plain(t.SmallIntType),
    "smallint": _plain(t.SmallIntType),
    "smallint unsigned": _plain(t.IntType),
    "mediumint": _plain(t.IntType),
    "mediumint unsigned": _plain(t.IntType),
    "int": _plain(t.IntType),
    "int unsigned": _plain(t.BigIntType),
    "bigint": _plain(t.BigIntType),
    "bigint unsigned": lambda c, n: t.DecimalType(20, 0, n),
    "decimal": _decimal,
    "decimal unsigned": _decimal,
    "float": _plain(t.FloatType),
    "float unsigned": _plain(t.FloatType),
    "double": _plain(t.DoubleType),
    "double unsigned": _plain(t.DoubleType),
    "date": _plain(t.DateType),
    "time": lambda c, n: t.TimeType(_precision(c), n),
    "datetime": lambda c, n: t.TimestampType(_precision(c), n),
    "timestamp": lambda c, n: t.TimestampType(_precision(c), n),
    "char": _char,
    "varchar": _varchar,
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "json", "enum", "set"), _string),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _bytes),
}

# What MySQL writes behind the name of a type: tinyint(1) unsigned, enum('a','b').
_DETAILS = re.compile(r"\(.*\)")


def postgres_type(column: DatabaseColumn, table: str) -> t.DataType:
    """The type of a column of PostgreSQL."""
    if column.type.startswith("_") and column.type[1:] in _POSTGRES:
        return t.ArrayType(_POSTGRES[column.type[1:]](column, True), column.nullable)
    return _made(_POSTGRES, column.type, column, table)


def mysql_type(column: DatabaseColumn, table: str) -> t.DataType:
    """The type of a column of MySQL or MariaDB."""
    if column.type == "tinyint(1)":
        return t.BooleanType(column.nullable)
    name = _DETAILS.sub("", column.type.lower()).replace(" zerofill", "").strip()
    return _made(_MYSQL, name, column, table)


def _made(makers: dict[str, Maker], name: str, column: DatabaseColumn, table: str) -> t.DataType:
    maker = makers.get(name)
    if maker is None:
        raise SqlError(
            f"table {table} cannot be used: there is no type for {column.type} of its column "
            f"{column.name}; declare the columns that you need with CREATE TABLE and "
            "'connector' = 'jdbc'"
        )
    return maker(column, column.nullable)
