"""The first row of each key by event time."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.order.in_time import InTimeOrderOperator
from headrace.sql.operators.ranking.specs import FirstRowSpec

_STATE = "emitted"


class FirstRowOperator(InTimeOrderOperator):
    """Emits a key's row when the watermark has passed it: none before it can come any more.

    A row that is as late as the watermark still counts, as in Flink: with it come all rows of the
    time that is the latest so far, if the watermark does not wait.
    """

    emits_rows = True

    def __init__(self, spec: FirstRowSpec) -> None:
        super().__init__(spec.order, True, itemgetter(spec.order))
        self._spec = spec
        self._emitted: Any

    def open(self) -> None:
        super().open()
        self._emitted = self.value_state(_STATE, self._spec.ttl_ms)

    def process_batch(self, batch: Batch) -> None:
        """Only the earliest row of a key has to wait."""
        self.records_in += len(batch.values)
        assert batch.keys is not None
        column, watermark, pending = self._spec.order, self.watermark, self._waiting.by_key
        for key, row in zip(batch.keys, batch.values, strict=True):
            if row[column] // 1000 < watermark:
                continue
            held = pending.get(key)
            if held is None or row[column] < held[0][column]:
                pending[key] = [row]

    def advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        self.cell.key = key
        if self._emitted.value() is None:
            self._emitted.update(True)
            out += rows
        self.forget_key()
