"""What Spark reads crosses an exchange as columns, and becomes rows where it is needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from headrace.sql.physical.nodes import Distribution, Exchange, SparkColumns, SparkRows
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n

__all__ = ["column_exchanges"]


def column_exchanges(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """Columns instead of rows, where all that read them are exchanges by key."""
    readers: defaultdict[n.Node, list[n.Node]] = defaultdict(list)
    for plan in plans:
        _collect(plan, readers)

    def as_columns(node: n.Node) -> n.Node:
        if isinstance(node, SparkRows) and readers[node] and all(map(_by_key, readers[node])):
            return SparkColumns(node.schema, node.segment)
        return node

    done: dict[n.Node, n.Node] = {}
    return [n.rewrite_nodes(p, as_columns, done) for p in plans]


def _collect(node: n.Node, readers: defaultdict[n.Node, list[n.Node]]) -> None:
    for child in node.inputs:
        readers[child].append(node)
        if len(readers[child]) == 1:
            _collect(child, readers)


def _by_key(node: n.Node) -> bool:
    hashed = isinstance(node, Exchange) and node.distribution is Distribution.HASH
    return hashed and bool(node.columns)  # type: ignore[attr-defined]
