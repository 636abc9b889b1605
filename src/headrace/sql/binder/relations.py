"""Plans made of other plans: other names and types of columns, unions, different rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import BindingContext, repeated
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, Literal, Schema
from headrace.sql.types.type_rules import common_type

__all__ = [
    "cast_columns",
    "distinct",
    "kept_for",
    "renamed",
    "same_types",
    "union_of",
    "unique_name",
    "values_of_rows",
    "with_unique_names",
]


def kept_for(plan: n.Node, ttl_ms: int | None) -> n.Node:
    """A plan of groups, perhaps with HAVING above, whose state is kept for a while."""
    if ttl_ms is not None and isinstance(plan, n.Aggregate):
        return replace(plan, state_ttl_ms=ttl_ms)
    if ttl_ms is not None and isinstance(plan, n.Filter | n.Project):
        return replace(plan, input=kept_for(plan.input, ttl_ms))
    return plan


def distinct(plan: n.Node) -> n.Node:
    """Different rows only."""
    fields = tuple(Field(f.name, f.type, f.time) for f in plan.schema)
    return n.Aggregate(Schema(fields), plan, tuple(range(len(fields))), ())


def union_of(plans: Sequence[n.Node]) -> n.Node:
    """All rows of plans of the same types."""
    flat: list[n.Node] = []
    for plan in plans:
        flat += plan.relations if isinstance(plan, n.Union) else [plan]
    first = plans[0].schema
    fields = []
    for index, f in enumerate(first):
        times = {p.schema[index].time for p in plans}
        nullable = any(p.schema[index].type.is_nullable for p in plans)
        time = f.time if len(times) == 1 else None
        fields.append(Field(f.name, f.type.with_nullable(nullable), time))
    return n.Union(Schema(tuple(fields)), tuple(flat))


def same_types(
    context: BindingContext, plans: Sequence[n.Node], kind: str, span: x.Span | None
) -> list[n.Node]:
    """Casts the columns of relations to common types; those of the Table API have no span."""
    widths = {len(p.schema) for p in plans}
    method = "minus" if kind == "EXCEPT" else kind.lower().removesuffix(" all")
    if len(widths) != 1:
        message = f"Column count mismatch in {kind}"
        if span is None:
            sizes = " and ".join(str(len(p.schema)) for p in plans)
            message = (
                f"The {method} operation on two tables of different column sizes: {sizes} is not "
                "supported"
            )
        raise context.error(message, span)
    wanted = []
    for index in range(widths.pop()):
        type_ = common_type([p.schema[index].type for p in plans])
        if type_ is None:
            given = [p.schema[index].type.sql_text() for p in plans]
            message = f"Type mismatch in column {index + 1} of {kind}: {', '.join(given)} have "
            message += "no common type"
            if span is None:
                message = (
                    f"Incompatible types for {method} operation. Could not find a common type at "
                    f"position {index} for {' and '.join(map(repr, given))}."
                )
            raise context.error(message, span)
        wanted.append(type_)
    return [cast_columns(context, p, wanted) for p in plans]


def cast_columns(context: BindingContext, plan: n.Node, wanted: Sequence[t.DataType]) -> n.Node:
    """A plan whose columns have other types."""
    if all(f.type.same_but_null(w) for f, w in zip(plan.schema, wanted, strict=True)):
        return plan
    scope = Scope(context)
    scope.add(None, plan.schema)
    binder = ExpressionBinder(context, scope)
    columns = plan.schema.columns()
    expressions = [binder.coerce(c, w) for c, w in zip(columns, wanted, strict=True)]
    return n.Project.of(plan, expressions, plan.schema.names)


def renamed(
    context: BindingContext, plan: n.Node, names: Sequence[str], span: x.Span | None = None
) -> n.Node:
    """A plan whose columns have other names; the plan itself if there are none."""
    if not names:
        return plan
    if len(names) != len(plan.schema):
        raise context.error(
            f"{len(names)} names were given for {len(plan.schema)} columns: "
            f"{', '.join(plan.schema.names)}",
            span,
        )
    twice = repeated(names)
    if twice is not None:
        raise context.error(f"Duplicate name '{twice}' in column alias list", span)
    return n.Project.of(plan, plan.schema.columns(), names)


def unique_name(name: str, taken: Collection[str]) -> str:
    """A name, with a number behind it if it is taken."""
    number, unique = 0, name
    while unique in taken:
        unique, number = f"{name}{number}", number + 1
    return unique


def with_unique_names(plan: n.Node) -> n.Node:
    """A plan whose columns can be told apart: a name that is there already gets a number."""
    names: list[str] = []
    for name in plan.schema.names:
        names.append(unique_name(name, names))
    if names == plan.schema.names:
        return plan
    if isinstance(plan, n.Project):
        return n.Project.of(plan.input, plan.expressions, names)
    return n.Project.of(plan, plan.schema.columns(), names)


def values_of_rows(
    context: BindingContext,
    rows: Sequence[Sequence[Expression]],
    schema: Schema,
    binder: ExpressionBinder,
) -> n.Node:
    """Constant rows as they are, others as projections of a single row."""
    cast = [
        [fold(binder.coerce(c, f.type), context.zone) for c, f in zip(row, schema, strict=True)]
        for row in rows
    ]
    if all(isinstance(c, Literal) for row in cast for c in row):
        data = tuple(tuple(c.value for c in row if isinstance(c, Literal)) for row in cast)
        return n.Values(schema, data)
    single = n.Values(Schema(()), ((),))
    parts: list[n.Node] = [n.Project.of(single, row, schema.names) for row in cast]
    return parts[0] if len(parts) == 1 else n.Union(schema, tuple(parts))
