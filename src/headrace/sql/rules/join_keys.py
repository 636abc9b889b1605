"""Equalities between the two sides of a join become its keys."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of, conjuncts
from headrace.sql.plan.expressions import Call, Expression, columns_used, place_of, shifted
from headrace.sql.plan.joins import Join

__all__ = ["join_keys"]

_EQUALITIES = {"EQUALS": False, "IS_NOT_DISTINCT_FROM": True}
"""Functions that say that two values are the same, and whether NULL is the same as NULL."""


def join_keys(node: n.Node) -> n.Node:
    """Rows with equal keys meet in one subtask; what is not a column becomes one first."""
    if not isinstance(node, Join) or node.condition is None or node.left_keys:
        return node
    width = len(node.left.schema)
    left = list(node.left.schema.columns())
    right = list(node.right.schema.columns())
    keys: list[tuple[int, int, bool]] = []
    rest: list[Expression] = []
    for condition in conjuncts(node.condition):
        pair = _pair(condition, width)
        if pair is None:
            rest.append(condition)
        else:
            near, far, null_safe = pair
            keys.append((place_of(left, near), place_of(right, far), null_safe))
    if not keys:
        return node
    more = len(left) - width
    left_over = all_of(rest)
    if left_over is not None and more:
        left_over = shifted(left_over, lambda i: i if i < width else i + more)
    join = Join.of(_with(node.left, left), _with(node.right, right), node.kind, left_over)
    joined = replace(
        node,
        schema=join.schema,
        left=join.left,
        right=join.right,
        condition=join.condition,
        left_keys=tuple(a for a, _, _ in keys),
        right_keys=tuple(b for _, b, _ in keys),
        null_safe=tuple(c for _, _, c in keys),
    )
    if len(joined.schema) == len(node.schema):
        return joined
    columns = joined.schema.columns()
    shown = len(node.schema) - width
    return n.Project(
        node.schema, joined, (*columns[:width], *columns[len(left) : len(left) + shown])
    )


def _pair(condition: Expression, width: int) -> tuple[Expression, Expression, bool] | None:
    """The values of the left and of the right side that have to be the same."""
    if not isinstance(condition, Call):
        return None
    null_safe = _EQUALITIES.get(getattr(condition.function, "name", ""))
    if null_safe is None:
        return None
    a, b = condition.args
    for near, far in ((a, b), (b, a)):
        here, there = columns_used(near), columns_used(far)
        if here and there and max(here) < width <= min(there):
            return near, shifted(far, lambda i: i - width), null_safe
    return None


def _with(side: n.Node, columns: list[Expression]) -> n.Node:
    if len(columns) == len(side.schema):
        return side
    names = [*side.schema.names, *(f"$k{i}" for i in range(len(side.schema), len(columns)))]
    return n.Project.of(side, columns, names)
