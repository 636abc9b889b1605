"""User-defined functions on slots, from `open` to `close`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from headrace.common.errors import TypeMismatchError
from headrace.runtime.functions.runtime_context import OperatorRuntimeContext
from headrace.sql.types import DataType, RowType
from headrace.sql.types.arrow_columns import arrow_array, pandas_column
from headrace.sql.types.values import row_to_external, to_external, to_internal
from headrace.sql.udf.function_context import FunctionContext

if TYPE_CHECKING:
    from headrace.sql.udf.binding import FunctionBinding

__all__ = [
    "BoundAggregate",
    "BoundFunction",
    "BoundTableFunction",
    "OpenedFunction",
    "PandasAggregate",
    "RowsAggregate",
    "runtime_context",
]


class OpenedFunction:
    """A user's function in a slot, from `open` to `close`, with internal values outside."""

    _aware = True
    """Whether instants that the function gets know their zone."""

    def __init__(
        self, binding: FunctionBinding, types: tuple[DataType, ...], result: DataType, zone: str
    ) -> None:
        self._binding = binding
        self._types = types
        self._result = result
        self._zone = zone

    def open(self, operator: Any) -> None:
        """Called once in each subtask."""
        function = self._binding.function
        if hasattr(function, "open") and hasattr(function, "eval"):
            task = operator.context.task
            runtime = runtime_context(operator)
            function.open(FunctionContext(runtime, task.job_parameters))
        self._prepare()

    def _prepare(self) -> None:
        """Create what each process needs for itself: conversions, and the user's code."""
        zone = ZoneInfo(self._zone)
        self._give = row_to_external(self._types, zone, aware=self._aware)
        self._take = to_internal(self._result, zone)
        function = self._binding.function
        self._eval: Callable[..., Any] = getattr(function, "eval", function)

    def close(self) -> None:
        """Called once in each subtask."""
        function = self._binding.function
        if hasattr(function, "close") and hasattr(function, "eval"):
            function.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in _PREPARED}


_PREPARED = frozenset({"_give", "_take", "_eval", "_fixed", "_run", "_runner"})
"""Attributes that do not travel to slots."""


def runtime_context(operator: Any) -> Any:
    """What users' code may ask about the subtask that an operator is in."""
    return OperatorRuntimeContext(operator.context)


class BoundFunction(OpenedFunction):
    """A scalar function on internal values."""

    def _prepare(self) -> None:
        super()._prepare()
        give, take, call, name = self._give, self._take, self._eval, self._binding.name
        if not any(to_external(x, ZoneInfo(self._zone)) for x in self._types):

            def run(*args: Any) -> Any:
                return take(call(*args))
        else:

            def run(*args: Any) -> Any:
                return take(call(*give(args)))

        def checked(*args: Any) -> Any:
            try:
                return run(*args)
            except TypeMismatchError as error:
                raise TypeMismatchError(f"result of function {name}: {error}") from error

        self._run = checked

    def __call__(self, *args: Any) -> Any:
        return self._run(*args)


class BoundTableFunction(OpenedFunction):
    """A table function on internal values."""

    def __init__(
        self, binding: FunctionBinding, types: tuple[DataType, ...], result: RowType, zone: str
    ) -> None:
        super().__init__(binding, types, result.not_null(), zone)
        self._single = len(result) == 1

    def __call__(self, *args: Any) -> Iterator[tuple[Any, ...]]:
        made = self._eval(*self._give(args))
        if made is None:
            return
        rows = made if hasattr(made, "__iter__") and not isinstance(made, str | tuple) else [made]
        if isinstance(made, tuple) or hasattr(made, "get_row_kind"):
            rows = [made]
        for row in rows:
            if self._single and not isinstance(row, tuple | list) and not _is_row(row):
                row = (row,)
            yield self._take(row)


class BoundAggregate(OpenedFunction):
    """An aggregate function on internal values; its accumulators are the user's own."""

    def __init__(
        self, binding: FunctionBinding, types: tuple[DataType, ...], result: DataType, zone: str
    ) -> None:
        super().__init__(binding, types, result, zone)
        self.name = binding.name

    def open(self, operator: Any) -> None:
        """Called once in each subtask."""
        runtime = runtime_context(operator)
        parameters = operator.context.task.job_parameters
        self._binding.function.open(FunctionContext(runtime, parameters))
        self._prepare()

    def close(self) -> None:
        """Called once in each subtask."""
        self._binding.function.close()

    def create(self) -> Any:
        """An accumulator without rows."""
        return self._binding.function.create_accumulator()

    def accumulate(self, accumulator: Any, args: tuple[Any, ...]) -> None:
        """Add a row."""
        self._binding.function.accumulate(accumulator, *self._give(args))

    def retract(self, accumulator: Any, args: tuple[Any, ...]) -> None:
        """Take a row back."""
        self._binding.function.retract(accumulator, *self._give(args))

    def merge(self, accumulator: Any, other: Any) -> None:
        """Add another accumulator."""
        self._binding.function.merge(accumulator, [other])

    def value(self, accumulator: Any) -> Any:
        """The result."""
        function = self._binding.function
        if hasattr(function, "emit_value"):
            return self._take([_as_tuple(r) for r in function.emit_value(accumulator) or ()])
        return self._take(function.get_value(accumulator))


class RowsAggregate(BoundAggregate):
    """A function that cannot put accumulators together: what is kept is the rows themselves."""

    def create(self) -> Any:
        """An accumulator without rows."""
        return []

    def accumulate(self, accumulator: Any, args: tuple[Any, ...]) -> None:
        """Add a row."""
        accumulator.append(args)

    def retract(self, accumulator: Any, args: tuple[Any, ...]) -> None:
        """Take a row back."""
        if args in accumulator:
            accumulator.remove(args)

    def merge(self, accumulator: Any, other: Any) -> None:
        """Add another accumulator."""
        accumulator.extend(other)

    def value(self, accumulator: Any) -> Any:
        """The result of all rows, one after the other."""
        state = super().create()
        for row in accumulator:
            super().accumulate(state, row)
        return super().value(state)


class PandasAggregate(RowsAggregate):
    """A function of `pandas.Series`, which takes all rows at once."""

    _aware = False

    def open(self, operator: Any) -> None:
        """Called once in each subtask."""
        if hasattr(self._binding.function, "open"):
            super().open(operator)
        else:
            self._prepare()

    def close(self) -> None:
        """Called once in each subtask."""
        if hasattr(self._binding.function, "close"):
            super().close()

    def value(self, accumulator: Any) -> Any:
        """The function of all rows."""
        given = [self._give(row) for row in accumulator]
        zone = ZoneInfo(self._zone)
        series = [
            pandas_column(arrow_array([g[i] for g in given], x), x, zone)
            for i, x in enumerate(self._types)
        ]
        function = self._binding.function
        if hasattr(function, "create_accumulator"):
            # An AggregateFunction that is declared as vectorized gets the series as arguments.
            state = function.create_accumulator()
            function.accumulate(state, *series)
            result = function.get_value(state)
        else:
            result = function(*series)
        return self._take(result.item() if hasattr(result, "item") else result)


def _as_tuple(row: Any) -> Any:
    return row if isinstance(row, tuple | list) or _is_row(row) else (row,)


def _is_row(value: Any) -> bool:
    return hasattr(value, "get_row_kind")
