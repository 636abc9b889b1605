"""Below a temporal join every change counts, and none may come later than its watermark."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import TemporalJoin

__all__ = ["versions"]

_KEEPING_TIME = (n.Deduplicate, n.Rank, n.ChangelogNormalize)
"""Nodes that would emit the net change of an epoch, of rows that still have their time."""


def versions(node: n.Node) -> n.Node:
    """The net change of an epoch would be the last version alone, behind the watermark."""
    if not isinstance(node, TemporalJoin):
        return node
    return node.with_inputs([n.rewrite_nodes(i, _every_change) for i in node.inputs])


def _every_change(node: n.Node) -> n.Node:
    return replace(node, every_change=True) if isinstance(node, _KEEPING_TIME) else node
