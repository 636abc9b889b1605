"""What a lookup join found for a row is what it takes back."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import Schema, TimeAttribute
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["keep_lookups", "lasting_columns"]


def keep_lookups(node: n.Node, settings: PlanSettings) -> n.Node:
    """A table may have changed since a row came; then another lookup would find something else."""
    if not isinstance(node, LookupJoin) or not settings.keep_lookups or settings.batch:
        return node
    if is_append_only(node.input):
        return node
    everything = frozenset(lasting_columns(node.input.schema))
    key = min(upsert_keys(node.input), key=sorted, default=everything)
    return replace(node, kept_by=tuple(sorted(key)))


def lasting_columns(schema: Schema) -> tuple[int, ...]:
    """Columns that a row still has when it is taken back: all but processing time."""
    return tuple(i for i, f in enumerate(schema) if f.time is not TimeAttribute.PROCTIME)
