"""User-defined functions as the binder and the slots see them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.types import ArrayType, DataType, RowType
from headrace.sql.types.arrow_columns import arrow_array, pandas_column
from headrace.sql.types.values import row_to_external, to_external, to_internal
from headrace.sql.udf.annotations import declared_type
from headrace.sql.udf.function_context import FunctionContext

__all__ = [
    "BoundAggregate",
    "BoundFunction",
    "BoundTableFunction",
    "FunctionBinding",
    "OpenedFunction",
    "runtime_context",
]


class FunctionBinding:
    """What the binder asks of a user-defined function: its kind, and the types of a call."""

    strict = False

    def __init__(
        self,
        function: Any,
        name: str,
        kind: str,
        input_types: Any,
        result_type: Any,
        accumulator_type: Any,
        func_type: str,
        deterministic: bool,
    ) -> None:
        self.function = function
        self.name = name
        self.kind = FunctionKind[kind]
        self.func_type = func_type
        self.deterministic = deterministic
        self.alias_names: tuple[str, ...] = ()
        self._input_types = (
            None if input_types is None else [declared_type(x) for x in _list(input_types)]
        )
        self._result_type = result_type
        self._accumulator_type = accumulator_type
        call = getattr(function, "eval", function)
        self.asynchronous = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - objects with `async def __call__`
        )

    @property
    def batched(self) -> bool:
        """Whether the function takes many rows at once, so that it has a step of its own."""
        vectorized = self.func_type != "general" or self.asynchronous
        return self.kind is FunctionKind.SCALAR and vectorized

    def batch_bound(self, types: tuple[DataType, ...], result: DataType, settings: Any) -> Any:
        """The function for slots, if it takes many rows at once."""
        from headrace.sql.udf.batched import batch_function

        return batch_function(self, types, result, settings)

    def flattened(self) -> FunctionBinding:
        """A table aggregate function as an aggregate whose result is an array of its rows."""
        row = _row_of(self._declared_result())
        return _FlatAggregate(self, ArrayType(row.not_null(), False))

    def bind(self, given: Sequence[DataType]) -> tuple[list[DataType] | None, DataType]:
        """Types that arguments are cast to, if they are declared, and the type of the result."""
        wanted = self._input_types
        if wanted is not None and len(wanted) != len(given):
            raise TypeError(
                f"function {self.name} takes {len(wanted)} arguments, but {len(given)} were given"
            )
        return wanted, self.result_type()

    def result_type(self) -> DataType:
        """The declared type of the result; a row of columns for a table function."""
        declared = self._declared_result()
        if self.kind is FunctionKind.TABLE:
            return _row_of(declared)
        return declared_type(declared)

    def _declared_result(self) -> Any:
        declared = self._result_type
        if declared is None and hasattr(self.function, "get_result_type"):
            declared = self.function.get_result_type()
        if declared is None:
            raise FunctionTypeError(f"function {self.name} needs a result type")
        return declared

    def bound(self, types: Sequence[DataType], result: DataType | None, zone: str) -> Any:
        """The function for slots: it takes and gives internal values."""
        if self.batched:
            raise FunctionTypeError(
                f"function {self.name} takes many rows at once, which cannot be done here; compute "
                "it in a SELECT below"
            )
        if self.kind is FunctionKind.AGGREGATE:
            kind = PandasAggregate if self._keeps_rows else BoundAggregate
            return kind(self, tuple(types), result or self.result_type(), zone)
        if self.kind is FunctionKind.TABLE:
            return BoundTableFunction(self, tuple(types), _row_of(self._result_type), zone)
        return BoundFunction(self, tuple(types), result or self.result_type(), zone)

    @property
    def _keeps_rows(self) -> bool:
        """Whether an aggregate function has no accumulators: it takes all rows at once."""
        return self.func_type == "pandas" or not hasattr(self.function, "create_accumulator")

    @property
    def mergeable(self) -> bool:
        """Whether accumulators of an aggregate function can be put together."""
        merge = getattr(self.function, "merge", None)
        own = getattr(merge, "__qualname__", "") != "ImperativeAggregateFunction.merge"
        return own or self._keeps_rows


class _FlatAggregate(FunctionBinding):
    """A table aggregate function where an aggregate is expected: its rows are one array."""

    def __init__(self, function: FunctionBinding, result: DataType) -> None:
        vars(self).update(vars(function))
        self.kind = FunctionKind.AGGREGATE
        self._result_type = result


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _row_of(declared: Any) -> RowType:
    """Result types of a table function as one row."""
    from headrace.sql.types import RowField

    if isinstance(declared, list | tuple):
        return RowType([RowField(f"f{i}", declared_type(x)) for i, x in enumerate(declared)])
    type_ = declared_type(declared)
    return type_ if isinstance(type_, RowType) else RowType([RowField("f0", type_)])


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


_PREPARED = frozenset({"_give", "_take", "_eval", "_run", "_runner"})
"""Attributes that do not travel to slots."""


def runtime_context(operator: Any) -> Any:
    """What users' code may ask about the subtask that an operator is in."""
    import importlib

    module = importlib.import_module("headrace.runtime.functions.runtime_context")
    return module.OperatorRuntimeContext(operator.context)


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


class PandasAggregate(BoundAggregate):
    """A function of `pandas.Series`: the accumulator is the rows themselves."""

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
