"""Variance and standard deviation by Welford's method: exact where sums of squares are not.

An accumulator has the count, the mean and the sum of squared deviations, from a place on.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from headrace.sql.functions.builtin.arithmetic import decimal_of, fit_decimal


def remove(accumulator: list[Any], at: int, value: Any) -> None:
    """Take a value back."""
    count, mean, squares = accumulator[at : at + 3]
    if count <= 1:
        accumulator[at : at + 3] = [count - 1, mean * 0, squares * 0]
        return
    before = (mean * count - value) / (count - 1)
    accumulator[at : at + 3] = [
        count - 1,
        before,
        squares - (value - before) * (value - mean),
    ]


def combine(accumulator: list[Any], other: list[Any], at: int) -> None:
    """Add the values of another accumulator."""
    count, mean, squares = accumulator[at : at + 3]
    count2, mean2, squares2 = other[at : at + 3]
    total = count + count2
    if not total or not count2:
        return
    difference = mean2 - mean
    accumulator[at : at + 3] = [
        total,
        mean + difference * count2 / total,
        squares + squares2 + difference * difference * count * count2 / total,
    ]


def spread(count: int, squares: Any, sample: bool, root: bool) -> Any:
    """The result; None where there are too few values."""
    divisor = count - 1 if sample else count
    if divisor <= 0:
        return None
    variance = squares / divisor
    if not root:
        return variance
    if isinstance(variance, Decimal):
        return variance.sqrt() if variance > 0 else variance
    return math.sqrt(max(variance, 0.0))


def whole(value: Any) -> int | None:
    """Cut to a whole number."""
    return None if value is None else int(value)


def fitted(value: Any, precision: int, scale: int) -> Decimal | None:
    """In the digits of a type."""
    return None if value is None else fit_decimal(decimal_of(value), precision, scale)


def percentile(counts: dict[Any, int], wanted: Any) -> Any:
    """The value below which a share of all values is, between two of them where it must be."""
    if isinstance(wanted, tuple):
        return tuple(percentile(counts, w) for w in wanted)
    if wanted is None:
        return None
    ordered = sorted(counts.items())
    position = float(wanted) * (sum(n for _, n in ordered) - 1)
    low, high = (_value_at(ordered, int(position)), _value_at(ordered, math.ceil(position)))
    return low + (high - low) * (position - int(position))


def _value_at(ordered: list[tuple[Any, int]], position: int) -> float:
    for value, count in ordered:
        if position < count:
            return float(value)
        position -= count
    return float(ordered[-1][0])
