"""Which type comes out: common types, arithmetic, and what may be cast to what without asking."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from headrace.sql import types as t
from headrace.sql.types import DataType

MAX_DECIMAL = 38

_INTEGRALS: tuple[type[t.IntegralType], ...] = (
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
)


_MILLIS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}


def interval_unit(type_: DataType) -> int:
    """What one is in a whole number made of an interval: milliseconds, or months."""
    if isinstance(type_, t.DayTimeIntervalType):
        return _MILLIS[type_.resolution.name.rsplit("_", 1)[-1]]
    assert isinstance(type_, t.YearMonthIntervalType)
    return 12 if type_.resolution == t.YearMonthIntervalType.YearMonthResolution.YEAR else 1


def is_character(type_: DataType) -> bool:
    return isinstance(type_, t.CharType | t.VarCharType)


def is_binary(type_: DataType) -> bool:
    return isinstance(type_, t.BinaryType | t.VarBinaryType)


def declared_length(type_: DataType) -> int | None:
    """How long text or bytes are, or may be; None if there is no limit."""
    if not (is_character(type_) or is_binary(type_)):
        return None
    length: int = type_.length  # type: ignore[attr-defined]
    return None if length == t.MAX_LENGTH else length


def is_approximate(type_: DataType) -> bool:
    return isinstance(type_, t.FloatType | t.DoubleType)


def is_timestamp(type_: DataType) -> bool:
    return isinstance(type_, t.TimestampType | t.LocalZonedTimestampType)


def is_temporal(type_: DataType) -> bool:
    return is_timestamp(type_) or isinstance(type_, t.DateType | t.TimeType)


def is_interval(type_: DataType) -> bool:
    return isinstance(type_, t.DayTimeIntervalType | t.YearMonthIntervalType)


def string_type(nullable: bool = True) -> t.VarCharType:
    return t.VarCharType(t.MAX_LENGTH, nullable)


def any_nullable(types: Iterable[DataType]) -> bool:
    return any(x.is_nullable for x in types)


def literal_type(value: object) -> DataType:
    """The type of a Python value that stands as a literal."""
    if isinstance(value, bool):
        return t.BooleanType(False)
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return t.IntType(False)
        if -(1 << 63) <= value < 1 << 63:
            return t.BigIntType(False)
        return t.DecimalType(len(str(abs(value))), 0, False)
    if isinstance(value, float):
        return t.DoubleType(False)
    if isinstance(value, Decimal):
        return decimal_type_of(value)
    if isinstance(value, str):
        return t.CharType(max(len(value), 1), False) if value else t.CharType(0, False)
    if isinstance(value, bytes):
        return t.BinaryType(len(value), False)
    return t.NullType()


def decimal_type_of(value: Decimal) -> t.DecimalType:
    """The narrowest type of a decimal number."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    return t.DecimalType(max(len(digits) + max(exponent, 0), scale, 1), scale, False)


def as_decimal(type_: DataType) -> t.DecimalType:
    """The decimal type that holds all values of a whole-number type."""
    if isinstance(type_, t.DecimalType):
        return type_
    if isinstance(type_, t.IntegralType):
        return t.DecimalType(type_.digits, 0, type_.is_nullable)
    return t.DecimalType(MAX_DECIMAL, 18, type_.is_nullable)


def bounded_decimal(precision: int, scale: int, nullable: bool) -> t.DecimalType:
    """At most 38 digits: the fraction gives way first, but for six digits of it."""
    if precision <= MAX_DECIMAL:
        return t.DecimalType(precision, scale, nullable)
    whole = precision - scale
    return t.DecimalType(MAX_DECIMAL, max(MAX_DECIMAL - whole, min(scale, 6)), nullable)


def decimal_result(operator: str, left: t.DecimalType, right: t.DecimalType) -> t.DecimalType:
    """The type of an operation on decimals."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    nullable = left.is_nullable or right.is_nullable
    if operator in ("PLUS", "MINUS"):
        scale = max(s1, s2)
        return bounded_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale, nullable)
    if operator == "TIMES":
        return bounded_decimal(p1 + p2 + 1, s1 + s2, nullable)
    if operator == "DIVIDE":
        scale = max(6, s1 + p2 + 1)
        return bounded_decimal(p1 - s1 + s2 + scale, scale, nullable)
    scale = max(s1, s2)
    return bounded_decimal(min(p1 - s1, p2 - s2) + scale, scale, nullable)


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """The type of a calculation with two numbers; None if they are not numbers."""
    nullable = left.is_nullable or right.is_nullable
    if isinstance(left, t.NullType):
        return right.with_nullable(True)  # type: ignore[no-any-return]
    if isinstance(right, t.NullType):
        return left.with_nullable(True)  # type: ignore[no-any-return]
    if not (isinstance(left, t.NumericType) and isinstance(right, t.NumericType)):
        return None
    if isinstance(left, t.IntegralType) and isinstance(right, t.IntegralType):
        if operator == "MOD":
            return right.with_nullable(nullable)  # type: ignore[no-any-return]
        wider = left if left.bits >= right.bits else right
        return wider.with_nullable(nullable)  # type: ignore[no-any-return]
    if is_approximate(left) or is_approximate(right):
        both_float = not any(isinstance(x, t.DoubleType | t.DecimalType) for x in (left, right))
        return t.FloatType(nullable) if both_float else t.DoubleType(nullable)
    return decimal_result(operator, as_decimal(left), as_decimal(right))


def common_type(types: Iterable[DataType]) -> DataType | None:
    """The narrowest type that holds the values of all; None if there is none."""
    result: DataType | None = None
    for type_ in types:
        result = type_ if result is None else _common(result, type_)
        if result is None:
            return None
    return result


def _common(left: DataType, right: DataType) -> DataType | None:
    nullable = left.is_nullable or right.is_nullable
    if isinstance(left, t.NullType):
        return right.with_nullable(True)  # type: ignore[no-any-return]
    if isinstance(right, t.NullType):
        return left.with_nullable(True)  # type: ignore[no-any-return]
    if left.same_but_null(right):
        return left.with_nullable(nullable)  # type: ignore[no-any-return]
    found = _common_of_different(left, right)
    return None if found is None else found.with_nullable(nullable)


def _common_of_different(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, t.NumericType) and isinstance(right, t.NumericType):
        return _common_number(left, right)
    if is_character(left) and is_character(right):
        return t.VarCharType(max(left.length, right.length))  # type: ignore[attr-defined]
    if is_binary(left) and is_binary(right):
        return t.VarBinaryType(max(left.length, right.length))  # type: ignore[attr-defined]
    if is_temporal(left) and is_temporal(right):
        return _common_time(left, right)
    if isinstance(left, t.DayTimeIntervalType) and isinstance(right, t.DayTimeIntervalType):
        return t.DayTimeIntervalType()
    if isinstance(left, t.YearMonthIntervalType) and type(left) is type(right):
        return t.YearMonthIntervalType()
    if isinstance(left, t.ArrayType) and type(left) is type(right):
        element = _common(left.element_type, right.element_type)
        return None if element is None else type(left)(element)
    if isinstance(left, t.MapType) and isinstance(right, t.MapType):
        key = _common(left.key_type, right.key_type)
        value = _common(left.value_type, right.value_type)
        return None if key is None or value is None else t.MapType(key, value)
    if isinstance(left, t.RowType) and isinstance(right, t.RowType) and len(left) == len(right):
        return _common_row(left, right)
    return None


def _common_number(left: t.NumericType, right: t.NumericType) -> DataType:
    if isinstance(left, t.IntegralType) and isinstance(right, t.IntegralType):
        return left if left.bits >= right.bits else right
    if is_approximate(left) or is_approximate(right):
        both_float = not any(isinstance(x, t.DoubleType | t.DecimalType) for x in (left, right))
        return t.FloatType() if both_float else t.DoubleType()
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale, True)


def _common_time(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, t.TimeType) or isinstance(right, t.TimeType):
        both = isinstance(left, t.TimeType) and isinstance(right, t.TimeType)
        return t.TimeType(max(left.precision, right.precision)) if both else None  # type: ignore[attr-defined]
    if isinstance(left, t.DateType) or isinstance(right, t.DateType):
        return None
    precision = max(getattr(left, "precision", 0), getattr(right, "precision", 0))
    zoned = [isinstance(x, t.LocalZonedTimestampType) for x in (left, right)]
    return t.LocalZonedTimestampType(precision) if any(zoned) else t.TimestampType(precision)


def _common_row(left: t.RowType, right: t.RowType) -> DataType | None:
    fields = []
    for a, b in zip(left.fields, right.fields, strict=True):
        type_ = _common(a.data_type, b.data_type)
        if type_ is None:
            return None
        fields.append(t.RowField(a.name, type_))
    return t.RowType(fields)


def comparable(left: DataType, right: DataType) -> DataType | None:
    """The type in which two values are compared; None if they cannot be compared."""
    found = common_type([left, right])
    if found is not None:
        return found
    # As Flink does, text is read as the other side's type.
    for text, other in ((left, right), (right, left)):
        if is_character(text) and (
            is_temporal(other) or isinstance(other, t.NumericType | t.BooleanType)
        ):
            if isinstance(other, t.IntegralType):
                return other
            return other.with_nullable(True)  # type: ignore[no-any-return]
    return None
