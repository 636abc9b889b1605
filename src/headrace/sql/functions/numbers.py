"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.functions.registry import scalar
from headrace.sql.types import DataType


def _rounded(types: Sequence[DataType]) -> DataType | None:
    """The binder narrows decimals where it knows the digits."""
    return types[0]


def _whole(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    return t.DecimalType(first.precision, 0, False) if isinstance(first, t.DecimalType) else first


FUNCTIONS = [
    scalar("ABS", "number|interval", "arg0"),
    scalar("POWER", "double, double", "double", "numbers:power"),
    scalar("SQRT", "double", "double", "numbers:square_root"),
    scalar("LN", "double", "double", "numbers:natural_log"),
    scalar("LOG10", "double", "double", "numbers:log10"),
    scalar("LOG2", "double", "double", "numbers:log2"),
    scalar("LOG", "double, double?", "double", "numbers:log"),
    scalar("EXP", "double", "double", "numbers:exp"),
    scalar("CEIL", "number", _whole, "numbers:ceiling"),
    scalar("FLOOR", "number", _whole, "numbers:floor"),
    scalar("SIN", "double", "double", "numbers:sin"),
    scalar("COS", "double", "double", "numbers:cos"),
    scalar("TAN", "double", "double", "numbers:tan"),
    scalar("COT", "double", "double", "numbers:cot"),
    scalar("ASIN", "double", "double", "numbers:asin"),
    scalar("ACOS", "double", "double", "numbers:acos"),
    scalar("ATAN", "double", "double", "numbers:atan"),
    scalar("ATAN2", "double, double", "double", "numbers:atan2"),
    scalar("SINH", "double", "double", "numbers:sinh"),
    scalar("COSH", "double", "double", "numbers:cosh"),
    scalar("TANH", "double", "double", "numbers:tanh"),
    scalar("DEGREES", "double", "double", "numbers:degrees"),
    scalar("RADIANS", "double", "double", "numbers:radians"),
    scalar("SIGN", "number", "arg0", "numbers:sign"),
    scalar("ROUND", "number, int?", _rounded, "numbers:rounded"),
    scalar("TRUNCATE", "number, int?", _rounded, "numbers:truncated"),
    scalar("PI", "", "double!", "numbers:pi"),
    scalar("E", "", "double!", "numbers:euler"),
    scalar("RAND", "int?", "double!", "numbers:rand", deterministic=False),
    scalar("RAND_INTEGER", "int, int?", "int", "numbers:rand_integer", deterministic=False),
    scalar("UUID", "", "string!", "numbers:uuid", deterministic=False),
    scalar("BIN", "bigint", "string", "numbers:binary_text"),
    scalar("INET_ATON", "string", "bigint?", "numbers:inet_aton"),
    scalar("INET_NTOA", "bigint", "string?", "numbers:inet_ntoa"),
    scalar("UNHEX", "string", "bytes?", "numbers:unhex"),
    scalar("HEX", "bigint|string", "string", "numbers:hex_text"),
]
