"""How many rows a node will have emitted at its end, as far as statistics of tables tell."""

from __future__ import annotations

from headrace.sql.physical import nodes as ph
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join, JoinKind, UniqueKey

__all__ = ["estimated_rows"]

_AS_MANY = (
    n.Project,
    n.WatermarkAssigner,
    n.Sort,
    n.BatchedCalls,
    n.OverAggregate,
    ph.Exchange,
    ph.HashableRows,
    ph.MarkInserts,
)


def estimated_rows(node: n.Node) -> int | None:
    """A number of rows, None where nothing is known; `EXPLAIN ESTIMATED_COST` shows it."""
    if isinstance(node, n.Scan):
        return node.rows
    if isinstance(node, n.Values):
        return len(node.rows)
    if isinstance(node, n.Aggregate) and not node.group:
        return 1
    if isinstance(node, ph.SparkSegment):
        return estimated_rows(node.segment.nodes[-1]) if node.segment.nodes else None
    below = [estimated_rows(i) for i in node.inputs]
    known = [rows for rows in below if rows is not None]
    if not known or len(known) != len(below):
        return None
    if isinstance(node, n.Limit):
        left = max(known[0] - node.offset, 0)
        return left if node.fetch is None else min(left, node.fetch)
    if isinstance(node, n.Union):
        return sum(known)
    if isinstance(node, Join):
        return _joined(node, *known)
    drops = isinstance(node, ph.Calc) and node.conditions
    return known[0] if isinstance(node, (*_AS_MANY, ph.Calc)) and not drops else None


def _joined(join: Join, left: int, right: int) -> int | None:
    """Every row with its one partner, if keys say that there is one; all pairs without a key."""
    if join.kind.left_only:
        return None
    if not join.left_keys:
        return left * right if join.condition is None else None
    one_left, one_right = (k is UniqueKey.IN_JOIN_KEY for k in join.unique_keys or (None, None))
    if one_right and join.kind in (JoinKind.INNER, JoinKind.LEFT):
        return left
    return right if one_left and join.kind in (JoinKind.INNER, JoinKind.RIGHT) else None
