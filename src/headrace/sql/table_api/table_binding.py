"""From the Table API's expressions to plans, with the binder of SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.aggregation import (
    Aggregation,
    aggregate_of,
    contains_aggregate,
    parts_of,
)
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder, column_index
from headrace.sql.binder.group_windows import GroupWindow as BoundGroupWindow
from headrace.sql.binder.group_windows import group_window_of
from headrace.sql.binder.over import bind_over, contains_over
from headrace.sql.binder.queries import QueryBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.subqueries import contains_subquery
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression as Bound
from headrace.sql.plan.expressions import SortKey, TimeAttribute
from headrace.sql.table_api.expression_nodes import node_of, text_of
from headrace.sql.table_api.windows import GroupWindow, OverWindow

__all__ = ["TableBinding", "condition"]

_TIMES_OF_WINDOWS = frozenset({"$start", "$end", "$rowtime", "$proctime"})


class TableBinding:
    """Binds expressions over one plan."""

    def __init__(self, context: BindingContext, plan: n.Node) -> None:
        self.context = context
        self.plan = plan
        self.scope = Scope(context)
        self.scope.add(None, plan.schema)
        self.binder = ExpressionBinder(context, self.scope)

    def nodes(self, fields: Sequence[Any]) -> list[x.Node]:
        """Nodes of expressions; groups of columns are written out."""
        return [n_ for f in fields for n_ in self._expanded(_column_node(f))]

    def _expanded(self, node: x.Node) -> list[x.Node]:
        if isinstance(node, x.Star):
            return [self._named(i) for i in range(len(self.plan.schema))]
        if isinstance(node, x.Apply) and node.function == "$with_columns":
            return [self._named(i) for i in self._positions(node.args)]
        if isinstance(node, x.Apply) and node.function == "$without_columns":
            left_out = set(self._positions(node.args))
            kept = [i for i in range(len(self.plan.schema)) if i not in left_out]
            return [self._named(i) for i in kept]
        if isinstance(node, x.Apply) and node.function == "$flatten":
            bound = self.binder.bind(node.args[0])
            if not isinstance(bound.type, t.RowType):
                return [node.args[0]]
            names = bound.type.names
            label = node.args[0].parts[-1] if isinstance(node.args[0], x.Name) else "f"
            return [
                x.Alias(
                    x.Apply("GET", (node.args[0], x.Constant(f, t.CharType(len(f), False)))),
                    f"{label}${f}",
                )
                for f in names
            ]
        return [node]

    def _named(self, index: int) -> x.Node:
        return x.Alias(x.PositionedName((), index=index), self.plan.schema[index].name)

    def _positions(self, nodes: Sequence[x.Node]) -> list[int]:
        found: list[int] = []
        for node in nodes:
            if isinstance(node, x.Star):
                found += range(len(self.plan.schema))
            elif isinstance(node, x.Apply) and node.function == "$range":
                first, last = (self._position(a) for a in node.args)
                if first > last:
                    raise SqlError(
                        f"The start:{first + 1} of withColumns() or withoutColumns() should not "
                        f"bigger than end:{last + 1}."
                    )
                found += range(first, last + 1)
            else:
                found.append(self._position(node))
        return found

    def _position(self, node: x.Node) -> int:
        """A column by name, or by number from 1."""
        if isinstance(node, x.Constant) and isinstance(node.value, int):
            if not 1 <= node.value <= len(self.plan.schema):
                raise SqlError(
                    f"there is no column {node.value}: the table has {len(self.plan.schema)}"
                )
            return node.value - 1
        index = column_index(self.binder.bind(node))
        if index is None:
            raise SqlError("a column is expected here")
        return index

    def select(self, fields: Sequence[Any]) -> n.Node:
        """A projection, or an aggregation of all rows."""
        nodes = self.nodes(fields)
        values = [_value(v) for v in nodes]
        if any(contains_aggregate(self.context, v) for v in values):
            return self._aggregated(Aggregation(self.context, self.plan, self.scope), nodes)
        bound = [self.binder.bind(v) for v in values]
        return n.Project.of(self.plan, bound, self.names(nodes))

    def names(self, nodes: Sequence[x.Node], first: int = 0) -> list[str]:
        """Names of columns; those without one are _c and their number."""
        names: list[str] = []
        for position, node in enumerate(nodes, first):
            name = _name_of(node) or f"_c{position}"
            if name in names:
                raise SqlError(f"Ambiguous column name: {name}")
            names.append(name)
        return names

    def added_names(self, nodes: Sequence[x.Node]) -> list[str]:
        """Names of columns behind those of the plan."""
        return self.names(nodes, len(self.plan.schema))

    def with_columns(self, nodes: Sequence[x.Node]) -> n.Node:
        """The plan with more columns; those of the same name are replaced."""
        for node in nodes:
            if contains_aggregate(self.context, _value(node)):
                raise SqlError("The added field expression cannot be an aggregation")
        schema = self.plan.schema
        columns = dict(zip(schema.names, schema.columns(), strict=True))
        for name, node in zip(self.added_names(nodes), nodes, strict=True):
            columns[name] = self.binder.bind(_value(node))
        return n.Project.of(self.plan, list(columns.values()), list(columns))

    def grouped(
        self, groups: Sequence[Any], fields: Sequence[Any], window: GroupWindow | None = None
    ) -> n.Node:
        """An aggregation of groups."""
        nodes = self.nodes(groups)
        aliases: dict[x.Node, x.Node] = {
            g: x.Name((g.name,)) for g in nodes if isinstance(g, x.Alias)
        }
        if aliases:
            # What follows knows these groups by their names.
            below = TableBinding(self.context, self.with_columns(list(aliases)))
            chosen = [aliases.get(f, f) for f in map(_column_node, fields)]
            return below.grouped([aliases.get(g, g) for g in nodes], chosen, window)
        aggregation = Aggregation(self.context, self.plan, self.scope)
        bound_window = None
        if window is not None:
            named = x.Name((window.name,))
            if named not in nodes:
                raise SqlError(
                    "GroupBy must contain exactly one window alias: group_by must name the window "
                    f"{window.name!r}"
                )
            nodes = [g for g in nodes if g != named]
            if window.counts_rows:
                aggregation.rows = self._rows(window)
            else:
                bound_window = self._window(window)
        aggregation.group_by([_value(g) for g in nodes], bound_window)
        return self._aggregated(aggregation, [_column_node(f) for f in fields])

    def _window(self, window: GroupWindow) -> BoundGroupWindow:
        time, bound = window.time, self.binder.bind(window.time)
        known = t.TimestampType | t.LocalZonedTimestampType | t.BigIntType
        if not isinstance(bound.type, known) if self.context.batch else bound.time is None:
            where = "batch" if self.context.batch else "stream"
            raise SqlError(
                f"A group window expects a time attribute for grouping in a {where} environment. "
                f"{bound} is {bound.type.sql_text()}"
            )
        if self.context.batch and isinstance(bound.type, t.BigIntType):
            # Milliseconds since 1970, on no particular clock.
            since = x.Apply("TIMES", (time, x.Constant(1, t.DayTimeIntervalType())))
            time = x.Apply("PLUS", (x.Constant(0, t.TimestampType(3)), since))
        call = x.Apply(window.kind, (time, *window.lengths))
        found = group_window_of(self.context, self.binder, call)
        assert found is not None
        return BoundGroupWindow(found.window, found.time, window.name)

    def _rows(self, window: GroupWindow) -> tuple[int, int]:
        """Size and slide of a window of a number of rows."""
        time = self.binder.bind(window.time)
        if window.kind == "SESSION":
            raise SqlError("a session window has a gap of time, not of rows")
        if time.time is not TimeAttribute.PROCTIME and not self.context.batch:
            raise SqlError(
                "Event-time grouping windows on row intervals are currently not supported: a "
                "window of a number of rows is on a processing time attribute"
            )
        slide, *size = [_count(a) for a in window.lengths]
        return (size[0], slide) if size else (slide, slide)

    def _aggregated(self, aggregation: Aggregation, nodes: Sequence[x.Node]) -> n.Node:
        plan, bound, _ = aggregation.select([_value(v) for v in nodes])
        return n.Project.of(plan, bound, self.names(self._with_aggregates_named(nodes)))

    def _with_aggregates_named(self, nodes: Sequence[x.Node]) -> list[x.Node]:
        """Aggregates and times of windows without a name get Flink's: `EXPR$` and a number."""
        numbers: dict[x.Node, int] = {}
        named: list[x.Node] = []
        for node in nodes:
            for found in self._made_of_rows(_value(node)):
                numbers.setdefault(found, len(numbers))
            named.append(x.Alias(node, f"EXPR${numbers[node]}") if node in numbers else node)
        return named

    def _made_of_rows(self, node: x.Node) -> Iterator[x.Node]:
        """The aggregates and times of windows in a node."""
        time = isinstance(node, x.Apply) and node.function in _TIMES_OF_WINDOWS
        if time or aggregate_of(self.context, node) is not None:
            yield node
            return
        for part in parts_of(node):
            yield from self._made_of_rows(part)

    def over(self, windows: Sequence[OverWindow], fields: Sequence[Any]) -> n.Node:
        """Columns of the rows around each row."""
        nodes = self.nodes(fields)
        values = [_value(v) for v in nodes]
        if not any(contains_over(v) for v in values):
            return self.select(fields)
        named = {w.name: w.over for w in windows}
        plan, bound = bind_over(self.context, self.plan, self.scope, values, named)
        return n.Project.of(plan, bound, self.names(nodes))

    def filtered(self, predicate: Any) -> n.Node:
        """Rows for which a condition is TRUE."""
        node = node_of(predicate)
        if not contains_subquery(node):
            return n.Filter.of(self.plan, condition(self.binder, predicate))
        plan = QueryBinder(self.context).where(self.plan, self.scope, node)
        names = self.plan.schema.names
        return n.Project.of(plan, plan.schema.columns()[: len(names)], names)

    def ordered(self, fields: Sequence[Any]) -> n.Node:
        """The rows in an order; what is no column becomes one as long as they are sorted."""
        schema = self.plan.schema
        columns, names = list(schema.columns()), list(schema.names)
        keys = []
        for field in fields:
            node = _column_node(field)
            order = node if isinstance(node, x.Order) else x.Order(node)
            bound = self.binder.bind(order.value)
            index = column_index(bound)
            if index is None:
                index = len(columns)
                columns.append(bound)
                names.append(f"$o{index}")
            # NULL is the largest value here, and the smallest one in SQL.
            keys.append(SortKey(index, order.descending, nulls_first=order.descending))
        if len(columns) == len(schema):
            return n.Sort(schema, self.plan, tuple(keys))
        plan = n.Project.of(self.plan, columns, names)
        ordered = n.Sort(plan.schema, plan, tuple(keys))
        return n.Project.of(ordered, plan.schema.columns()[: len(schema)], schema.names)

    def bound(self, field: Any) -> Bound:
        """One expression."""
        return self.binder.bind(_value(node_of(field)))


def condition(binder: ExpressionBinder, predicate: Any) -> Bound:
    """What rows are chosen by."""
    bound = binder.bind(node_of(predicate))
    if not isinstance(bound.type, t.BooleanType | t.NullType):
        raise SqlError(
            f"Filter operator requires a boolean expression as input, but {text_of(predicate)} is "
            f"of type {bound.type.sql_text()}"
        )
    return bound


def _name_of(node: x.Node) -> str | None:
    """The name that an expression gives its column, if it gives one."""
    if isinstance(node, x.Alias):
        return node.name
    if isinstance(node, x.Name):
        return node.parts[-1]
    if isinstance(node, x.CastTo) and not node.lenient:
        name = _name_of(node.value)
        cast = isinstance(node.value, x.CastTo)
        return None if cast or name is None else f"{name}-{node.type.sql_text()}"
    if isinstance(node, x.Apply) and node.function == "GET":
        name = _name_of(node.args[0])
        key = node.args[1]
        if name is not None and isinstance(key, x.Constant):
            return f"{name}$_{key.value}" if isinstance(key.value, int) else f"{name}${key.value}"
    return None


def _count(node: x.Node) -> int:
    """The number of a row interval."""
    if isinstance(node, x.Apply) and node.function == "$rows":
        count = node.args[0]
        if isinstance(count, x.Constant) and isinstance(count.value, int) and count.value > 0:
            return count.value
    raise SqlError("size and slide of a window are both times or both row_interval(n)")


def _value(node: x.Node) -> x.Node:
    return node.value if isinstance(node, x.Alias) else node


def _column_node(field: Any) -> x.Node:
    """Names stand for columns where columns are expected."""
    return x.Name((field,)) if isinstance(field, str) else node_of(field)
