"""Which changes a node emits: inserts alone, or updates and deletes as well."""

from __future__ import annotations

from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import (
    IntervalJoin,
    Join,
    JoinKind,
    MultiJoin,
    TemporalJoin,
    WindowJoin,
)
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["is_append_only"]


def is_append_only(node: n.Node, marked: bool = True) -> bool:
    """Whether rows only ever come, and none is changed or taken back.

    Args:
        node: The node.
        marked: Whether rows that are only marked as inserts count as changes, since they have a
            kind. An operator that wants it of all its input may still emit rows without one.
    """
    if node.makes_changes and (marked or not node.marks_inserts):
        return False
    if isinstance(node, n.Scan):
        return bool(getattr(node.source, "append_only", True))
    if isinstance(node, n.Aggregate | n.SetOperation):
        return False
    if isinstance(node, ProcessTable):
        return node.function.inserts_only
    if isinstance(node, IntervalJoin | WindowJoin | n.ToChangelog):
        return True
    if isinstance(node, TemporalJoin):
        return is_append_only(node.left)
    if isinstance(node, Join) and node.kind not in (JoinKind.INNER, JoinKind.SEMI):
        return False
    if isinstance(node, MultiJoin) and JoinKind.LEFT in node.kinds:
        return False
    if isinstance(node, n.OverAggregate) and node.any_order:
        return False
    if isinstance(node, n.Rank):
        return node.window is not None
    if isinstance(node, n.Limit):
        return not node.keys and is_append_only(node.input)
    if isinstance(node, n.Deduplicate):
        return not node.last
    return all(is_append_only(i, marked) for i in node.inputs)
