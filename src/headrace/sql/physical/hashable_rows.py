"""Rows that an operator finds again by their values have a hash, also with maps or NaN in them."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.sql import types as t
from headrace.sql.physical import nodes as ph
from headrace.sql.physical.exchanges import required
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.checks.keys import has_no_hash
from headrace.sql.plan.joins import Join, MultiJoin

__all__ = ["hashable_rows"]

_COUNTED = frozenset({"AVG", "COUNT", "SUM", "SUM0", "$SUM0"})
"""Aggregates that add and subtract, and keep no values."""
_AGGREGATES = n.Aggregate | n.WindowAggregate | ph.LocalAggregate | ph.LocalWindowAggregate


def hashable_rows(node: n.Node, settings: PlanSettings) -> n.Node:
    """Whatever keeps rows counts how often each is there, and groups are found by their keys."""
    if isinstance(node, ph.GlobalAggregate | ph.GlobalWindowAggregate):
        # Its keys were made by the local phase.
        return node
    if isinstance(node, Join | MultiJoin | ph.ResolveConflicts):
        keys = required(node, settings)
        wanted = [_kept(i, key) for i, (_, key) in zip(node.inputs, keys, strict=True)]
    elif isinstance(node, _AGGREGATES):
        wanted = [_floats(node.input, (*node.group, *_found_again(node)))]
    elif isinstance(node, n.SetOperation | n.Rank | n.Deduplicate):
        keys = required(node, settings)
        wanted = [_floats(i, key) for i, (_, key) in zip(node.inputs, keys, strict=True)]
    else:
        return node
    return node.with_inputs([_hashable(*x) for x in zip(node.inputs, wanted, strict=True)])


def _kept(node: n.Node, key: Iterable[int]) -> set[int]:
    """Columns of rows that are kept as they are; a key that is NaN equals no other."""
    columns = range(len(node.schema))
    maps = {i for i in columns if has_no_hash(node.schema[i].type)}
    return maps if is_append_only(node) else maps | _floats(node, set(columns) - set(key))


def _found_again(node: _AGGREGATES) -> Iterable[int]:
    """Arguments whose values an accumulator may look for: different ones, or retracted ones."""
    changing = not is_append_only(node.input)
    return (
        i
        for call in node.calls
        if call.distinct or (changing and call.function.name not in _COUNTED)
        for i in call.args
    )


def _floats(node: n.Node, columns: Iterable[int]) -> set[int]:
    return {i for i in columns if isinstance(node.schema[i].type, t.FloatType | t.DoubleType)}


def _hashable(node: n.Node, columns: set[int]) -> n.Node:
    return ph.HashableRows(node.schema, node, tuple(sorted(columns))) if columns else node
