"""Copies of values that somebody else may change."""

from __future__ import annotations

import copy
import datetime
import decimal
from typing import Any

from headrace.common.time import Instant
from headrace.common.types import Row, row_of
from headrace.datastream.output_tag import OutputTag

__all__ = ["PLAIN", "own"]

PLAIN = frozenset(
    {
        *(bool, bytes, complex, float, int, str, type(None), decimal.Decimal),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(Instant, OutputTag),
    }
)
"""Types of values that nobody can change."""

_all_plain = PLAIN.issuperset


def own(value: Any) -> Any:
    """A copy that nobody else holds; the value itself where nobody can change it.

    User functions may change what is in state, or in themselves, after they have emitted it, and
    an accumulator that they are given. So what is emitted or kept is copied first. Numbers, texts
    and flat tuples of them need no copy; what Python cannot copy stays as it is.
    """
    kind = type(value)
    if kind in PLAIN or (kind is tuple and _all_plain(map(type, value))):
        return value
    if kind is tuple:
        return tuple(map(own, value))
    if kind is list:
        return value.copy() if _all_plain(map(type, value)) else list(map(own, value))
    if kind is dict:
        return {key: own(item) for key, item in value.items()}
    if kind is Row:
        return row_of(list(map(own, value)), value._fields, value.get_row_kind())
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - the user's class; it never leaves this process
        return value
