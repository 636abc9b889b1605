"""Variance and standard deviation."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from headrace.sql.builtin.arithmetic import decimal_of, fit_decimal


def spread(total: Any, squares: Any, count: int, sample: bool, root: bool) -> Any:
    """From the sums of values and of their squares; None where there are too few values."""
    divisor = count - 1 if sample else count
    if divisor <= 0:
        return None
    if isinstance(total, Decimal):
        variance = (squares - total * total / count) / divisor
        return variance.sqrt() if root and variance > 0 else variance
    variance = max(squares - total * total / count, 0) / divisor
    return math.sqrt(variance) if root else variance


def whole(value: Any) -> int | None:
    return None if value is None else int(value)


def fitted(value: Any, precision: int, scale: int) -> Decimal | None:
    return None if value is None else fit_decimal(decimal_of(value), precision, scale)
