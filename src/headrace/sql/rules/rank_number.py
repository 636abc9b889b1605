"""A ranking gives rows no number that nobody looks at: a row that moves up changes nothing then."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema, columns_used


def rank_number(node: n.Node) -> n.Node:
    """Projections of Top-N, perhaps with filters in between."""
    if not isinstance(node, n.Project):
        return node
    used = {i for e in node.expressions for i in columns_used(e)}
    below = _without_number(node.input, used)
    return node if below is None else replace(node, input=below)


def _without_number(node: n.Node, used: set[int]) -> n.Node | None:
    """The ranking without its last column; None if that is used."""
    if isinstance(node, n.Filter):
        below = _without_number(node.input, used | set(columns_used(node.condition)))
        return None if below is None else n.Filter.of(below, node.condition)
    if not isinstance(node, n.Rank) or not node.numbered or len(node.schema) - 1 in used:
        return None
    return replace(node, schema=Schema(tuple(node.schema)[:-1]), numbered=False)
