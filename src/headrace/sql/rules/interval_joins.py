"""Joins whose condition bounds how far the times of both rows are apart."""

from __future__ import annotations

from dataclasses import fields

from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, TimeAttribute
from headrace.sql.plan.joins import IntervalJoin, Join, TimeBounds
from headrace.sql.plan.time_attributes import time_of

__all__ = ["interval_joins", "is_time_bound"]

Bound = tuple[int, int, int | None, int | None]
"""Column of the left side, of the right one, and the least and greatest difference, if any."""

_COMPARISONS = {
    "GREATER_THAN": (True, 1),
    "GREATER_THAN_OR_EQUAL": (True, 0),
    "LESS_THAN": (False, -1),
    "LESS_THAN_OR_EQUAL": (False, 0),
}
"""Whether the first value is the later one, and by how many milliseconds at least."""


def interval_joins(node: n.Node) -> n.Node:
    """One bound from below and one from above, or equal times: as in Flink, not more of them."""
    if type(node) is not Join or node.kind.left_only:
        return node
    bounds = _bounds(node)
    if bounds is None:
        return node
    known = {f.name: getattr(node, f.name) for f in fields(node)}
    return IntervalJoin(**known, bounds=bounds)


def _bounds(join: Join) -> TimeBounds | None:
    found: list[Bound] = [
        (a, b, 0, 0)
        for a, b, null_safe in zip(join.left_keys, join.right_keys, join.null_safe, strict=True)
        if not null_safe and _same_time(join, a, b)
    ]
    if join.condition is not None:
        found += [b for c in conjuncts(join.condition) if (b := _bound(join, c)) is not None]
    if len({(a, b) for a, b, _, _ in found}) != 1:
        return None
    lower = [low for _, _, low, _ in found if low is not None]
    upper = [high for _, _, _, high in found if high is not None]
    if len(lower) != 1 or len(upper) != 1:
        return None
    left, right, _, _ = found[0]
    event_time = time_of(join.left, left) is TimeAttribute.ROWTIME
    return TimeBounds(left, right, lower[0], upper[0], event_time)


def is_time_bound(join: Join, condition: Expression) -> bool:
    """Whether a condition says nothing but how far the times of both sides are apart."""
    return _bound(join, condition) is not None


def _bound(join: Join, condition: Expression) -> Bound | None:
    if not isinstance(condition, Call):
        return None
    comparison = _COMPARISONS.get(getattr(condition.function, "name", ""))
    if comparison is None:
        return None
    first, second = (_moved_time(a) for a in condition.args)
    if first is None or second is None:
        return None
    later, more = comparison
    width = len(join.left.schema)
    if first[0] >= width:
        first, second, later, more = second, first, not later, -more
    (left, left_moved), (right, right_moved) = first, second
    if not left < width <= right or not _same_time(join, left, right - width):
        return None
    difference = right_moved - left_moved + more
    return left, right - width, difference if later else None, None if later else difference


def _same_time(join: Join, left: int, right: int) -> bool:
    """Whether columns of both sides are time attributes of the same kind."""
    time = time_of(join.left, left)
    return time is not None and time is time_of(join.right, right)


def _moved_time(e: Expression) -> tuple[int, int] | None:
    """A column, and by how many milliseconds it is moved."""
    if isinstance(e, Column):
        return e.index, 0
    name = getattr(e.function, "name", "") if isinstance(e, Call) else ""
    if name not in ("PLUS", "MINUS"):
        return None
    first, second = e.children
    if name == "PLUS" and isinstance(first, Literal):
        first, second = second, first
    column, moved_ms = _moved_time(first), _duration_ms(second)
    if column is None or moved_ms is None:
        return None
    return column[0], column[1] + (moved_ms if name == "PLUS" else -moved_ms)


def _duration_ms(e: Expression) -> int | None:
    """A constant interval; months have no length of their own."""
    if isinstance(e, Literal) and isinstance(e.type, t.DayTimeIntervalType):
        value: int | None = e.value
        return value
    return None
