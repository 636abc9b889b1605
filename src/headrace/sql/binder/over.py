"""Binds OVER: functions of the rows around each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.sql import types as t
from headrace.sql.binder.aggregation import NUMBERING, function_of, nodes_in, split_constants
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.parser.excerpts import Excerpt
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import AggregateCall, Expression, Field, Literal, Schema, SortKey
from headrace.sql.types.implicit_casts import casts_implicitly

_RANKS = frozenset({"RANK", "DENSE_RANK", "ROW_NUMBER"})

_WHOLE_INPUT = frozenset({"LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"})
"""Functions that look at rows behind the current one."""


def contains_over(node: x.Node) -> bool:
    """Whether a function with OVER is somewhere in a node."""
    return any(isinstance(part, x.Apply) and part.over is not None for part in nodes_in(node))


_PLACES = (
    "UNBOUNDED PRECEDING",
    "PRECEDING",
    "CURRENT ROW",
    "FOLLOWING",
    "UNBOUNDED FOLLOWING",
)
_FIRST, _LAST = 0, 4

_USUAL_FRAME = (False, x.Bound(None), x.Bound(None, current=True))
"""RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, which an order has if it has no other."""


def _place(bound: x.Bound) -> int:
    """Which of the places in a partition an end of a frame is."""
    if bound.current:
        return 2
    if bound.distance is None:
        return _FIRST if bound.preceding else _LAST
    return 1 if bound.preceding else 3


@dataclass(frozen=True)
class _OverColumn(Expression):
    number: int


def bind_over(
    context: BindingContext,
    plan: n.Node,
    scope: Scope,
    values: list[x.Node],
    windows: dict[str, x.Over],
) -> tuple[n.Node, list[Expression]]:
    """A plan with a column for each function, and SELECT's expressions over it."""
    binder = _OverBinder(context, scope, windows)
    expressions = [binder.bind(v) for v in values]
    plan = binder.plan(plan)
    columns = plan.schema.columns()
    return plan, [binder.resolved(e, columns) for e in expressions]


class _OverBinder(ExpressionBinder):
    def __init__(self, context: BindingContext, scope: Scope, windows: dict[str, x.Over]) -> None:
        super().__init__(context, scope)
        self._windows = windows
        self._columns: list[Expression] = list(scope.schema.columns())
        self._groups: list[tuple[x.Over, list[AggregateCall]]] = []
        self._origins: list[Excerpt] = []
        self._results: list[tuple[int, int]] = []
        self._inner = ExpressionBinder(context, scope)

    def apply(self, node: x.Apply) -> Expression:
        if node.over is None:
            return super().apply(node)
        function = function_of(self.context, node)
        if function is None or getattr(function, "hidden", False):
            raise self.unknown_function(node)
        if function.kind is not FunctionKind.AGGREGATE:
            raise self.context.error(f"{function.name} cannot be used with OVER", node.span)
        if function.name in _WHOLE_INPUT and not self.context.batch:
            raise self.context.error(
                f"{function.name} Function is not supported in stream mode.", node.span
            )
        args, result = self._inner.aggregate_arguments(
            function, [self._inner.bind(a) for a in node.args], node.span
        )
        if function.name in ("LAG", "LEAD") and len(args) > 2:
            if not self.context.batch and not casts_implicitly(args[2].type, args[0].type, False):
                raise self.context.error(
                    f"Please explicitly cast default value {args[2].type.sql_text()} to "
                    f"{args[0].type.sql_text()}",
                    node.span,
                )
            args[2] = self._inner.coerce(args[2], args[0].type)
        over = self._window(node.over)
        if function.name in ("RANK", "DENSE_RANK") and not self.context.batch and over.order:
            # On a stream rows come in order: a new place begins with another time.
            args = [self._inner.bind(over.order[0].value)]
        args, constants = split_constants(self.context, function.name, args, node.span)
        condition = None
        if node.condition is not None:
            condition = self._inner.condition(node.condition, "FILTER")
        call = AggregateCall(
            function,
            tuple(self._position(a) for a in args),
            result,
            f"w0$o{len(self._results)}",
            node.distinct,
            None if condition is None else self._position(condition),
            tuple(a.type for a in args),
            constants,
        )
        if function.name in NUMBERING:
            if function.name in _RANKS and node.over.rows is not None:
                raise self.context.error(
                    "ROW/RANGE not allowed with RANK, DENSE_RANK or ROW_NUMBER functions", node.span
                )
            # They look at the order of rows, whatever the frame is.
            over = replace(over, rows=True, start=None, end=None)
        elif over.order and (over.rows, over.start, over.end) == _USUAL_FRAME:
            over = replace(over, rows=None, start=None, end=None)
        return _OverColumn(result, self._add(over, call, node.span))

    def _window(self, over: x.Over) -> x.Over:
        if over.name is None:
            return over
        found = self._windows.get(over.name)
        if found is None:
            raise self.context.error(f"Window '{over.name}' not found", over.span)
        found = self._window(found)
        if over.partition:
            raise self.context.error(
                "PARTITION BY not allowed with existing window reference", over.span
            )
        if over.order and found.order:
            raise self.context.error(
                "ORDER BY not allowed in both base and referenced windows", over.span
            )
        frame = over if over.rows is not None else found
        return replace(
            found,
            order=over.order or found.order,
            rows=frame.rows,
            start=frame.start,
            end=frame.end,
            span=over.span,
        )

    def _position(self, e: Expression) -> int:
        if e not in self._columns:
            self._columns.append(e)
        return self._columns.index(e)

    def _add(self, over: x.Over, call: AggregateCall, span: x.Span | None) -> int:
        for number, (known, calls) in enumerate(self._groups):
            if known == over:
                same = [i for i, c in enumerate(calls) if replace(c, name=call.name) == call]
                if same:
                    return self._results.index((number, same[0]))
                calls.append(call)
                self._results.append((number, len(calls) - 1))
                return len(self._results) - 1
        self._groups.append((over, [call]))
        self._origins.append(self.context.excerpt(span))
        self._results.append((len(self._groups) - 1, 0))
        return len(self._results) - 1

    def plan(self, plan: n.Node) -> n.Node:
        """The input with expressions that the functions need, then one node for each window."""
        windows = [self._bound_window(over) for over, _ in self._groups]
        width = len(self.scope.schema)
        if len(self._columns) > width:
            names = [*self.scope.schema.names]
            names += [f"$f{i}" for i in range(width, len(self._columns))]
            plan = n.Project.of(plan, self._columns, names)
        self._starts = []
        for (_, calls), origin, (partition, order, rows, start, end) in zip(
            self._groups, self._origins, windows, strict=True
        ):
            self._starts.append(len(plan.schema))
            fields = (*plan.schema, *(Field(c.name, c.type) for c in calls))
            plan = n.OverAggregate(
                Schema(fields),
                plan,
                partition,
                order,
                rows,
                start,
                tuple(calls),
                end,
                origin=origin,
            )
        return plan

    def _bound_window(
        self, over: x.Over
    ) -> tuple[tuple[int, ...], tuple[SortKey, ...], bool, int | None, int | None]:
        partition = tuple(self._position(self._inner.bind(p)) for p in over.partition)
        order = tuple(
            SortKey(self._position(self._inner.bind(o.value)), o.descending, o.nulls_first)
            for o in over.order
        )
        if not order and not self.context.batch:
            raise self.context.error(
                "Over Agg: The window rank function requires order by clause with non-constant "
                "fields.",
                over.span,
            )
        self._check_frame(over)
        start = None if over.start is None else self._distance(over, over.start)
        end = 0 if over.end is None else self._distance(over, over.end)
        if not order and over.end is None:
            end = None
        if end != 0 and not self.context.batch:
            raise self.context.error(
                "OVER windows that end before or after the current row are not supported on a "
                "stream",
                over.span,
            )
        return partition, order, bool(over.rows), start, None if end is None else -end

    def _check_frame(self, over: x.Over) -> None:
        """A frame does not end before it starts."""
        if over.start is None:
            return
        start, end = (_place(b) for b in (over.start, over.end or x.Bound(None, current=True)))
        if start > end or start == _LAST or end == _FIRST:
            raise self.context.error(
                f"Upper frame boundary cannot be {_PLACES[end]} when lower boundary is "
                f"{_PLACES[start]}",
                over.span,
            )

    def _distance(self, over: x.Over, bound: x.Bound) -> int | None:
        """Rows or milliseconds before the current row, less than 0 behind it; None: all."""
        if bound.distance is None:
            return 0 if bound.current else None
        value = fold(self._inner.bind(bound.distance), self.context.zone)
        wanted: tuple[type, ...] = (t.IntegralType,) if over.rows else (t.DayTimeIntervalType,)
        if not over.rows and self.context.batch:
            wanted = (t.DayTimeIntervalType, t.NumericType)
        if not isinstance(value, Literal) or not isinstance(value.type, wanted):
            raise self.context.error(
                f"an end of OVER cannot be {value.type.sql_text()} here: it must be a constant "
                "number of rows, or an interval",
                over.span,
            )
        if value.value < 0:
            kind = "ROWS" if over.rows else "RANGE"
            raise self.context.error(f"{kind} value must not be negative", over.span)
        return int(value.value) if bound.preceding else -int(value.value)

    def resolved(self, e: Expression, columns: tuple[Expression, ...]) -> Expression:
        """The expression over the columns with results."""
        if isinstance(e, _OverColumn):
            group, offset = self._results[e.number]
            return columns[self._starts[group] + offset]
        if not e.children:
            return e
        return e.with_children([self.resolved(c, columns) for c in e.children])
