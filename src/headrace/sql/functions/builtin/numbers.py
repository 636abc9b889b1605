"""Functions of numbers."""

from __future__ import annotations

import math
import random
import uuid as _uuid
import zlib
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from headrace.sql.functions.builtin.arithmetic import WIDE, divide_float

_NAN = float("nan")


def bucket(value: Any, buckets: int) -> int:
    """The part that a value belongs to, the same in every process."""
    if isinstance(value, str):
        value = zlib.crc32(value.encode())
    return 0 if value is None else hash(value) % buckets


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    """Java's functions give NaN or infinity where Python raises."""

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return _NAN
        except OverflowError:
            return math.inf

    return guarded


def power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.inf if base == 0 else _NAN


def _log(value: float) -> float:
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else _NAN


def natural_log(value: float) -> float:
    return _log(value)


def log10(value: float) -> float:
    return math.log10(value) if value > 0 else _log(value)


def log2(value: float) -> float:
    # As in Java, which has no function of its own for it: the last digit may differ.
    return _log(value) / math.log(2)


def log(first: float, value: float | None = None) -> float:
    """The natural logarithm, or that of `value` to the base `first`."""
    if value is None:
        return _log(first)
    return divide_float(_log(value), _log(first))


square_root = _guarded(math.sqrt)
exp = _guarded(math.exp)
sin, cos, tan = _guarded(math.sin), _guarded(math.cos), _guarded(math.tan)
asin, acos, atan = _guarded(math.asin), _guarded(math.acos), _guarded(math.atan)
cosh, tanh = _guarded(math.cosh), _guarded(math.tanh)
atan2 = math.atan2
degrees, radians = math.degrees, math.radians


def sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def cot(value: float) -> float:
    return 1 / math.tan(value) if value else math.inf


def ceiling(value: Any) -> Any:
    if isinstance(value, float):
        return float(math.ceil(value)) if math.isfinite(value) else value
    return _scaled(value, 0, ROUND_CEILING) if isinstance(value, Decimal) else value


def floor(value: Any) -> Any:
    if isinstance(value, float):
        return float(math.floor(value)) if math.isfinite(value) else value
    return _scaled(value, 0, ROUND_FLOOR) if isinstance(value, Decimal) else value


def sign(value: Any) -> Any:
    if isinstance(value, Decimal):
        return Decimal((value > 0) - (value < 0)).quantize(value, context=WIDE)
    if isinstance(value, float):
        return value if value != value else float((value > 0) - (value < 0))
    return (value > 0) - (value < 0)


def _to_digits(value: Any, digits: int, how: str) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        return float(_scaled(Decimal(repr(value)), digits, how))
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        scale = -exponent if isinstance(exponent, int) else 0
        if digits >= scale:
            return value
        rounded = _scaled(value, digits, how)
        return _scaled(rounded, 0, how) if digits < 0 else rounded
    if digits >= 0:
        return value
    return int(_scaled(Decimal(value), digits, how))


def _scaled(value: Decimal, digits: int, how: str) -> Decimal:
    found = value.quantize(Decimal(1).scaleb(-digits), how, WIDE)
    return found if found else found.copy_abs()


def rounded(value: Any, digits: int = 0) -> Any:
    return _to_digits(value, digits, ROUND_HALF_UP)


def truncated(value: Any, digits: int = 0) -> Any:
    return _to_digits(value, digits, ROUND_DOWN)


def pi() -> float:
    return math.pi


def euler() -> float:
    return math.e


_seeded: dict[int, random.Random] = {}


def rand(seed: int | None = None) -> float:
    if seed is None:
        return random.random()
    return _seeded.setdefault(seed, random.Random(seed)).random()


def rand_integer(first: int, bound: int | None = None) -> int:
    """Below the last argument; the first of two is the seed."""
    if bound is None:
        return random.randrange(first)
    return _seeded.setdefault(first, random.Random(first)).randrange(bound)


def uuid() -> str:
    return str(_uuid.uuid4())


def binary_text(value: int) -> str:
    return f"{value & 0xFFFFFFFFFFFFFFFF:b}"


def hex_text(value: int | str) -> str:
    if isinstance(value, str):
        return value.encode().hex().upper()
    return f"{value & 0xFFFFFFFFFFFFFFFF:X}"


def unhex(text: str) -> bytes | None:
    """Bytes of hexadecimal digits; of an odd number of them the first is read as 0."""
    try:
        return bytes.fromhex("00" + text[1:] if len(text) % 2 else text)
    except ValueError:
        return None


def inet_aton(text: str) -> int | None:
    """The number of an IPv4 address; one of fewer parts is filled up before the last."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(p.isdigit() and int(p) < 256 for p in parts):
        return None
    numbers = [*map(int, parts[:-1]), *[0] * (4 - len(parts)), int(parts[-1])]
    return int.from_bytes(bytes(numbers), "big")


def inet_ntoa(number: int) -> str | None:
    return ".".join(map(str, number.to_bytes(4, "big"))) if 0 <= number < 1 << 32 else None
