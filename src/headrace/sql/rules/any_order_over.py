"""OVER in the order of a column that is not a time attribute: rows may come between others."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.time_attributes import time_of

__all__ = ["any_order_over"]


def any_order_over(node: n.Node) -> n.Node:
    """Known once it is known which joins keep time attributes."""
    if not isinstance(node, n.OverAggregate):
        return node
    by_time = len(node.order) == 1 and all(
        time_of(node.input, k.index) is not None and not k.descending for k in node.order
    )
    return node if by_time else replace(node, any_order=True)
