"""Binds LATERAL (SELECT ...): a subquery in FROM that speaks of the relations before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.subqueries import SubqueryBinder
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.parser.unsupported import join_span
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.plan.joins import JoinKind

if TYPE_CHECKING:
    from headrace.sql.binder.queries import QueryBinder

__all__ = ["bind_lateral", "is_lateral_query"]

_KINDS = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT}


def is_lateral_query(tree: Any) -> bool:
    """Whether it is LATERAL with a query, rather than with a table function."""
    return isinstance(tree, exp.Lateral) and isinstance(tree.this, exp.Subquery)


def bind_lateral(queries: QueryBinder, plan: n.Node, scope: Scope, join: Any) -> n.Node:
    """Each row with the rows that the subquery has for it; `scope` then knows their names."""
    context, relation, side = queries.context, join.this, str(join.side or "").upper()
    span = join_span(join, context.text)
    if side not in _KINDS:
        raise context.error(f"Unknown join type {side}: a lateral join is INNER or LEFT", span)
    subqueries = SubqueryBinder(queries, plan, scope)
    query = x.Subquery("lateral", relation.this.this, span=span_of(relation))
    fields = subqueries.beside(query, _KINDS[side]).fields
    alias = relation.args.get("alias")
    names = [c.name for c in alias.columns] if alias is not None else []
    if names and len(names) != len(fields):
        raise context.error(f"{len(names)} names were given for {len(fields)} columns", span)
    named = [Field(name, f.type, f.time) for name, f in zip(names, fields, strict=False)]
    name = alias.name if alias is not None and alias.this is not None else None
    scope.add(name, Schema(tuple(named or fields)))
    on = join.args.get("on")
    if on is None:
        return subqueries.plan
    condition = ExpressionBinder(context, scope).condition(expression_node(on), "ON")
    if getattr(condition, "value", None) is True:
        return subqueries.plan
    if side:
        raise context.error(
            "LEFT JOIN LATERAL takes ON TRUE: write the condition into the subquery", span_of(on)
        )
    return n.Filter.of(subqueries.plan, condition)
