"""What is known of the rows of each side of a join."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join, UniqueKey
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["join_inputs"]


def join_inputs(node: n.Node) -> n.Node:
    """How many rows a side may have of a key: one, one for each unique key, or any number."""
    if type(node) is not Join:
        return node
    left, right = _known(node.left, node.left_keys), _known(node.right, node.right_keys)
    return replace(node, unique_keys=(left, right))


def _known(side: n.Node, keys: tuple[int, ...]) -> UniqueKey:
    found = upsert_keys(side)
    if any(key <= set(keys) for key in found):
        return UniqueKey.IN_JOIN_KEY
    return UniqueKey.BESIDE_JOIN_KEY if found else UniqueKey.NONE
