"""Joins of tables, in the Table API."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join, JoinKind
from headrace.sql.table_api.table_binding import condition

__all__ = ["join_tables"]


def join_tables(
    context: BindingContext, left: n.Node, right: n.Node, kind: JoinKind, predicate: Any
) -> Join:
    """Rows of two tables that fulfil a condition together; their columns have different names."""
    twice = [name for name in left.schema.names if name in right.schema.names]
    if twice:
        raise SqlError(
            f"join relations with ambiguous names: [{', '.join(twice)}]; rename columns with "
            "alias() before"
        )
    scope = Scope(context)
    scope.add(None, left.schema)
    scope.add(None, right.schema)
    binder = ExpressionBinder(context, scope)
    return Join.of(left, right, kind, None if predicate is None else condition(binder, predicate))
