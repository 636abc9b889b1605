"""Projections of projections become one, and a filter moves below the projection under it."""

from __future__ import annotations

from collections.abc import Collection

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Call, Column, Expression, is_deterministic, rewrite
from headrace.sql.plan.readers import rewrite_around_random


def merge_projections(plan: n.Node) -> n.Node:
    """Fewer steps for a row; expressions that are costly or random stay where they are."""
    (merged,) = rewrite_around_random([plan], _merged)
    return merged


def _merged(node: n.Node, once: Collection[n.Node]) -> n.Node:
    if isinstance(node, n.Project) and isinstance(node.input, n.Project):
        inner = node.input
        if _may_inline(node.expressions, inner.expressions):
            expressions = tuple(substitute(e, inner.expressions) for e in node.expressions)
            return _without_identity(n.Project(node.schema, inner.input, expressions))
    if isinstance(node, n.Filter) and isinstance(node.input, n.Project) and node.input not in once:
        inner = node.input
        if _may_inline((node.condition,), inner.expressions):
            condition = substitute(node.condition, inner.expressions)
            below = _merged(n.Filter.of(inner.input, condition), once)
            return n.Project(inner.schema, below, inner.expressions)
    if isinstance(node, n.Project):
        return _without_identity(node)
    return node


def _without_identity(node: n.Project) -> n.Node:
    """A projection that changes nothing goes."""
    same = len(node.expressions) == len(node.input.schema) and all(
        isinstance(e, Column) and e.index == i for i, e in enumerate(node.expressions)
    )
    return node.input if same and node.schema == node.input.schema else node


def substitute(e: Expression, inner: tuple[Expression, ...]) -> Expression:
    """An expression over the input of a projection instead of over its columns."""
    return rewrite(e, lambda x: inner[x.index] if isinstance(x, Column) else None)


def _may_inline(outer: tuple[Expression, ...], inner: tuple[Expression, ...]) -> bool:
    """Whether each costly expression below is used at most once above."""
    uses: dict[int, int] = {}

    def count(e: Expression) -> None:
        if isinstance(e, Column):
            uses[e.index] = uses.get(e.index, 0) + 1
        for child in e.children:
            count(child)

    for e in outer:
        count(e)
    return all(
        not isinstance(inner[i], Call) or (times == 1 and is_deterministic(inner[i]))
        for i, times in uses.items()
    )
