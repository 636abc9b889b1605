"""Joins on one common key run in one operator, which keeps nothing of what is in between."""

from __future__ import annotations

from itertools import accumulate

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join, JoinKind, MultiJoin

__all__ = ["multi_joins"]

_KINDS = (JoinKind.INNER, JoinKind.LEFT)


def multi_joins(node: n.Node, settings: PlanSettings) -> n.Node:
    """A join of a join, both inner or left ones, with the same key."""
    if not settings.multi_join or settings.batch or not _is_candidate(node):
        return node
    assert isinstance(node, Join)
    first = node.left
    if _is_candidate(first):
        assert isinstance(first, Join)
        first = _multi(first)
    if not isinstance(first, MultiJoin):
        return node
    order = _order(first, node)
    if order is None:
        return node
    return MultiJoin(
        node.schema,
        (*first.relations, node.right),
        (*first.kinds, node.kind),
        (*first.conditions, node.condition),
        (*first.keys, tuple(node.right_keys[i] for i in order)),
        first.null_safe,
        (*first.ttls_ms, node.ttls_ms[1]),
        origin=node.origin,
    )


def _is_candidate(node: n.Node) -> bool:
    return type(node) is Join and node.kind in _KINDS and bool(node.left_keys)


def _multi(join: Join) -> MultiJoin:
    return MultiJoin(
        join.schema,
        (join.left, join.right),
        (join.kind,),
        (join.condition,),
        (join.left_keys, join.right_keys),
        join.null_safe,
        join.ttls_ms,
    )


def _order(first: MultiJoin, join: Join) -> list[int] | None:
    """Where the key of a further join has each part of the common key; None if it is another key.

    The key of a relation that may be missing is NULL at times, and so not a part of it.
    """
    parts: dict[int, int] = {}
    starts = accumulate((len(r.schema) for r in first.relations), initial=0)
    certain = (True, *(kind is JoinKind.INNER for kind in first.kinds))
    for start, key, there in zip(starts, first.keys, certain, strict=False):
        if there:
            parts |= {start + column: part for part, column in enumerate(key)}
    found = [parts.get(column) for column in join.left_keys]
    if None in found or sorted(p for p in found if p is not None) != list(range(len(found))):
        return None
    order = [found.index(part) for part in range(len(first.keys[0]))] if found else []
    same = len(found) == len(first.keys[0]) and all(
        join.null_safe[i] == first.null_safe[part] for part, i in enumerate(order)
    )
    return order if same else None
