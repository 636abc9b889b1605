"""Numeric limits that Flink's API exposes, and the marks that stand for "no timestamp"."""

from __future__ import annotations

__all__ = [
    "DEFAULT_OUTPUT_TAG",
    "MAX_LONG_VALUE",
    "MIN_LONG_VALUE",
    "NO_TIMESTAMP",
]

MAX_LONG_VALUE = 0x7FFFFFFFFFFFFFFF
"""The largest 64-bit integer, and the timestamp of the last watermark."""

MIN_LONG_VALUE = -MAX_LONG_VALUE - 1
"""The smallest 64-bit integer, and the watermark before any other."""

NO_TIMESTAMP = MIN_LONG_VALUE
"""What a timestamp assigner is given for a record that has no timestamp yet."""

DEFAULT_OUTPUT_TAG = ""
"""Name of the main output among the outputs of an operator."""
