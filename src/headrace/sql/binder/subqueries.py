"""Binds subqueries in expressions: what they say of an outer row comes to it by a join.

IN and EXISTS that a row has to fulfil are SEMI and ANTI joins. Everywhere else a subquery is a
value: that of an aggregate without groups, which a LEFT join brings to the outer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.sql import types as t
from headrace.sql.binder.aggregation import aggregate_of, nodes_in
from headrace.sql.binder.constants import fold
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of
from headrace.sql.plan.correlation import (
    InseparableError,
    Separated,
    empty_row,
    further_in,
    outward,
    separated,
)
from headrace.sql.plan.expressions import (
    AggregateCall,
    Call,
    Expression,
    Field,
    Literal,
    Schema,
    shifted,
)
from headrace.sql.plan.joins import Join, JoinKind

if TYPE_CHECKING:
    from headrace.sql.binder.queries import QueryBinder

_OPPOSITE = {
    "GREATER_THAN": "LESS_THAN_OR_EQUAL",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN",
    "LESS_THAN": "GREATER_THAN_OR_EQUAL",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN",
}


def conjuncts(node: x.Node) -> Iterator[x.Node]:
    """The conditions that AND joins."""
    if isinstance(node, x.Apply) and node.function == "AND":
        for part in node.args:
            yield from conjuncts(part)
    else:
        yield node


def contains_subquery(node: x.Node) -> bool:
    """Whether a subquery is somewhere in a node."""
    return any(isinstance(part, x.Subquery) for part in nodes_in(node))


def replaced(node: x.Node, change: Callable[[x.Node], x.Node | None]) -> x.Node:
    """A node with parts replaced; `change` gives None where nothing is to be replaced."""
    new = change(node)
    if new is not None:
        return new

    def inside(value: Any) -> Any:
        if isinstance(value, x.Node):
            return replaced(value, change)
        return tuple([inside(v) for v in value]) if isinstance(value, tuple) else value

    values = {f.name: inside(getattr(node, f.name)) for f in fields(node) if f.init}
    changed = any(values[f.name] is not getattr(node, f.name) for f in fields(node) if f.init)
    return replace(node, **values) if changed else node


class SubqueryBinder:
    """Adds to a plan what the subqueries of expressions over it need."""

    def __init__(self, queries: QueryBinder, plan: n.Node, scope: Scope) -> None:
        self.queries = queries
        self.context = queries.context
        self.plan = plan
        self.scope = scope
        self._binder = ExpressionBinder(self.context, scope)
        self._known: list[tuple[x.Subquery, x.Node]] = []

    def semi_join(self, node: x.Node) -> bool:
        """Adds a condition that is IN or EXISTS, perhaps with NOT; False if it is a value."""
        negated = isinstance(node, x.Apply) and node.function == "NOT"
        inner = node.args[0] if isinstance(node, x.Apply) and negated else node
        if not isinstance(inner, x.Subquery) or inner.kind not in ("in", "exists"):
            return False
        plan = self._bound(inner)
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        if inner.kind == "in":
            pairs = self._pairs(inner, plan)
            if negated and any(_nullable(p) for p in pairs):
                return self._none_perhaps(plan, pairs, inner)
            plan = n.Filter.of(plan, _known(all_of(self._equalities(pairs))))
        elif empty_row(plan) is not None:
            return False
        self._join(self._separated(plan, inner), kind)
        return True

    def _none_perhaps(
        self, plan: n.Node, pairs: Sequence[tuple[Expression, Expression]], node: x.Subquery
    ) -> bool:
        """NOT IN of values that may be NULL: no row is equal, and none might be.

        Rows that are equal are found by key. Of NULL it matters only whether it is there.
        """
        if len(pairs) > 1:
            perhaps = [self._perhaps(*pair) for pair in pairs]
            found = n.Filter.of(plan, _known(all_of(perhaps)))
            self._join(self._separated(found, node), JoinKind.ANTI)
            return True
        ((outer, inner),) = pairs
        equal = n.Filter.of(plan, self._call("EQUALS", inner, outer))
        self._join(self._separated(equal, node), JoinKind.ANTI)
        missing = n.Project.of(plan, [self._call("IS_NULL", inner)], ["$missing"])
        there = n.Aggregate(missing.schema, missing, (0,), ())
        unknown = self._call("OR", self._call("IS_NULL", outer), there.schema.column(0))
        self._join(self._separated(n.Filter.of(there, unknown), node), JoinKind.ANTI)
        return True

    def with_values(self, nodes: Sequence[x.Node]) -> list[x.Node]:
        """Expressions whose subqueries are columns, which the plan has now."""
        return [self.with_value(node) for node in nodes]

    def with_value(self, node: x.Node) -> x.Node:
        """An expression whose subqueries are columns; a subquery that comes again is the same."""
        return replaced(node, self._value)

    def inside(self, node: x.Node, keys: Sequence[x.Node]) -> x.Node:
        """An expression of a query with groups: what is grouped or aggregated has its columns."""

        def change(part: x.Node) -> x.Node | None:
            below = part in keys or aggregate_of(self.context, part) is not None
            return self.with_value(part) if below else None

        return replaced(node, change)

    def _value(self, node: x.Node) -> x.Node | None:
        if not isinstance(node, x.Subquery):
            return None
        known = next((name for found, name in self._known if found == node), None)
        if known is not None:
            return known
        value = self._VALUES[node.kind](self, node, self._bound(node))
        width = len(self.scope.schema)
        columns = self.plan.schema.columns()[:width]
        names = self.plan.schema.names[:width]
        self.plan = n.Project.of(self.plan, [*columns, value], [*names, f"$value{width}"])
        self.scope.add_hidden(Schema((self.plan.schema[width],)))
        name = x.PositionedName((), index=width)
        self._known.append((node, name))
        return name

    def _scalar_value(self, node: x.Subquery, plan: n.Node) -> Expression:
        if len(plan.schema) != 1:
            raise self.context.error(
                f"a subquery as a value has one column, not {len(plan.schema)}", node.span
            )
        if empty_row(plan) is None:
            plan = self._aggregated(plan, ("SINGLE_VALUE", 0))
        (value,) = self._values(plan, node)
        return value

    def _exists_value(self, node: x.Subquery, plan: n.Node) -> Expression:
        if empty_row(plan) is not None:
            return Literal(t.BooleanType(False), True)
        return self._is_there(plan, node)

    def _in_value(self, node: x.Subquery, plan: n.Node) -> Expression:
        """TRUE if a row is equal, NULL if one might be."""
        pairs = self._pairs(node, plan)
        equal = _known(all_of(self._equalities(pairs)))
        found = self._is_there(n.Filter.of(plan, equal), node)
        if not any(_nullable(p) for p in pairs):
            return found
        if len(pairs) > 1:
            perhaps = [self._perhaps(*pair) for pair in pairs]
            unknown = self._is_there(n.Filter.of(plan, _known(all_of(perhaps))), node)
        else:
            ((outer, _),) = pairs
            everything, nulls = self._counts(plan, node)
            missing = self._call("IS_NULL", self._own(outer))
            unknown = self._call("AND", everything, self._call("OR", missing, nulls))
        return self._case((found, _TRUE), (unknown, _UNKNOWN), otherwise=_FALSE)

    def _all_value(self, node: x.Subquery, plan: n.Node) -> Expression:
        """`x > ALL (...)`: the greatest or least value decides, unless there is a NULL."""
        ((outer, _),) = self._pairs(node, plan)
        largest = node.comparison.startswith("GREATER")
        extreme = self._aggregated(plan, ("MAX" if largest else "MIN", 0))
        (bound,) = self._values(extreme, node)
        everything, nulls = self._counts(plan, node)
        holds = self._call(node.comparison, self._own(outer), bound)
        fails = self._call("NOT", holds)
        return self._case(
            (self._call("NOT", everything), _TRUE),
            (fails, _FALSE),
            (nulls, _UNKNOWN),
            otherwise=holds,
        )

    def _any_value(self, node: x.Subquery, plan: n.Node) -> Expression:
        opposite = replace(node, comparison=_OPPOSITE[node.comparison])
        return self._call("NOT", self._all_value(opposite, plan))

    def beside(self, node: x.Subquery, kind: JoinKind) -> Schema:
        """Adds the rows that a subquery has for each outer row, and says which columns they have.

        An aggregate without groups has a row in any case, whatever kind of join it is.
        """
        plan, before = self._bound(node), self.plan.schema
        found = self._separated(plan, node)
        width, count = len(before), len(plan.schema)
        if found.empty is not None:
            values = self._values(plan, node)
        else:
            self._join(found, kind)
            values = [self.plan.schema.column(width + i) for i in range(count)]
        names = self.plan.schema.names[: width + count]
        columns = self.plan.schema.columns()[:width]
        self.plan = n.Project.of(self.plan, [*columns, *values], names)
        made = zip(plan.schema.names, self.plan.schema.fields[width:], strict=True)
        return Schema(tuple(replace(f, name=name) for name, f in made))

    # Parts of values.

    def _counts(self, plan: n.Node, node: x.Subquery) -> tuple[Expression, Expression]:
        """Whether there is a row, and whether there is one whose first column is NULL."""
        counted = self._aggregated(plan, ("COUNT", None), ("COUNT", 0))
        rows, values = self._values(counted, node)
        zero = Literal(t.BigIntType(False), 0)
        there = self._call("GREATER_THAN", rows, zero)
        return there, self._call("LESS_THAN", values, rows)

    def _is_there(self, plan: n.Node, node: x.Subquery) -> Expression:
        # Unlike a count, this stays what it is when more rows come.
        ones = n.Project.of(plan, [Literal(t.IntType(False), 1)], ["$0"])
        (one,) = self._values(self._aggregated(ones, ("MIN", 0)), node)
        return self._call("IS_NOT_NULL", one)

    def _values(self, plan: n.Node, node: x.Subquery) -> list[Expression]:
        """The columns of an aggregate without groups, beside the outer rows."""
        found = self._separated(plan, node)
        defaults = [fold(default, self.context.zone) for default in found.empty or ()]
        right = found.plan
        count, width = len(right.schema), len(self.plan.schema)
        if any(not _is_null(d) for d in defaults):
            there = [*right.schema.columns(), _TRUE]
            right = n.Project.of(right, there, [*right.schema.names, "$there"])
        self._join(replace(found, plan=right), JoinKind.LEFT)
        schema = self.plan.schema
        values: list[Expression] = [schema.column(width + i) for i in range(len(plan.schema))]
        for place, default in enumerate(defaults):
            if not _is_null(default):
                missing = self._call("IS_NULL", schema.column(width + count))
                values[place] = self._case((missing, outward(default)), otherwise=values[place])
        return values

    def _aggregated(self, plan: n.Node, *calls: tuple[str, int | None]) -> n.Node:
        made = []
        for number, (name, column) in enumerate(calls):
            function = self.context.registry.find(name)
            assert function is not None
            args = () if column is None else (column,)
            types = tuple(plan.schema[i].type for i in args)
            _, result = function.bind(list(types))  # type: ignore[misc]
            made.append(AggregateCall(function, args, result, f"${number}", arg_types=types))
        schema = Schema(tuple(Field(c.name, c.type) for c in made))
        return n.Aggregate(schema, plan, (), tuple(made))

    def _call(self, name: str, *args: Expression) -> Expression:
        return self._binder.named(name, *args)

    def _case(self, *branches: tuple[Expression, Expression], otherwise: Expression) -> Expression:
        results = [*(r for _, r in branches), otherwise]
        nullable = any(r.type.is_nullable for r in results)
        type_ = otherwise.type.with_nullable(nullable)
        args = [a for branch in branches for a in branch]
        return Call(type_, self.context.registry.find("CASE"), (*args, otherwise))

    # Subqueries and outer rows.

    def _bound(self, node: x.Subquery) -> n.Node:
        """The plan of a subquery, which knows the names of the outer query; a table has its own."""
        if isinstance(node.query, n.Node):
            return node.query
        plan = self.queries.inside(self.scope).bind(node.query)
        return _any_rows(plan) if node.kind == "exists" else plan

    def _pairs(self, node: x.Subquery, plan: n.Node) -> list[tuple[Expression, Expression]]:
        """Values of the outer row, as the subquery sees them, and what they are compared with."""
        assert node.value is not None
        is_row = isinstance(node.value, x.Apply) and node.value.function == "ROW"
        values = node.value.args if is_row else (node.value,)  # type: ignore[attr-defined]
        if len(values) != len(plan.schema):
            raise self.context.error(
                f"the subquery of IN has {len(plan.schema)} columns, but {len(values)} are "
                "compared",
                node.span,
            )
        outer = [further_in(self._binder.bind(self.with_value(v))) for v in values]
        pairs = []
        for value, column in zip(outer, plan.schema.columns(), strict=True):
            equal = self._binder.named("EQUALS", value, column, span=node.span)
            pairs.append((equal.children[0], equal.children[1]))
        return pairs

    def _equalities(self, pairs: Sequence[tuple[Expression, Expression]]) -> list[Expression]:
        return [self._call("EQUALS", inner, outer) for outer, inner in pairs]

    def _perhaps(self, outer: Expression, inner: Expression) -> Expression:
        nulls = [self._call("IS_NULL", e) for e in (outer, inner) if e.type.is_nullable]
        return self._call("OR", self._call("EQUALS", inner, outer), *nulls)

    def _own(self, e: Expression) -> Expression:
        """An expression of the subquery's outer columns over those of the plan."""
        return outward(e, lambda c: self.plan.schema.column(c.index))

    def _separated(self, plan: n.Node, node: x.Subquery) -> Separated:
        try:
            return separated(plan, self.plan)
        except InseparableError as error:
            name = type(error.node).__name__
            raise self.context.error(
                f"a subquery cannot compare with the outer query below {name}", node.span
            ) from None

    def _join(self, found: Separated, kind: JoinKind) -> None:
        width = len(self.plan.schema)
        conditions = [self._own(shifted(c, lambda i: i + width)) for c in found.conditions]
        self.plan = Join.of(self.plan, found.plan, kind, all_of(conditions))

    _VALUES: ClassVar[dict[str, Callable[[SubqueryBinder, x.Subquery, n.Node], Expression]]] = {
        "all": _all_value,
        "any": _any_value,
        "exists": _exists_value,
        "in": _in_value,
        "scalar": _scalar_value,
    }
    """What each kind of subquery is as a value."""


_TRUE = Literal(t.BooleanType(False), True)
_FALSE = Literal(t.BooleanType(False), False)
_UNKNOWN = Literal(t.BooleanType(), None)


def _any_rows(plan: n.Node) -> n.Node:
    """A plan with rows where another has some: their order, and how many they are, is no matter."""
    if isinstance(plan, n.Project):
        return replace(plan, input=_any_rows(plan.input))
    if isinstance(plan, n.Sort):
        return plan.input
    if isinstance(plan, n.Limit) and not plan.offset:
        return plan.input if plan.fetch != 0 else n.Filter.of(plan.input, _FALSE)
    return plan


def _known(condition: Expression | None) -> Expression:
    return _TRUE if condition is None else condition


def _nullable(pair: tuple[Expression, Expression]) -> bool:
    return any(e.type.is_nullable for e in pair)


def _is_null(e: Expression) -> bool:
    return isinstance(e, Literal) and e.value is None
