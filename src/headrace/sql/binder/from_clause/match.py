"""Binds MATCH_RECOGNIZE: its order, its pattern, and expressions over the rows of a match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql import types as t
from headrace.sql.binder.aggregation import aggregate_of, split_constants
from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.binder.expressions import ExpressionBinder, column_index
from headrace.sql.binder.group_windows import duration_of, is_time
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, order_nodes, span_of
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    AggregateCall,
    Column,
    Expression,
    Field,
    Literal,
    Schema,
    SortKey,
    TimeAttribute,
)
from headrace.sql.plan.match import Match, MatchExpressions
from headrace.sql.plan.patterns import PatternVariable, Reference

_NAVIGATION = ("FIRST", "LAST")
_PHYSICAL = ("PREV", "NEXT")


def bind_match(context: BindingContext, plan: n.Node, tree: Any) -> n.Node:
    """The plan of `table MATCH_RECOGNIZE (...)` over the plan of the table."""
    return _MatchBinder(context, plan, tree).bound()


class _MatchBinder:
    def __init__(self, context: BindingContext, plan: n.Node, tree: Any) -> None:
        self.context = context
        self.plan = plan
        self.tree = tree
        self.pattern: tuple[PatternVariable, ...] = tuple(tree.args["pattern"])
        self.variables = [v.name for v in self.pattern]
        self.scope = Scope(context)
        self.scope.add(None, plan.schema)
        self.rows = ExpressionBinder(context, self.scope)
        # Columns of the input, then what expressions compute of single rows.
        self.columns: list[Expression] = list(plan.schema.columns())

    def bound(self) -> n.Node:
        self._check_pattern()
        partition = tuple(self._column(p) for p in self.tree.args["partition"])
        order = self._order()
        conditions = self._conditions(order[0])
        measures, names = self._measures(order[0])
        within = self.tree.args["within"]
        if within is not None:
            within = duration_of(self.context, self.rows, expression_node(within))
        skip_to = self.tree.args["skip_to"]
        below = self.plan
        if len(self.columns) > len(self.plan.schema):
            extra = range(len(self.plan.schema), len(self.columns))
            below = n.Project.of(
                below, self.columns, [*self.plan.schema.names, *(f"$f{i}" for i in extra)]
            )
        results = (
            Field(m, e.type, e.time) for m, e in zip(names, measures.expressions, strict=True)
        )
        return Match(
            Schema((*(self.plan.schema[i] for i in partition), *results)),
            below,
            partition,
            order,
            self.pattern,
            conditions,
            measures,
            self.tree.args["skip"],
            None if skip_to is None else self._variable(skip_to.name, span_of(skip_to)),
            within,
            origin=self.context.excerpt(order_nodes(self.tree.args["order"])[0].span),
        )

    # The pattern.

    def _check_pattern(self) -> None:
        for index, variable in enumerate(self.pattern):
            if variable.name in self.variables[:index]:
                raise self.context.error(
                    f"Pattern variable '{variable.name}' is used twice; names must be unique",
                    variable.span,
                )
            if variable.least == 0 and index and self.pattern[index - 1].greedy:
                raise self.context.error(
                    "Optional pattern cannot be preceded by greedy pattern", variable.span
                )
        last = self.pattern[-1]
        if last.greedy:
            raise self.context.error(
                "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish "
                "your pattern with either a simple variable or reluctant quantifier.",
                last.span,
            )
        if all(v.least == 0 for v in self.pattern):
            raise self.context.error(
                "Patterns that can produce empty matches are not supported. There must be at "
                "least one non-optional state.",
                self.pattern[0].span,
            )

    def _variable(self, name: str, span: x.Span | None) -> int:
        if name not in self.variables:
            hint = suggestion(name, self.variables)
            raise self.context.error(f"Unknown pattern '{name}'{hint}", span)
        return self.variables.index(name)

    def _order(self) -> tuple[SortKey, ...]:
        keys = []
        for item in order_nodes(self.tree.args["order"]):
            index = column_index(self.rows.bind(item.value))
            if index is None:
                raise self.context.error("a column is expected here", item.span)
            keys.append(SortKey(index, item.descending, item.nulls_first))
            if len(keys) > 1:
                continue
            if not is_time(self.context, self.plan.schema[index]):
                raise self.context.error(
                    "You must specify either rowtime or proctime for order by as the first one.",
                    item.span,
                )
            if item.descending:
                raise self.context.error(
                    "Primary sort order of a streaming table must be ascending on time.", item.span
                )
        if not keys:
            raise self.context.error(
                "MATCH_RECOGNIZE needs ORDER BY with a time attribute first", span_of(self.tree)
            )
        return tuple(keys)

    def _column(self, tree: Any) -> int:
        node = expression_node(tree)
        index = column_index(self.rows.bind(node))
        if index is None:
            raise self.context.error("a column is expected here", node.span)
        return index

    # Expressions.

    def _conditions(self, time: SortKey) -> tuple[MatchExpressions | None, ...]:
        found: list[MatchExpressions | None] = [None] * len(self.pattern)
        for definition in self.tree.args["define"]:
            name = definition.args["alias"]
            index = self._variable(name.name, span_of(name))
            node = expression_node(definition.this)
            binder = _RowsBinder(self, time)
            condition = binder.bind(node)
            if not isinstance(condition.type, t.BooleanType):
                raise self.context.error(
                    f"DEFINE must be a condition, but is {condition.type.sql_text()}", node.span
                )
            found[index] = MatchExpressions(tuple(binder.references), (condition,))
        return tuple(found)

    def _measures(self, time: SortKey) -> tuple[MatchExpressions, list[str]]:
        binder = _RowsBinder(self, time)
        nodes = [expression_node(m) for m in self.tree.args["measures"]]
        bound = tuple(binder.bind(m) for m in nodes)
        names = [m.name for m in nodes if isinstance(m, x.Alias)]
        return MatchExpressions(tuple(binder.references), bound), names

    def position(self, e: Expression) -> int:
        """The column of the input that has a value of a single row."""
        if isinstance(e, Column):
            return e.index
        if e not in self.columns:
            self.columns.append(e)
        return self.columns.index(e)


class _RowsBinder(ExpressionBinder):
    """Binds an expression over the rows of a match; `references` become its columns."""

    def __init__(self, match: _MatchBinder, time: SortKey) -> None:
        super().__init__(match.context, match.scope)
        self.references: list[Reference] = []
        self._match = match
        self._time = time

    def bind(self, node: x.Node) -> Expression:
        if isinstance(node, x.Name):
            variable, (value,) = self._of_rows([node], node.span)
            return self._add(Reference(variable, self._match.position(value)), value)
        return super().bind(node)

    def apply(self, node: x.Apply) -> Expression:
        name = str(node.function).upper()
        if node.condition is not None:
            raise self.context.error(
                "FILTER is not supported in MATCH_RECOGNIZE: use CASE inside the aggregate",
                node.condition.span,
            )
        if name in _NAVIGATION:
            return self._navigation(name, node)
        if name in _PHYSICAL:
            raise self.context.error(
                f"{name} is not supported, as in Flink: use LAST(variable.column, n)", node.span
            )
        if name in ("MATCH_ROWTIME", "MATCH_PROCTIME"):
            return self._match_time(name, node)
        if aggregate_of(self.context, node) is not None:
            return self._aggregate(node)
        return super().apply(node)

    def _add(self, reference: Reference, value: Expression) -> Expression:
        if reference not in self.references:
            self.references.append(reference)
        index = self.references.index(reference)
        return Column(value.type.nullable(), index, time=value.time)

    def _of_rows(
        self, nodes: Sequence[x.Node], span: x.Span | None
    ) -> tuple[int | None, list[Expression]]:
        """The only variable that is named, and values of each of its rows."""
        binder = _RowBinder(self.context, self._match)
        values = [binder.bind(node) for node in nodes]
        if len(binder.seen) > 1:
            raise self.context.error(
                "Aggregation must be applied to a single pattern variable", span
            )
        return next(iter(binder.seen), None), values

    def _navigation(self, name: str, node: x.Apply) -> Expression:
        offset = 0
        if len(node.args) > 1:
            given = super().bind(node.args[1])
            if not isinstance(given, Literal) or not isinstance(given.value, int):
                raise self.context.error(f"{name} takes a constant number", node.args[1].span)
            offset = given.value
        if not 1 <= len(node.args) <= 2 or offset < 0:
            raise self.context.error(f"{name} takes a value and a number from 0", node.span)
        variable, (value,) = self._of_rows(node.args[:1], node.span)
        column = self._match.position(value)
        return self._add(Reference(variable, column, offset, name == "FIRST"), value)

    def _match_time(self, name: str, node: x.Apply) -> Expression:
        """The time of the match's last row, which is a time attribute of the result."""
        wanted = TimeAttribute.ROWTIME if name == "MATCH_ROWTIME" else TimeAttribute.PROCTIME
        if wanted is TimeAttribute.PROCTIME:
            return self.named("PROCTIME")
        index = self._time.index
        column = self._match.plan.schema.column(index)
        if node.args:
            column = self._match.plan.schema.column(
                self._match.position(super().bind(node.args[0]))
            )
        if column.time is not wanted:
            raise self.context.error(
                f"{name}() needs a match that is ordered by {wanted.value.lower()}", node.span
            )
        return self._add(Reference(None, column.index), column)

    def _aggregate(self, node: x.Apply) -> Expression:
        function = aggregate_of(self.context, node)
        if node.distinct:
            raise self.context.error(
                f"DISTINCT is not supported in MATCH_RECOGNIZE, as in Flink: {function.name}",
                node.span,
            )
        variable, args = self._of_rows(node.args, node.span)
        args, result = self.aggregate_arguments(function, args, node.span)
        args, constants = split_constants(self.context, function.name, args, node.span)
        call = AggregateCall(
            function,
            tuple(self._match.position(a) for a in args),
            result,
            "",
            arg_types=tuple(a.type for a in args),
            constants=constants,
        )
        reference = Reference(variable, call=call)
        if reference not in self.references:
            self.references.append(reference)
        return Column(result, self.references.index(reference))


class _RowBinder(ExpressionBinder):
    """Binds an expression over a single row, and notes whose row it is."""

    def __init__(self, context: BindingContext, match: _MatchBinder) -> None:
        super().__init__(context, match.scope)
        self.seen: set[int] = set()
        self._variables = match.variables

    def bind(self, node: x.Node) -> Expression:
        if isinstance(node, x.Name) and len(node.parts) > 1 and node.parts[0] in self._variables:
            self.seen.add(self._variables.index(node.parts[0]))
            node = x.Name(node.parts[1:], span=node.span)
        return super().bind(node)
