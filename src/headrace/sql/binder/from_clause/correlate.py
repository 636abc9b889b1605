"""Binds LATERAL TABLE(f(x)) and UNNEST: rows that a function makes of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.lookups.vector_search import VectorSearch
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.parser.unsupported import join_span
from headrace.sql.plan import nodes as n
from headrace.sql.plan.batch_tables import VectorSearchTableFunction
from headrace.sql.plan.expressions import Expression, Field, Schema
from headrace.sql.types import DataType

Search = Callable[[Scope, Any], tuple[Any, list[Expression], list[Field]]]


@dataclass(frozen=True)
class Unnest:
    """The built-in table function behind UNNEST.

    Attributes:
        kind: What it takes: array, rows, map or multiset.
        ordinality: Whether rows have numbers.
        renews: Whether a change takes all rows back and gives new ones, rather than updates: there
            may be more of them, or fewer.
    """

    kind: str
    ordinality: bool = False
    name: str = "UNNEST"
    renews: bool = False


def bind_correlate(
    context: BindingContext, plan: n.Node, scope: Scope, join: Any, search: Search
) -> n.Node | None:
    """A join with a table function of the left side's columns; None if it is another join.

    What VECTOR_SEARCH searches is a relation, which `search` binds.
    """
    relation = join.this
    if not isinstance(relation, exp.Lateral | exp.Unnest):
        return None
    side = str(join.side or "").upper()
    if side not in ("", "LEFT"):
        raise context.error(
            f"Unknown join type {side}: a lateral join is INNER or LEFT",
            join_span(join, context.text),
        )
    outer = side == "LEFT"
    function, arguments, fields, name = _function_of(context, scope, relation, search)
    if outer:
        fields = [Field(f.name, f.type.nullable()) for f in fields]
    scope.add(name, Schema(tuple(fields)))
    condition = None
    on = join.args.get("on")
    if on is not None:
        bound = ExpressionBinder(context, scope).bind(expression_node(on))
        always = getattr(bound, "value", None) is True
        condition = None if always else bound
    schema = Schema((*plan.schema, *fields))
    node, origin = _node(function), context.excerpt(span_of(relation))
    return node(schema, plan, function, tuple(arguments), outer, condition, origin=origin)


def bind_leading(context: BindingContext, tree: Any, search: Search) -> n.Node:
    """A table function that stands first in FROM: of constants."""
    single = n.Values(Schema(()), ((),))
    scope = Scope(context)
    function, arguments, fields, _ = _function_of(context, scope, tree, search)
    return _node(function)(Schema(tuple(fields)), single, function, tuple(arguments))


def bind_leading_call(context: BindingContext, call: Any, search: Search) -> n.Node:
    """`FROM TABLE(f(1))`."""
    single = n.Values(Schema(()), ((),))
    scope = Scope(context)
    function, arguments, fields = _call(context, scope, call, search)
    return _node(function)(Schema(tuple(fields)), single, function, tuple(arguments))


def _function_of(
    context: BindingContext, scope: Scope, relation: Any, search: Search
) -> tuple[Any, list[Expression], list[Field], str | None]:
    alias = relation.args.get("alias")
    if isinstance(relation, exp.Unnest):
        function, arguments, fields = _unnest(context, scope, relation)
    else:
        call = relation.this
        if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE":
            call = call.expressions[0]
        if isinstance(call, exp.Unnest):
            function, arguments, fields = _unnest(context, scope, call)
        else:
            function, arguments, fields = _call(context, scope, call, search)
    names = [c.name for c in alias.columns] if alias is not None else []
    number = relation.args.get("offset")
    if names and isinstance(number, exp.Identifier):
        # sqlglot takes the last name for the number of WITH ORDINALITY.
        names.append(number.name)
    if names:
        if len(names) != len(fields):
            raise context.error(
                f"{len(names)} names were given for {len(fields)} columns", span_of(relation)
            )
        fields = [Field(name, f.type) for name, f in zip(names, fields, strict=True)]
    name = alias.name if alias is not None and alias.this is not None else None
    return function, arguments, fields, name


def _unnest(
    context: BindingContext, scope: Scope, relation: Any
) -> tuple[Any, list[Expression], list[Field]]:
    if len(relation.expressions) != 1:
        raise context.error("UNNEST takes one array, map or multiset", span_of(relation))
    (argument,) = relation.expressions
    bound = ExpressionBinder(context, scope).bind(expression_node(argument))
    ordinality = bool(relation.args.get("offset"))
    type_ = bound.type
    if isinstance(type_, t.MapType):
        kind, types = "map", [("KEY", type_.key_type), ("VALUE", type_.value_type)]
    elif isinstance(type_, t.ArrayType):
        kind = "multiset" if isinstance(type_, t.MultisetType) else "array"
        types = _element_fields(type_.element_type)
        if isinstance(type_.element_type, t.RowType):
            kind = "rows"
    else:
        raise context.error(
            f"UNNEST takes an array, map or multiset, not {type_.sql_text()}", span_of(relation)
        )
    fields = [Field(name, x) for name, x in types]
    if ordinality:
        fields.append(Field("ORDINALITY", t.IntType(False)))
    return Unnest(kind, ordinality), [bound], fields


def _element_fields(element: DataType) -> list[tuple[str, DataType]]:
    if isinstance(element, t.RowType):
        return [(f.name, f.data_type) for f in element.fields]
    return [("EXPR$0", element)]


def _node(function: Any) -> type[n.Correlate]:
    return VectorSearchTableFunction if isinstance(function, VectorSearch) else n.Correlate


def _call(
    context: BindingContext, scope: Scope, call: Any, search: Search
) -> tuple[Any, list[Expression], list[Field]]:
    name = call.name
    if name.upper() == "VECTOR_SEARCH":
        return search(scope, call)
    function = context.find_function((name,))
    if function is None or getattr(function, "kind", None) is None:
        raise context.error(f"No match found for table function {name}", span_of(call))
    if function.kind is FunctionKind.PROCESS_TABLE:
        raise context.error(
            f"{name} is a process table function, which cannot be joined with LATERAL: it reads "
            "tables, not the columns of a row",
            span_of(call),
        )
    binder = ExpressionBinder(context, scope)
    arguments = [binder.bind(expression_node(a)) for a in call.expressions]
    types, result = function.bind([a.type for a in arguments])
    if types is not None:
        arguments = [binder.coerce(a, w) for a, w in zip(arguments, types, strict=True)]
    return function, arguments, [Field(a, b) for a, b in _element_fields(result)]
