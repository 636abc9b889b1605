"""Subqueries that speak of the query around them, as plans that stand by themselves.

A plan is separated from the outer row in one of two ways. Conditions on the outer row move up, out
of the subquery, where they mean the same above: they become conditions of a join. Where they do
not, the plan is computed for each combination of outer values that there is, its *domain*, and the
join is on those values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from headrace.sql import types as t
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of, conjuncts
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Field,
    Literal,
    Schema,
    all_parts,
    columns_used,
    place_of,
    rewrite,
    shifted,
)
from headrace.sql.plan.joins import Join, JoinKind

__all__ = [
    "InseparableError",
    "OuterColumn",
    "Separated",
    "empty_row",
    "further_in",
    "outward",
    "separated",
]


class InseparableError(Exception):
    """A node speaks of the outer row in a way that cannot be separated from it."""

    def __init__(self, node: n.Node) -> None:
        super().__init__(type(node).__name__)
        self.node = node


@dataclass(frozen=True)
class OuterColumn(Expression):
    """A column of the query that is `level` queries further out."""

    index: int
    level: int = 1
    name: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Separated:
    """A plan without outer columns, whose first columns are those of the subquery.

    Attributes:
        plan: The plan.
        conditions: Which of its rows belong to an outer row: over its columns and outer ones.
        empty: The row that the subquery has where the plan has none for an outer row, as
            aggregates of no rows do; None if it has none either.
    """

    plan: n.Node
    conditions: tuple[Expression, ...] = ()
    empty: tuple[Expression, ...] | None = None


def _is_correlated(node: n.Node) -> bool:
    """Whether a plan speaks of the query around it."""
    return bool(_outer_columns(node))


def separated(node: n.Node, outer: n.Node) -> Separated:
    """The plan of a subquery without the outer row, which is one of `outer`.

    Raises:
        InseparableError: If a part of the plan cannot be computed for all outer rows.
    """
    found = _pulled(node)
    if found is not None:
        return replace(found, plan=_outward_plan(found.plan))
    domain = _Domain.of(outer, node)
    plan = _dependent(node, domain)
    width = len(node.schema)
    conditions = tuple(
        _same(OuterColumn(f.type, index), plan.schema.column(width + place))
        for place, (index, f) in enumerate(zip(domain.places, domain.plan.schema, strict=True))
    )
    return Separated(plan, conditions)


def empty_row(node: n.Node) -> tuple[Expression, ...] | None:
    """The values of aggregates over no rows; None if there is no row then, or it is unknown."""
    if isinstance(node, n.Project):
        below = empty_row(node.input)
        if below is None:
            return None
        return tuple(_substituted(e, below) for e in node.expressions)
    if isinstance(node, n.Aggregate) and not node.group:
        if any(not isinstance(c.function.name, str) or c.function.name == "" for c in node.calls):
            return None
        return tuple(_of_nothing(c.function.name, c.type) for c in node.calls)
    return None


def _of_nothing(name: str, type_: t.DataType) -> Expression:
    counts = name in ("COUNT", "SUM0", "$SUM0")
    return Literal(type_, 0) if counts else Literal(type_.nullable(), None)


# Expressions.


def _expressions(node: n.Node) -> list[Expression]:
    """The expressions of one node."""
    found: list[Expression] = []
    for f in fields(node):
        value = getattr(node, f.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression):
                found.append(part)
    return found


def _with_expressions(node: n.Node, change: Callable[[Expression], Expression]) -> n.Node:
    def changed(value: Any) -> Any:
        if isinstance(value, Expression):
            return change(value)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    values = {
        f.name: changed(getattr(node, f.name))
        for f in fields(node)
        if f.init and isinstance(getattr(node, f.name), Expression | tuple)
    }
    same = all(value == getattr(node, name) for name, value in values.items())
    return node if same else replace(node, **values)


def _outward_plan(node: n.Node) -> n.Node:
    """A plan that is no longer in the query that it was in, but in the one around it."""
    return n.rewrite_nodes(node, lambda x: _with_expressions(x, outward))


def _outer_in(e: Expression) -> dict[int, OuterColumn]:
    """The columns of the next query further out in an expression, by position."""
    if isinstance(e, OuterColumn):
        return {e.index: e} if e.level == 1 else {}
    found: dict[int, OuterColumn] = {}
    for child in e.children:
        found |= _outer_in(child)
    return found


def _outer_columns(node: n.Node) -> dict[int, OuterColumn]:
    found: dict[int, OuterColumn] = {}
    for e in _expressions(node):
        found |= _outer_in(e)
    for child in node.inputs:
        found |= _outer_columns(child)
    return found


def outward(
    e: Expression, columns: Callable[[OuterColumn], Expression] | None = None
) -> Expression:
    """An expression as the next query further out sees it: its own columns are not outer ones."""

    def change(part: Expression) -> Expression | None:
        if not isinstance(part, OuterColumn):
            return None
        if part.level > 1:
            return replace(part, level=part.level - 1)
        return None if columns is None else columns(part)

    return rewrite(e, change)


def further_in(e: Expression) -> Expression:
    """An expression of an outer row as the queries inside see it."""

    def change(part: Expression) -> Expression | None:
        if isinstance(part, Column):
            return OuterColumn(part.type, part.index, name=part.name)
        return replace(part, level=part.level + 1) if isinstance(part, OuterColumn) else None

    return rewrite(e, change)


def _substituted(e: Expression, row: Sequence[Expression]) -> Expression:
    return rewrite(e, lambda x: row[x.index] if isinstance(x, Column) else None)


def _same(a: Expression, b: Expression) -> Expression:
    function = builtin_registry().find("IS_NOT_DISTINCT_FROM")
    return Call(t.BooleanType(False), function, (a, b))


def _pair(e: Expression) -> tuple[Expression, Expression] | None:
    """The inner and the outer value of an equality."""
    if not isinstance(e, Call) or getattr(e.function, "name", "") != "EQUALS":
        return None
    for near, far in (e.args, e.args[::-1]):
        if columns_used(near) and not _any_outer(near) and not columns_used(far):
            return near, far
    return None


def _any_outer(e: Expression) -> bool:
    return any(isinstance(part, OuterColumn) for part in all_parts(e))


# Conditions move up.


def _pulled(node: n.Node) -> Separated | None:
    """The plan without conditions on the outer row; None if one means something else above."""
    if not _is_correlated(node):
        return Separated(node, (), empty_row(node))
    if isinstance(node, n.Filter):
        return _pulled_filter(node)
    if isinstance(node, n.Project):
        return _pulled_projection(node)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        return _pulled_join(node)
    if isinstance(node, n.Aggregate):
        return _pulled_aggregate(node)
    return None


def _pulled_filter(node: n.Filter) -> Separated | None:
    below = _pulled(node.input)
    if below is None or below.empty is not None:
        return None
    parts = conjuncts(node.condition)
    stay = all_of([c for c in parts if not _outer_in(c)])
    plan = below.plan if stay is None else n.Filter.of(below.plan, stay)
    return Separated(plan, (*below.conditions, *(c for c in parts if _outer_in(c))))


def _pulled_projection(node: n.Project) -> Separated | None:
    below = None if any(map(_outer_in, node.expressions)) else _pulled(node.input)
    if below is None:
        return None
    needed = sorted(set().union(*map(columns_used, below.conditions)))
    places = {column: len(node.expressions) + i for i, column in enumerate(needed)}
    columns = [below.plan.schema.column(i) for i in needed]
    names = [*node.schema.names, *(f"$c{i}" for i in places.values())]
    plan = n.Project.of(below.plan, [*node.expressions, *columns], names)
    conditions = tuple(shifted(c, places.__getitem__) for c in below.conditions)
    empty = below.empty and tuple(_substituted(e, below.empty) for e in node.expressions)
    return Separated(plan, conditions, empty)


def _pulled_join(node: Join) -> Separated | None:
    sides = [_pulled(i) for i in node.inputs]
    left, right = sides
    if left is None or right is None or left.empty is not None or right.empty is not None:
        return None
    own = [] if node.condition is None else conjuncts(node.condition)
    widths = [len(i.schema) for i in node.inputs]
    behind = len(left.plan.schema)

    def moved(i: int) -> int:
        return i if i < widths[0] else i + behind - widths[0]

    stay = all_of([shifted(c, moved) for c in own if not _outer_in(c)])
    joined = replace(Join.of(left.plan, right.plan, node.kind, stay), ttls_ms=node.ttls_ms)
    order = [
        *range(widths[0]),
        *range(behind, behind + widths[1]),
        *range(widths[0], behind),
        *range(behind + widths[1], behind + len(right.plan.schema)),
    ]
    places = {column: place for place, column in enumerate(order)}
    names = [joined.schema.names[i] for i in order]
    plan = n.Project.of(joined, [joined.schema.column(i) for i in order], names)
    conditions = [
        *(shifted(c, places.__getitem__) for c in left.conditions),
        *(shifted(c, lambda i: places[i + behind]) for c in right.conditions),
        *(c for c in own if _outer_in(c)),
    ]
    return Separated(plan, tuple(conditions))


def _pulled_aggregate(node: n.Aggregate) -> Separated | None:
    """Values that have to equal those of the outer row become groups."""
    below = _pulled(node.input)
    if below is None or below.empty is not None:
        return None
    pairs = [_pair(c) for c in below.conditions]
    if any(p is None for p in pairs):
        return None
    columns: list[Expression] = list(below.plan.schema.columns())
    known = [p for p in pairs if p is not None]
    keys = [place_of(columns, near) for near, _ in known]
    plan = below.plan
    if len(columns) > len(plan.schema):
        more = [f"$c{i}" for i in range(len(plan.schema), len(columns))]
        plan = n.Project.of(plan, columns, [*plan.schema.names, *more])
    grouped = _grouped(node, plan, keys)
    width = len(node.schema)
    conditions = tuple(
        replace(c, args=(grouped.schema.column(width + i), far))  # type: ignore[call-arg]
        for i, (c, (_, far)) in enumerate(zip(below.conditions, known, strict=True))
    )
    return Separated(grouped, conditions, empty_row(node))


def _grouped(node: n.Aggregate, plan: n.Node, keys: Sequence[int]) -> n.Node:
    """The aggregate with more groups, whose columns come last."""
    count = len(node.group)
    group = (*node.group, *keys)
    more = tuple(Field(f"$c{i}", plan.schema[k].type) for i, k in enumerate(keys))
    schema = Schema((*node.schema.fields[:count], *more, *node.schema.fields[count:]))
    aggregate = replace(node, schema=schema, input=plan, group=group)
    total, middle = len(schema), count + len(keys)
    return _ordered(aggregate, [*range(count), *range(middle, total), *range(count, middle)])


def _ordered(plan: n.Node, order: Sequence[int]) -> n.Node:
    names = [plan.schema.names[i] for i in order]
    return n.Project.of(plan, [plan.schema.column(i) for i in order], names)


# Plans for all outer values.


@dataclass(frozen=True)
class _Domain:
    """The different combinations of outer values that a subquery speaks of."""

    plan: n.Node
    places: dict[int, int]

    @staticmethod
    def of(outer: n.Node, node: n.Node) -> _Domain:
        used = sorted(_outer_columns(node))
        columns = [outer.schema.column(i) for i in used]
        values = n.Project.of(
            outer, [replace(c, time=None) for c in columns], [f"$d{i}" for i in range(len(used))]
        )
        plan = n.Aggregate(values.schema, values, tuple(range(len(used))), ())
        return _Domain(plan, {column: place for place, column in enumerate(used)})

    def bound(self, e: Expression, offset: int) -> Expression:
        """An expression whose outer columns are those of the domain, from `offset` on."""
        schema = self.plan.schema
        return outward(
            e,
            lambda c: replace(
                schema.column(self.places[c.index]), index=offset + self.places[c.index]
            ),
        )

    def columns(self, offset: int) -> list[int]:
        return list(range(offset, offset + len(self.places)))


def _dependent(node: n.Node, domain: _Domain) -> n.Node:
    """A plan whose rows are those of each combination of outer values, which come last."""
    if not _is_correlated(node):
        plan = _outward_plan(node)
        return Join.of(plan, domain.plan, JoinKind.INNER, None)
    if isinstance(node, Join):
        return _dependent_join(node, domain)
    if isinstance(node, n.Union | n.SetOperation):
        inputs = [_dependent(i, domain) for i in node.inputs]
        schema = Schema((*node.schema, *domain.plan.schema))
        return replace(node.with_inputs(inputs), schema=schema)
    if not isinstance(node, n.OneInput):
        raise InseparableError(node)
    below = _dependent(node.input, domain)
    inner = len(node.input.schema)
    schema = Schema((*node.schema, *domain.plan.schema))
    if isinstance(node, n.Filter):
        return n.Filter.of(below, domain.bound(node.condition, inner))
    if isinstance(node, n.Project):
        expressions = [domain.bound(e, inner) for e in node.expressions]
        columns = [below.schema.column(i) for i in domain.columns(inner)]
        return n.Project.of(below, [*expressions, *columns], schema.names)
    if isinstance(node, n.Aggregate):
        return _dependent_aggregate(node, below, domain)
    if isinstance(node, n.Sort):
        return below
    if isinstance(node, n.Limit) and node.keys and node.fetch is not None:
        last = node.offset + node.fetch
        group = tuple(domain.columns(inner))
        return n.Rank(below.schema, below, group, node.keys, node.offset + 1, last, False)
    if isinstance(node, n.OverAggregate | n.Correlate):
        parts: dict[str, Any] = {}
        if isinstance(node, n.OverAggregate):
            parts["partition"] = (*node.partition, *domain.columns(inner))
        else:
            parts["arguments"] = tuple(domain.bound(e, inner) for e in node.arguments)
        added = node.schema.fields[inner:]
        made = replace(node, schema=Schema((*below.schema, *added)), input=below, **parts)
        places = [*range(inner), *range(len(below.schema), len(made.schema))]
        return _ordered(made, [*places, *domain.columns(inner)])
    raise InseparableError(node)


def _dependent_aggregate(node: n.Aggregate, below: n.Node, domain: _Domain) -> n.Node:
    grouped = _grouped(node, below, domain.columns(len(node.input.schema)))
    if node.group:
        return grouped
    empty = empty_row(node)
    if empty is None:
        raise InseparableError(node)
    # Without any row the aggregate has one all the same, for each combination of outer values.
    count, width = len(domain.places), len(node.schema)
    pairs = [
        _same(
            domain.plan.schema.column(i),
            replace(grouped.schema.column(width + i), index=count + width + i),
        )
        for i in range(count)
    ]
    joined = Join.of(domain.plan, grouped, JoinKind.LEFT, all_of(pairs))
    coalesce = builtin_registry().find("COALESCE")
    values: list[Expression] = []
    for i, default in enumerate(empty):
        value: Expression = joined.schema.column(count + i)
        known = isinstance(default, Literal) and default.value is None
        values.append(value if known else Call(default.type, coalesce, (value, default)))
    keys = [joined.schema.column(i) for i in range(count)]
    return n.Project.of(joined, [*values, *keys], [*node.schema.names, *domain.plan.schema.names])


def _dependent_join(node: Join, domain: _Domain) -> n.Node:
    if node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        raise InseparableError(node)
    left = _dependent(node.left, domain)
    width, behind, count = len(node.left.schema), len(left.schema), len(domain.places)
    conditions = []
    if node.condition is not None:

        def moved(i: int) -> int:
            return i if i < width else i + count

        # The domain's columns are those of the left side.
        conditions.append(domain.bound(shifted(node.condition, moved), width))
    right = node.right
    if _is_correlated(right):
        right = _dependent(right, domain)
        there = len(node.right.schema)
        conditions += [
            _same(
                left.schema.column(width + i),
                replace(right.schema.column(there + i), index=behind + there + i),
            )
            for i in range(count)
        ]
    else:
        right = _outward_plan(right)
    joined = replace(Join.of(left, right, node.kind, all_of(conditions)), ttls_ms=node.ttls_ms)
    shown = range(behind, behind + len(node.schema) - width)
    return _ordered(joined, [*range(width), *shown, *domain.columns(width)])
