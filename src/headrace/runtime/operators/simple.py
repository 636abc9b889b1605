"""map, filter and flat_map: one call of a C loop for a batch where there is no key to set."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, compress, repeat
from typing import Any

from headrace.datastream.functions import FunctionWrapper
from headrace.graph.specs import FilterSpec, FlatMapSpec, MapSpec
from headrace.runtime.batch import Batch
from headrace.runtime.checkpointed_function import FunctionCheckpoints
from headrace.runtime.failure import record_at
from headrace.runtime.operator import Operator
from headrace.runtime.runtime_context import (
    OperatorRuntimeContext,
    close_function,
    open_function,
)
from headrace.runtime.state.key_cell import NO_KEY, KeyCell


class FunctionOperator(Operator):
    """An operator around one user function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.cell = KeyCell()
        self._checkpoints = FunctionCheckpoints(function, self)

    def open(self) -> None:
        context = OperatorRuntimeContext(self.context, self.cell if self.context.keyed else None)
        self._checkpoints.initialize(context)
        try:
            open_function(self.function, context)
        except Exception as error:
            raise self.failed(error, where="open") from error

    def close(self) -> None:
        try:
            close_function(self.function)
        except Exception as error:
            raise self.failed(error, where="close") from error

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._checkpoints.before_snapshot(checkpoint, timestamp)

    def notify_checkpoint(self, checkpoint: int, completed: bool) -> None:
        self._checkpoints.notify(checkpoint, completed)

    def call_each(self, call: Callable[[Any], Any], batch: Batch, where: str) -> list[Any]:
        """The results of a call for each record, its key current if the function may ask for it."""
        values = batch.values
        rows = iter(values)
        self.records_in += len(values)
        try:
            if batch.keys is None or isinstance(self.function, FunctionWrapper):
                results = list(map(call, rows))
            else:
                results, cell = [], self.cell
                for cell.key, value in zip(batch.keys, rows, strict=True):
                    results.append(call(value))
                cell.key = NO_KEY
        except Exception as error:
            raise self.failed(error, record_at(values, rows), where=where) from error
        if len(results) != len(values):
            # map() takes a StopIteration of the function for its own end.
            stopped = RuntimeError(f"{where} raised StopIteration")
            raise self.failed(stopped, values[len(results)], where=where)
        return results


class MapOperator(FunctionOperator):
    """One result for each record."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec.function)

    def process_batch(self, batch: Batch) -> None:
        results = self.call_each(self.function.map, batch, "map")
        self.output.emit(Batch(results, batch.timestamps))  # type: ignore[arg-type]


class FilterOperator(FunctionOperator):
    """Keeps records."""

    def __init__(self, spec: FilterSpec) -> None:
        super().__init__(spec.function)

    def process_batch(self, batch: Batch) -> None:
        keep = self.call_each(self.function.filter, batch, "filter")
        stamps = batch.timestamps
        self.output.emit(
            Batch(
                list(compress(batch.values, keep)),
                None if stamps is None else list(compress(stamps, keep)),
            )
        )


class FlatMapOperator(FunctionOperator):
    """Any number of results for each record; None stands for no result."""

    def __init__(self, spec: FlatMapSpec) -> None:
        super().__init__(spec.function)

    def process_batch(self, batch: Batch) -> None:
        call = self.function.flat_map
        if batch.timestamps is None and (
            batch.keys is None or isinstance(self.function, FunctionWrapper)
        ):
            self._flatten(batch, call)
            return
        # With a key, the generator of a record must run while its key is current.
        results = self.call_each(lambda value: _listed(call(value)), batch, "flat_map")
        stamps = batch.timestamps
        repeated = None
        if stamps is not None:
            repeated = list(chain.from_iterable(map(repeat, stamps, map(len, results))))
        self.output.emit(Batch(list(chain.from_iterable(results)), repeated))

    def _flatten(self, batch: Batch, call: Callable[[Any], Any]) -> None:
        values = batch.values
        rows = iter(values)
        self.records_in += len(values)
        try:
            # Not map(), which takes a StopIteration of the function for its own end.
            flat = list(
                chain.from_iterable(() if (r := call(value)) is None else r for value in rows)
            )
        except Exception as error:
            raise self.failed(error, record_at(values, rows), where="flat_map") from error
        self.output.emit(Batch(flat))


def _listed(result: Any) -> list[Any] | tuple[Any, ...]:
    if result is None:
        return ()
    return result if type(result) is list or type(result) is tuple else list(result)
