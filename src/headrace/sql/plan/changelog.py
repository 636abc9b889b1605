"""Which changes a node emits: only inserts, or updates and deletes too.

The rules are conservative: a node counts as append-only if no row that it has emitted can become
wrong through a later one. An aggregate of groups revises its results, and so does an outer join,
whose unmatched row is taken back when a match arrives. Results of windows and of interval and
temporal joins are final, because watermarks say when nothing more can change them.
"""

from __future__ import annotations

from typing import Any

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

__all__ = ["changelog_mode", "is_append_only"]


def is_append_only(node: n.Node, marked: bool = True) -> bool:
    """Whether a node only adds rows, and never updates or deletes one.

    Args:
        node: The node.
        marked: Whether rows count as changes if they carry a kind that is always INSERT. Some
            operators want a kind on all their input, even if they emit rows without one.
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


def changelog_mode(node: n.Node) -> str:
    """Which kinds of rows a node emits, as Flink writes them; PD is a delete that has but a key."""
    if is_append_only(node):
        return "I"
    source = _replacing_source(node)
    if source is None:
        return "I,UB,UA,D"
    return f"I,UA,{'PD' if source.deletes_by_key else 'D'}"


def _replacing_source(node: n.Node) -> Any:
    """The source whose updates pass through a node as rows that replace others by key."""
    while node.inputs and not isinstance(node, n.ChangelogNormalize) and len(node.inputs) == 1:
        (node,) = node.inputs
    replacing = isinstance(node, n.Scan) and getattr(node.source, "upsert", False)
    return node.source if replacing else None  # type: ignore[attr-defined]
