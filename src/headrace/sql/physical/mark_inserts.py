"""Inputs that meet in one operator either all end with the kind of a row, or none does."""

from __future__ import annotations

from headrace.sql.physical.nodes import MarkInserts
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only

__all__ = ["mark_inserts"]


def mark_inserts(node: n.Node, settings: PlanSettings) -> n.Node:
    """Rows that only come get a kind where the operator, or another input, has one.

    In batch mode nothing changes, so that no row has a kind.
    """
    mixed = isinstance(node, n.Union) and not is_append_only(node)
    always = isinstance(node, n.SetOperation)
    if settings.batch or not (mixed or always):
        return node
    return node.with_inputs(
        [MarkInserts(i.schema, i) if is_append_only(i) else i for i in node.inputs]
    )
