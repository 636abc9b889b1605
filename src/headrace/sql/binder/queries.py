"""Binds queries: SELECT with its clauses, VALUES, WITH and set operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.aggregation import Aggregation, contains_aggregate
from headrace.sql.binder.context import BindingContext, repeated
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.from_clause.tables import TableBinder
from headrace.sql.binder.grouped_over import GroupsFirst, group_keys, named_values
from headrace.sql.binder.hints import QueryHints
from headrace.sql.binder.over import bind_over, contains_over
from headrace.sql.binder.relations import (
    distinct,
    kept_for,
    renamed,
    same_types,
    union_of,
    unique_name,
    values_of_rows,
)
from headrace.sql.binder.scope import Scope, of_result
from headrace.sql.binder.subqueries import SubqueryBinder, conjuncts, contains_subquery
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, order_nodes, over_of, span_of
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column, Expression, Field, Schema, SortKey
from headrace.sql.types.type_rules import common_type

__all__ = ["QueryBinder"]


class QueryBinder:
    """Binds one query; the queries inside it see its common table expressions."""

    def __init__(self, context: BindingContext, known: dict[str, n.Node] | None = None) -> None:
        self.context = context
        self.known = dict(known or {})

    def inside(self, outer: Scope) -> QueryBinder:
        """A binder for a query inside this one, which can refer to the outer query's columns."""
        return QueryBinder(replace(self.context, outer=outer), self.known)

    def bind(self, tree: Any) -> n.Node:
        """The plan of a query."""
        with_ = tree.args.get("with_")
        if with_ is not None:
            inner = QueryBinder(self.context, self.known)
            for cte in with_.expressions:
                plan = inner.bind(cte.this)
                columns = [c.name for c in cte.args["alias"].columns]
                twice = repeated(columns or plan.schema.names)
                if twice is not None:
                    raise self.context.error(
                        f"Column has duplicate column name '{twice}': give the columns of "
                        f"'{cte.alias}' different names",
                        span_of(cte),
                    )
                inner.known[cte.alias] = renamed(self.context, plan, columns, span_of(cte))
            return inner._bind(tree)
        return self._bind(tree)

    def _bind(self, tree: Any) -> n.Node:
        if isinstance(tree, exp.Select):
            return self._select(tree)
        if isinstance(tree, exp.Values):
            return self._ordered(tree, self.values(tree))
        if isinstance(tree, exp.SetOperation):
            return self._ordered(tree, self._set_operation(tree))
        if isinstance(tree, exp.Subquery):
            return self._ordered(tree, self.bind(tree.this))
        if isinstance(tree, exp.Table):
            return TableBinder(self).bind(tree)[0]
        raise self.context.error(f"{type(tree).__name__} is not a query", span_of(tree))

    # SELECT.

    def _select(self, tree: Any) -> n.Node:
        hints = QueryHints(self.context, tree.comments or ())
        plan, scope = self._from(tree, hints)
        hints.check(scope)
        where = tree.args.get("where")
        if where is not None:
            plan = self.where(plan, scope, expression_node(where.this))
        items = self._items(tree, scope)
        names = self._names(items)
        order = self._order(tree, items, names)
        having = tree.args.get("having")
        group = tree.args.get("group")
        condition = None if having is None else expression_node(having.this)
        windows = {w.name: over_of(w) for w in tree.args.get("windows") or ()}
        values = [i.value if isinstance(i, x.Alias) else i for i in items]
        state_ttl = hints.of_groups
        windowed = [*values, *self._qualify(tree, items)]
        grouped = group is not None or having is not None
        grouped = grouped or any(contains_aggregate(self.context, v) for v in windowed)
        over = any(contains_over(v) for v in windowed)
        nested = any(map(contains_subquery, [*windowed, *order, *group_keys(group)]))
        nested = nested or (condition is not None and contains_subquery(condition))
        prepared = None
        if grouped and nested:
            # What is grouped or aggregated is computed before; a value beside it afterwards.
            subqueries = SubqueryBinder(self, plan, scope)
            prepared = subqueries.with_value
            inside: Any = partial(subqueries.inside, keys=group_keys(group))
            windowed, order = [inside(v) for v in windowed], tuple(inside(o) for o in order)
            condition = None if condition is None else inside(condition)
            plan = subqueries.plan
        if grouped and (over or nested):
            first = GroupsFirst(self.context, group, prepared)
            windowed, order = [first(v) for v in windowed], tuple(first(o) for o in order)
            windows = {name: first(window) for name, window in windows.items()}
            above = None
            if condition is not None and contains_subquery(condition):
                condition, above = None, first(condition)
            plan, scope = first.plan(Aggregation(self.context, plan, scope, prepared), condition)
            plan = kept_for(plan, state_ttl)
            if above is not None:
                plan = self.where(plan, scope, above)
            grouped = False
        if nested:
            subqueries = SubqueryBinder(self, plan, scope)
            windowed = subqueries.with_values(windowed)
            order = tuple(subqueries.with_values(order))  # type: ignore[arg-type]
            plan = subqueries.plan
        values = windowed[: len(values)]
        if over:
            plan, expressions = bind_over(self.context, plan, scope, windowed, windows)
            sorting = self._sort_expressions(scope, order, names)
            binder = ExpressionBinder(self.context, scope)
            count = len(values)
            for bound, node in zip(expressions[count:], windowed[count:], strict=True):
                plan = n.Filter.of(plan, binder.checked_condition(bound, "QUALIFY", node.span))
            expressions = expressions[:count]
        elif grouped:
            aggregation = Aggregation(self.context, plan, scope)
            plan, expressions, sorting = aggregation.bind(group, values, condition, order, names)
            plan = kept_for(plan, state_ttl)
        else:
            binder = ExpressionBinder(self.context, scope)
            expressions = [binder.bind(v) for v in values]
            sorting = self._sort_expressions(scope, order, names)
        return self._finished(tree, plan, expressions, names, order, sorting, state_ttl)

    def _order(self, tree: Any, items: list[x.Node], names: list[str]) -> tuple[x.Order, ...]:
        """ORDER BY, whose expressions may contain names that SELECT gives."""
        order = []
        for item in order_nodes(tree.args.get("order")):
            if not of_result(item.value, names):
                item = replace(item, value=named_values(self.context, item.value, items))
            order.append(item)
        return tuple(order)

    def _qualify(self, tree: Any, items: list[x.Node]) -> list[x.Node]:
        """The condition of QUALIFY, which may refer to results of OVER; none without QUALIFY."""
        qualify = tree.args.get("qualify")
        if qualify is None:
            return []
        node = named_values(self.context, expression_node(qualify.this), items)
        if not contains_over(node):
            raise self.context.error(
                "QUALIFY must contain a function with OVER; use WHERE or HAVING", span_of(qualify)
            )
        return [node]

    def _finished(
        self,
        tree: Any,
        plan: n.Node,
        expressions: Sequence[Expression],
        names: list[str],
        order: tuple[x.Order, ...],
        sorting: list[Expression | None],
        state_ttl: int | None,
    ) -> n.Node:
        """Projection, DISTINCT, ORDER BY and LIMIT."""
        count = len(expressions)
        extra: list[Expression] = []
        keys = []
        for item, bound in zip(order, sorting, strict=True):
            index = self._position(item, names, expressions, bound)
            if index is None:
                assert bound is not None
                index = count + len(extra)
                extra.append(bound)
            keys.append(SortKey(index, item.descending, item.nulls_first))
        hidden = [f"$sort{i}" for i in range(len(extra))]
        projected: n.Node = n.Project.of(plan, [*expressions, *extra], [*names, *hidden])
        if tree.args.get("distinct") is not None:
            if extra:
                raise self.context.error(
                    "ORDER BY of SELECT DISTINCT must name its columns", span_of(tree.args["order"])
                )
            projected = kept_for(distinct(projected), state_ttl)
        result = self._sorted(tree, projected, tuple(keys))
        if extra:
            columns = result.schema.columns()[:count]
            result = n.Project.of(result, columns, names)
        return result

    def _position(
        self,
        item: x.Order,
        names: list[str],
        expressions: Sequence[Expression],
        bound: Expression | None,
    ) -> int | None:
        """The column of the result that ORDER BY refers to, by number, name or expression."""
        node = item.value
        if bound is None and isinstance(node, x.Constant):
            if not 1 <= node.value <= len(names):
                raise self.context.error("Ordinal out of range", item.span)
            return int(node.value) - 1
        if bound is None and isinstance(node, x.Name):
            return names.index(node.parts[0])
        return next((index for index, e in enumerate(expressions) if e == bound), None)

    def _sort_expressions(
        self, scope: Scope, order: tuple[x.Order, ...], names: list[str]
    ) -> list[Expression | None]:
        binder = ExpressionBinder(self.context, scope)
        values = (item.value for item in order)
        return [None if of_result(value, names) else binder.bind(value) for value in values]

    def _from(self, tree: Any, hints: QueryHints | None = None) -> tuple[n.Node, Scope]:
        scope = Scope(self.context)
        from_ = tree.args.get("from_")
        if from_ is None:
            # One row without columns.
            return n.Values(Schema(()), ((),)), scope
        return TableBinder(self, hints).bind_from(from_.this, tree.args.get("joins") or ())

    def _items(self, tree: Any, scope: Scope) -> list[x.Node]:
        """The expressions of SELECT, with stars expanded."""
        items: list[x.Node] = []
        for expression in tree.expressions:
            node = expression_node(expression)
            if isinstance(node, x.Star):
                items += self._columns(node, scope, self._names(items))
            elif isinstance(expression, exp.Column) and isinstance(node, x.Apply):
                # A function without parentheses, such as CURRENT_DATE, is the name of its column.
                items.append(x.Alias(node, expression.name, span=node.span))
            else:
                items.append(node)
        return items

    def _columns(self, star: x.Star, scope: Scope, taken: list[str]) -> list[x.Node]:
        """The columns that a star stands for; one of a name that is taken gets another one."""
        if not scope.relations:
            raise self.context.error("SELECT * needs a FROM clause", star.span)
        fields = self._row_fields(star, scope)
        paths: list[tuple[str, ...]]
        if fields is not None:
            paths = [(*star.table, name) for name in fields]
            nodes: list[x.Node] = [x.Name(path, span=star.span) for path in paths]
        else:
            positions = scope.columns_of(star.table, star.span)
            paths = [scope.path_of(index) for index in positions]
            nodes = [x.PositionedName((), index=index) for index in positions]
        items: list[x.Node] = []
        for node, path in zip(nodes, paths, strict=True):
            name = unique_name(path[-1], taken)
            taken.append(name)
            items.append(x.Alias(node, name))
        noted = self.context.stars
        if noted is not None and star.span is not None and all(map(scope.is_clear, paths)):
            names = [item.name for item in items if isinstance(item, x.Alias)]
            noted[star.span] = list(zip(paths, names, strict=True))
        return items

    def _row_fields(self, star: x.Star, scope: Scope) -> list[str] | None:
        """The fields of a column of rows, if that is what a star is of, and not a table."""
        if not star.table or scope.has_table(star.table):
            return None
        try:
            type_ = ExpressionBinder(self.context, scope).bind(x.Name(star.table)).type
        except SqlError:
            return None
        return type_.names if isinstance(type_, t.RowType) else None

    @staticmethod
    def _names(items: list[x.Node]) -> list[str]:
        """Names of the result's columns; an expression without a name is EXPR$ and its position."""
        names: list[str] = []
        for position, item in enumerate(items):
            if isinstance(item, x.Alias):
                name = item.name
            elif isinstance(item, x.Name) and item.parts:
                name = item.parts[-1]
            else:
                name = f"EXPR${position}"
            names.append(name)
        return names

    def where(self, plan: n.Node, scope: Scope, node: x.Node) -> n.Node:
        """Filter rows; conditions without subqueries come first, so that fewer rows meet those."""
        if not contains_subquery(node):
            return n.Filter.of(plan, self._condition(scope, node))
        parts = list(conjuncts(node))
        for part in parts:
            if not contains_subquery(part):
                plan = n.Filter.of(plan, self._condition(scope, part))
        subqueries = SubqueryBinder(self, plan, scope)
        for part in parts:
            if contains_subquery(part) and not subqueries.semi_join(part):
                (condition,) = subqueries.with_values([part])
                subqueries.plan = n.Filter.of(subqueries.plan, self._condition(scope, condition))
        return subqueries.plan

    def _condition(self, scope: Scope, node: x.Node) -> Expression:
        if contains_aggregate(self.context, node):
            raise self.context.error("Aggregate expression is illegal in WHERE clause", node.span)
        return ExpressionBinder(self.context, scope).condition(node, "WHERE")

    # ORDER BY and LIMIT.

    def _ordered(self, tree: Any, plan: n.Node) -> n.Node:
        """ORDER BY and LIMIT of a set operation, which refer to columns by name or number."""
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
        order = tree.args.get("order")
        origin = self.context.excerpt(None if order is None else span_of(order))
        if fetch is not None or offset:
            return n.Limit(plan.schema, plan, offset or 0, fetch, keys, origin=origin)
        return n.Sort(plan.schema, plan, keys, origin=origin) if keys else plan

    def _number(self, tree: Any, clause: str) -> int | None:
        found = tree.args.get(clause)
        if found is None:
            return None
        inner = found.args.get("expression") or found.args.get("count")
        if inner is None:
            raise self.context.error("FETCH FIRST needs a number of rows", span_of(tree))
        node = expression_node(inner)
        if clause == "limit" and isinstance(node, x.Name) and node.parts[0].upper() == "ALL":
            return None
        if not isinstance(node, x.Constant) or not isinstance(node.value, int) or node.value < 0:
            raise self.context.error(f"{clause.upper()} takes a number of rows", node.span)
        return node.value

    # VALUES and set operations.

    def values(self, tree: Any) -> n.Node:
        """The plan of VALUES."""
        binder = ExpressionBinder(self.context, Scope(self.context))
        rows = []
        for row in tree.expressions:
            trees = row.expressions if isinstance(row, exp.Tuple) else [row]
            cells = [expression_node(c) for c in trees]
            if len(cells) == 1 and isinstance(cells[0], x.Apply) and cells[0].function == "ROW":
                # ROW(1, 2) alone is another way to write the row itself.
                cells = list(cells[0].args)
            rows.append([binder.bind(c) for c in cells])
        if len({len(r) for r in rows}) != 1:
            raise self.context.error(
                "rows of VALUES have different numbers of columns", span_of(tree)
            )
        types = []
        for index, column in enumerate(zip(*rows, strict=True)):
            type_ = common_type([c.type for c in column])
            if type_ is None:
                raise self.context.error(
                    f"values of column {index + 1} have no common type", span_of(tree)
                )
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
        fields = [
            Field(f.name, f.type.with_nullable(f.type.is_nullable or g.type.is_nullable), f.time)
            for f, g in zip(left.schema, right.schema, strict=True)
        ]
        return n.SetOperation(Schema(tuple(fields)), left, right, kind, everything)
