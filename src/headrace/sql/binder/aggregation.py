"""Binds GROUP BY, aggregates and HAVING, with grouping sets and the older group windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

from sqlglot import exp

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.group_windows import (
    GroupWindow,
    group_window_of,
    window_property,
    with_times,
)
from headrace.sql.binder.scope import Scope, of_result
from headrace.sql.functions.aggregates import CONSTANT_ARGUMENTS
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    AggregateCall,
    Column,
    Expression,
    Field,
    Literal,
    Schema,
)

NUMBERING = frozenset(
    {"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"}
)
"""Functions of a row's place among others; they need OVER."""
_T = TypeVar("_T")
_GROUPING = frozenset({"GROUPING", "GROUPING_ID", "GROUP_ID"})
_NEVER_NULL = frozenset({"COUNT", "SUM0", "$SUM0", "COLLECT"})
"""Functions that have a value where there are no rows."""


def aggregate_of(context: BindingContext, node: x.Node) -> Any:
    """The aggregate function that a node calls, if it calls one."""
    if not isinstance(node, x.Apply) or node.over is not None:
        return None
    function = function_of(context, node)
    if function is None or function.kind is not FunctionKind.AGGREGATE:
        return None
    return None if node.by_name and getattr(function, "hidden", False) else function


def function_of(context: BindingContext, node: x.Apply) -> Any:
    """The function that a call names or, in the Table API, brings along; None for no such one."""
    if not isinstance(node.function, str):
        return node.function
    user = context.find_function((node.function,))
    return user if user is not None else context.registry.find(node.function)


def parts_of(node: x.Node) -> Iterable[x.Node]:
    """Nodes directly inside a node."""
    if isinstance(node, x.Apply):
        yield from node.args
        if node.condition is not None:
            yield node.condition
    elif isinstance(node, x.CastTo | x.Alias | x.Order):
        yield node.value
    elif isinstance(node, x.CaseWhen):
        for condition, result in node.branches:
            yield condition
            yield result
        if node.otherwise is not None:
            yield node.otherwise
    elif isinstance(node, x.Subquery) and node.value is not None:
        yield node.value


def nodes_in(node: x.Node) -> Iterator[x.Node]:
    """A node and all that are inside of it."""
    waiting = [node]
    while waiting:
        yield (found := waiting.pop())
        waiting.extend(parts_of(found))


def split_constants(
    context: BindingContext, name: str, args: Sequence[Expression], span: x.Span | None
) -> tuple[list[Expression], tuple[Any, ...]]:
    """Arguments that change from row to row, and the values of those that are constants."""
    fixed = CONSTANT_ARGUMENTS.get(name, ())
    constants = []
    for index in fixed:
        if index < len(args):
            value = fold(args[index], context.zone)
            if not isinstance(value, Literal):
                raise context.error(f"argument {index + 1} of {name} must be a constant", span)
            constants.append(value.value)
    return [a for i, a in enumerate(args) if i not in fixed], tuple(constants)


def aggregates_in(context: BindingContext, node: x.Node) -> Iterator[x.Node]:
    """The calls of aggregates in a node."""
    if aggregate_of(context, node) is not None:
        yield node
    else:
        for part in parts_of(node):
            yield from aggregates_in(context, part)


def contains_aggregate(context: BindingContext, node: x.Node) -> bool:
    """Whether an aggregate is called somewhere in a node."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if aggregate_of(context, found) is not None:
            return True
        if isinstance(found, x.Apply) and found.over is not None:
            waiting.extend(found.args)
        else:
            waiting.extend(parts_of(found))
    return False


@dataclass(frozen=True)
class _Call:
    function: Any
    args: tuple[Expression, ...]
    distinct: bool
    condition: Expression | None
    type: t.DataType
    constants: tuple[Any, ...] = ()

    def __hash__(self) -> int:
        # Constants may be values that have no hash.
        return hash((self.function.name, self.args, self.distinct))


class Aggregation:
    """Binds a SELECT with groups: an input projection, the aggregate, and what is above it."""

    def __init__(
        self,
        context: BindingContext,
        plan: n.Node,
        scope: Scope,
        prepared: Callable[[x.Node], x.Node] | None = None,
    ) -> None:
        self.context = context
        self.plan = plan
        self.scope = scope
        self._prepared = prepared
        self.group: dict[Expression, int] = {}
        self.sets: list[frozenset[int]] | None = None
        self.window: GroupWindow | None = None
        self.rows: tuple[int, int] | None = None
        self._calls: dict[_Call, int] = {}
        self.inner = ExpressionBinder(self.context, scope)

    def bind(
        self,
        group: Any,
        values: list[x.Node],
        having: x.Node | None,
        order: tuple[x.Order, ...],
        names: Sequence[str] = (),
    ) -> tuple[n.Node, list[Expression], list[Expression | None]]:
        """The plan, and SELECT's and ORDER BY's expressions over it."""
        self._group_by(group)
        return self.select(values, having, order, names)

    def group_by(self, nodes: Sequence[x.Node], window: GroupWindow | None = None) -> None:
        """Groups of the Table API: expressions, and perhaps a window."""
        for node in nodes:
            self._key(self.inner.bind(node))
        self.window = window

    def select(
        self,
        values: list[x.Node],
        having: x.Node | None = None,
        order: tuple[x.Order, ...] = (),
        names: Sequence[str] = (),
    ) -> tuple[n.Node, list[Expression], list[Expression | None]]:
        """The plan, and expressions over it; `names` are those of the result's columns."""
        outer = _GroupedBinder(self)
        expressions = [outer.bind(v) for v in values]
        condition = None if having is None else outer.condition(having, "HAVING")
        sorting: list[Expression | None] = []
        for item in order:
            sorting.append(None if of_result(item.value, names) else outer.bind(item.value))
        plan = self._aggregate()
        columns = plan.schema.columns()
        expressions = [outer.resolved(e, columns) for e in expressions]
        sorting = [None if e is None else outer.resolved(e, columns) for e in sorting]
        if condition is not None:
            plan = n.Filter.of(plan, outer.resolved(condition, columns))
        return plan, expressions, sorting

    # GROUP BY.

    def _group_by(self, group: Any) -> None:
        if group is None:
            return
        alternatives: list[list[frozenset[int]]] = []
        for item in group.expressions:
            alternatives.append(self._item(item))
        for key in ("grouping_sets", "rollup", "cube"):
            for item in group.args.get(key) or ():
                if not isinstance(item, bool):
                    alternatives.append(self._item(item))
        combined = [frozenset().union(*parts) for parts in product(*alternatives)]
        if len(combined) != 1 or combined[0] != frozenset(range(len(self.group))):
            self.sets = combined

    def _item(self, item: Any) -> list[frozenset[int]]:
        """The grouping sets of one item: a single one, unless it is ROLLUP and the like."""
        if isinstance(item, exp.GroupingSets):
            return [s for inner in item.expressions for s in self._item(inner)]
        if isinstance(item, exp.Rollup):
            parts = [self._set(e) for e in item.expressions]
            return [frozenset().union(*parts[:k]) for k in range(len(parts), -1, -1)]
        if isinstance(item, exp.Cube):
            parts = [self._set(e) for e in item.expressions]
            chosen = product(*([p, frozenset()] for p in parts))
            return [frozenset().union(*c) for c in chosen]
        return [self._set(item)]

    def _set(self, item: Any) -> frozenset[int]:
        if isinstance(item, exp.Tuple):
            return frozenset().union(*(self._set(e) for e in item.expressions))
        if isinstance(item, exp.Paren):
            return self._set(item.this)
        node = expression_node(item)
        if self._prepared is not None:
            node = self._prepared(node)
        window = group_window_of(self.context, self.inner, node)
        if window is not None:
            if self.window is not None:
                raise self.context.error("only one group window is allowed", node.span)
            self.window = window
            return frozenset()
        return frozenset([self._key(self.inner.bind(node))])

    def _key(self, e: Expression) -> int:
        return _position(self.group, e)

    # Calls.

    def call(self, function: Any, node: x.Apply) -> Expression:
        """Remembers an aggregate; a placeholder stands for its result."""
        name = function.name
        if name in _GROUPING:
            if name != "GROUP_ID" and not self.group:
                raise self.context.error(
                    f"{name} operator may only occur in an aggregate query with GROUP BY", node.span
                )
            for a in node.args:
                if self.inner.bind(a) not in self.group:
                    raise self.context.error(
                        f"Argument to {name} operator must be a grouped expression", a.span
                    )
            return _Placeholder(t.BigIntType(False), -1, name, tuple(node.args))
        if name in NUMBERING:
            raise self.context.error(f"{name} needs an OVER clause", node.span)
        for a in node.args:
            if contains_aggregate(self.context, a):
                raise self.context.error("Aggregate expressions cannot be nested", a.span)
        if node.distinct and not node.args:
            raise self.context.error(f"{name}(DISTINCT *) has no values that differ", node.span)
        args, result = self.inner.aggregate_arguments(
            function, [self.inner.bind(a) for a in node.args], node.span
        )
        if name == "APPROX_COUNT_DISTINCT":
            # Exact: nothing is gained by a guess where the values are kept anyway.
            function, node = self.context.registry.find("COUNT"), replace(node, distinct=True)
        args, constants = split_constants(self.context, name, args, node.span)
        condition = None
        if node.condition is not None:
            condition = self.inner.condition(node.condition, "FILTER")
        if not self.group and self.sets is None and name not in _NEVER_NULL:
            result = result.nullable()
        found = _Call(function, tuple(args), node.distinct, condition, result, constants)
        return _Placeholder(result, _position(self._calls, found), "", ())

    # The plan.

    def _aggregate(self) -> n.Node:
        # Grouping sets make NULL of columns that are grouped, but not of what is aggregated.
        ahead = list(self.group) if self.sets is not None else []
        read = {} if ahead else dict(self.group)
        calls = []
        for number, call in enumerate(self._calls):
            args = tuple(len(ahead) + _position(read, a) for a in call.args)
            condition = None
            if call.condition is not None:
                condition = len(ahead) + _position(read, call.condition)
            types = tuple(a.type for a in call.args)
            calls.append(
                AggregateCall(
                    call.function,
                    args,
                    call.type,
                    f"EXPR${number}",
                    call.distinct,
                    condition,
                    types,
                    call.constants,
                )
            )
        time = None
        if self.window is not None:
            time = len(ahead) + _position(read, self.window.time)
        columns = [*ahead, *read]
        names = [
            e.name if isinstance(e, Column) and e.name else f"$f{i}" for i, e in enumerate(columns)
        ]
        plan: n.Node = n.Project.of(self.plan, columns, names)
        if time is not None:
            plan = with_times(self.context, plan, time)
        keys = tuple(range(len(self.group)))
        if self.sets is not None:
            plan = self._expanded(plan, keys)
            keys = (*keys, len(columns))
        fields = [replace(plan.schema[k]) for k in keys]
        if self.window is None:
            fields = [Field(f.name, f.type, f.time) for f in fields]
        results = [Field(c.name, c.type) for c in calls]
        if self.window is not None:
            assert time is not None
            window = replace(self.window.window, time=time)
            properties = ("start", "end", "time")
            fields += results + list(self.window.fields())
            return n.WindowAggregate(
                Schema(tuple(fields)),
                plan,
                window,
                keys,
                tuple(calls),
                properties,
                origin=self.window.origin,
            )
        if self.rows is not None:
            schema = Schema((*fields, *results))
            return n.RowWindowAggregate(schema, plan, keys, tuple(calls), *self.rows)
        return n.Aggregate(
            Schema((*fields, *results)),
            plan,
            keys,
            tuple(calls),
            distinct_buckets=self.context.distinct_buckets,
        )

    def _expanded(self, plan: n.Node, keys: tuple[int, ...]) -> n.Node:
        assert self.sets is not None
        always = frozenset.intersection(*self.sets) if self.sets else frozenset()
        fields = [
            f if i not in keys or i in always else Field(f.name, f.type.nullable(), None)
            for i, f in enumerate(plan.schema)
        ]
        fields.append(Field("$e", t.BigIntType(False)))
        return n.Expand(Schema(tuple(fields)), plan, keys, tuple(self.sets))

    def position_of_group(self, index: int) -> int:
        return index

    def position_of_call(self, index: int) -> int:
        return len(self.group) + (self.sets is not None) + index

    def position_of_property(self, index: int) -> int:
        return self.position_of_call(len(self._calls)) + index


def _position(known: dict[_T, int], wanted: _T) -> int:
    """The number of one of several things; one that is new comes last."""
    return known.setdefault(wanted, len(known))


@dataclass(frozen=True)
class _Placeholder(Expression):
    """Stands for a column of the aggregate until all of them are known."""

    number: int
    special: str
    arguments: tuple[x.Node, ...]


@dataclass(frozen=True)
class _GroupColumn(Expression):
    number: int


@dataclass(frozen=True)
class _WindowColumn(Expression):
    number: int


class _GroupedBinder(ExpressionBinder):
    """Binds expressions over groups: of group columns and aggregates alone."""

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation.context, aggregation.scope)
        self._aggregation = aggregation

    def bind(self, node: x.Node) -> Expression:
        a = self._aggregation
        function = aggregate_of(self.context, node)
        if function is not None:
            assert isinstance(node, x.Apply)
            return a.call(function, node)
        if a.window is not None:
            number = window_property(self.context, a.window, a.inner, node)
            if number is not None:
                f = a.window.fields()[number]
                return _WindowColumn(f.type, number, time=f.time)
        if isinstance(node, x.Constant | x.Alias):
            return super().bind(node)
        if not contains_aggregate(self.context, node):
            bound = self._over_input(node)
            if bound is not None and bound in a.group:
                number = a.group[bound]
                type_ = bound.type
                if a.sets is not None and not all(number in s for s in a.sets):
                    type_ = type_.nullable()
                return _GroupColumn(type_, number, time=bound.time)
        if isinstance(node, x.Name):
            resolved = super().bind(node)
            name = ".".join(node.parts) or str(resolved)
            raise self.context.error(f"Expression '{name}' is not being grouped", node.span)
        return super().bind(node)

    def _over_input(self, node: x.Node) -> Expression | None:
        try:
            return self._aggregation.inner.bind(node)
        except SqlError:
            return None

    def resolved(self, e: Expression, columns: tuple[Expression, ...]) -> Expression:
        """The expression over the aggregate's columns."""
        a = self._aggregation
        if isinstance(e, _GroupColumn):
            return columns[a.position_of_group(e.number)]
        if isinstance(e, _WindowColumn):
            return columns[a.position_of_property(e.number)]
        if isinstance(e, _Placeholder):
            if e.special:
                return self._grouping(e, columns)
            return columns[a.position_of_call(e.number)]
        if not e.children:
            return e
        return e.with_children([self.resolved(c, columns) for c in e.children])

    def _grouping(self, e: _Placeholder, columns: tuple[Expression, ...]) -> Expression:
        """Which columns of a grouping set are not in it, and how often it was there before."""
        a = self._aggregation
        if a.sets is None:
            return Literal(t.BigIntType(False), 0)
        wanted = [a.group[a.inner.bind(node)] for node in e.arguments]
        number = columns[len(a.group)]
        if e.special == "GROUP_ID":
            sets = Literal(t.BigIntType(False), 1 << len(a.group))
            return self.named("DIVIDE", number, sets)
        total: Expression = Literal(t.BigIntType(False), 0)
        for index in wanted:
            bit = 1 << (len(a.group) - 1 - index)
            half = self.named("DIVIDE", number, Literal(t.BigIntType(False), bit))
            one = self.named("MOD", half, Literal(t.BigIntType(False), 2))
            doubled = self.named("TIMES", total, Literal(t.BigIntType(False), 2))
            total = self.named("PLUS", doubled, one)
        return total
