"""Temporal table functions: the rows of a table that were valid at a time, in the Table API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column
from headrace.sql.plan.joins import JoinKind, TemporalJoin, Versions
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.table_api.joins import join_tables

__all__ = ["VersionedTable", "join_versions", "versioned_table"]


@dataclass(frozen=True)
class VersionedTable:
    """A table whose rows are versions: by which key, and from which time on each is valid."""

    plan: n.Node
    versions: Versions


def versioned_table(plan: n.Node, time_attribute: Any, primary_key: Any) -> VersionedTable:
    """The versions of a plan's rows."""
    time = _column(plan, time_attribute)
    if plan.schema[time].time is None:
        raise SqlError(
            f"{plan.schema[time].name!r} is not a time attribute: a temporal table function takes "
            "the event time or the processing time of its table"
        )
    keys = primary_key if isinstance(primary_key, list | tuple) else (primary_key,)
    return VersionedTable(plan, Versions(tuple(_column(plan, key) for key in keys), time))


def _column(plan: n.Node, expression: Any) -> int:
    node = node_of(expression)
    name = node.parts[-1] if isinstance(node, x.Name) else str(expression)
    if name not in plan.schema.names:
        raise SqlError(
            f"{name!r} is not a column of the table{suggestion(name, plan.schema.names)}"
        )
    return plan.schema.names.index(name)


def join_versions(
    context: BindingContext,
    plan: n.Node,
    table: VersionedTable,
    arguments: Sequence[x.Node],
    predicate: Any,
    outer: bool,
) -> TemporalJoin:
    """Each row with the version that was valid at the time that the argument names."""
    kind = JoinKind.LEFT if outer else JoinKind.INNER
    joined = join_tables(context, plan, table.plan, kind, predicate)
    scope = Scope(context)
    scope.add(None, plan.schema)
    times = [ExpressionBinder(context, scope).bind(a) for a in arguments]
    if len(times) != 1 or not isinstance(times[0], Column) or times[0].time is None:
        raise SqlError("a temporal table function takes one time attribute of the other table")
    return replace(joined.temporal(times[0].index), versions=table.versions)
