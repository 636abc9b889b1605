"""`Table`: a relation, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.sql.plan import nodes as n
from headrace.table.table_result import TableResult

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment

__all__ = ["Table"]


class Table:
    """A relation of a table environment.

    Example:
        >>> t_env.sql_query("SELECT 1 AS x").execute().print()
    """

    def __init__(self, environment: TableEnvironment, plan: n.Node) -> None:
        self._environment = environment
        self._plan = plan

    def execute(self) -> TableResult:
        """Start the query; its rows come while it runs."""
        return self._environment._session.run_query(self._plan)

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Start a job that writes the rows to a table."""
        session = self._environment._session
        path = tuple(str(table_path_or_descriptor).split("."))
        return session.run_inserts([session.sink_plan(path, self._plan, overwrite=overwrite)])

    def print_schema(self) -> None:
        """Show the columns."""
        print(self.schema_text())

    def schema_text(self) -> str:
        """The columns as Flink shows them."""
        lines = [f"  `{f.name}` {f.type_text()}" for f in self._plan.schema]
        return "(\n" + ",\n".join(lines) + "\n)"
