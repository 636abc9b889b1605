"""Rows that replace each other by key go to a sink that takes them like that as they are."""

from __future__ import annotations

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column, Expression, Schema, columns_used
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["deletes_by_key"]


def deletes_by_key(node: n.Node, settings: PlanSettings) -> n.Node:
    """Leave `ChangelogNormalize` out if the sink needs neither old rows nor whole deleted ones.

    It keeps a row of each key, to say what an update or a delete has replaced. If the primary key
    of the source is that of the sink, nobody asks for that.
    """
    if not isinstance(node, n.Sink) or settings.batch:
        return node
    if not node.target.upserts(True) or not node.target.deletes_by_key:
        return node
    own = upsert_keys(node.input)
    if not own or (node.upsert_keys and not any(key <= set(node.upsert_keys) for key in own)):
        return node
    below = _as_they_are(node.input)
    return node if below is None else node.with_inputs([below])


def _as_they_are(node: n.Node) -> n.Node | None:
    """The plan without `ChangelogNormalize`; None if what is above it needs whole rows."""
    if isinstance(node, n.ChangelogNormalize):
        return node.input if _replaces(node.input) else None
    if isinstance(node, n.Filter):
        kept = any(columns_used(node.condition) <= key for key in upsert_keys(node.input))
    elif isinstance(node, n.Project):
        keys = frozenset().union(*upsert_keys(node.input))
        kept = all(_of_deleted(e, keys, node.input.schema) for e in node.expressions)
    else:
        kept = False
    below = _as_they_are(node.inputs[0]) if kept else None
    return None if below is None else node.with_inputs([below])


def _replaces(node: n.Node) -> bool:
    """Whether a node is a source whose rows replace each other by key.

    Metadata of a message that is dropped would be that of another one.
    """
    if not isinstance(node, n.Scan) or not getattr(node.source, "upsert", False):
        return False
    return not getattr(node.declared, "metadata", None)


def _of_deleted(e: Expression, keys: frozenset[int], schema: Schema) -> bool:
    """Whether an expression can be computed for a row that has NULL in all columns but the keys."""
    if isinstance(e, Column):
        return True
    return all(i in keys or schema[i].type.is_nullable for i in columns_used(e))
