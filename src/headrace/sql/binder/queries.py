"""Binds queries: SELECT with its clauses, VALUES, WITH and set operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlglot import exp

from headrace.common.errors import ConfigurationError
from headrace.common.option_types import DURATION
from headrace.sql import syntax as x
from headrace.sql import types as t
from headrace.sql.binder.aggregation import Aggregation, contains_aggregate
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.over import bind_over, contains_over
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.tables import TableBinder
from headrace.sql.constants import fold
from headrace.sql.ddl_parser import hint_options
from headrace.sql.expressions import Column, Expression, Field, Literal, Schema, SortKey
from headrace.sql.from_ast import expression_node, order_nodes, over_of, span_of
from headrace.sql.plan import nodes as n
from headrace.sql.type_rules import common_type

__all__ = ["QueryBinder"]


class QueryBinder:
    """Binds one statement; common table expressions are known to the queries inside."""

    def __init__(self, context: BindingContext, known: dict[str, n.Node] | None = None) -> None:
        self.context = context
        self.known = dict(known or {})

    def bind(self, tree: Any) -> n.Node:
        """The plan of a query."""
        with_ = tree.args.get("with_")
        if with_ is not None:
            inner = QueryBinder(self.context, self.known)
            for cte in with_.expressions:
                plan = inner.bind(cte.this)
                columns = [c.name for c in cte.args["alias"].columns]
                inner.known[cte.alias] = renamed(self.context, plan, columns, span_of(cte))
            return inner._bind(tree)
        return self._bind(tree)

    def _bind(self, tree: Any) -> n.Node:
        if isinstance(tree, exp.Select):
            return self._select(tree)
        if isinstance(tree, exp.Values):
            return self._ordered(tree, self._values(tree))
        if isinstance(tree, exp.SetOperation):
            return self._ordered(tree, self._set_operation(tree))
        if isinstance(tree, exp.Subquery):
            return self._ordered(tree, self.bind(tree.this))
        if isinstance(tree, exp.Table):
            return TableBinder(self).bind(tree)[0]
        raise self.context.error(f"{type(tree).__name__} is no query", span_of(tree))

    # SELECT.

    def _select(self, tree: Any) -> n.Node:
        plan, scope = self._from(tree)
        where = tree.args.get("where")
        if where is not None:
            condition = self._condition(scope, expression_node(where.this), "WHERE")
            plan = n.Filter.of(plan, condition)
        items = self._items(tree, scope)
        order = order_nodes(tree.args.get("order"))
        having = tree.args.get("having")
        group = tree.args.get("group")
        having_node = None if having is None else expression_node(having.this)
        windows = {w.name: over_of(w) for w in tree.args.get("windows") or ()}
        values = [i.value if isinstance(i, x.Alias) else i for i in items]
        aggregated = group is not None or having is not None
        if aggregated or any(contains_aggregate(self.context, v) for v in values):
            aggregation = Aggregation(self.context, plan, scope)
            plan, expressions, sorting = aggregation.bind(group, values, having_node, order)
            plan = self._with_state_ttl(tree, plan, scope)
            if any(contains_over(v) for v in values):
                raise self.context.error("OVER together with GROUP BY is not supported yet")
        elif any(contains_over(v) for v in values):
            plan, expressions = bind_over(self.context, plan, scope, values, windows)
            sorting = self._sort_expressions(plan, scope, order, items)
        else:
            binder = ExpressionBinder(self.context, scope)
            expressions = [binder.bind(v) for v in values]
            sorting = self._sort_expressions(plan, scope, order, items)
        names = self._names(items)
        qualify = tree.args.get("qualify")
        if qualify is not None:
            raise self.context.error("QUALIFY is not supported", span_of(qualify))
        return self._finished(tree, plan, expressions, names, items, order, sorting)

    def _with_state_ttl(self, tree: Any, plan: n.Node, scope: Scope) -> n.Node:
        """The hint `/*+ STATE_TTL('table' = '1 d') */` of a query with groups."""
        for name, text in hint_options(tree.comments or [], "STATE_TTL").items():
            if all(name != r.name and name not in r.path for r in scope.relations):
                raise self.context.error(
                    f"The hint STATE_TTL names {name!r}, which is no table of the query",
                    span_of(tree),
                )
            try:
                ttl: timedelta = DURATION.parse("STATE_TTL", text)
            except ConfigurationError as error:
                raise self.context.error(str(error), span_of(tree)) from None
            plan = _kept_for(plan, ttl // timedelta(milliseconds=1))
        return plan

    def _finished(
        self,
        tree: Any,
        plan: n.Node,
        expressions: Sequence[Expression],
        names: list[str],
        items: list[x.Node],
        order: tuple[x.Order, ...],
        sorting: list[Expression | None],
    ) -> n.Node:
        """Projection, DISTINCT, ORDER BY and LIMIT."""
        count = len(expressions)
        extra: list[Expression] = []
        keys = []
        for item, bound in zip(order, sorting, strict=True):
            index = self._position(item, items, names, expressions, bound)
            if index is None:
                assert bound is not None
                index = count + len(extra)
                extra.append(bound)
            keys.append(SortKey(index, item.descending, item.nulls_first))
        hidden = [f"$sort{i}" for i in range(len(extra))]
        projected: n.Node = n.Project.of(plan, [*expressions, *extra], [*names, *hidden])
        if tree.args.get("distinct") is not None:
            if extra:
                raise self.context.error("ORDER BY of SELECT DISTINCT must name its columns")
            projected = distinct(projected)
        result = self._sorted(tree, projected, tuple(keys))
        if extra:
            columns = result.schema.columns()[:count]
            result = n.Project.of(result, columns, names)
        return result

    def _position(
        self,
        item: x.Order,
        items: list[x.Node],
        names: list[str],
        expressions: Sequence[Expression],
        bound: Expression | None,
    ) -> int | None:
        """The column of the result that ORDER BY means: by number, name or value."""
        node = item.value
        if isinstance(node, x.Constant) and isinstance(node.value, int):
            if not 1 <= node.value <= len(names):
                raise self.context.error("Ordinal out of range", item.span)
            return node.value - 1
        if isinstance(node, x.Name) and len(node.parts) == 1 and node.parts[0] in names:
            return names.index(node.parts[0])
        for index, e in enumerate(expressions):
            if e == bound:
                return index
        return None

    def _sort_expressions(
        self, plan: n.Node, scope: Scope, order: tuple[x.Order, ...], items: list[x.Node]
    ) -> list[Expression | None]:
        aliases = {i.name for i in items if isinstance(i, x.Alias)}
        binder = ExpressionBinder(self.context, scope)
        found: list[Expression | None] = []
        for item in order:
            node = item.value
            by_alias = isinstance(node, x.Name) and node.parts[0] in aliases
            by_number = isinstance(node, x.Constant)
            found.append(None if by_alias or by_number else binder.bind(node))
        return found

    def _from(self, tree: Any) -> tuple[n.Node, Scope]:
        scope = Scope(self.context)
        from_ = tree.args.get("from_")
        if from_ is None:
            # One row without columns.
            return n.Values(Schema(()), ((),)), scope
        return TableBinder(self).bind_from(from_.this, tree.args.get("joins") or ())

    def _items(self, tree: Any, scope: Scope) -> list[x.Node]:
        """SELECT's expressions, with stars written out."""
        items: list[x.Node] = []
        for expression in tree.expressions:
            node = expression_node(expression)
            if isinstance(node, x.Star):
                if not scope.relations:
                    raise self.context.error("SELECT * needs a FROM clause", node.span)
                schema = scope.schema
                for index in scope.columns_of(node.table, node.span):
                    items.append(x.Alias(PositionedName((), index=index), schema[index].name))
            else:
                items.append(node)
        return items

    @staticmethod
    def _names(items: list[x.Node]) -> list[str]:
        """Names of the result's columns; those without one are EXPR$ and their number."""
        names: list[str] = []
        for position, item in enumerate(items):
            if isinstance(item, x.Alias):
                name = item.name
            elif isinstance(item, x.Name):
                name = item.parts[-1]
            else:
                name = f"EXPR${position}"
            number, unique = 0, name
            while unique in names:
                unique, number = f"{name}{number}", number + 1
            names.append(unique)
        return names

    def _condition(self, scope: Scope, node: x.Node, clause: str) -> Expression:
        if contains_aggregate(self.context, node) and clause == "WHERE":
            raise self.context.error("Aggregate expression is illegal in WHERE clause", node.span)
        bound = ExpressionBinder(self.context, scope).bind(node)
        if not isinstance(bound.type, t.BooleanType | t.NullType):
            raise self.context.error(
                f"{clause} clause must be a condition, but is {bound.type.sql_text()}", node.span
            )
        return bound

    # ORDER BY and LIMIT.

    def _ordered(self, tree: Any, plan: n.Node) -> n.Node:
        """ORDER BY and LIMIT of a set operation: names or numbers of its columns."""
        scope = Scope(self.context)
        scope.add(None, plan.schema)
        keys = []
        for item in order_nodes(tree.args.get("order")):
            if isinstance(item.value, x.Constant):
                index: int | None = int(item.value.value) - 1
            else:
                bound = ExpressionBinder(self.context, scope).bind(item.value)
                index = bound.index if isinstance(bound, Column) else None
            if index is None or not 0 <= index < len(plan.schema):
                raise self.context.error("ORDER BY must name a column here", item.span)
            keys.append(SortKey(index, item.descending, item.nulls_first))
        return self._sorted(tree, plan, tuple(keys))

    def _sorted(self, tree: Any, plan: n.Node, keys: tuple[SortKey, ...]) -> n.Node:
        fetch, offset = self._number(tree, "limit"), self._number(tree, "offset")
        if fetch is not None or offset:
            return n.Limit(plan.schema, plan, offset or 0, fetch, keys)
        return n.Sort(plan.schema, plan, keys) if keys else plan

    def _number(self, tree: Any, clause: str) -> int | None:
        found = tree.args.get(clause)
        if found is None:
            return None
        inner = found.args.get("expression") or found.args.get("count")
        node = expression_node(inner)
        if not isinstance(node, x.Constant) or not isinstance(node.value, int):
            raise self.context.error(f"{clause.upper()} takes a number", node.span)
        return node.value

    # VALUES and set operations.

    def _values(self, tree: Any) -> n.Node:
        binder = ExpressionBinder(self.context, Scope(self.context))
        rows = []
        for row in tree.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            rows.append([binder.bind(expression_node(c)) for c in cells])
        if len({len(r) for r in rows}) != 1:
            raise self.context.error("rows of VALUES have different numbers of columns")
        types = []
        for index, column in enumerate(zip(*rows, strict=True)):
            type_ = common_type([c.type for c in column])
            if type_ is None:
                raise self.context.error(f"values of column {index + 1} have no common type")
            types.append(type_)
        schema = Schema(tuple(Field(f"EXPR${i}", x_) for i, x_ in enumerate(types)))
        return values_of_rows(self.context, rows, schema, binder)

    def _set_operation(self, tree: Any) -> n.Node:
        left, right = self.bind(tree.this), self.bind(tree.expression)
        kind = type(tree).__name__.upper()
        left, right = same_types(self.context, [left, right], kind, span_of(tree))
        everything = not tree.args.get("distinct")
        if isinstance(tree, exp.Union):
            union = union_of([left, right])
            return union if everything else distinct(union)
        return n.SetOperation(left.schema, left, right, kind, everything)


def _kept_for(plan: n.Node, ttl_ms: int) -> n.Node:
    """A plan of groups, perhaps with HAVING above, whose state is kept for a while."""
    if isinstance(plan, n.Aggregate):
        return replace(plan, state_ttl_ms=ttl_ms)
    if isinstance(plan, n.Filter):
        return replace(plan, input=_kept_for(plan.input, ttl_ms))
    return plan


class PositionedName(x.Name):
    """A column by its position, which a star stands for."""

    index: int

    def __init__(self, parts: tuple[str, ...], *, index: int) -> None:
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "span", None)
        object.__setattr__(self, "index", index)


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
    """Casts the columns of relations to common types."""
    widths = {len(p.schema) for p in plans}
    if len(widths) != 1:
        raise context.error(f"Column count mismatch in {kind}", span)
    wanted = []
    for index in range(widths.pop()):
        type_ = common_type([p.schema[index].type for p in plans])
        if type_ is None:
            given = ", ".join(p.schema[index].type.sql_text() for p in plans)
            raise context.error(
                f"Type mismatch in column {index + 1} of {kind}: {given} have no common type", span
            )
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
