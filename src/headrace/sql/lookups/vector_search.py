"""VECTOR_SEARCH as a plan has it: a table with what is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.sql.codegen.calc import calc_code
from headrace.sql.lookups.search import ProjectedSearch, SearchOrder
from headrace.sql.plan import nodes as n
from headrace.sql.plan.call_config import CallConfig
from headrace.sql.plan.expressions import Expression
from headrace.sql.types import DataType
from headrace.sql.udf.batch_table import BatchTableFunction

if TYPE_CHECKING:
    from headrace.sql.physical.settings import PlanSettings

__all__ = ["VectorSearch"]


@dataclass(frozen=True)
class VectorSearch:
    """A function of a vector.

    Attributes:
        table: Reads the table; nothing but its source is used.
        order: What is searched for.
        config: How searches run.
        projections: Columns of the result over those of the table and the score; None for these.
    """

    table: n.Scan
    order: SearchOrder
    config: CallConfig
    projections: tuple[Expression, ...] | None = None

    name = "VECTOR_SEARCH"
    batched = True

    def text(self, arguments: str) -> str:
        """As plans show it."""
        column = self.table.schema.names[self.order.column]
        table = ".".join(self.table.table)
        return (
            f"VECTOR_SEARCH(TABLE {table}, DESCRIPTOR({column}), {arguments}, {self.order.top_k})"
        )

    def batch_bound(
        self, types: tuple[DataType, ...], result: DataType, settings: PlanSettings
    ) -> BatchTableFunction:
        """The function for slots."""
        limits = self.config.limits(settings.search_calls)
        found: BatchTableFunction = self.table.source.vector_search(
            self.order, limits, settings.configuration
        )
        if self.projections is None:
            return found
        return ProjectedSearch(found, calc_code((), self.projections, False, settings.zone))
