"""CAST at run time: from one internal form to another. None comes out where a text does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.sql.functions.builtin.arithmetic import fit_decimal

_WHOLE = re.compile(r"[+-]?\d+(\.\d*)?")
_DOUBLE = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?", re.ASCII
)
_LIMITS = {8: (-0x80, 0x7F), 16: (-0x8000, 0x7FFF)}
_LIMITS[32] = (-(1 << 31), (1 << 31) - 1)
_LIMITS[64] = (-(1 << 63), (1 << 63) - 1)


def failed(value: Any, target: str) -> Any:
    """A cast that cannot be done."""
    raise HeadraceError(
        f"cannot cast {value!r} to {target}; TRY_CAST gives NULL instead of this error"
    )


def attempt(cast: Callable[[], Any]) -> Any:
    """What a cast gives; None if a part of the value cannot be cast."""
    try:
        return cast()
    except HeadraceError:
        return None


def text_to_whole(text: str, bits: int) -> int | None:
    stripped = text.strip()
    if not _WHOLE.fullmatch(stripped):
        return None
    value = int(stripped.partition(".")[0])
    low, high = _LIMITS[bits]
    return value if low <= value <= high else None


def text_to_double(text: str) -> float | None:
    found = _DOUBLE.fullmatch(text.strip())
    return None if found is None else float(found[1])


def text_to_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return fit_decimal(value, precision, scale) if value.is_finite() else None


_BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True}
_BOOLEANS |= {"false": False, "f": False, "no": False, "n": False, "0": False}


def text_to_boolean(text: str) -> bool | None:
    return _BOOLEANS.get(text.lower())


def double_to_whole(value: float, bits: int) -> int:
    """As Java: towards zero, not a number is 0, and beyond the ends it is the end."""
    if value != value:
        return 0
    low, high = _LIMITS[max(bits, 32)]
    whole = low if value < low else high if value > high else int(value)
    if bits < 32:
        size = 1 << bits
        whole = (whole + size // 2) % size - size // 2
    return whole


def decimal_to_whole(value: Decimal, bits: int) -> int | None:
    size = 1 << bits
    return (int(value) + size // 2) % size - size // 2


def to_char(text: str, length: int) -> str:
    """Cut or padded to a length."""
    return text[:length].ljust(length)


def to_binary(data: bytes, length: int) -> bytes:
    return data[:length].ljust(length, b"\0")
