"""Tables that headrace's own readers read, inside of Spark's queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.read_alone import read_splits
from headrace.datastream.connectors.spark_query import SourceSplits, TaskPlace
from headrace.datastream.operator_settings import transformation_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.specs import OperatorSpec, SourceSpec
from headrace.graph.transformation import OperatorTransformation
from headrace.runtime.batch import Batch, LazyBatch
from headrace.runtime.chain import OperatorChain
from headrace.runtime.failure import UserCodeFailure
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.segments.expressions import UnsupportedBySparkError, column_name, storage
from headrace.sql.segments.python_columns import JobFacts, arrow_column
from headrace.sql.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["source_scan"]

_AT_ONCE = 20_000
_VALUE_BYTES = 16


def source_scan(node: n.Scan, columns: Sequence[int], settings: PlanSettings) -> SourceSplits:
    """A table with the operators that its connector puts behind the source.

    Args:
        node: The table.
        columns: The columns that are needed.
        settings: Those of the job.

    Raises:
        UnsupportedBySparkError: It cannot be read in tasks of Spark.
    """
    table = node.source
    if not getattr(table, "read_in_spark", False) or not table.bounded:
        raise UnsupportedBySparkError("a table that is read in slots")
    env = StreamExecutionEnvironment(settings.configuration)
    source, specs = _chain(transformation_of(table.narrowed(columns).build(env)))
    env.discard()
    types = tuple(node.schema[i].type for i in columns)
    names = tuple(map(column_name, columns))
    function = SplitColumns(source, specs, tuple(columns), types, names)
    read = tuple(zip(names, map(storage, types), strict=True))
    size = None if node.rows is None else node.rows * _VALUE_BYTES * len(columns)
    return SourceSplits(source, function, read, tuple((name, name) for name in names), size)


def _chain(end: Any) -> tuple[Source, tuple[OperatorSpec, ...]]:
    specs: list[OperatorSpec] = []
    while isinstance(end, OperatorTransformation) and not end.converts:
        if isinstance(end.spec, SourceSpec):
            return end.spec.source, tuple(reversed(specs))
        specs.append(end.spec)
        (end,) = end.inputs
    raise UnsupportedBySparkError("a table that is more than a source and operators behind it")


@dataclass(frozen=True)
class SplitColumns:
    """Reads splits, and gives some columns of their rows.

    Attributes:
        source: The source.
        specs: The operators behind it, which have no state.
        columns: Which columns of their rows are wanted.
        types: Their types.
        names: Their names.
    """

    source: Source
    specs: tuple[OperatorSpec, ...]
    columns: tuple[int, ...]
    types: tuple[DataType, ...]
    names: tuple[str, ...]

    def __call__(self, splits: list[Any], place: TaskPlace) -> Iterator[pa.RecordBatch]:
        chain = OperatorChain(self.specs, JobFacts().task(place, "Source"))
        try:
            chain.open()
            for batch in read_splits(self.source, splits, _AT_ONCE):
                for out in chain.run(Batch(batch.values)):
                    yield self._given(out)
        except UserCodeFailure as failure:
            raise HeadraceError(str(failure.cause)) from failure.cause
        finally:
            chain.close()

    def _given(self, batch: Batch) -> pa.RecordBatch:
        import pyarrow as pa

        lazy = isinstance(batch, LazyBatch)
        columns = batch.columns if lazy else list(zip(*batch.values, strict=True))  # type: ignore[attr-defined]
        arrays = [
            arrow_column(columns[i], x) for i, x in zip(self.columns, self.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, list(self.names))
