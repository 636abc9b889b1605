"""Numbers as Java and SQL calculate with them: they wrap, truncate and round in fixed widths."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from headrace.common.errors import HeadraceError

_FLOAT = struct.Struct("f")
# The product of two numbers of 38 digits, and any sum of them. Python's own context rounds to 28.
WIDE = Context(prec=80, rounding=ROUND_HALF_UP)
# Flink rounds a quotient to 38 digits before it rounds it to its scale.
_QUOTIENT = Context(prec=38, rounding=ROUND_HALF_UP)

plus, minus, negative, absolute = WIDE.add, WIDE.subtract, WIDE.minus, WIDE.abs


def wrap8(value: int) -> int:
    return (value + 0x80 & 0xFF) - 0x80


def wrap16(value: int) -> int:
    return (value + 0x8000 & 0xFFFF) - 0x8000


def wrap32(value: int) -> int:
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def wrap64(value: int) -> int:
    return (value + (1 << 63) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def float32(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def divide_whole(left: int, right: int) -> int:
    """Towards zero."""
    if right == 0:
        raise HeadraceError(f"/ by zero: {left} / 0")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo_whole(left: int, right: int) -> int:
    """With the sign of the left side."""
    if right == 0:
        raise HeadraceError(f"/ by zero: MOD({left}, 0)")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_float(left: float, right: float) -> float:
    """Without an error: infinity or not a number."""
    if right:
        return left / right
    if left != left or left == 0:
        return float("nan")
    negative = (left < 0) != (str(right)[0] == "-")
    return float("-inf") if negative else float("inf")


def modulo_float(left: float, right: float) -> float:
    return math.fmod(left, right) if right and math.isfinite(left) else float("nan")


def fit_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Rounded half up to a scale; NULL if it has too many digits."""
    try:
        rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, WIDE)
    except InvalidOperation:
        return None
    digits = rounded.adjusted() + 1
    return rounded if rounded == 0 or digits <= precision - scale else None


def add_decimal(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal | None:
    return fit_decimal(plus(left, right), precision, scale)


def subtract_decimal(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal | None:
    return fit_decimal(minus(left, right), precision, scale)


def multiply_decimal(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal | None:
    return fit_decimal(WIDE.multiply(left, right), precision, scale)


def divide_decimal(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal | None:
    if not right:
        raise HeadraceError(f"Division by zero: {left} / 0")
    return fit_decimal(_QUOTIENT.divide(left, right), precision, scale)


def modulo_decimal(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal | None:
    if not right:
        raise HeadraceError(f"Division by zero: MOD({left}, 0)")
    return fit_decimal(WIDE.remainder(left, right), precision, scale)


def decimal_of(value: Any) -> Decimal:
    """A whole or floating point number as a decimal."""
    if isinstance(value, float) and not math.isfinite(value):
        raise HeadraceError(f"{value} is not a decimal number")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
