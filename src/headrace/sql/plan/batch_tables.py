"""Nodes of table functions that take whole batches: ML_PREDICT and VECTOR_SEARCH."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.plan.expressions import expression_text
from headrace.sql.plan.nodes import Correlate

__all__ = ["MLPredictTableFunction", "VectorSearchTableFunction"]


@dataclass(frozen=True, eq=False)
class _BatchTable(Correlate):
    def texts(self, names: Sequence[str]) -> list[str]:
        """As plans show it."""
        arguments = ", ".join(expression_text(a, names) for a in self.arguments)
        return [
            f"invocation=[{self.function.text(arguments)}]",
            f"joinType=[{'LEFT' if self.outer else 'INNER'}]",
            f"select=[{', '.join(self.schema.names)}]",
        ]


class MLPredictTableFunction(_BatchTable):
    """Rows with what a model predicts of some of their columns."""


class VectorSearchTableFunction(_BatchTable):
    """Rows with the rows of a table whose vectors are most like theirs."""
