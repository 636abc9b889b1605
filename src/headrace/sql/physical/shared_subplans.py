"""What a statement computes twice is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.physical.exchanges import required
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.alike import Alike

__all__ = ["shared_subplans"]


def shared_subplans(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """One node in place of several that do the same with the same.

    These are nodes that look at more than one row: to read a table twice, with other columns and
    filters each time, is cheaper than to have all that anybody needs of it.
    """
    if not settings.reuse_subplans:
        return list(plans)
    alike = Alike()
    kept: dict[int, n.Node] = {}

    def one_of(node: n.Node) -> n.Node:
        number = alike.number(node)
        return kept.setdefault(number, node) if required(node, settings) else node

    done: dict[n.Node, n.Node] = {}
    return [n.rewrite_nodes(p, one_of, done) for p in plans]
