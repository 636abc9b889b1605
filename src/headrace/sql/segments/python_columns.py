"""Columns that headrace's own operators and users' functions compute inside a query of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError, shorten_repr
from headrace.datastream.connectors.spark_query import TaskPlace
from headrace.graph.specs import OperatorSpec
from headrace.runtime.batch import Batch, LazyBatch
from headrace.runtime.chain import OperatorChain
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.operator import TaskInfo
from headrace.sql.formats.base import rows_of_columns
from headrace.sql.segments.columns import arrow_type
from headrace.sql.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JobFacts", "OperatorColumns", "arrow_column"]

_MAX_PARALLELISM = 128


@dataclass(frozen=True)
class JobFacts:
    """What functions may ask about their job; what they do not know of is left out."""

    parameters: tuple[tuple[str, str], ...] = ()

    def task(self, place: TaskPlace, name: str) -> TaskInfo:
        """A task of Spark as a subtask."""
        return TaskInfo(
            job_id="",
            job_name="",
            vertex_name=name,
            subtask=place.number % place.parallelism,
            parallelism=place.parallelism,
            max_parallelism=max(_MAX_PARALLELISM, place.parallelism),
            restarts=place.attempt,
            job_parameters=dict(self.parameters),
        )


@dataclass(frozen=True)
class OperatorColumns:
    """Runs operators, which get rows of the columns that they look at; others are passed on.

    Attributes:
        specs: Operators without state.
        width: How many columns the rows have that operators get.
        positions: Where the columns belong that they look at, which come after all others in a
            batch. All other columns of a row are its number.
        made: For each column that comes out its place in the operators' rows; None if it is the
            next of those that are passed on.
        types: Types of the columns that come out.
        names: Their names.
        number: The place in the operators' rows that has the number of the row that each is made
            of; None if there is one row for each, in their order.
        job: For functions that ask.
        shown: What is computed, as EXPLAIN shows it.
        looked_at: Names of the columns that operators look at.
    """

    specs: tuple[OperatorSpec, ...]
    width: int
    positions: tuple[int, ...]
    made: tuple[int | None, ...]
    types: tuple[DataType, ...]
    names: tuple[str, ...]
    number: int | None
    job: JobFacts
    shown: str
    looked_at: tuple[str, ...]

    def __call__(
        self, batches: Iterator[pa.RecordBatch], place: TaskPlace
    ) -> Iterator[pa.RecordBatch]:
        chain = OperatorChain(self.specs, self.job.task(place, self.specs[0].kind))
        try:
            chain.open()
            for batch in batches:
                taken = self._taken(batch)
                try:
                    made = chain.run(taken)
                except UserCodeFailure as failure:
                    raise self._failed(chain, taken, failure) from failure.cause
                for out in made:
                    yield self._given(batch, out)
        finally:
            chain.close()

    def _taken(self, batch: pa.RecordBatch) -> LazyBatch:
        count = batch.num_rows
        columns: list[Any] = [list(range(count))] * self.width
        looked_at = batch.columns[self.made.count(None) :]
        for position, column in zip(self.positions, looked_at, strict=True):
            columns[position] = column
        return LazyBatch(columns, count, rows_of_columns)

    def _failed(self, chain: OperatorChain, batch: Batch, failure: UserCodeFailure) -> Exception:
        """The reason, what was computed, and the first row that cannot be."""
        row = ""
        for values in batch.values:
            try:
                chain.run(Batch([values]))
            except UserCodeFailure:
                pairs = zip(self.looked_at, self.positions, strict=True)
                row = ", ".join(f"{name} = {shorten_repr(values[i])}" for name, i in pairs)
                break
        where = f" where {row}" if row else ""
        return HeadraceError(f"{failure.cause}: {self.shown}{where}")

    def _given(self, batch: pa.RecordBatch, out: Batch) -> pa.RecordBatch:
        import pyarrow as pa

        columns = out.columns if isinstance(out, LazyBatch) else list(zip(*out.values, strict=True))
        passed = iter(batch.columns)
        chosen = None if self.number is None else pa.array(columns[self.number], pa.int64())
        arrays = []
        for made, type_ in zip(self.made, self.types, strict=True):
            if made is not None:
                arrays.append(arrow_column(columns[made], type_))
            else:
                column = next(passed)
                arrays.append(column if chosen is None else column.take(chosen))
        return pa.RecordBatch.from_arrays(arrays, list(self.names))


def arrow_column(column: Any, type_: DataType) -> pa.Array:
    """A column of internal values of a type, which may be Arrow's already."""
    import pyarrow as pa

    kind = arrow_type(type_)
    return column.cast(kind) if isinstance(column, pa.Array) else pa.array(column, kind)
