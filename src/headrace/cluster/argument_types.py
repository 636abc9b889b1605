"""Types of arguments of commands: what argparse calls to read one, and to refuse it."""

from __future__ import annotations

import argparse
import math

__all__ = ["above_zero", "count"]


def above_zero(text: str) -> float:
    """A number above zero."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return number


def count(text: str) -> int:
    """A whole number of at least one."""
    number = _number(text)
    if number < 1 or not number.is_integer():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text}")
    return int(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
