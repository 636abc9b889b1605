"""Code for calculations with numbers, times and intervals."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import MAX_DECIMAL, as_decimal, is_interval, is_timestamp

OPERATORS = {"PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/", "MOD": "%"}
OPERATORS |= {"MINUS_PREFIX": "-", "ABS": "abs"}

_DECIMAL = {
    "PLUS": "add_decimal",
    "MINUS": "subtract_decimal",
    "TIMES": "multiply_decimal",
    "DIVIDE": "divide_decimal",
    "MOD": "modulo_decimal",
}
_OF_ONE = {"MINUS_PREFIX": "arithmetic:negative", "ABS": "arithmetic:absolute"}
_DAY_MICROS = 86_400_000_000


def code(
    writer: CodeWriter,
    operator: str,
    args: Sequence[str],
    types: Sequence[DataType],
    result: DataType,
) -> str:
    """Code for an operator of arguments that are not NULL."""
    if operator in _OF_ONE:
        if isinstance(result, t.DecimalType):
            return f"{writer.reference(_OF_ONE[operator])}({args[0]})"
        text = f"{OPERATORS[operator]}({args[0]})"
        return wrapped(writer, text, result) if isinstance(result, t.IntegralType) else text
    if any(is_interval(x) for x in types):
        return _with_interval(writer, operator, args, types, result)
    if isinstance(result, t.IntegralType):
        return _whole(writer, operator, args, result)
    if isinstance(result, t.DecimalType):
        left, right = (decimal_argument(writer, a, x) for a, x in zip(args, types, strict=True))
        function = writer.reference(f"arithmetic:{_DECIMAL[operator]}")
        return f"{function}({left}, {right}, {result.precision}, {result.scale})"
    left, right = (float_argument(a, x) for a, x in zip(args, types, strict=True))
    if operator in ("DIVIDE", "MOD"):
        name = "divide_float" if operator == "DIVIDE" else "modulo_float"
        text = f"{writer.reference(f'arithmetic:{name}')}({left}, {right})"
    else:
        text = f"{left} {OPERATORS[operator]} {right}"
    if isinstance(result, t.FloatType):
        return f"{writer.reference('arithmetic:float32')}({text})"
    return text


def may_be_null(type_: DataType) -> bool:
    """Whether code looks for NULL: decimals with too many digits are NULL even if NOT NULL."""
    return type_.is_nullable or isinstance(type_, t.DecimalType)


def overflows(types: Sequence[DataType], result: DataType) -> bool:
    """Whether a decimal of some arguments, CAST's or an operator's, may have too many digits."""
    if not isinstance(result, t.DecimalType):
        return False
    if len(types) > 1:
        return result.precision == MAX_DECIMAL
    if not isinstance(types[0], t.DecimalType | t.IntegralType):
        return True
    source = as_decimal(types[0])
    # Rounding may carry into a digit more.
    room = result.precision - result.scale - (source.scale > result.scale)
    return source.precision - source.scale > room


def wrapped(writer: CodeWriter, text: str, type_: t.IntegralType) -> str:
    """A whole number in the width of its type; it wraps as in Java."""
    name = writer.temporary()
    high = (1 << type_.bits - 1) - 1
    wrap = writer.reference(f"arithmetic:wrap{type_.bits}")
    return f"({name} if {-high - 1} <= ({name} := {text}) <= {high} else {wrap}({name}))"


def _whole(writer: CodeWriter, operator: str, args: Sequence[str], result: t.IntegralType) -> str:
    left, right = args
    if operator in ("DIVIDE", "MOD"):
        name = "divide_whole" if operator == "DIVIDE" else "modulo_whole"
        return f"{writer.reference(f'arithmetic:{name}')}({left}, {right})"
    return wrapped(writer, f"{left} {OPERATORS[operator]} {right}", result)


def decimal_argument(writer: CodeWriter, text: str, type_: DataType) -> str:
    if isinstance(type_, t.DecimalType):
        return text
    return f"{writer.reference('arithmetic:decimal_of')}({text})"


def float_argument(text: str, type_: DataType) -> str:
    return text if isinstance(type_, t.FloatType | t.DoubleType) else f"float({text})"


def _with_interval(
    writer: CodeWriter,
    operator: str,
    args: Sequence[str],
    types: Sequence[DataType],
    result: DataType,
) -> str:
    (left, right), (left_type, right_type) = args, types
    sign = OPERATORS[operator]
    if operator == "TIMES":
        return f"int({left} * {right})"
    if is_interval(left_type) and is_interval(right_type):
        return f"{left} {sign} {right}"
    if is_interval(left_type):
        left, right, left_type, right_type = right, left, right_type, left_type
    months = isinstance(right_type, t.YearMonthIntervalType)
    if isinstance(left_type, t.DateType):
        if months:
            add = writer.reference("times:add_months_to_day")
            return f"{add}({left}, {sign}{right})"
        if isinstance(result, t.DateType):
            return f"{left} {sign} {right} // 86400000"
        return f"{left} * {_DAY_MICROS} {sign} {right} * 1000"
    if isinstance(left_type, t.TimeType):
        return left if months else f"({left} {sign} {right} * 1000) % {_DAY_MICROS}"
    assert is_timestamp(left_type)
    if months:
        return f"{writer.reference('times:add_months')}({left}, {sign}{right})"
    return f"{left} {sign} {right} * 1000"
