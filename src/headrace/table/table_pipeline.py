"""`TablePipeline`: rows on their way to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.sql.catalog.manager import is_anonymous
from headrace.sql.plan import nodes as n
from headrace.sql.session.explain import explain_plans
from headrace.table.catalog import ObjectIdentifier
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.environment_catalogs import session_of
from headrace.table.explain_detail import detail_names
from headrace.table.table_result import TableResult

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment

__all__ = ["TablePipeline"]


class TablePipeline:
    """A query and the table that it writes to; `execute` starts it."""

    def __init__(self, environment: TableEnvironment, plan: n.Sink) -> None:
        self._environment = environment
        self._plan = plan

    def __str__(self) -> str:
        return (
            f"TablePipeline with sink table '{self.get_sink_identifier() or self._plan.table[-1]}'"
        )

    def execute(self) -> TableResult:
        """Start the job."""
        return TableResult(session_of(self._environment).run_inserts([self._plan]))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The table that is written to; None if it is a descriptor that nobody registered."""
        if is_anonymous(self._plan.table[-1]):
            return None
        return ObjectIdentifier.of(*self._plan.table)

    def compile_plan(self) -> CompiledPlan:
        """The plan, to be kept and run later."""
        return CompiledPlan.of_plans(self._environment, [self._plan])

    def explain(self, *extra_details: Any) -> str:
        """The plan as text."""
        names = detail_names(extra_details)
        return explain_plans(session_of(self._environment), [self._plan], names)

    def print_explain(self, *extra_details: Any) -> None:
        """Show the plan."""
        print(self.explain(*extra_details))
