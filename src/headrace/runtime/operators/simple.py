"""map, filter and flat_map: one call of a C loop for a batch where there is no key to set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import isgeneratorfunction
from itertools import chain, compress, repeat
from types import BuiltinFunctionType, FunctionType
from typing import Any

from headrace.datastream.functions import FunctionWrapper
from headrace.datastream.output_tag import OutputTag
from headrace.graph.specs import FilterSpec, FlatMapSpec, MapSpec
from headrace.runtime.batch import Batch
from headrace.runtime.failure import NO_RECORD, UserCodeFailure, explained, record_at
from headrace.runtime.functions.checkpointed_function import FunctionCheckpoints
from headrace.runtime.functions.dead_letters import DeadLetters
from headrace.runtime.functions.runtime_context import (
    OperatorRuntimeContext,
    close_function,
    open_function,
)
from headrace.runtime.operator import Operator
from headrace.runtime.ownership import PLAIN, own
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

FAILED: Any = object()
"""Stands in the place of the result of a record that was set aside."""


TEXTS = (str, bytes)
"""What can be iterated, but is rather one result than several."""


class FunctionOperator(Operator):
    """An operator around one user function."""

    _looked_at_results = False

    takes_keys_in_turn = True

    def __init__(self, function: Any, error_tag: OutputTag | None = None) -> None:
        super().__init__()
        self.function = function
        self.dead_letters = DeadLetters(error_tag)
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

    def failed(
        self, error: BaseException, record: Any = NO_RECORD, *, where: str = ""
    ) -> UserCodeFailure:
        return super().failed(explained(error, self.function, where), record, where=where)

    def call_each(self, call: Callable[[Any], Any], batch: Batch, where: str) -> list[Any]:
        """The results of a call for each record, its key current if the function may ask for it.

        A record that fails and is set aside has `FAILED` for a result. The call goes on with the
        record after it: what went before keeps its results, and no record is given twice.
        """
        values = batch.values
        rows = iter(values)
        keys = None if isinstance(self.function, FunctionWrapper) else batch.keys
        keyed_rows = None if keys is None else zip(keys, rows, strict=True)
        self.records_in += len(values)
        results: list[Any] = []
        while len(results) < len(values):
            try:
                if keyed_rows is None:
                    # In a list that is there before, results survive an exception.
                    results.extend(map(call, rows))
                else:
                    append, cell = results.append, self.cell
                    for cell.key, value in keyed_rows:
                        append(call(value))
                if len(results) < len(values):
                    # map() takes a StopIteration of the function for its own end.
                    raise RuntimeError(f"{where} raised StopIteration")
            except Exception as error:  # noqa: BLE001 - set aside, or raised there
                self.set_aside(error, batch, len(results), where)
                results.append(FAILED)
        self.cell.key = NO_KEY
        return results

    def results_of(
        self, call: Callable[..., Any], where: str, single: tuple[type, ...]
    ) -> Callable[..., Any]:
        """A method that returns results; those of the first batch should not be `single` ones."""
        if self._looked_at_results or isgeneratorfunction(call):
            return call
        self._looked_at_results = True

        def look(*arguments: Any) -> Any:
            results = call(*arguments)
            code = getattr(call, "__code__", None)
            if isinstance(results, single) and code is not None:
                warnings.warn_explicit(
                    f"{where} returned a {type(results).__name__}, each element of which is a "
                    "result; yield it to emit it as one",
                    UserWarning,
                    code.co_filename,
                    code.co_firstlineno,
                )
            return results

        return look

    def set_aside(self, error: Exception, batch: Batch, position: int, where: str) -> None:
        """A record failed: it becomes a dead letter, or it fails the job."""
        record = batch.values[position]
        if not self.dead_letters:
            raise self.failed(error, record, where=where) from error
        stamp = None if batch.timestamps is None else batch.timestamps[position]
        self.dead_letters.add(self.context.name, error, record, where, stamp)


class MapOperator(FunctionOperator):
    """One result for each record."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec.function, spec.error_tag)
        call = spec.function.map
        self._call = call if _keeps_nothing(spec.function) else _owned(call)

    def process_batch(self, batch: Batch) -> None:
        results, stamps = self.call_each(self._call, batch, "map"), batch.timestamps
        if self.dead_letters:
            results, stamps = _succeeded(results, stamps)
        self.output.emit(Batch(results, stamps))  # type: ignore[arg-type]
        self.dead_letters.emit(self.output)


class FilterOperator(FunctionOperator):
    """Keeps records."""

    def __init__(self, spec: FilterSpec) -> None:
        super().__init__(spec.function, spec.error_tag)

    def process_batch(self, batch: Batch) -> None:
        keep = self.call_each(self.function.filter, batch, "filter")
        if self.dead_letters:
            keep = [result is not FAILED and result for result in keep]
        stamps = batch.timestamps
        self.output.emit(
            Batch(
                list(compress(batch.values, keep)),
                None if stamps is None else list(compress(stamps, keep)),
            )
        )
        self.dead_letters.emit(self.output)


class FlatMapOperator(FunctionOperator):
    """Any number of results for each record; None stands for no result."""

    def __init__(self, spec: FlatMapSpec) -> None:
        super().__init__(spec.function, spec.error_tag)

    def process_batch(self, batch: Batch) -> None:
        call = self.results_of(self.function.flat_map, "flat_map", TEXTS)
        if (
            batch.timestamps is None
            and (batch.keys is None or isinstance(self.function, FunctionWrapper))
            and not self.dead_letters
        ):
            self._flatten(batch, call)
            return
        # With a key, the generator of a record must run while its key is current.
        results = self.call_each(lambda value: _listed(call(value)), batch, "flat_map")
        stamps = batch.timestamps
        if self.dead_letters:
            results, stamps = _succeeded(results, stamps)
        repeated = None
        if stamps is not None:
            repeated = list(chain.from_iterable(map(repeat, stamps, map(len, results))))
        self.output.emit(Batch(list(chain.from_iterable(results)), repeated))
        self.dead_letters.emit(self.output)

    def _flatten(self, batch: Batch, call: Callable[[Any], Any]) -> None:
        values = batch.values
        rows = iter(values)
        self.records_in += len(values)
        plain = PLAIN
        try:
            # A generator, because map() takes a StopIteration of the function for its own end.
            flat = [
                result if type(result) in plain else own(result)
                for results in (call(value) for value in rows)
                if results is not None
                for result in results
            ]
        except Exception as error:
            raise self.failed(error, record_at(values, rows), where="flat_map") from error
        self.output.emit(Batch(flat))


def _succeeded(results: list[Any], stamps: Any) -> tuple[list[Any], Any]:
    """Results and timestamps of the records that were not set aside."""
    good = [result is not FAILED for result in results]
    if all(good):
        return results, stamps
    return list(compress(results, good)), stamps and list(compress(stamps, good))


def _keeps_nothing(function: Any) -> bool:
    """Whether a function has nowhere to keep what it returns: no object, and no closure."""
    given = function.function if isinstance(function, FunctionWrapper) else None
    if isinstance(given, FunctionType):
        return given.__closure__ is None
    return isinstance(given, type | BuiltinFunctionType)


def _owned(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    plain = PLAIN

    def owned(value: Any) -> Any:
        result = call(value)
        return result if type(result) in plain else own(result)

    return owned


def _listed(result: Any) -> list[Any]:
    return [] if result is None else list(map(own, result))
