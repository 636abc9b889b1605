"""Binds JOIN: kinds, ON, USING, NATURAL and FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.hints import JoinHints
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.parser.unsupported import join_span
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of
from headrace.sql.plan.expressions import Column, Expression, Field, Schema, columns_used
from headrace.sql.plan.joins import Join, JoinKind
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import common_type, is_timestamp

__all__ = ["bind_as_of", "bind_join", "time_travel"]

_SIDES = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}


def bind_join(
    context: BindingContext,
    plan: n.Node,
    scope: Scope,
    right: n.Node,
    other: Scope,
    join: Any,
    on: x.Node | None,
    hints: JoinHints,
    as_of: int | None = None,
) -> n.Node:
    """The join of two relations by a condition; `scope` then knows the names of both.

    With `as_of`, the right one is looked at as it was at the time in that column of the left one.
    """
    span = join_span(join, context.text)
    kind = _SIDES[str(join.side or "").upper()]
    if str(join.kind or "").upper() in ("SEMI", "ANTI", "ASOF"):
        raise context.error(f"{join.kind.upper()} JOIN is not part of SQL; use EXISTS or IN", span)
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    names = [c.name for c in join.args.get("using") or ()]
    if natural:
        names = [c for c in plan.schema.names if c in right.schema.names]
    if on is None and not names and not natural and kind is not JoinKind.INNER:
        raise context.error(f"{str(join.side).upper()} JOIN needs a condition: ON or USING", span)
    pairs = [_pair(context, scope, other, name, len(plan.schema), span) for name in names]
    for relation in other.relations:
        scope.add(relation.name, relation.schema, relation.path, span)
    binder = ExpressionBinder(context, scope)
    condition: Expression | None = None
    if on is not None:
        _check_comparable(context, binder, on)
        condition = binder.condition(on, "ON")
        if getattr(condition, "value", None) is True:
            condition = None
    elif pairs:
        for a, b in pairs:
            _common_type(context, [a.type, b.type], span)
        condition = all_of([binder.named("EQUALS", a, b, span=span) for a, b in pairs])
    joined = Join.of(plan, right, kind, condition)
    if as_of is not None:
        if kind.keeps_right:
            raise context.error(
                f"Unknown join type {kind.name}: a temporal join is INNER or LEFT", span
            )
        joined = replace(joined.temporal(as_of), lookup=hints.lookup)
    joined = replace(joined, ttls_ms=hints.ttls_ms, origin=context.excerpt(span))
    if context.batch:
        joined = replace(joined, strategies=hints.strategies)
    _take_schema(scope, joined.schema)
    if not names:
        return joined
    return _merged(scope, joined, binder, names, pairs, kind)


def _check_comparable(context: BindingContext, binder: ExpressionBinder, on: x.Node) -> None:
    """Columns that are to be equal have a common type: no text is read as a number for a join."""
    if not isinstance(on, x.Apply):
        return
    if on.function == "AND":
        for part in on.args:
            _check_comparable(context, binder, part)
    elif on.function == "EQUALS" and all(type(a) is x.Name for a in on.args):
        _common_type(context, [binder.bind(a).type for a in on.args], on.span)


def _common_type(
    context: BindingContext, types: Sequence[DataType], span: x.Span | None
) -> DataType:
    found = common_type(types)
    if found is None:
        a, b = (x.sql_text() for x in types)
        raise context.error(
            f"implicit type conversion between {a} and {b} is not supported on join's condition "
            "now: CAST one of the two",
            span,
        )
    return found


def bind_as_of(context: BindingContext, scope: Scope, version: Any) -> int:
    """The column of the left relation that FOR SYSTEM_TIME AS OF names."""
    node = expression_node(version.expression)
    time = ExpressionBinder(context, scope).bind(node)
    if not is_timestamp(time.type):
        raise context.error(
            "The system time period specification expects Timestamp type but is "
            f"'{time.type.sql_text()}'",
            node.span,
        )
    if not columns_used(time):
        raise time_travel(context, version)
    if not isinstance(time, Column):
        raise context.error(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time "
            "attribute field",
            node.span,
        )
    if time.time is None:
        raise context.error(
            "Temporal Table Join requires time attribute in the left table, but no time attribute "
            "found",
            node.span,
        )
    return time.index


def time_travel(context: BindingContext, version: Any) -> SqlError:
    """The refusal of a time that is the same for all rows."""
    return context.error(
        "FOR SYSTEM_TIME AS OF a fixed time needs a catalog that keeps old versions of its tables; "
        "in a join, name the time attribute of the left table",
        span_of(version),
    )


def _pair(
    context: BindingContext,
    scope: Scope,
    other: Scope,
    name: str,
    width: int,
    span: tuple[int, int] | None,
) -> tuple[Expression, Expression]:
    """The columns of the left and of the right side that have a name."""
    for side in (scope, other):
        if name not in side.schema.names:
            hint = suggestion(name, side.schema.names)
            raise context.error(f"Column '{name}' not found in any table{hint}", span)
    left = scope.resolve((name,), span)
    right = other.resolve((name,), span)
    shift: int = width
    return left, Schema((*scope.schema, *other.schema)).column(right.index + shift)  # type: ignore[attr-defined]


def _take_schema(scope: Scope, schema: Schema) -> None:
    """Columns may be NULL now that were not in their table."""
    for relation in scope.relations:
        end = relation.offset + len(relation.schema)
        now = schema.fields[relation.offset : end]
        kept = zip(relation.schema.names, now, strict=True)
        relation.schema = Schema(tuple(Field(name, f.type, f.time) for name, f in kept))


def _merged(
    scope: Scope,
    joined: Join,
    binder: ExpressionBinder,
    names: Sequence[str],
    pairs: Sequence[tuple[Expression, Expression]],
    kind: JoinKind,
) -> n.Node:
    """Adds a column for each name, which has the value of the side that is there."""
    width = len(joined.schema)
    columns = joined.schema.columns()
    values: list[Expression] = []
    for a, b in pairs:
        left, right = columns[a.index], columns[b.index]  # type: ignore[attr-defined]
        if kind is JoinKind.FULL:
            values.append(binder.named("COALESCE", left, right))
        else:
            value = right if kind is JoinKind.RIGHT else left
            wanted = _common_type(binder.context, [left.type, right.type], None)
            values.append(binder.coerce(value, wanted.with_nullable(value.type.is_nullable)))
    scope.add_hidden(Schema(tuple(Field(c, v.type) for c, v in zip(names, values, strict=True))))
    scope.merged |= {name: width + i for i, name in enumerate(names)}
    return n.Project.of(joined, (*columns, *values), [*joined.schema.names, *names])
