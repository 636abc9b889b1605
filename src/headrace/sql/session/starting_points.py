"""Plans whose sources begin at a point in time, as START_MODE says."""

from __future__ import annotations

from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.sql.connectors.base import find_factory
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import TemporalJoin
from headrace.sql.rules.lookup_joins import is_lookup

__all__ = ["beginning_at"]


def beginning_at(plan: n.Node, millis: int | None) -> n.Node:
    """The plan with sources that give what came since a moment, or what comes from now on.

    Tables that rows are looked up in have no beginning, and stay as they are.
    """
    looked_up: set[n.Node] = set()

    def find(node: n.Node) -> None:
        if isinstance(node, TemporalJoin) and is_lookup(node):
            looked_up.update(_scans(node.right))
        for each in node.inputs:
            find(each)

    def change(node: n.Node) -> n.Node:
        if not isinstance(node, n.Scan) or node in looked_up:
            return node
        return _begun(node, millis)

    find(plan)
    return n.rewrite_nodes(plan, change)


def _scans(node: n.Node) -> list[n.Node]:
    return [node] if isinstance(node, n.Scan) else [x for i in node.inputs for x in _scans(i)]


def _begun(scan: n.Scan, millis: int | None) -> n.Scan:
    table = ".".join(scan.table)
    context = scan.declared
    factory = find_factory(context.options, table) if context is not None else None
    options = factory.beginning_at(context, millis) if factory is not None else None
    if context is None or factory is None or options is None:
        what = "what comes from now on" if millis is None else "what came since a moment"
        raise SqlError(
            f"table {table} cannot be read for {what} alone: leave out START_MODE, or set it to "
            "FROM_BEGINNING"
        )
    declared = replace(context, options={**context.options, **options}, _used={"connector"})
    return replace(scan, source=factory.create_source(declared), declared=declared)
