"""Random numbers by index: equal ones with numpy in a slot and with Spark's SQL in the JVM.

The number of a row is hashed, with that of the field as the seed, by XXH64 as Spark's `xxhash64`
does it.
"""

from __future__ import annotations

from typing import Any

from headrace.sql import types as t
from headrace.sql.segments.expressions import storage
from headrace.sql.types import DataType

__all__ = ["number_text", "numbers_between"]

_SEED = 42
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MASK = (1 << 64) - 1
_FRACTION = 2.0**-53


def numbers_between(
    type_: DataType, low: Any, high: Any, field: int, first: int, last: int
) -> list[Any]:
    """The numbers of rows from one up to another, between bounds."""
    import numpy as np

    seed = int(_hash(np.array([field], np.uint64), _SEED)[0])
    hashed = _hash(np.arange(first, last, dtype=np.uint64), seed)
    if isinstance(type_, t.IntegralType):
        values: Any = hashed.view(np.int64)
        count = high - low + 1
        if count < 1 << 63:
            values = low + np.mod(values, count)
        elif count < 1 << 64:
            return [low + x % count for x in hashed.tolist()]
        return values.tolist()  # type: ignore[no-any-return]
    values = low + (high - low) * ((hashed >> np.uint64(11)).astype(np.float64) * _FRACTION)
    if isinstance(type_, t.FloatType):
        values = values.astype(np.float32).astype(np.float64)
    return values.tolist()  # type: ignore[no-any-return]


def number_text(type_: DataType, low: Any, high: Any, field: int) -> str | None:
    """The number of the row `id` in Spark's SQL; None if it cannot be written."""
    hashed = f"xxhash64({field}L, id)"
    if isinstance(type_, t.IntegralType):
        count = high - low + 1
        if count == 1 << 64:
            return hashed
        if count >= 1 << 63:
            return None
        return f"CAST(CAST('{low}' AS BIGINT) + pmod({hashed}, {count}L) AS {storage(type_)})"
    fraction = f"(CAST(shiftrightunsigned({hashed}, 11) AS DOUBLE) * {_double(_FRACTION)})"
    return f"({_double(low)} + {_double(high - low)} * {fraction})"


def _double(value: float) -> str:
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _hash(values: Any, seed: int) -> Any:
    """XXH64 of 8 bytes each."""
    import numpy as np

    one, two, three, four, _ = (np.uint64(p) for p in _PRIMES)

    def rotated(x: Any, bits: int) -> Any:
        return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))

    with np.errstate(over="ignore"):
        start = np.uint64((seed + _PRIMES[4] + 8) & _MASK)
        found = start ^ (rotated(values * two, 31) * one)
        found = rotated(found, 27) * one + four
        found = (found ^ (found >> np.uint64(33))) * two
        found = (found ^ (found >> np.uint64(29))) * three
        return found ^ (found >> np.uint64(32))
