"""Searches for vectors, and tables that a program searches itself: `VectorSearchTableSource`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError
from headrace.runtime.operator import Operator
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.base import OpenedCode, RowOperator
from headrace.sql.plan.expressions import Schema
from headrace.sql.types.values import to_internal
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits, Rows, parts, together
from headrace.sql.udf.bound import runtime_context
from headrace.sql.udf.function_context import FunctionContext

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ProjectedSearch", "PythonSearch", "SearchOrder", "VectorSearchTableSource", "matrix"]


@dataclass(frozen=True)
class SearchOrder:
    """What is searched for.

    Attributes:
        column: The column of the table that has the vectors.
        top_k: How many rows are wanted for each vector.
        options: What the query says to the table.
    """

    column: int
    top_k: int
    options: Mapping[str, str] = field(default_factory=dict)


class VectorSearchTableSource:
    """A table whose rows a program finds by a vector, for `VECTOR_SEARCH`.

    Register it with `TableEnvironment.create_temporary_lookup_table`. The vectors of a batch of
    rows come together. If `search` is a coroutine function, several calls are in flight at the
    same time.

    Example:
        >>> class Documents(VectorSearchTableSource):
        ...     def search(self, vectors, top_k):
        ...         return [INDEX.query(v, top_k) for v in vectors]
    """

    #: How many vectors a call of `search` gets at most.
    vectors_per_call = 100

    def open(self, function_context: FunctionContext) -> None:
        """Called once in each subtask, before the first search."""

    def search(self, vectors: np.ndarray[Any, Any], top_k: int) -> Iterable[Any]:
        """For each row of a matrix the rows of the table that are most like it, best first.

        Each of these is a tuple of the table's columns and a score. It may be a coroutine function.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Called once in each subtask, also after a failure."""


@dataclass
class PythonSearch(BatchTableFunction):
    """Asks a user's source, which sees users' objects; `schema` ends with the score."""

    source: VectorSearchTableSource
    schema: Schema
    order: SearchOrder
    zone: str
    limits: CallLimits

    @property
    def asynchronous(self) -> bool:
        return inspect.iscoroutinefunction(self.source.search)

    def open(self, operator: Operator) -> None:
        self._take = to_internal(self.schema.row_type, ZoneInfo(self.zone))
        self._runner = asyncio.Runner() if self.asynchronous else None
        parameters = operator.context.task.job_parameters
        self.source.open(FunctionContext(runtime_context(operator), parameters))

    def batch(self, rows: Rows) -> list[Rows]:
        asked = [row[0] for row in rows if row[0] is not None]
        pieces = parts(asked, self.source.vectors_per_call)
        if self._runner is not None:
            made = self._runner.run(together(self._awaited, pieces, self.limits))
        else:
            top_k = self.order.top_k
            made = [self._taken(self.source.search(matrix(p), top_k), len(p)) for p in pieces]
        found = (answer for piece in made for answer in piece)
        return [[] if row[0] is None else next(found) for row in rows]

    async def _awaited(self, vectors: Sequence[Any]) -> list[Rows]:
        answers = await self.source.search(matrix(vectors), self.order.top_k)  # type: ignore[misc]
        return self._taken(answers, len(vectors))

    def _taken(self, answers: Any, count: int) -> list[Rows]:
        found = None if answers is None or isinstance(answers, str) else list(answers)
        if found is None or len(found) != count:
            what = "None" if found is None else f"{len(found)} answers"
            raise FunctionTypeError(
                f"search() must return a list of rows for each of {count} vectors, not {what}"
            )
        return [[self._take(row) for row in rows][: self.order.top_k] for rows in found]

    def close(self) -> None:
        if getattr(self, "_runner", None) is not None:
            self._runner.close()  # type: ignore[union-attr]
        self.source.close()


@dataclass
class ProjectedSearch(BatchTableFunction):
    """Other columns of what is found."""

    function: BatchTableFunction
    code: GeneratedCode

    def open(self, operator: Operator) -> None:
        assert isinstance(operator, RowOperator)
        self._code = OpenedCode(self.code, operator)
        self.function.open(operator)

    def batch(self, rows: Rows) -> list[Rows]:
        found = self.function.batch(rows)
        made = iter(self._code.run([row for partners in found for row in partners]))
        return [[next(made) for _ in partners] for partners in found]

    def close(self) -> None:
        self.function.close()


def matrix(vectors: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Vectors as rows of a matrix; all have to have the same length."""
    import numpy as np

    lengths = {len(v) for v in vectors}
    if len(lengths) > 1:
        shown = ", ".join(map(str, sorted(lengths)))
        raise ValueError(f"vectors that are compared have the same length, not {shown}")
    return np.array([[x or 0.0 for x in v] for v in vectors], dtype=np.float64)
