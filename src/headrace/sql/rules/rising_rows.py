"""A ranking whose rows replace each other by a key, and only move up, needs no more than the key.

So a new row tells all there is to know of an update, and nothing has to be kept of rows that are
not among the first: none of these ever goes to make place for another one. It is for streams with
every single change: the net change of an epoch is found without the key.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.trends import rising_key

__all__ = ["rising_rows"]


def rising_rows(plan: n.Node) -> n.Node:
    """Top-N, and ORDER BY with LIMIT."""
    return n.rewrite_nodes(plan, _rising)


def _rising(node: n.Node) -> n.Node:
    if isinstance(node, n.Rank) and node.window is None and node.function == "ROW_NUMBER":
        return replace(node, rising=rising_key(node.input, node.partition, node.order))
    if isinstance(node, n.Limit) and node.keys:
        return replace(node, rising=rising_key(node.input, (), node.keys))
    return node
