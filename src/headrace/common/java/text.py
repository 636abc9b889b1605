"""Numbers as Java prints them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Context, Decimal

__all__ = ["decimal_text", "double_text", "float_text", "shortest_float32"]

# Decimals have 38 digits at most, and Python's usual context rounds them to 28.
_EXACT = Context(prec=100)
_FLOAT32 = struct.Struct("f")
_SMALLEST_NORMAL_FLOAT32 = 1.1754943508222875e-38


def double_text(value: float) -> str:
    """A 64-bit number as `Double.toString` writes it: 1.0, 1.0E10, NaN, Infinity."""
    value = float(value)
    # Here Python writes the same; this is most numbers, and several times as quick.
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3:
        return repr(value)
    return _number_text(value, repr)


def float_text(value: float) -> str:
    """A 32-bit number as `Float.toString` writes it, with as many digits as 32 bits need."""
    return _number_text(_as_float32(value), _float32_repr)


def shortest_float32(value: float) -> float:
    """The number with the fewest digits that has the same 32-bit form: 0.1 for 0.10000000149."""
    value = _as_float32(value)
    return float(_float32_repr(value)) if math.isfinite(value) else value


def _as_float32(value: float) -> float:
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _float32_repr(value: float) -> str:
    # Six digits always survive in a normal number; if fewer are enough, `g` drops the zeros.
    first = 6 if abs(value) >= _SMALLEST_NORMAL_FLOAT32 else 1
    for precision in range(first, 9):
        text = f"{value:.{precision}g}"
        if _as_float32(float(text)) == value:
            return text
    return f"{value:.9g}"


def _number_text(value: float, to_digits: Callable[[float], str]) -> str:
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    size = abs(value)
    text = to_digits(value)
    if size == 0 or 1e-3 <= size < 1e7:
        if "e" in text:  # 1e+06, as `g` writes it
            text = f"{value:.1f}"
        return text if "." in text else text + ".0"
    sign, text = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = (whole + fraction).rstrip("0")
    if whole == "0":  # 0.0005: the first digit is somewhere in the fraction
        digits = fraction.lstrip("0")
        power = -(len(fraction) - len(digits)) - 1
        digits = digits.rstrip("0")
    if len(digits) == 1:
        # Java looks for the nearest number of two digits; they differ for the very smallest ones.
        digits = f"{size:.1e}"[0:3:2]
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def decimal_text(value: Decimal) -> str:
    """As Flink's formats write decimals: `3.2`, `1E+5`, `2.7E-8`."""
    return str(value.normalize(_EXACT)) if value else "0"
