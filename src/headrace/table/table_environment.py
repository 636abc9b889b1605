"""`TableEnvironment`: where SQL starts."""

from __future__ import annotations

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import statements as s
from headrace.sql.catalog import CatalogManager
from headrace.sql.parsing import parse_statement
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.session import Session
from headrace.table.statement_executor import StatementExecutor
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_result import TableResult

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment:
    """Keeps catalogs and settings, and runs statements.

    Example:
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> t_env.execute_sql("SELECT 1 AS x").print()
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._executor = StatementExecutor(session)

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """A new environment with an execution environment of its own."""
        settings = as_settings(environment_settings)
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(new_session(env, settings))

    def get_config(self) -> TableConfig:
        """The settings of the session."""
        return self._session.config

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement; queries and INSERTs start a job."""
        return self._executor.execute(stmt)

    def sql_query(self, query: str) -> Table:
        """The table of a query's text."""
        statement = parse_statement(query)
        if not isinstance(statement, s.Query):
            raise SqlError(
                "Unsupported SQL query! sql_query() only accepts a single SQL query of type "
                "SELECT, UNION, INTERSECT, EXCEPT, VALUES, and ORDER_BY."
            )
        return Table(self, self._session.query_plan(statement.tree, query))


class StreamTableEnvironment(TableEnvironment):
    """A table environment over a stream execution environment."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """A new environment, of a given execution environment if there is one."""
        settings = as_settings(environment_settings or EnvironmentSettings.in_streaming_mode())
        env = stream_execution_environment
        if env is None:
            configuration = settings.get_configuration()
            env = StreamExecutionEnvironment.get_execution_environment(configuration)
        return StreamTableEnvironment(new_session(env, settings))


def as_settings(given: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    """Settings of a configuration, or as they are."""
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    return given


def new_session(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> Session:
    """A session with an empty first catalog."""
    catalogs = CatalogManager(
        settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
    )
    env.configure(settings.get_configuration())
    config = TableConfig(env.get_configuration())
    return Session(env, config, catalogs, not settings.is_streaming_mode())
