"""The part of Top-N before the exchange: rows that have better ones beside them stay behind."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headrace.runtime.batch import MAX_TIMESTAMP, Batch, ColumnBatch
from headrace.sql.operators.base import HoldingOperator, zone_of
from headrace.sql.operators.order.ordering import keep_first
from headrace.sql.operators.ranking.rank import by_key
from headrace.sql.operators.ranking.specs import LocalRankSpec, SegmentRankSpec
from headrace.sql.operators.windows.slices import over_at
from headrace.sql.segments.columns import RowsOfColumns, joined
from headrace.sql.segments.ranking import first_of_groups

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LOCAL = 200_000
_MOST_SENT = 50_000


class LocalRankOperator(HoldingOperator):
    """Keeps the first rows of each key; emits them when the epoch, or one of the windows, ends."""

    def __init__(self, spec: LocalRankSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = itemgetter(*spec.key) if spec.key else None
        self._zone = zone_of(spec.zone)
        self._rows: dict[Any, list[Any]] = {}
        self._held = 0
        # The end of the first window among the rows, in microseconds.
        self._first_end: int | None = None

    def process_batch(self, batch: Batch) -> None:
        spec, rows = self._spec, batch.values
        self.records_in += len(rows)
        keys = [()] * len(rows) if self._key is None else map(self._key, rows)
        for key, new in by_key(keys, rows).items():
            if spec.latest:
                new.reverse()
            held = self._rows.get(key)
            before = 0 if held is None else len(held)
            if held is None:
                held = self._rows[key] = new
                if spec.window_end is not None:
                    self._reaches(new[0][spec.window_end])
            elif spec.latest:
                held[:0] = new
            else:
                held += new
            if len(held) > spec.end:
                keep_first(held, spec.order, spec.end)
            self._held += len(held) - before
        if self._held > _MOST_LOCAL:
            self.flush()

    def _reaches(self, window_end: int) -> None:
        if self._first_end is None or window_end < self._first_end:
            self._first_end = window_end

    def process_watermark(self, timestamp: int) -> None:
        end = self._first_end
        if end is not None and over_at(end // 1000, self._zone) <= timestamp:
            self.flush()
        super().process_watermark(timestamp)

    def flush(self) -> None:
        """Emit everything."""
        rows = [row for held in self._rows.values() for row in held]
        self._rows = {}
        self._held = 0
        self._first_end = None
        self.emit_rows(rows)


class SegmentRankOperator(HoldingOperator):
    """The same on columns that come from Spark's JVM.

    Where rows go by key they cross the exchange as columns, and become rows behind it.
    """

    def __init__(self, spec: SegmentRankSpec) -> None:
        super().__init__()
        self._spec = spec
        self._zone = zone_of(spec.rank.zone)
        self._to_rows = RowsOfColumns(spec.width, spec.positions)
        self._held: list[pa.RecordBatch] = []
        # The end of the first window among the rows, in microseconds.
        self._first_end: int | None = None

    def process_batch(self, batch: Batch) -> None:
        for columns in batch.values:
            self.records_in += columns.num_rows
            self._take(columns)

    def _take(self, columns: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        spec, reached = self._spec, None
        if spec.watermark:
            reached = pc.max(columns.column(columns.num_columns - 1)).as_py()
            columns = columns.select(list(range(columns.num_columns - 1)))
        self._held.append(columns.take(self._chosen(columns)))
        if spec.rank.window_end is not None and columns.num_rows:
            ends = columns.column(spec.positions.index(spec.rank.window_end))
            first = pc.min(ends).as_py()
            self._first_end = first if self._first_end is None else min(first, self._first_end)
        if sum(held.num_rows for held in self._held) > _MOST_LOCAL:
            self.flush()
        if reached is not None:
            self._pass_watermark(reached // 1000)

    def _chosen(self, columns: pa.RecordBatch) -> pa.Array:
        spec, rank = self._spec, self._spec.rank
        return first_of_groups(columns, spec.groups, spec.order, rank.end, rank.latest)

    def _pass_watermark(self, timestamp: int) -> None:
        end = self._first_end
        if end is not None and over_at(end // 1000, self._zone) <= timestamp:
            self.flush()
        super().process_watermark(timestamp)

    def process_watermark(self, timestamp: int) -> None:
        """The source has none of its own; its last one is the end of all."""
        if timestamp == MAX_TIMESTAMP:
            self._pass_watermark(timestamp)

    def flush(self) -> None:
        """Emit everything."""
        held, self._held, self._first_end = self._held, [], None
        if not held:
            return
        columns = joined(held)
        chosen = self._chosen(columns)
        for start in range(0, len(chosen), _MOST_SENT):
            some = columns.take(chosen.slice(start, _MOST_SENT))
            if self._spec.groups:
                self.output.emit(ColumnBatch(some))
            else:
                self.emit_rows(self._to_rows(some))
