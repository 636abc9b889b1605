"""Where columns of windows come from: shared by the rules on windows."""

from __future__ import annotations

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column
from headrace.sql.plan.joins import WindowJoin

PROPERTIES = ("start", "end", "time")

Windowed = n.WindowTable | n.WindowAggregate | WindowJoin
"""Nodes whose rows have a window, and which say what windows these are."""


def window_column(node: n.Node, index: int) -> tuple[Windowed, str] | None:
    """The node that made a window's column, and which of its columns it is."""
    if isinstance(node, n.WindowTable):
        offset = index - len(node.input.schema)
        return (node, PROPERTIES[offset]) if offset >= 0 else None
    if isinstance(node, n.WindowAggregate):
        offset = index - len(node.group) - len(node.calls)
        if offset >= 0:
            return (node, node.properties[offset])
        of_input = node.attached and index < len(node.group)
        below = window_column(node.input, node.group[index]) if of_input else None
        return None if below is None else (node, below[1])
    if isinstance(node, n.Project):
        inner = node.expressions[index]
        return window_column(node.input, inner.index) if isinstance(inner, Column) else None
    if isinstance(node, n.Expand):
        kept = index not in node.group or all(index in s for s in node.sets)
        inside = index < len(node.input.schema)
        return window_column(node.input, index) if kept and inside else None
    if isinstance(node, n.Filter):
        return window_column(node.input, index)
    if isinstance(node, n.Rank) and node.window is not None and index < len(node.input.schema):
        return window_column(node.input, index)
    if isinstance(node, WindowJoin):
        # Rows without a partner are in a window of their own side alone.
        width = len(node.left.schema)
        if index < width:
            return None if node.kind.keeps_right else _of_side(node, node.left, index)
        return None if node.kind.keeps_left else _of_side(node, node.right, index - width)
    return None


def is_time_of_windows(node: n.Node, index: int) -> bool:
    """Whether a column is the event time by which a window table function chose windows."""
    if isinstance(node, n.WindowTable):
        return node.window.event_time and index == node.window.time
    if isinstance(node, n.Project):
        inner = node.expressions[index]
        return isinstance(inner, Column) and is_time_of_windows(node.input, inner.index)
    return isinstance(node, n.Filter) and is_time_of_windows(node.input, index)


def _of_side(node: WindowJoin, side: n.Node, index: int) -> tuple[Windowed, str] | None:
    """A column of one side: both sides are in the same windows, those of the join."""
    below = window_column(side, index)
    return None if below is None else (node, below[1])
