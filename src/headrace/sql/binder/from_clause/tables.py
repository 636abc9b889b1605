"""Binds what stands in FROM: tables, subqueries, window table functions, UNNEST and LATERAL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.binder.expressions import ExpressionBinder, column_index
from headrace.sql.binder.from_clause.changelog_functions import CHANGELOG_FUNCTIONS
from headrace.sql.binder.from_clause.correlate import (
    bind_correlate,
    bind_leading,
    bind_leading_call,
)
from headrace.sql.binder.from_clause.joins import bind_as_of, bind_join, time_travel
from headrace.sql.binder.from_clause.lateral import bind_lateral, is_lateral_query
from headrace.sql.binder.from_clause.match import bind_match
from headrace.sql.binder.from_clause.models import bind_evaluate, bind_predict
from headrace.sql.binder.from_clause.process_tables import DEFAULT, TableValue, bind_process_table
from headrace.sql.binder.from_clause.vector_search import bind_vector_search
from headrace.sql.binder.group_windows import duration_of, is_time, window_fields, with_times
from headrace.sql.binder.hints import QueryHints
from headrace.sql.binder.relations import renamed
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.subqueries import SubqueryBinder, contains_subquery
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, order_nodes, span_of
from headrace.sql.parser.hints import hint_options
from headrace.sql.parser.match_syntax import MatchRecognize
from headrace.sql.parser.tree_nodes import NamedArgument, TableArgument
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, Schema, TimeAttribute
from headrace.sql.udf.process.binding import ProcessTableBinding

if TYPE_CHECKING:
    from headrace.sql.binder.queries import QueryBinder

_ARGUMENTS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
    "TO_CHANGELOG": ("INPUT", "OP", "OP_MAPPING"),
    "FROM_CHANGELOG": ("INPUT", "OP", "OP_MAPPING"),
    "ML_PREDICT": ("INPUT", "MODEL", "ARGS", "CONFIG"),
    "ML_EVALUATE": ("INPUT", "MODEL", "LABEL", "ARGS", "TASK", "CONFIG"),
    "VECTOR_SEARCH": ("SEARCH_TABLE", "COLUMN_TO_SEARCH", "COLUMN_TO_QUERY", "TOP_K", "CONFIG"),
}
_OPTIONAL = frozenset({"OFFSET", "OP", "OP_MAPPING", "CONFIG"})
_MODEL_FUNCTIONS = {"ML_PREDICT": bind_predict, "ML_EVALUATE": bind_evaluate}
_BY_ROW = frozenset({*CHANGELOG_FUNCTIONS, *_MODEL_FUNCTIONS})
"""Functions that look at each row of a table by itself."""


class TableBinder:
    """Binds FROM for one query."""

    def __init__(self, queries: QueryBinder, hints: QueryHints | None = None) -> None:
        self.queries = queries
        self.context = queries.context
        self._hints = hints or QueryHints(self.context)

    def bind_from(self, first: Any, joins: Any) -> tuple[n.Node, Scope]:
        """All of FROM, and the names that it makes known."""
        scope = Scope(self.context)
        if first.args.get("version") is not None:
            raise time_travel(self.context, first.args["version"])
        plan = self._add(scope, first)
        for join in [*(first.args.get("joins") or ()), *joins]:
            plan = self._join(plan, scope, join)
        return plan, scope

    def _add(self, scope: Scope, tree: Any) -> n.Node:
        if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Table) and not tree.alias:
            # Joins in parentheses: the names of their tables are known outside as well.
            plan, inner = self.bind_from(tree.this, tree.args.get("joins") or ())
            for relation in inner.relations:
                scope.add(relation.name, relation.schema, relation.path)
            return plan
        plan, name, path = self._relation(tree)
        scope.add(name, plan.schema, path)
        return plan

    def _join(self, plan: n.Node, scope: Scope, join: Any) -> n.Node:
        if is_lateral_query(join.this):
            return bind_lateral(self.queries, plan, scope, join)
        if _table_call(join.this) is None:
            correlated = bind_correlate(self.context, plan, scope, join, self._search)
            if correlated is not None:
                return correlated
        right = Scope(self.context)
        other = self._add(right, join.this)
        hints = self._hints.of_join(scope, right)
        version = join.this.args.get("version")
        as_of = None if version is None else bind_as_of(self.context, scope, version)
        on = join.args.get("on")
        condition = None if on is None else expression_node(on)
        if condition is not None and contains_subquery(condition):
            # A value of its own stands beside the rows of the left side.
            subqueries = SubqueryBinder(self.queries, plan, scope)
            condition = subqueries.with_value(condition)
            plan = subqueries.plan
        return bind_join(self.context, plan, scope, other, right, join, condition, hints, as_of)

    def bind(self, tree: Any) -> tuple[n.Node, str | None]:
        plan, name, _ = self._relation(tree)
        return plan, name

    def _relation(self, tree: Any) -> tuple[n.Node, str | None, tuple[str, ...]]:
        alias = tree.args.get("alias")
        name = alias.name if alias is not None and alias.this is not None else None
        path: tuple[str, ...] = ()
        if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
            plan = self._table(tree)
            parts = tuple(p.name for p in tree.parts)
            path = (self.context.catalog, self.context.database)[: 3 - len(parts)] + parts
            name = name or path[-1]
        elif isinstance(tree, exp.Subquery) or is_lateral_query(tree):
            query = tree.this if isinstance(tree, exp.Subquery) else tree.this.this
            plan = self.queries.bind(query)
        elif isinstance(tree, exp.Values):
            plan = self.queries.values(tree)
        elif isinstance(tree, MatchRecognize):
            plan = bind_match(self.context, self._relation(tree.this)[0], tree)
        elif isinstance(tree.this, exp.Anonymous) and not isinstance(tree, exp.Lateral):
            plan = self._function(tree.this)
        elif (call := _table_call(tree)) is not None:
            plan = self._function(call)
        elif isinstance(tree, exp.Lateral | exp.Unnest):
            return bind_leading(self.context, tree, self._search), name, path
        else:
            raise self.context.error(
                f"{type(tree).__name__} is not supported in FROM", span_of(tree)
            )
        columns = [c.name for c in alias.columns] if alias is not None else []
        return renamed(self.context, plan, columns, span_of(tree)), name, path

    def _table(self, tree: Any) -> n.Node:
        path = tuple(p.name for p in tree.parts)
        if len(path) == 1 and path[0] in self.queries.known:
            return self.queries.known[path[0]]
        comments = [c for part in (tree, *tree.parts) for c in part.comments or ()]
        try:
            plan = self.context.find_table(path, hint_options(comments))
        except SqlError as error:
            if error.position is not None:
                raise
            raise self.context.error(str(error), span_of(tree)) from error
        if plan is None:
            hint = suggestion(path[-1], [*self.queries.known, *self.context.table_names()])
            if len(path) > 1 and path[-1] in self.context.table_names():
                hint = ", but there is one in the current database"
            raise self.context.error(f"Object '{'.'.join(path)}' not found{hint}", span_of(tree))
        return plan

    # Window table functions.

    def _function(self, call: Any) -> n.Node:
        name = str(call.name).upper()
        if name == "TABLE" and call.expressions:
            return self._function(call.expressions[0])
        if name not in _ARGUMENTS or name == "VECTOR_SEARCH":
            function = self.context.find_function((call.name,))
            if isinstance(function, ProcessTableBinding):
                return self._process(function, call)
            return bind_leading_call(self.context, call, self._search)
        given = self._arguments(name, call)
        data, plan = self._table_argument(name, given["INPUT" if name in _BY_ROW else "DATA"], call)
        if name in _BY_ROW:
            if data.args.get("partition"):
                raise self.context.error(
                    f"Only tables with set semantics may be partitioned: {name} looks at each row "
                    "by itself",
                    span_of(call),
                )
            if name in _MODEL_FUNCTIONS:
                return _MODEL_FUNCTIONS[name](self.context, plan, given, call)
            nodes = {k: self._process_argument(v) for k, v in given.items() if k != "INPUT"}
            return CHANGELOG_FUNCTIONS[name](self.context, plan, nodes, span_of(call))
        return self._window(name, given, data, plan, call)

    def _process(self, function: ProcessTableBinding, call: Any) -> n.Node:
        given: list[tuple[str | None, Any]] = []
        for tree in call.expressions:
            name = str(tree.this) if isinstance(tree, NamedArgument) else None
            value = tree.args["expression"] if isinstance(tree, NamedArgument) else tree
            given.append((name, self._process_argument(value)))
        return bind_process_table(self.context, function, call.name, given, span_of(call))

    def _process_argument(self, tree: Any) -> Any:
        if isinstance(tree, exp.Subquery):
            tree = TableArgument(this=tree)
        if isinstance(tree, TableArgument):
            return TableValue(
                self._relation(tree.this)[0],
                tuple(expression_node(c) for c in tree.args.get("partition") or ()),
                order_nodes(tree.args.get("order")),
                span_of(tree),
            )
        if _is_descriptor(tree):
            return x.Descriptor(tuple(c.name for c in tree.expressions), span=span_of(tree))
        node = expression_node(tree)
        return DEFAULT if isinstance(node, x.Name) and node.parts == ("DEFAULT",) else node

    def _arguments(self, name: str, call: Any) -> dict[str, Any]:
        """Arguments by name, whether they were given by name or by position."""
        declared = _ARGUMENTS[name]
        if name == "SESSION" and not any(isinstance(a, NamedArgument) for a in call.expressions):
            declared = ("DATA", "TIMECOL", "GAP")
        given: dict[str, Any] = {}
        for position, argument in enumerate(call.expressions):
            if isinstance(argument, NamedArgument):
                key, value = str(argument.this).upper(), argument.args["expression"]
            elif position < len(declared):
                key, value = declared[position], argument
            else:
                raise self.context.error(f"{name} has too many arguments", span_of(call))
            if key not in declared:
                raise self.context.error(f"{name} has no argument {key}", span_of(call))
            given[key] = value
        missing = [d for d in declared if d not in given and d not in _OPTIONAL]
        if missing:
            raise self.context.error(f"{name} needs {', '.join(missing)}", span_of(call))
        return given

    def _table_argument(self, name: str, data: Any, call: Any) -> tuple[Any, n.Node]:
        """`TABLE t` or `(SELECT ...)` as an argument, and its plan."""
        if isinstance(data, exp.Subquery):
            data = TableArgument(this=data)
        if not isinstance(data, TableArgument):
            raise self.context.error(
                f"{name} takes a table first: TABLE t, or (SELECT ...)", span_of(call)
            )
        return data, self._relation(data.this)[0]

    def _search(self, scope: Scope, call: Any) -> Any:
        given = self._arguments("VECTOR_SEARCH", call)
        _, table = self._table_argument("VECTOR_SEARCH", given["SEARCH_TABLE"], call)
        return bind_vector_search(self.context, scope, table, given, call)

    def _window(
        self, name: str, given: dict[str, Any], data: Any, plan: n.Node, call: Any
    ) -> n.Node:
        scope = Scope(self.context)
        scope.add(None, plan.schema)
        binder = ExpressionBinder(self.context, scope)
        time, index = self._time_column(name, given["TIMECOL"], binder, plan)

        def length(key: str) -> int:
            value = given.get(key)
            return 0 if value is None else duration_of(self.context, binder, expression_node(value))

        size = length("GAP" if name == "SESSION" else "SIZE")
        slide, offset = length("SLIDE") or length("STEP"), length("OFFSET")
        self._check_lengths(name, size, slide, offset, call)
        partition = tuple(
            self._index(binder, expression_node(c)) for c in data.args.get("partition") or ()
        )
        window = n.Window(
            name,
            index,
            size,
            slide,
            offset,
            partition,
            time.time is not TimeAttribute.PROCTIME,
            isinstance(time.type, t.LocalZonedTimestampType),
        )
        # Inside a window its end is the time that counts.
        inner = tuple(
            Field(f.name, f.type, f.time if i != index else None) for i, f in enumerate(plan.schema)
        )
        schema = Schema((*inner, *window_fields(time)))
        plan = with_times(self.context, plan, index)
        return n.WindowTable(schema, plan, window, origin=self.context.excerpt(span_of(call)))

    def _check_lengths(self, name: str, size: int, slide: int, offset: int, call: Any) -> None:
        if size <= 0:
            raise self.context.error(f"the length of {name} must be positive", span_of(call))
        if name == "TUMBLE" and abs(offset) >= size:
            raise self.context.error(
                "TUMBLE: the offset must be shorter than the size, in either direction",
                span_of(call),
            )
        if name in ("HOP", "CUMULATE"):
            if slide <= 0:
                raise self.context.error(f"the step of {name} must be positive", span_of(call))
            if name == "CUMULATE" and size % slide:
                raise self.context.error(
                    "CUMULATE: the largest size must be a multiple of the step", span_of(call)
                )
            if name == "HOP" and size % slide and not self.context.batch:
                raise self.context.error(
                    "HOP: size must be an integral multiple of slide", span_of(call)
                )

    def _time_column(
        self, name: str, descriptor: Any, binder: ExpressionBinder, plan: n.Node
    ) -> tuple[Expression, int]:
        if not _is_descriptor(descriptor) or len(descriptor.expressions) != 1:
            raise self.context.error(f"{name} takes DESCRIPTOR(time column)", span_of(descriptor))
        node = expression_node(descriptor.expressions[0])
        time = binder.bind(node)
        if not is_time(self.context, time):
            raise self.context.error(
                "The window function requires the timecol is a time attribute type, but is "
                f"{time.type.sql_text()}",
                node.span,
            )
        return time, self._index(binder, node)

    def _index(self, binder: ExpressionBinder, node: x.Node) -> int:
        index = column_index(binder.bind(node))
        if index is None:
            raise self.context.error("a column is expected here", node.span)
        return index


def _table_call(tree: Any) -> Any:
    """The call of LATERAL TABLE(f(TABLE t, ...)), which speaks of no other relation; or None."""
    call = tree.this if isinstance(tree, exp.Lateral) else None
    if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and call.expressions:
        call = call.expressions[0]
    if not isinstance(call, exp.Anonymous) or call.name.upper() == "VECTOR_SEARCH":
        return None
    return call if call.name.upper() in _ARGUMENTS else None


def _is_descriptor(tree: Any) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.name.upper() == "DESCRIPTOR"
