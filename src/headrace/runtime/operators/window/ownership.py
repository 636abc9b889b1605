"""Copies of values that somebody else may change."""

from __future__ import annotations

import copy
from typing import Any

_SCALARS = frozenset({int, float, str, bytes, bool, complex, type(None)})


def own(value: Any) -> Any:
    """A copy that nobody else holds; the value itself where nobody can change it.

    User functions may change an accumulator that they are given, and often emit it as it is. So
    what is kept is copied before it is merged or emitted. Numbers, texts and flat tuples of them
    need no copy.
    """
    kind = type(value)
    if kind in _SCALARS or (kind is tuple and _SCALARS.issuperset(map(type, value))):
        return value
    return copy.deepcopy(value)
