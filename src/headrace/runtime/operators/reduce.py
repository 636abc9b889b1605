"""The rolling reduction of a keyed stream, which also serves sum, min and max."""

from __future__ import annotations

from typing import Any

from headrace.datastream.state import ValueState, ValueStateDescriptor
from headrace.graph.specs import ReduceSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.operators.simple import FunctionOperator
from headrace.runtime.ownership import PLAIN, own
from headrace.runtime.state.key_cell import NO_KEY

_STATE = "_reduced"


class ReduceOperator(FunctionOperator):
    """Emits the reduced value with every record, or in batch mode once for each key at the end."""

    def __init__(self, spec: ReduceSpec) -> None:
        super().__init__(spec.function)
        self._final_only = spec.final_only
        self._state: ValueState[Any]

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None, "reduce() follows key_by()"
        self._state = backend.get_or_create(ValueStateDescriptor(_STATE), self.cell)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        cell, reduce = self.cell, self.function.reduce
        current, update = self._state.value, self._state.update
        out = []
        value = None
        try:
            for cell.key, value in zip(batch.keys, batch.values, strict=True):
                reduced = current()
                reduced = value if reduced is None else reduce(reduced, value)
                update(reduced)
                if not self._final_only:
                    out.append(reduced if type(reduced) in PLAIN else own(reduced))
        except Exception as error:
            raise self.failed(error, value, where="reduce") from error
        cell.key = NO_KEY
        if not self._final_only:
            self.output.emit(Batch(out, batch.timestamps))  # type: ignore[arg-type]

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP and self._final_only:
            # Before the watermark: operators below may still set timers for these records.
            self._emit_final()
        super().process_watermark(timestamp)

    def end_keys(self) -> None:
        if self._final_only:
            self._emit_final()

    def finish(self) -> None:
        if self._final_only:
            self._emit_final()

    def _emit_final(self) -> None:
        backend = self.context.backend
        assert backend is not None
        out = []
        for self.cell.key in list(backend.keys(_STATE)):
            out.append(self._state.value())
            self._state.clear()
        self.cell.key = NO_KEY
        # They are of the end of time, as in Flink.
        self.output.emit(Batch(out, [MAX_TIMESTAMP] * len(out)))
