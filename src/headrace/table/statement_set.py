"""`StatementSet`: several INSERTs as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.sql.plan import nodes as n
from headrace.sql.session.explain import explain_plans
from headrace.table.environment_catalogs import session_of
from headrace.table.explain_detail import detail_names
from headrace.table.table import Table
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_result import TableResult
from headrace.util.exceptions import TableException

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment

__all__ = ["StatementSet"]


class StatementSet:
    """INSERTs that run as one job; what they share is computed once."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment
        self._plans: list[n.Sink] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Adds an INSERT statement."""
        statement = parse_statement(stmt)
        if not isinstance(statement, s.Insert):
            raise TableException("Only insert statement is supported now.")
        self._plans.append(session_of(self._environment).insert_plan(statement, stmt))
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Adds what `Table.insert_into` returned."""
        self._plans.append(table_pipeline._plan)
        return self

    def add_insert(
        self, target_path_or_descriptor: Any, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Adds an INSERT of a table's rows into another table."""
        return self.add(table.insert_into(target_path_or_descriptor, overwrite))

    def explain(self, *extra_details: Any) -> str:
        """Returns the plans as text."""
        if not self._plans:
            return ""
        return explain_plans(
            session_of(self._environment), self._plans, detail_names(extra_details)
        )

    def print_explain(self, *extra_details: Any) -> None:
        """Prints the plans."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Starts one job for all of them, and empties the set."""
        if not self._plans:
            raise SqlError(
                "No operators defined in streaming topology. Cannot execute. Add an INSERT first"
            )
        plans, self._plans = self._plans, []
        return TableResult(session_of(self._environment).run_inserts(plans))

    def attach_as_datastream(self) -> None:
        """Adds them to the stream environment's program, which its `execute` starts."""
        session_of(self._environment).translator().translate(*self._plans)
        self._plans = []

    def compile_plan(self) -> Any:
        """Refused: plans are compiled from SQL text."""
        raise SqlError(
            "a statement set built with method calls cannot be compiled; write EXECUTE STATEMENT "
            "SET BEGIN ... END as text for TableEnvironment.compile_plan_sql"
        )
