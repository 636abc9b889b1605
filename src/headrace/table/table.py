"""`Table`: a relation, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from headrace.common.display.html import html_table
from headrace.common.errors import FunctionTypeError, SqlError
from headrace.common.types import Row
from headrace.sql.binder.aggregation import function_of
from headrace.sql.binder.context import repeated
from headrace.sql.binder.from_clause.call_arguments import unique_names
from headrace.sql.binder.relations import distinct, renamed, same_types, union_of
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import SortKey
from headrace.sql.plan.joins import JoinKind
from headrace.sql.session.explain import explain_plans
from headrace.sql.session.tableau import Tableau, print_result
from headrace.sql.table_api.expression_nodes import RelationBase, node_of, plan_of
from headrace.sql.table_api.flat_aggregate import (
    called_table_aggregate,
    flat_aggregate_plan,
)
from headrace.sql.table_api.joins import join_tables
from headrace.sql.table_api.lateral import lateral_join
from headrace.sql.table_api.pandas_tables import to_pandas
from headrace.sql.table_api.process_calls import NamedTable, changelog_call
from headrace.sql.table_api.row_functions import row_call
from headrace.sql.table_api.table_binding import TableBinding
from headrace.sql.table_api.temporal_functions import versioned_table
from headrace.table.environment_catalogs import session_of
from headrace.table.explain_detail import detail_names
from headrace.table.expressions import col, without_columns
from headrace.table.partitioned_table import PartitionedTable
from headrace.table.resolved_schemas import resolved_schema
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_result import TableResult
from headrace.table.table_schema import TableSchema
from headrace.table.temporal_table_function import TemporalTableFunction
from headrace.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from headrace.sql.catalog import TableEntry
    from headrace.table.catalog import ResolvedSchema
    from headrace.table.expression import Expression
    from headrace.table.table_environment import TableEnvironment

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]

_SHOWN = 10
"""Rows that a notebook shows of a table."""


class Table(RelationBase):
    """A relation of a table environment; each method returns a new one.

    Example:
        >>> from headrace.table.expressions import col
        >>> table.group_by(col("item")).select(col("item"), col("price").sum.alias("total"))
    """

    def __init__(
        self, environment: TableEnvironment, plan: n.Node, entry: TableEntry | None = None
    ) -> None:
        self._environment = environment
        self._plan = plan
        self._entry = entry

    def __str__(self) -> str:
        return self._environment._registered(self)

    def __getattr__(self, name: str) -> Expression[Any]:
        """A column of the table: `table.price` is `col("price")`."""
        # While an object is unpickled or copied, it has no plan yet.
        names = self._plan.schema.names if "_plan" in self.__dict__ else ()
        if name not in names:
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: "
                f"[{', '.join(names)}]"
            )
        return col(name)

    def _binding(self) -> TableBinding:
        return TableBinding(session_of(self._environment).binding(), self._plan)

    def _with(self, plan: n.Node) -> Table:
        return Table(self._environment, plan)

    # Columns and rows.

    def select(self, *fields: Any) -> Table:
        """Selects columns, or aggregates over all rows."""
        return self._with(self._binding().select(fields))

    def alias(self, field: str, *fields: str) -> Table:
        """Renames the first columns."""
        names = [field, *fields]
        if len(names) > len(self._plan.schema):
            raise SqlError("Aliasing more fields than we actually have.")
        if "*" in names:
            raise SqlError("Alias can not accept '*' as name.")
        names += self._plan.schema.names[len(names) :]
        return self._renamed(names)

    def _renamed(self, names: list[str]) -> Table:
        twice = repeated(names)
        if twice is not None:
            raise SqlError(f"Ambiguous column name: {twice}")
        return self._with(renamed(session_of(self._environment).binding(), self._plan, names))

    def filter(self, predicate: Any) -> Table:
        """Keeps the rows for which a condition is TRUE."""
        return self._with(self._binding().filtered(predicate))

    def where(self, predicate: Any) -> Table:
        """The same as `filter`."""
        return self.filter(predicate)

    def add_columns(self, *fields: Any) -> Table:
        """Appends columns."""
        binding = self._binding()
        twice = repeated([*self._plan.schema.names, *binding.added_names(binding.nodes(fields))])
        if twice is not None:
            raise SqlError(f"Ambiguous column name: {twice}")
        return self._added(binding, fields)

    def add_or_replace_columns(self, *fields: Any) -> Table:
        """Appends columns; columns of the same name are replaced."""
        return self._added(self._binding(), fields)

    def _added(self, binding: TableBinding, fields: Sequence[Any]) -> Table:
        return self._with(binding.with_columns(binding.nodes(fields)))

    def rename_columns(self, *fields: Any) -> Table:
        """Renames columns; each is given as `col('a').alias('b')`."""
        new = {}
        for field in fields:
            node = node_of(field)
            if not isinstance(node, x.Alias) or not isinstance(node.value, x.Name):
                raise SqlError(
                    "Invalid alias for a renaming column operation. Renaming must add an alias to "
                    f"an existing field, as in col('a').alias('b'). But was: {field}"
                )
            self._binding().bound(node.value)
            new[node.value.parts[0]] = node.name
        return self._renamed([new.get(name, name) for name in self._plan.schema.names])

    def drop_columns(self, *fields: Any) -> Table:
        """Drops columns."""
        names = self._plan.schema.names
        for field in fields:
            node = node_of(col(field) if isinstance(field, str) else field)
            if isinstance(node, x.Name) and node.parts[-1] not in names:
                raise SqlError(f"Field {node.parts[-1]} does not exist in source table")
        return self.select(without_columns(*fields) if fields else col("*"))

    def distinct(self) -> Table:
        """Drops duplicate rows."""
        return self._with(distinct(self._plan))

    # Groups and windows.

    def group_by(self, *fields: Any) -> GroupedTable:
        """Groups the rows; `select` then names the columns of the result."""
        return GroupedTable(self, fields)

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Assigns rows to windows; the `group_by` that follows must name the window."""
        if not isinstance(window, GroupWindow):
            raise SqlError("window() takes Tumble, Slide or Session with on() and alias()")
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Defines windows of rows around each row, for `over` in `select`."""
        return OverWindowedTable(self, over_windows)

    def aggregate(self, func: Any) -> AggregatedTable:
        """Aggregates all rows with a function."""
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Aggregates all rows with a table aggregate function."""
        return self.group_by().flat_aggregate(func)

    def map(self, func: Any) -> Table:
        """Applies a function that returns a row; without arguments it gets the whole row."""
        names: tuple[str, ...] = ()
        node = row_call(func, self._plan)
        if isinstance(node, x.Alias):
            names, node = (node.name, *node.further), node.value
        binding = self._binding()
        function = function_of(binding.context, node) if isinstance(node, x.Apply) else None
        if function is None or function.kind is not FunctionKind.SCALAR:
            raise SqlError("Only a scalar function can be used in the map operator.")
        result = self._with(n.Project.of(self._plan, [binding.bound(node)], ["f0"]))
        result = result.select(col("f0").flatten)
        made = [name.removeprefix("f0$") for name in plan_of(result).schema.names]
        return result.alias(*(names or made))

    def flat_map(self, func: Any) -> Table:
        """Applies a table function to each row; without arguments it gets the whole row."""
        context = session_of(self._environment).binding()
        node = row_call(func, self._plan)
        call = node.value if isinstance(node, x.Alias) else node
        function = function_of(context, call) if isinstance(call, x.Apply) else None
        if function is None or function.kind is not FunctionKind.TABLE:
            raise SqlError("Only a table function can be used in the flatMap operator.")
        joined = lateral_join(context, self._plan, node, None, outer=False, unique=False)
        width = len(self._plan.schema)
        columns = joined.schema.columns()[width:]
        return self._with(n.Project.of(joined, columns, joined.schema.names[width:]))

    # Several tables.

    def union_all(self, right: Table) -> Table:
        """Returns all rows of both tables."""
        return self._with(union_of(self._same_types(right, "UNION ALL")))

    def union(self, right: Table) -> Table:
        """Returns all rows of both tables, without duplicates."""
        return self._with(distinct(union_of(self._same_types(right, "UNION"))))

    def intersect(self, right: Table) -> Table:
        """Returns the rows that are in both tables, without duplicates."""
        return self._set_operation(right, "INTERSECT", False)

    def intersect_all(self, right: Table) -> Table:
        """Returns the rows that are in both tables, as often as in both."""
        return self._set_operation(right, "INTERSECT", True)

    def minus(self, right: Table) -> Table:
        """Returns the rows that are not in the other table, without duplicates."""
        return self._set_operation(right, "EXCEPT", False)

    def minus_all(self, right: Table) -> Table:
        """Returns the rows of this table, each less often by how often the other table has it."""
        return self._set_operation(right, "EXCEPT", True)

    def _check_environment(self, right: Table) -> None:
        if right._environment is not self._environment:
            raise SqlError("Only tables from the same TableEnvironment can be joined.")

    def _same_types(self, right: Table, kind: str) -> list[n.Node]:
        self._check_environment(right)
        context = session_of(self._environment).binding()
        return same_types(context, [self._plan, plan_of(right)], kind, None)

    def _set_operation(self, right: Table, kind: str, everything: bool) -> Table:
        left, other = self._same_types(right, kind)
        return self._with(n.SetOperation(left.schema, left, other, kind, everything))

    def join(self, right: Table, join_predicate: Any = None) -> Table:
        """Joins the rows of both tables that meet a condition."""
        return self._joined(right, JoinKind.INNER, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Any = None) -> Table:
        """Joins like `join`, and keeps all rows of this table."""
        return self._joined(right, JoinKind.LEFT, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Joins like `join`, and keeps all rows of the other table."""
        return self._joined(right, JoinKind.RIGHT, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Joins like `join`, and keeps all rows of both tables."""
        return self._joined(right, JoinKind.FULL, join_predicate)

    def _joined(self, right: Table, kind: JoinKind, predicate: Any) -> Table:
        self._check_environment(right)
        context = session_of(self._environment).binding()
        return self._with(join_tables(context, self._plan, plan_of(right), kind, predicate))

    def join_lateral(self, table_function_call: Any, join_predicate: Any = None) -> Table:
        """Joins each row with the rows that a table function returns for it."""
        return self._lateral(table_function_call, join_predicate, outer=False)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Any = None
    ) -> Table:
        """Joins like `join_lateral`, and keeps rows for which the function returns none."""
        return self._lateral(table_function_call, join_predicate, outer=True)

    def create_temporal_table_function(
        self, time_attribute: Any, primary_key: Any
    ) -> TemporalTableFunction:
        """Returns a table function of a time, which gives the rows that were valid then.

        Args:
            time_attribute: The event time or processing time from which on a row is valid.
            primary_key: Of the rows with the same value here one is valid at a time; a list for
                several columns.

        Example:
            >>> rates = history.create_temporal_table_function(col("r_time"), col("r_currency"))
            >>> orders.join_lateral(rates(col("o_time")), col("o_currency") == col("r_currency"))
        """
        return TemporalTableFunction(versioned_table(self._plan, time_attribute, primary_key))

    def _lateral(self, call: Any, predicate: Any, outer: bool) -> Table:
        context = session_of(self._environment).binding()
        return self._with(
            lateral_join(context, self._plan, row_call(call, self._plan), predicate, outer)
        )

    # Process table functions.

    def process(self, function: Any, *arguments: Any, **named: Any) -> Table:
        """Applies a process table function to each row; see `PartitionedTable`."""
        return self.partition_by().process(function, *arguments, **named)

    def partition_by(self, *fields: Any) -> PartitionedTable:
        """Partitions the rows, for a process table function with set semantics."""
        return PartitionedTable(self, fields)

    def as_argument(self, name: str) -> NamedTable:
        """Names the table as an argument, for a process table function."""
        return self.partition_by().as_argument(name)

    # Order.

    def order_by(self, *fields: Any) -> Table:
        """Sorts the rows: a stream by time, in batch mode or with `limit` by any columns."""
        return self._with(self._binding().ordered(fields))

    def offset(self, offset: int) -> Table:
        """Skips the first rows."""
        return self._limited(offset, None)

    def fetch(self, fetch: int) -> Table:
        """Returns the first rows."""
        return self._limited(0, fetch)

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Returns `fetch` rows after the first `offset` ones."""
        return self._limited(offset, fetch)

    def _limited(self, offset: int, fetch: int | None) -> Table:
        if fetch is not None:
            _check_count(fetch)
        if offset < 0:
            raise SqlError("Offset should be greater or equal 0")
        return self._with(_limited(self._plan, offset, fetch))

    # Running.

    def execute(self) -> TableResult:
        """Starts the query; its rows arrive while it runs."""
        return TableResult(session_of(self._environment).run_query(self._plan))

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Starts a job that writes the rows to a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TablePipeline:
        """Returns an INSERT into a table, for a statement set."""
        path = self._environment._path_of(table_path_or_descriptor, self._plan.schema)
        session = session_of(self._environment)
        plan = session.sink_plan(path, self._plan, overwrite=overwrite)
        return TablePipeline(self._environment, plan)

    def to_pandas(self) -> Any:
        """Returns all rows as a `pandas.DataFrame`; waits until the job has ended."""
        with self.execute().collect() as rows:
            zone = ZoneInfo(session_of(self._environment).zone)
            return to_pandas(rows, self._plan.schema, zone)

    def head(self, n: int = 5) -> list[Row]:
        """Returns the first rows that arrive, and then ends the query."""
        _check_count(n)
        with self.execute().collect() as rows:
            return list(islice(rows, n))

    def show(self, n: int = 20) -> None:
        """Prints the first rows that arrive as a table, and then ends the query."""
        _check_count(n)
        result = session_of(self._environment).run_query(self._plan)
        print_result(replace(result, rows=lambda: islice(result.rows(), n)))
        result.close()

    def _repr_html_(self) -> str:
        """The columns; of a table that ends its first rows, too."""
        columns = [f"{f.name} {f.type_text()}" for f in self._plan.schema]
        if not n.is_bounded(self._plan):
            return html_table(columns, (), "a stream without an end: show() prints its first rows")
        result = session_of(self._environment).run_query(self._plan)
        cells = Tableau(result.schema, result.zone).cells
        rows = [cells(row) for _, row in islice(result.rows(), _SHOWN)]
        result.close()
        return html_table(columns, rows, f"the first {_SHOWN} rows" if len(rows) == _SHOWN else "")

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Each change as a row that begins with the name of its kind, as `TO_CHANGELOG` gives it.

        Args:
            arguments: `descriptor("column").as_argument("op")` names that column, and
                `map_("INSERT", "I", ...).as_argument("op_mapping")` has other codes.
        """
        return self._changelog("TO_CHANGELOG", arguments)

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Each row as a change of the kind that a column names, as `FROM_CHANGELOG` gives it.

        Args:
            arguments: As those of `to_changelog`, with a map of codes to kinds.
        """
        return self._changelog("FROM_CHANGELOG", arguments)

    def _changelog(self, function: str, arguments: Sequence[Any]) -> Table:
        context = session_of(self._environment).binding()
        return self._with(changelog_call(context, function, self._plan, arguments))

    def get_resolved_schema(self) -> ResolvedSchema:
        """Returns the columns with their types, as a table of a catalog declares them."""
        return resolved_schema(session_of(self._environment), self._plan, self._entry)

    def get_schema(self) -> TableSchema:
        """Returns the columns."""
        return TableSchema.of_resolved(self.get_resolved_schema())

    def print_schema(self) -> None:
        """Prints the columns."""
        print(self.get_resolved_schema())

    def explain(self, *extra_details: Any) -> str:
        """Returns the plan as text."""
        names = detail_names(extra_details)
        return explain_plans(session_of(self._environment), [self._plan], names)

    def print_explain(self, *extra_details: Any) -> None:
        """Prints the plan."""
        print(self.explain(*extra_details))


def _limited(plan: n.Node, offset: int, fetch: int | None) -> n.Node:
    """Some rows of a plan, in its order."""
    if isinstance(plan, n.Project) and isinstance(plan.input, n.Sort):
        # Columns were sorted by that nobody sees.
        return replace(plan, input=_limited(plan.input, offset, fetch))
    keys: tuple[SortKey, ...] = ()
    if isinstance(plan, n.Sort):
        keys, plan = plan.keys, plan.input
    elif isinstance(plan, n.Limit) and plan.fetch is None and plan.offset:
        # offset() and then fetch() are one.
        offset, keys, plan = plan.offset + offset, plan.keys, plan.input
    return n.Limit(plan.schema, plan, offset, fetch, keys)


class GroupedTable:
    """Groups of rows."""

    def __init__(
        self, table: Table, groups: Sequence[Any], window: GroupWindow | None = None
    ) -> None:
        self._table = table
        self._groups = groups
        self._window = window

    @property
    def columns(self) -> list[Any]:
        """The grouping columns, without the window."""
        name = "" if self._window is None else self._window.name
        return [g for g in self._groups if node_of(g) != x.Name((name,))]

    def select(self, *fields: Any) -> Table:
        """Selects columns of the groups and aggregates of their rows."""
        binding = self._table._binding()
        return self._table._with(binding.grouped(self._groups, fields, self._window))

    def aggregate(self, func: Any) -> AggregatedTable:
        """Aggregates each group with a function whose result is a row."""
        return AggregatedTable(self, func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Aggregates with a table aggregate function: any number of rows for each group."""
        return FlatAggregateTable(self, func)


class GroupWindowedTable:
    """Windows of rows."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Any) -> WindowGroupedTable:
        """Groups the rows of each window; one of the columns is the window's name."""
        return WindowGroupedTable(self._table, fields, self._window)


class WindowGroupedTable(GroupedTable):
    """Groups of rows in windows."""


class OverWindowedTable:
    """Rows with windows around them."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Any) -> Table:
        """Selects columns and aggregates over the windows."""
        binding = self._table._binding()
        return self._table._with(binding.over(self._windows, fields))


class AggregatedTable:
    """Groups with an aggregate function whose result is a row."""

    def __init__(self, grouped: GroupedTable, func: Any) -> None:
        self._grouped = grouped
        self._func = func

    def select(self, *fields: Any) -> Table:
        """Selects columns of the groups and fields of the function's result."""
        node = row_call(self._func, plan_of(self._grouped._table))
        names: tuple[str, ...] = ()
        if isinstance(node, x.Alias):
            names, node = (node.name, *node.further), node.value
        context = self._grouped._table._binding().context
        function = function_of(context, node) if isinstance(node, x.Apply) else None
        if function is None or function.kind is not FunctionKind.AGGREGATE:
            raise SqlError("Only an aggregate function can be used in the aggregate operator.")
        groups = self._grouped.columns
        result = self._grouped.select(*groups, x.Alias(node, "$result"))
        binding = result._binding()
        columns = dict(
            zip(plan_of(result).schema.names, plan_of(result).schema.columns(), strict=True)
        )
        columns.pop("$result")
        flat = binding.nodes([x.Apply("$flatten", (x.Name(("$result",)),))])
        made = [
            part.name.removeprefix("$result$") if isinstance(part, x.Alias) else "f0"
            for part in flat
        ]
        made = [*names, *unique_names([*columns, *names], made[len(names) :])]
        for name, part in zip(made, flat, strict=True):
            columns[name] = binding.bound(part)
        plan = n.Project.of(plan_of(result), list(columns.values()), list(columns))
        return self._grouped._table._with(plan).select(*fields)


def _check_count(rows: int) -> None:
    if not isinstance(rows, int):
        raise FunctionTypeError(f"a number of rows must be an int, not {rows!r}")
    if rows < 0:
        raise SqlError("FETCH count must be equal or larger than 0.")


class FlatAggregateTable:
    """Groups with a table aggregate function."""

    def __init__(self, grouped: GroupedTable, func: Any) -> None:
        self._grouped = grouped
        self._func = func

    def select(self, *fields: Any) -> Table:
        """Selects columns of the groups and of the function's rows."""
        grouped = self._grouped
        context = session_of(grouped._table._environment).binding()
        node = row_call(self._func, plan_of(grouped._table))
        names, call = called_table_aggregate(context, node)
        one = grouped.select(*grouped.columns, x.Alias(call, "$rows"))
        plan = flat_aggregate_plan(plan_of(one), names)
        return grouped._table._with(plan).select(*fields)
