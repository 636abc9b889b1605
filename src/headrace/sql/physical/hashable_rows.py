"""Rows that an operator finds again by their values have a hash, also where maps are in them."""

from __future__ import annotations

from headrace.sql.physical.nodes import HashableRows, ResolveConflicts
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.checks.keys import has_no_hash
from headrace.sql.plan.joins import Join, MultiJoin

__all__ = ["hashable_rows"]


def hashable_rows(node: n.Node, settings: PlanSettings) -> n.Node:
    """Whatever keeps rows counts how often each is there."""
    if not isinstance(node, Join | MultiJoin | ResolveConflicts):
        return node
    return node.with_inputs([_hashable(i) for i in node.inputs])


def _hashable(node: n.Node) -> n.Node:
    columns = tuple(i for i, f in enumerate(node.schema) if has_no_hash(f.type))
    return HashableRows(node.schema, node, columns) if columns else node
