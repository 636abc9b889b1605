"""Rows meet in a subtask before whatever looks at more than one of them."""

from __future__ import annotations

from headrace.sql.physical import nodes as ph
from headrace.sql.physical.nodes import Distribution, Exchange
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import TimeAttribute
from headrace.sql.plan.joins import Join, MultiJoin
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.plan.match import Match
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["exchanges", "required"]

Required = tuple[Distribution, tuple[int, ...]]


def exchanges(node: n.Node, settings: PlanSettings) -> n.Node:
    """An exchange below each input that has to be distributed otherwise."""
    if isinstance(node, n.Sort) and not settings.batch and _by_arrival(node):
        # Rows come in the order of processing time as soon as they are all in one place.
        return Exchange(node.input.schema, node.input, Distribution.SINGLE)
    wanted = required(node, settings)
    if not wanted:
        return node
    return node.with_inputs(
        [Exchange(i.schema, i, *how) for i, how in zip(node.inputs, wanted, strict=True)]
    )


def required(node: n.Node, settings: PlanSettings) -> tuple[Required, ...]:
    """How each input of a node is distributed; empty if that does not matter."""
    if isinstance(node, ph.GlobalAggregate | ph.GlobalWindowAggregate):
        return ((Distribution.KEYED, node.group),)
    if isinstance(node, n.Aggregate | n.WindowAggregate | n.RowWindowAggregate):
        return _by(node.group)
    if isinstance(node, n.OverAggregate | n.Rank | Match):
        return _by(node.partition)
    if isinstance(node, n.Deduplicate | n.ChangelogNormalize):
        return _by(node.keys)
    if isinstance(node, ph.UpsertMaterialize | ph.ResolveConflicts):
        return _by(node.keys)
    if isinstance(node, n.WindowTable) and node.window.kind == "SESSION":
        return _by(node.window.partition)
    if isinstance(node, n.Limit) and node.keys and not settings.batch:
        return _by(())
    if isinstance(node, n.Sort | n.Limit):
        return ((Distribution.SINGLE, ()),)
    if isinstance(node, n.SetOperation):
        return _by(tuple(range(len(node.schema)))) * 2
    if isinstance(node, LookupJoin):
        return () if node.kept_by is None else _by(node.kept_by)
    if isinstance(node, Join):
        return (*_by(node.left_keys), *_by(node.right_keys))
    if isinstance(node, ProcessTable) and node.keyed:
        return tuple((Distribution.HASH, table.partition) for table in node.tables)
    if isinstance(node, MultiJoin):
        return tuple((Distribution.HASH, key) for key in node.keys)
    return ()


def _by(columns: tuple[int, ...]) -> tuple[Required, ...]:
    return ((Distribution.HASH, columns),)


def _by_arrival(node: n.Sort) -> bool:
    return node.input.schema[node.keys[0].index].time is TimeAttribute.PROCTIME
