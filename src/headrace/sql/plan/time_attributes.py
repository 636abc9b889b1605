"""Which columns are time attributes, once it is known which joins keep them."""

from __future__ import annotations

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column, TimeAttribute
from headrace.sql.plan.joins import IntervalJoin, Join, TemporalJoin, WindowJoin
from headrace.sql.plan.lookups import LookupJoin

__all__ = ["time_of"]

_PASSING = (
    n.Filter,
    n.WatermarkAssigner,
    n.Sort,
    n.Limit,
    n.BatchedCalls,
    n.Correlate,
    LookupJoin,
    n.OverAggregate,
    n.Rank,
    n.Deduplicate,
    n.WindowTable,
    n.Union,
)
"""Nodes whose first columns are those of their inputs; all but Union look at the first input."""


def time_of(node: n.Node, column: int) -> TimeAttribute | None:
    """What a column says about time: nothing behind a regular join, whose rows may wait for ever.

    Names are bound before conditions have found their join, so that schemas know less than this.
    """
    found = node.schema[column].time
    if found is None:
        return None
    if isinstance(node, TemporalJoin):
        # Those of a version say when it began, which may be long ago.
        return time_of(node.left, column) if column < len(node.left.schema) else None
    if isinstance(node, Join):
        if not isinstance(node, WindowJoin) and not (
            isinstance(node, IntervalJoin) and found is node.time
        ):
            return None
        width = len(node.left.schema)
        return time_of(node.left, column) if column < width else time_of(node.right, column - width)
    if isinstance(node, n.Project):
        expression = node.expressions[column]
        return time_of(node.input, expression.index) if isinstance(expression, Column) else found
    if isinstance(node, n.WatermarkAssigner) and column == node.column:
        return found
    if isinstance(node, _PASSING) and column < len(node.inputs[0].schema):
        read = node.inputs if isinstance(node, n.Union) else node.inputs[:1]
        return found if all(time_of(i, column) is found for i in read) else None
    return found
