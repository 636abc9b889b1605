"""What both window operators share: functions, late records, evaluating windows, emitting."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from headrace.common.errors import StateError, StateMigrationError
from headrace.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from headrace.graph.specs import WindowSpec
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.functions.runtime_context import (
    OperatorRuntimeContext,
    close_function,
    open_function,
)
from headrace.runtime.key_groups import OpaqueKey
from headrace.runtime.operator import OperatorContext
from headrace.runtime.operators.process import ContextOperator
from headrace.runtime.operators.window.function import evaluator, window_context
from headrace.runtime.ownership import own
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

LATE_COUNTER = "numLateRecordsDropped"


class WindowBase(ContextOperator):
    """Base of the window operators."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec.function)
        self.spec = spec
        self.window_cell = KeyCell()
        self._incremental = spec.reduce is not None or spec.aggregate is not None
        self._clears = isinstance(spec.function, ProcessWindowFunction | ProcessAllWindowFunction)
        self._out: list[Any] = []
        self._out_stamps: list[int | None] = []

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        super().setup(context, output)
        self.window_context = window_context(self, self.window_cell, self.spec.assigner)
        self.evaluate = evaluator(self.spec.function, self.window_context)
        self.late_dropped = context.metrics.counter(LATE_COUNTER)

    def open(self) -> None:
        super().open()
        for function in (self.spec.reduce, self.spec.aggregate):
            try:
                open_function(function, OperatorRuntimeContext(self.context))
            except Exception as error:
                raise self.failed(error, where="open") from error

    def close(self) -> None:
        try:
            for function in (self.spec.reduce, self.spec.aggregate):
                close_function(function)
        except Exception as error:
            raise self.failed(error, where="close") from error
        finally:
            super().close()

    def refuse_windows_of(self, *others: str) -> None:
        """Refuse state of another kind of window operator: its windows would be lost silently."""
        backend = self.context.backend
        assert backend is not None
        names = set(backend.state_names()).intersection(others)
        if any(map(backend.number_of_entries, names)):
            raise StateMigrationError(
                f"the windows of operator {self.context.uid or self.context.name!r} were saved "
                "with another kind of window, trigger, evictor, lateness or function, and cannot "
                "be read by the new one; go back to the old definition, or give the operator a new "
                "uid to start with no windows"
            )

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        tag = self.spec.tag
        if tag is not None:
            tagged = list(map(tag, repeat(input_index), batch.values))
            batch = Batch(tagged, batch.timestamps, batch.keys)  # type: ignore[arg-type]
        self.process_batch(batch)

    def late(self, value: Any, stamp: int | None) -> None:
        """A record after its windows: it goes to the side output, else is dropped and counted."""
        if self.spec.late_tag is not None:
            self.element_context.add_side(self.spec.late_tag, value, stamp)
        else:
            self.late_dropped.inc()

    def fire(self, key: Any, window: Any, content: Iterable[Any], stamp: int | None) -> None:
        """Evaluate a window and keep its results for the end of the batch.

        They carry, as in PyFlink, the timestamp of what made the window fire: that of the timer,
        the last one of the window unless a trigger has timers of its own, or that of the record.
        """
        self.window_context.stamp = stamp
        try:
            shown = key.value if type(key) is OpaqueKey else key
            results = self.evaluate(shown, window, content)
            if results is not None:
                self._out.extend(map(own, results))
        except Exception as error:
            raise self.failed(error, where=f"window {window!r} of key {key!r}") from error
        missing = len(self._out) - len(self._out_stamps)
        if missing:
            self._out_stamps.extend(repeat(stamp, missing))

    def clear_function(self, key: Any, window: Any) -> None:
        """Let the function delete its state of a window that is over."""
        if not self._clears:
            return
        self.window_context.current = window
        try:
            self.function.clear(self.window_context)
        except Exception as error:
            raise self.failed(error, where=f"clear of {window!r} of key {key!r}") from error

    def flush(self) -> None:
        """Emit what was fired."""
        self.cell.key = self.window_cell.key = NO_KEY
        out, self._out = self._out, []
        stamps, self._out_stamps = self._out_stamps, []
        self.emit_results(out, stamps)


def none_in_window() -> StateError:
    """The error for a record that is None in a window that keeps its records."""
    return StateError(
        "a record that is None reached a window that keeps its records: remove such records "
        "before the window, with filter(lambda record: record is not None)"
    )
