"""`Model`: a model that the Table API asks for predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.sql.binder.from_clause.models import predicted
from headrace.sql.models.provider import ModelContext
from headrace.sql.table_api.expression_nodes import plan_of
from headrace.table.catalog import ResolvedSchema
from headrace.table.environment_catalogs import session_of
from headrace.table.table import Table

__all__ = ["Model"]


class Model:
    """A model of the catalog, or of a descriptor. `TableEnvironment.from_model` gives one.

    Example:
        >>> t_env.from_model("sentiment").predict(reviews, ["text"])
    """

    def __init__(self, context: ModelContext) -> None:
        self._context = context

    def get_resolved_input_schema(self) -> ResolvedSchema:
        """The columns that go in."""
        inputs = self._context.inputs
        return ResolvedSchema.physical(inputs.names, inputs.types)

    def get_resolved_output_schema(self) -> ResolvedSchema:
        """The columns that come out."""
        outputs = self._context.outputs
        return ResolvedSchema.physical(outputs.names, outputs.types)

    def predict(
        self,
        table: Table,
        input_columns: Sequence[str],
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """The rows of a table, each with what the model predicts of some of its columns.

        Args:
            table: The rows.
            input_columns: Names of columns, in the order of the model's input columns.
            options: How calls run: `async`, `max-concurrent-operations` and `timeout`.
        """
        environment = table._environment
        columns = [(str(name), None) for name in input_columns]
        plan = predicted(
            session_of(environment).binding(), plan_of(table), self._context, columns, options or {}
        )
        return Table(environment, plan)

    def __str__(self) -> str:
        return ".".join(self._context.path)
