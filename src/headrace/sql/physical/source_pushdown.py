"""Tables of databases and lakehouses read only the columns and rows that a query needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of, conjuncts
from headrace.sql.segments.steps import columns_needed

__all__ = ["source_pushdown"]


def source_pushdown(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """Plans whose tables look at conditions and limits, and leave out columns nobody looks at."""
    pushdown = _Pushdown(plans, settings.pushdown)
    plans = [pushdown.visit(plan) for plan in plans]
    needed = columns_needed(plans)

    def narrowed(node: n.Node) -> n.Node:
        if not isinstance(node, n.Scan) or not _pushes_down(node):
            return node
        columns = needed.get(node)
        if columns is None or len(columns) == len(node.schema):
            return node
        return replace(node, source=node.source.narrowed(sorted(columns)))

    done: dict[n.Node, n.Node] = {}
    return [n.rewrite_nodes(plan, narrowed, done) for plan in plans]


def _pushes_down(scan: n.Scan) -> bool:
    return getattr(scan.source, "pushes_down", False)


class _Pushdown:
    """What several read is read as none of them alone would like it."""

    def __init__(self, plans: Sequence[n.Node], conditions: bool) -> None:
        self._readers = n.count_readers(plans)
        self._conditions = conditions
        self._done: dict[n.Node, n.Node] = {}

    def visit(self, node: n.Node) -> n.Node:
        found = self._done.get(node)
        if found is None:
            below = [self.visit(i) for i in node.inputs]
            same = all(a is b for a, b in zip(below, node.inputs, strict=True))
            found = self._pushed(node, node if same else node.with_inputs(below))
            self._done[node] = found
        return found

    def _pushed(self, before: n.Node, node: n.Node) -> n.Node:
        if isinstance(node, n.Filter) and self._conditions:
            return self._filtered(node)
        if isinstance(node, n.Limit) and not node.keys and node.fetch is not None:
            (below,) = before.inputs
            return node.with_inputs([self._limited(below, node.input, node.offset + node.fetch)])
        return node

    def _filtered(self, node: n.Filter) -> n.Node:
        scan = node.input
        if not isinstance(scan, n.Scan) or not _pushes_down(scan) or scan.watermark is not None:
            return node
        if self._readers[scan] > 1:
            return node
        source, left = scan.source.filtered(conjuncts(node.condition))
        if source is scan.source:
            return node
        made, condition = replace(scan, source=source), all_of(left)
        return made if condition is None else n.Filter.of(made, condition)

    def _limited(self, before: n.Node, node: n.Node, rows: int) -> n.Node:
        """What a limit reads: the node as it was, for its readers, and as it is now."""
        if self._readers[before] > 1:
            return node
        if isinstance(before, n.Filter) and not isinstance(node, n.Filter):
            (before,) = before.inputs
            return self._limited(before, node, rows)
        if isinstance(node, n.Project):
            (below,) = before.inputs
            return node.with_inputs([self._limited(below, node.input, rows)])
        if isinstance(node, n.Scan) and _pushes_down(node):
            return replace(node, source=node.source.limited(rows))
        return node
