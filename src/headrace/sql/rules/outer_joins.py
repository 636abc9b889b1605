"""An outer join is an inner one if a condition drops all rows that have no partner."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import Call, Column, Expression
from headrace.sql.plan.joins import Join, JoinKind

__all__ = ["outer_joins"]

_KINDS = {
    (True, True): JoinKind.FULL,
    (True, False): JoinKind.LEFT,
    (False, True): JoinKind.RIGHT,
    (False, False): JoinKind.INNER,
}


def outer_joins(node: n.Node) -> n.Node:
    """Filters above joins, like `WHERE right.price > 3`, which is not true of NULL."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, Join):
        return node
    join = node.input
    if join.kind.left_only or join.kind is JoinKind.INNER:
        return node
    width = len(join.left.schema)
    conditions = conjuncts(node.condition)
    sides = range(width), range(width, len(join.schema))
    drops = [any(_rejects(c, columns) for c in conditions) for columns in sides]
    kind = _KINDS[join.kind.keeps_left and not drops[1], join.kind.keeps_right and not drops[0]]
    return node if kind is join.kind else replace(node, input=replace(join, kind=kind))


def _rejects(e: Expression, columns: Container[int]) -> bool:
    """Whether a condition is not true where some columns are all NULL."""
    if isinstance(e, Call) and getattr(e.function, "name", "") == "OR":
        return all(_rejects(a, columns) for a in e.args)
    return not isinstance(e, Column) and _is_null(e, columns)


def _is_null(e: Expression, columns: Container[int]) -> bool:
    """Whether an expression is NULL where some columns are, or FALSE if it cannot be."""
    if isinstance(e, Column):
        return e.index in columns
    if not isinstance(e, Call) or not getattr(e.function, "strict", False):
        return False
    return e.function.name not in ("AND", "OR") and any(_is_null(a, columns) for a in e.args)
