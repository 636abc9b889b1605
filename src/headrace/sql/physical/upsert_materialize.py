"""The right row has a key of a sink, also where updates come in another order."""

from __future__ import annotations

from headrace.sql.physical.nodes import ConstraintEnforcer, ResolveConflicts, UpsertMaterialize
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.checks.conflicts import may_conflict
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["upsert_materialize"]


def upsert_materialize(node: n.Node, settings: PlanSettings) -> n.Node:
    """Rows of each key are kept where updates may reach it in the wrong order.

    They may where the key is not a key of the query: two rows of the query then have one key of the
    sink, and come from different subtasks. ON CONFLICT may say that there are no two such rows, or
    that the first one counts.
    """
    if not isinstance(node, n.Sink) or settings.batch:
        return node
    changes = not is_append_only(node.input)
    if not node.target.upserts(changes):
        return node
    keys, wanted = node.upsert_keys, settings.sinks.materialize
    if wanted == "NONE" or not keys:
        return node
    query = node.input
    if isinstance(query, ConstraintEnforcer):
        query = query.input
    if wanted == "AUTO" and not may_conflict(query, keys):
        return node
    if node.conflict in ("NOTHING", "ERROR"):
        own = min(upsert_keys(query), key=len, default=None)
        by = None if own is None else tuple(sorted(own))
        resolved = ResolveConflicts(node.schema, node.input, keys, by, node.conflict)
        return node.with_inputs([resolved])
    if not changes:
        return node
    return node.with_inputs([UpsertMaterialize(node.schema, node.input, keys)])
