"""Binds subqueries in expressions: IN and EXISTS become semi-joins, values become columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common.errors import SqlError
from headrace.sql.binder.aggregation import contains_aggregate, parts_of
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, Schema, place_of
from headrace.sql.plan.joins import ScalarJoin, SemiJoin

if TYPE_CHECKING:
    from headrace.sql.binder.queries import QueryBinder

_CLAUSES = ("group", "having", "order", "limit", "offset", "distinct", "windows", "with_")

Pair = tuple[Expression, Expression]
"""A value of the outer row, and the one of the inner row that equals it."""


def conjuncts(node: x.Node) -> Iterator[x.Node]:
    """The conditions that AND joins."""
    if isinstance(node, x.Apply) and node.function == "AND":
        for part in node.args:
            yield from conjuncts(part)
    else:
        yield node


def contains_subquery(node: x.Node) -> bool:
    """Whether a subquery is somewhere in a node."""
    return isinstance(node, x.Subquery) or any(contains_subquery(p) for p in parts_of(node))


def replaced(node: x.Node, change: Callable[[x.Node], x.Node | None]) -> x.Node:
    """A node with parts replaced; `change` gives None where nothing is to be replaced."""
    new = change(node)
    if new is not None:
        return new

    def inside(value: Any) -> Any:
        if isinstance(value, x.Node):
            return replaced(value, change)
        return tuple(inside(v) for v in value) if isinstance(value, tuple) else value

    values = {f.name: inside(getattr(node, f.name)) for f in fields(node) if f.init}
    changed = any(values[f.name] is not getattr(node, f.name) for f in fields(node) if f.init)
    return replace(node, **values) if changed else node


class SubqueryBinder:
    """Adds to the plan of FROM what the subqueries of a SELECT need."""

    def __init__(self, queries: QueryBinder, plan: n.Node, scope: Scope) -> None:
        self.queries = queries
        self.context = queries.context
        self.plan = plan
        self.scope = scope

    def semi_join(self, node: x.Node) -> bool:
        """Adds a condition that is IN or EXISTS, perhaps with NOT; False if it is none."""
        anti = isinstance(node, x.Apply) and node.function == "NOT"
        inner = node.args[0] if isinstance(node, x.Apply) and anti else node
        if not isinstance(inner, x.Subquery) or inner.kind == "scalar":
            return False
        right, pairs = self._bound(inner)
        nullable = any(o.type.is_nullable or i.type.is_nullable for o, i in pairs)
        null_aware = anti and inner.kind == "in" and nullable
        if null_aware and len(pairs) > 1:
            raise self.context.error(
                "NOT IN with more than one value, or with values of the outer query, is supported "
                "for columns that are NOT NULL; use NOT EXISTS",
                inner.span,
            )
        self._add(right, pairs, anti, null_aware)
        return True

    def with_values(self, nodes: Sequence[x.Node]) -> list[x.Node]:
        """Expressions whose scalar subqueries are columns, which the plan has now."""
        return [replaced(node, self._value) for node in nodes]

    def _value(self, node: x.Node) -> x.Node | None:
        from headrace.sql.binder.queries import PositionedName

        if not isinstance(node, x.Subquery):
            return None
        if node.kind != "scalar":
            raise self.context.error(
                f"{node.kind.upper()} with a subquery is supported in WHERE, where AND joins it "
                "with other conditions",
                node.span,
            )
        right = self.queries.bind(node.query)
        if len(right.schema) != 1:
            raise self.context.error(
                f"a subquery as a value has one column, not {len(right.schema)}", node.span
            )
        index = len(self.plan.schema)
        value = Field(f"$scalar{index}", right.schema[0].type.nullable())
        self.plan = ScalarJoin(Schema((*self.plan.schema, value)), self.plan, right)
        self.scope.add_hidden(Schema((value,)))
        return PositionedName((), index=index)

    # IN and EXISTS.

    def _bound(self, node: x.Subquery) -> tuple[n.Node, list[Pair]]:
        """The plan of the subquery, and what of it has to equal what of the outer row."""
        outer = ExpressionBinder(self.context, self.scope)
        values: tuple[x.Node, ...] = ()
        if node.kind == "in":
            assert node.value is not None
            is_row = isinstance(node.value, x.Apply) and node.value.function == "ROW"
            values = node.value.args if is_row else (node.value,)  # type: ignore[attr-defined]
        correlated = self._correlated(node.query, outer)
        if correlated is None:
            right = self.queries.bind(node.query)
            found: list[Expression] = list(right.schema.columns())
            pairs: list[Pair] = []
        else:
            right, pairs, found = correlated
        if node.kind == "in":
            if len(values) != len(found):
                raise self.context.error(
                    f"the subquery of IN has {len(found)} columns, but {len(values)} are compared",
                    node.span,
                )
            pairs = [*pairs, *zip((outer.bind(v) for v in values), found, strict=True)]
        return right, [self._comparable(outer, o, i, node.span) for o, i in pairs]

    def _comparable(
        self, binder: ExpressionBinder, outer: Expression, inner: Expression, span: x.Span | None
    ) -> Pair:
        equal = binder.named("EQUALS", outer, inner, span=span)
        left, right = equal.children
        return left, right

    def _correlated(
        self, tree: Any, outer: ExpressionBinder
    ) -> tuple[n.Node, list[Pair], list[Expression]] | None:
        """A subquery whose WHERE compares with the outer row; None if it is one by itself."""
        where = tree.args.get("where") if isinstance(tree, exp.Select) else None
        if where is None:
            return None
        plan, scope = self.queries._from(tree)
        inner = ExpressionBinder(self.context, scope)
        pairs: list[Pair] = []
        conditions: list[Expression] = []
        for part in conjuncts(expression_node(where.this)):
            if contains_subquery(part):
                return None
            try:
                conditions.append(inner.bind(part))
            except SqlError as error:
                pair = self._pair(part, inner, outer)
                if pair is None:
                    raise error
                pairs.append(pair)
        if not pairs:
            return None
        items = [expression_node(e) for e in tree.expressions]
        grouped = any(tree.args.get(c) for c in _CLAUSES) or any(
            contains_aggregate(self.context, i) for i in items
        )
        if grouped:
            raise self.context.error(
                "a subquery that compares with the outer query can have FROM and WHERE only; "
                "others need joins, which are not supported yet"
            )
        for condition in conditions:
            plan = n.Filter.of(plan, condition)
        stars = any(isinstance(i, x.Star) for i in items)
        return plan, pairs, [] if stars else [inner.bind(i) for i in items]

    def _pair(self, node: x.Node, inner: ExpressionBinder, outer: ExpressionBinder) -> Pair | None:
        """The two sides of an equality between the subquery and the outer query."""
        if not isinstance(node, x.Apply) or node.function != "EQUALS":
            return None
        for near, far in (node.args, node.args[::-1]):
            try:
                return outer.bind(far), inner.bind(near)
            except SqlError:
                continue
        return None

    def _add(self, right: n.Node, pairs: list[Pair], anti: bool, null_aware: bool) -> None:
        width = len(self.plan.schema)
        left_columns = list(self.plan.schema.columns())
        left_keys = tuple(place_of(left_columns, o) for o, _ in pairs)
        keys = n.Project.of(right, [i for _, i in pairs], [f"$k{i}" for i in range(len(pairs))])
        names = self.plan.schema.names
        left = self.plan
        if len(left_columns) > width:
            names = [*names, *(f"$f{i}" for i in range(width, len(left_columns)))]
            left = n.Project.of(left, left_columns, names)
        joined = SemiJoin(
            left.schema, left, keys, left_keys, tuple(range(len(pairs))), anti, null_aware
        )
        self.plan = joined
        if len(left_columns) > width:
            columns = joined.schema.columns()[:width]
            self.plan = n.Project.of(joined, columns, names[:width])
