"""Takes over what Spark's JVM has aggregated: columns become keys and accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import values_of
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.groups.specs import SegmentAggregateSpec
from headrace.sql.segments.columns import filled_values, key_values

if TYPE_CHECKING:
    import pyarrow as pa


class SegmentAggregateOperator(RowOperator):
    """Emits what local phases do: keys and accumulators, with slices, or with starts and ends.

    The groups of a partition come in no order, so the watermark moves at the end of the epoch.
    """

    def __init__(self, spec: SegmentAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._reached: int | None = None

    def process_batch(self, batch: Batch) -> None:
        for columns in batch.values:
            self.records_in += columns.num_rows
            self.emit_rows(self._accumulators(columns))

    def _accumulators(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        spec, columns = self._spec, batch.columns
        keys = key_values([values_of(c) for c in columns[: spec.keys]], batch.num_rows)
        heads: list[list[Any]] = [keys]
        columns = columns[spec.keys :]
        if spec.windows:
            slices, *columns, marks = columns
            found = [m for m in (self._reached, *values_of(marks)) if m is not None]
            self._reached = max(found, default=None)
            if spec.gap is None:
                heads.append(values_of(slices))
            else:
                *columns, firsts, lasts = columns
                ends = [last + spec.gap for last in values_of(lasts)]
                heads += [values_of(firsts), ends]
        places = zip(*map(filled_values, columns, spec.empty), strict=True)
        # Without keys Spark counts the rows of an empty partition as well.
        accumulators = map(list, places)
        return [row for row in zip(*heads, accumulators, strict=True) if row[-1][0]]

    def process_watermark(self, timestamp: int) -> None:
        """The source has none of its own; its last one is the end of all."""
        if timestamp == MAX_TIMESTAMP:
            super().process_watermark(timestamp)

    def end_epoch(self) -> None:
        if self._reached is not None:
            super().process_watermark(self._reached // 1000)
            self._reached = None
