"""Calculations with decimals that Spark and Flink round in the same way."""

from __future__ import annotations

__all__ = ["Digits", "quotient_is_exact", "result_of"]

Digits = tuple[int, int]
"""Precision and scale."""

_MOST = 38
_LEAST_SCALE = 6


def result_of(name: str, left: Digits, right: Digits) -> Digits:
    """Precision and scale of what Spark calculates, PLUS, MINUS, TIMES or DIVIDE."""
    (p1, s1), (p2, s2) = left, right
    if name == "TIMES":
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if name == "DIVIDE":
        scale = max(_LEAST_SCALE, s1 + p2 + 1)
        return _adjusted(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)


def _adjusted(precision: int, scale: int) -> Digits:
    """What is too long loses digits of its scale, but keeps some."""
    if precision <= _MOST:
        return precision, scale
    return _MOST, max(_MOST - (precision - scale), min(scale, _LEAST_SCALE))


def quotient_is_exact(left: Digits, right: Digits, scale: int) -> bool:
    """Whether a quotient has one value at a scale, however many digits it is calculated with.

    Flink rounds it to 38 digits first, Spark does not. That makes a difference only for a quotient
    that is nearer to the middle of two values than the 38th digit, and a divisor of few digits
    gives none.
    """
    (p1, s1), (p2, s2) = left, right
    return p1 - s1 + s2 + p2 + scale < _MOST
