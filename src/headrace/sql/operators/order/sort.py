"""ORDER BY and LIMIT."""

from __future__ import annotations

from typing import Any

from headrace.datastream.state import ListStateDescriptor
from headrace.runtime.batch import MIN_TIMESTAMP, Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.order.ordering import sort_key
from headrace.sql.operators.order.specs import LimitSpec, SortSpec
from headrace.sql.operators.ranking.rank import changes


class SortOperator(RowOperator):
    """Keeps rows until the watermark passes their time, or until the end; one subtask.

    A row is late if one of its time or later has come out, not if the watermark has passed it.
    """

    def __init__(self, spec: SortSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = sort_key(spec.order)
        self._rows: list[Any] = []
        self._last = MIN_TIMESTAMP
        self._state: Any

    def open(self) -> None:
        self._state = self.operator_state.get_list_state(ListStateDescriptor("rows"))
        self._rows = list(self._state.get())

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        if self._spec.time is not None:
            last, column = self._last, self._spec.time
            self._rows += [r for r in batch.values if r[column] // 1000 > last]
        else:
            self._rows += batch.values

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        column = self._spec.time
        if column is not None:
            due = [r for r in self._rows if r[column] // 1000 <= timestamp]
            self._rows = [r for r in self._rows if r[column] // 1000 > timestamp]
            due.sort(key=self._key)
            if due:
                self._last = due[-1][column] // 1000
            self.emit_rows(due)
        self.output.watermark(timestamp)

    def finish(self) -> None:
        rows = sorted(self._rows, key=self._key)
        self._rows = []
        first, fetch = self._spec.offset, self._spec.fetch
        self.emit_rows(rows[first:] if fetch is None else rows[first : first + fetch])

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._state.update(list(self._rows))

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "last": self._last}

    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._last = snapshot.get("last", self.watermark)


class LimitOperator(RowOperator):
    """Lets some rows through, in the order in which they come; one subtask."""

    def __init__(self, spec: LimitSpec) -> None:
        super().__init__()
        self._first = spec.offset
        self._end = None if spec.fetch is None else spec.offset + spec.fetch
        self._changelog = spec.changelog
        self._every_change = spec.every_change
        self._seen = 0
        self._live: list[Any] = []

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        if self._changelog:
            for some in [[row] for row in rows] if self._every_change else [rows]:
                self._process_changes(some)
            return
        start = max(self._first - self._seen, 0)
        stop = len(rows) if self._end is None else max(self._end - self._seen, 0)
        self._seen += len(rows)
        self.emit_rows(rows[start:stop])

    def _process_changes(self, rows: list[Any]) -> None:
        """Rows in the order of their coming; what leaves makes place for the next."""
        before = self._live[self._first : self._end]
        for row in rows:
            if row[-1] & 1:
                if row[:-1] in self._live:
                    self._live.remove(row[:-1])
            else:
                self._live.append(row[:-1])
        after = self._live[self._first : self._end]
        self.emit_rows(changes(before, after, in_place=False))

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "seen": self._seen, "live": list(self._live)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._seen = snapshot["seen"]
        self._live = list(snapshot["live"])
