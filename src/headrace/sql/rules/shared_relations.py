"""A view is one relation, however many read it: each reads it before others have changed it."""

from __future__ import annotations

from headrace.sql.plan import nodes as n
from headrace.sql.plan.alike import Alike
from headrace.sql.plan.joins import Join
from headrace.sql.plan.readers import is_random

__all__ = ["shared_relations"]

_KEEPING = (Join, n.Aggregate, n.OverAggregate, n.SetOperation)


def shared_relations(plan: n.Node) -> n.Node:
    """One node in place of those that are alike, while filters and columns of readers are above.

    What joins and groups is worth it, and what is random has to be: all readers of a view see the
    same value. To read a table twice, with other columns and filters each time, is cheaper than to
    have all that anybody needs of it.
    """
    alike = Alike()
    kept: dict[int, n.Node] = {}
    keeping: set[n.Node] = set()

    def one_of(node: n.Node) -> n.Node:
        number = alike.number(node)
        keeps = isinstance(node, _KEEPING) or is_random(node)
        # Whoever says twice what is to be written wants it twice.
        if isinstance(node, n.Sink) or (not keeps and keeping.isdisjoint(node.inputs)):
            return node
        found = kept.setdefault(number, node)
        keeping.add(found)
        return found

    return n.rewrite_nodes(plan, one_of)
