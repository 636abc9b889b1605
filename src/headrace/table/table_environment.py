"""`TableEnvironment` and `StreamTableEnvironment`: where tables and SQL start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.display.html import html_facts
from headrace.common.errors import FunctionTypeError, SqlError
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.data_stream import DataStream
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import statements as s
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import CatalogManager, TableEntry
from headrace.sql.catalog.definitions import definitions_of
from headrace.sql.catalog.manager import anonymous_name
from headrace.sql.lookups.python_source import as_lookup_source
from headrace.sql.parsing import parse_statement
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema as BoundSchema
from headrace.sql.session.config import SessionConfig
from headrace.sql.session.explain import explain_statement
from headrace.sql.session.models import check_model, model_context
from headrace.sql.session.session import Session
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.sql.session.user_functions import drop_function, register_function
from headrace.sql.table_api.elements import expressions_plan, values_plan
from headrace.sql.table_api.expression_nodes import plan_of
from headrace.sql.table_api.pandas_tables import from_pandas_plan
from headrace.sql.table_api.stream_tables import (
    check_stream_type,
    described,
    stream_plan,
    table_stream,
)
from headrace.sql.types import RowType
from headrace.table.changelog_mode import ChangelogMode
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.environment_catalogs import CatalogEnvironment, path_of
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import detail_names
from headrace.table.expression import Expression
from headrace.table.model import Model
from headrace.table.model_descriptor import ModelDescriptor
from headrace.table.partitioned_table import process_plan
from headrace.table.plan_reference import PlanReference
from headrace.table.schema import Schema
from headrace.table.statement_set import StatementSet
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_result import TableResult
from headrace.table.udf import as_wrapper

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(CatalogEnvironment):
    """Holds catalogs and settings, creates tables and runs statements.

    Example:
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> t_env.execute_sql("SELECT 1 AS x").print()
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._executor = StatementExecutor(session)
        self._numbers = self._anonymous = 0

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Returns a new environment with an execution environment of its own."""
        settings = as_settings(environment_settings)
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(new_session(env, settings))

    def get_config(self) -> TableConfig:
        """Returns the settings of the session."""
        return TableConfig(self._session.config.get_configuration())

    # SQL.

    def _repr_html_(self) -> str:
        """What notebooks show: where unqualified names are looked up, and what is there."""
        facts = {
            "mode": "batch" if self._session.batch else "streaming",
            "catalog": self.get_current_catalog(),
            "database": self.get_current_database(),
            "tables and views": ", ".join(self.list_tables()) or "none",
        }
        return html_facts("table environment", facts)

    def execute_sql(self, stmt: str) -> TableResult:
        """Runs one statement; a query or an INSERT starts a job."""
        return TableResult(self._executor.execute(stmt))

    def sql_query(self, query: str) -> Table:
        """Returns the result of a query as a table."""
        statement = parse_statement(query)
        if not isinstance(statement, s.Query):
            raise SqlError(
                "Unsupported SQL query! sql_query() only accepts a single SQL query of type "
                "SELECT, UNION, INTERSECT, EXCEPT, VALUES, and ORDER_BY."
            )
        return Table(self, self._session.query_plan(statement.tree, query))

    def explain_sql(self, stmt: str, *extra_details: Any) -> str:
        """Returns the plan of a statement as text."""
        statement = parse_statement(stmt)
        return explain_statement(self._session, statement, stmt, detail_names(extra_details))

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Compiles an INSERT to a plan that can be stored and run later."""
        return CompiledPlan.of_statement(self, stmt)

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """Loads a stored plan."""
        return CompiledPlan.of_reference(self, plan_reference)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Runs a stored plan."""
        return self.load_plan(plan_reference).execute()

    def create_statement_set(self) -> StatementSet:
        """Returns a set for several INSERTs that run as one job."""
        return StatementSet(self)

    # Tables.

    def from_path(self, path: str) -> Table:
        """Returns the table or view with a name.

        As long as nothing reads it, it may be one that cannot be read, such as that of a sink.
        """
        parts = path_of(path)
        plan = self._session.find_table(parts, {}, unread=True)
        if plan is None:
            hint = suggestion(parts[-1], self._session.catalogs.list_tables(), " Did")
            raise SqlError(f"Table `{path}` was not found.{hint}")
        return Table(self, plan, self._session.catalogs.find_table(parts))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Returns the table that a descriptor declares."""
        return self.from_path(self._path_of(descriptor)[0])

    def from_model(self, path_or_descriptor: str | ModelDescriptor) -> Model:
        """Returns the model with a name, or the one that a descriptor declares."""
        context = self._session.binding()
        if isinstance(path_or_descriptor, ModelDescriptor):
            entry = path_or_descriptor.entry()
            check_model(entry)
            return Model(model_context(("*anonymous_model*",), entry, self._session.zone))
        path = path_of(path_or_descriptor)
        found = context.find_model(path)
        if found is None:
            hint = suggestion(path[-1], context.model_names(), " Did")
            raise SqlError(f"Model `{path_or_descriptor}` was not found.{hint}")
        return Model(found)

    def from_elements(
        self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True
    ) -> Table:
        """Returns a table of Python objects; without a schema their types are inferred.

        Args:
            elements: Tuples, lists, dicts or rows; plain values make a single column.
            schema: `DataTypes.ROW`, a list of names, or nothing.
            verify_schema: Whether values that do not fit the schema are refused with PyFlink's
                errors; without it, some of them can still not be converted.
        """
        rows = list(elements)
        expressions = sum(isinstance(row, Expression) for row in rows)
        if isinstance(schema, RowType) and expressions and expressions == len(rows):
            return Table(self, expressions_plan(self._session.binding(), rows, schema))
        if expressions:
            raise ValueError(
                "It doesn't support part of the elements are Expression, while the others are not."
                if expressions < len(rows)
                else "elements that are expressions need a DataTypes.ROW as their schema"
            )
        zone = ZoneInfo(self._session.zone)
        return Table(self, values_plan(rows, schema, zone, verify_schema))

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """Returns a table with the rows of a `pandas.DataFrame`."""
        return Table(self, from_pandas_plan(pdf, schema, ZoneInfo(self._session.zone)))

    def from_call(self, function: Any, *arguments: Any, **named: Any) -> Table:
        """Calls a process table function and returns its rows.

        Args:
            function: A `ProcessTableFunction`, its class, or the name of a registered one.
            arguments: Its arguments by position, or by name with `as_argument(...)`; tables with
                set semantics are `table.partition_by(...)`.
            named: Its arguments by name.
        """
        context = self._session.binding()
        return Table(self, process_plan(context, function, arguments, named))

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool = False,
    ) -> bool:
        """Creates a table; returns False if it already exists."""
        return self._session.catalogs.create_table(
            path_of(path), descriptor.entry(), False, ignoreIfExists
        )

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool = False,
    ) -> None:
        """Creates a table that exists until the session ends."""
        self._session.catalogs.create_table(path_of(path), descriptor.entry(), True, ignoreIfExists)

    def create_temporary_lookup_table(
        self, path: str, schema: Schema, source: Any, options: dict[str, str] | None = None
    ) -> None:
        """Creates a table until the session ends whose rows are looked up by Python code.

        Join it with `FOR SYSTEM_TIME AS OF` a column of processing time, or search it with
        `VECTOR_SEARCH`.

        Args:
            path: Its name.
            schema: Its columns.
            source: A `LookupTableSource`, or a function or coroutine function of the keys; or a
                `VectorSearchTableSource`.
            options: Of its cache: `lookup.cache` and `lookup.partial-cache.*`.
        """
        descriptor = TableDescriptor.for_connector("python").schema(schema)
        for key, value in (options or {}).items():
            descriptor.option(key, value)
        entry = replace(descriptor.build().entry(), object=as_lookup_source(source))
        self._session.catalogs.create_table(path_of(path), entry, temporary=True)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Gives a table or a stream a name until the session ends."""
        table = table_or_data_stream
        if isinstance(table, DataStream):
            table = self._table_of_stream(table, *fields_or_schema)
        if not isinstance(table, Table):
            raise FunctionTypeError(f"a view must be a Table or a DataStream, not {table!r}")
        self._session.catalogs.create_table(path_of(view_path), _view(table), temporary=True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Creates a view of a table; returns False if it already exists."""
        return self._session.catalogs.create_table(
            path_of(view_path), _view(table), False, ignore_if_exists
        )

    def _table_of_stream(self, stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        raise FunctionTypeError("streams belong to a StreamTableEnvironment")

    def _registered(self, table: Table) -> str:
        """A name for a table inside of SQL text."""
        name = f"UnnamedTable${self._numbers}"
        self._numbers += 1
        self._session.catalogs.create_table((name,), _view(table), temporary=True)
        return name

    def _path_of(
        self, path_or_descriptor: Any, written: BoundSchema | None = None
    ) -> tuple[str, ...]:
        """The path of a table; a descriptor without a schema has the columns that are written."""
        if isinstance(path_or_descriptor, TableDescriptor):
            self._anonymous += 1
            name = anonymous_name(self._anonymous)
            entry = path_or_descriptor.entry()
            if not entry.columns and written is not None:
                columns = tuple(s.ColumnDefinition(f.name, f.type) for f in written)
                entry = replace(entry, columns=columns)
            self._session.catalogs.create_table((name,), entry, True)
            return (name,)
        return path_of(path_or_descriptor)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drops a temporary view; returns False if there is none."""
        return self._session.catalogs.drop_table(path_of(view_path), True, True, "VIEW")

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drops a view; returns False if there is none."""
        path = path_of(view_path)
        return self._session.catalogs.drop_table(path, False, ignore_if_not_exists, "VIEW")

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drops a temporary table; returns False if there is none."""
        return self._session.catalogs.drop_table(path_of(table_path), True, True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drops a table; returns False if there is none."""
        return self._session.catalogs.drop_table(path_of(table_path), False, ignore_if_not_exists)

    # Functions.

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Registers a function until the session ends."""
        register_function(self._session, path_of(path), as_wrapper(function))

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Registers a function for all databases until the session ends."""
        register_function(self._session, (name,), as_wrapper(function), system=True)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refused: functions are written in Python."""
        raise _no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refused: functions are written in Python."""
        raise _no_java(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refused: functions are written in Python."""
        raise _no_java(function_class_name)

    def drop_temporary_function(self, path: str) -> bool:
        """Drops a temporary function; returns False if there is none."""
        statement = s.Drop("FUNCTION", path_of(path), if_exists=True, temporary=True)
        return drop_function(self._session, statement)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drops a temporary system function; returns False if there is none."""
        statement = s.Drop("FUNCTION", (name,), if_exists=True, system=True)
        return drop_function(self._session, statement)

    def drop_function(self, path: str) -> bool:
        """Drops a function; returns False if there is none."""
        return drop_function(self._session, s.Drop("FUNCTION", path_of(path), if_exists=True))

    # The workers' Python.

    def add_python_file(self, file_path: str) -> None:
        """Adds a module, package directory or archive of Python code to the workers' path."""
        self._session.env.add_python_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Installs a requirements file for the workers."""
        self._session.env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpacks an archive in the workers' working directory."""
        self._session.env.add_python_archive(archive_path, target_dir)


class StreamTableEnvironment(TableEnvironment):
    """A table environment over a stream execution environment: tables and streams together."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Returns a new environment over the given execution environment, or a new one."""
        env = stream_execution_environment
        settings = as_settings(environment_settings or _settings_of(env))
        if env is None:
            configuration = settings.get_configuration()
            env = StreamExecutionEnvironment.get_execution_environment(configuration)
        return StreamTableEnvironment(new_session(env, settings))

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        """Turns a stream into a table: rows stay rows, other records become one column.

        Args:
            data_stream: The stream; its type says the columns' types.
            fields_or_schema: A `Schema` with further columns and a watermark, or expressions that
                name the columns.
        """
        return self._table_of_stream(data_stream, *fields_or_schema)

    def _table_of_stream(self, stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        declared = next((f for f in fields_or_schema if isinstance(f, Schema)), None)
        if not all(isinstance(f, Schema | Expression) for f in fields_or_schema):
            raise FunctionTypeError(f"Invalid arguments for 'fields': {fields_or_schema!r}")
        names = [f for f in fields_or_schema if isinstance(f, Expression)]
        entry = None if declared is None else declared.entry()
        plan = stream_plan(self._session, stream, entry, names)
        return Table(self, plan, entry and described(entry, stream, plan))

    def from_changelog_stream(
        self,
        data_stream: DataStream[Any],
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """Turns a stream of changes into a table: the kind of each `Row` says what it does.

        Args:
            data_stream: The stream.
            schema: Its columns; with a primary key if updates come without the row before.
            changelog_mode: Which kinds there are; all, if not given.
        """
        entry = None if schema is None else schema.entry()
        mode = changelog_mode or ChangelogMode.all()
        plan = stream_plan(self._session, data_stream, entry, mode=mode)
        return Table(self, plan, entry and described(entry, data_stream, plan))

    def to_data_stream(self, table: Table) -> DataStream[Any]:
        """Turns a table that only grows into a stream of rows."""
        return table_stream(self._session, plan_of(table), ChangelogMode.insert_only())

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream[Any]:
        """Turns a table into a stream of changes: the kind of each `Row` says what it does.

        Args:
            table: The table.
            target_schema: Names and types for the columns, in order. A metadata column `rowtime`
                becomes the timestamp of the records instead of a field; computed columns are left
                out.
            changelog_mode: Which kinds the stream may have; those that the table's changes have, if
                not given. In `ChangelogMode.upsert()` no row before an update comes, and rows
                replace each other by the primary key of the schema. As in PyFlink it counts only
                with a `target_schema`.
        """
        if target_schema is None:
            return table_stream(self._session, plan_of(table))
        return table_stream(self._session, plan_of(table), changelog_mode, target_schema.entry())

    def to_append_stream(
        self, table: Table, type_info: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Turns a table that only grows into a stream of rows of a type."""
        if type_info is not None:
            check_stream_type(plan_of(table).schema, type_info)
        stream = self.to_data_stream(table)
        return stream if type_info is None else stream.map(_shaped(type_info), type_info)

    def to_retract_stream(
        self, table: Table, type_info: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Turns a table into a stream of pairs: True and an added row, False and a removed one."""
        stream = self.to_changelog_stream(table)
        if type_info is None:
            return stream.map(_as_pair)
        check_stream_type(plan_of(table).schema, type_info)
        pair = Types.TUPLE([Types.BOOLEAN(), type_info])
        shape = _shaped(type_info)
        return stream.map(lambda row: _as_pair(row, shape), pair)


def _shaped(type_info: TypeInformation) -> Callable[[Row], Any]:
    """Makes of a table's row what a type describes: a row with other names, or a tuple."""
    if not isinstance(type_info, RowTypeInfo):
        return tuple
    names, types = list(type_info.get_field_names()), type_info.get_field_types()
    inside = {i: _shaped(x) for i, x in enumerate(types) if isinstance(x, RowTypeInfo)}

    def shaped(row: Row) -> Row:
        values = list(row)
        for i, shape in inside.items():
            values[i] = None if values[i] is None else shape(values[i])
        return row_of(values, names, row.get_row_kind())

    return shaped


def _no_java(name: str) -> SqlError:
    return SqlError(
        f"{name!r} is a Java function, which is not supported; write it in Python and register it "
        "with create_temporary_function"
    )


def _as_pair(row: Row, shape: Callable[[Row], Any] = lambda row: row) -> tuple[bool, Any]:
    comes = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    return comes, shape(row)


def _view(table: Table) -> TableEntry:
    columns = tuple(s.ColumnDefinition(f.name, f.type) for f in plan_of(table).schema)
    plan: n.Node = plan_of(table)
    return TableEntry(columns, plan=plan)


def as_settings(given: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    """Settings of a configuration, or as they are."""
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    if not isinstance(given, EnvironmentSettings):
        raise FunctionTypeError(
            f"argument should be EnvironmentSettings or Configuration, not {given!r}"
        )
    return given


def _settings_of(env: StreamExecutionEnvironment | None) -> EnvironmentSettings:
    """The mode of an execution environment is that of its tables, too."""
    if env is not None and env.get_configuration().get(options.RUNTIME_MODE) == "BATCH":
        return EnvironmentSettings.in_batch_mode()
    return EnvironmentSettings.in_streaming_mode()


def new_session(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> Session:
    """A session with an empty first catalog."""
    env.configure(settings.get_configuration())
    catalogs = CatalogManager(
        settings.get_built_in_catalog_name(),
        settings.get_built_in_database_name(),
        definitions_of(env.get_configuration()),
        env.get_configuration(),
    )
    batch = not settings.is_streaming_mode()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return Session(env, SessionConfig(env.get_configuration()), catalogs, batch)
