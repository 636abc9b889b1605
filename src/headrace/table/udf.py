"""User-defined functions: scalar, table, aggregate and table aggregate ones, in Python."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any

from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.sql.table_api.expression_nodes import called
from headrace.sql.types import DataType, MapType
from headrace.sql.udf.binding import FunctionBinding
from headrace.sql.udf.function_context import FunctionContext
from headrace.sql.udf.process.binding import ProcessTableBinding, process_binding
from headrace.sql.udf.user_defined import UserDefinedFunction
from headrace.table.expression import Expression

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]


class ScalarFunction(UserDefinedFunction):
    """A function that returns one value for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Called with the arguments of a row; returns the value."""


class AsyncScalarFunction(UserDefinedFunction):
    """A coroutine that returns one value for each row."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Called with the arguments of a row; returns the value."""


class TableFunction(UserDefinedFunction):
    """A function that returns any number of rows for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Called with the arguments of a row; yields rows, or returns an iterable of them."""


class ImperativeAggregateFunction(UserDefinedFunction):
    """Base of functions that add many rows to an accumulator, one by one."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Returns an empty accumulator."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Adds a row to an accumulator."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Removes a row from an accumulator; needed where the input has updates."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        """Adds other accumulators to one; needed for windows that merge."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> DataType | str:
        """Returns the type of the result."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> DataType | str:
        """Returns the type of the accumulator."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction):
    """A function that returns one value for many rows."""

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """Returns the value of an accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """A function that returns any number of rows for many rows."""

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Any:
        """Yields the rows of an accumulator."""


_FUNC_TYPES = {
    "SCALAR": ("general", "pandas", "arrow"),
    "TABLE": ("general",),
    "AGGREGATE": ("general", "pandas"),
    "TABLE_AGGREGATE": ("general",),
}


class UserDefinedFunctionWrapper(FunctionBinding):
    """A function with its declared types; call it with expressions to get an expression."""

    def __init__(
        self,
        func: Any,
        input_types: Any,
        kind: str,
        deterministic: bool | None,
        name: str | None,
        func_type: str = "general",
        result_type: Any = None,
        accumulator_type: Any = None,
    ) -> None:
        if isinstance(func, type) or not (callable(func) or isinstance(func, UserDefinedFunction)):
            raise FunctionTypeError(
                "Invalid function: not a function or callable (__call__ is not defined): "
                f"{type(func)}"
                + (f"; pass an instance of {func.__name__}" if isinstance(func, type) else "")
            )
        if func_type not in _FUNC_TYPES[kind]:
            known = "'general'" if kind == "TABLE_AGGREGATE" else "one of 'general, pandas'"
            raise ConfigurationError(f"The func_type must be {known}, got {func_type}.")
        if isinstance(func, ImperativeAggregateFunction):
            result_type = func.get_result_type() if result_type is None else result_type
        _check_types(kind, input_types, result_type, func_type)
        if accumulator_type is not None and not isinstance(accumulator_type, DataType | str):
            raise FunctionTypeError(
                "Invalid accumulator_type: accumulator_type should be DataType or str but is "
                f"{accumulator_type}"
            )
        if (
            deterministic is not None
            and isinstance(func, UserDefinedFunction)
            and deterministic != func.is_deterministic()
        ):
            raise ConfigurationError(
                f"Inconsistent deterministic: {deterministic} and {func.is_deterministic()}"
            )
        label = name or getattr(func, "__name__", None) or type(func).__name__
        if name is None and isinstance(func, functools.partial):
            label = "partial"
        if deterministic is None:
            deterministic = func.is_deterministic() if hasattr(func, "is_deterministic") else True
        super().__init__(
            func, label, kind, input_types, result_type, accumulator_type, func_type, deterministic
        )
        # The names under which PyFlink's documentation has users take the function, to test it by
        # itself, and under which tests look at what was declared.
        self._func = func
        self._name = label
        self._deterministic = deterministic
        if self.asynchronous and func_type != "general":
            raise ConfigurationError(
                "Async scalar functions do not support pandas func_type: function "
                f"{label} must be of func_type 'general', not {func_type!r}"
            )

    def __call__(self, *args: Any) -> Any:
        return Expression(*called(self.name, self, *args))

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Names the columns of the result."""
        self.alias_names = alias_names
        return self


def _check_types(kind: str, input_types: Any, result_type: Any, func_type: str) -> None:
    inputs = input_types if isinstance(input_types, list | tuple) else [input_types]
    for type_ in inputs if input_types is not None else ():
        if not isinstance(type_, DataType | str):
            raise FunctionTypeError(
                f"Invalid input_type: input_type should be DataType or str but contains {type_}"
            )
    if kind == "TABLE":
        for type_ in result_type if isinstance(result_type, list | tuple) else [result_type]:
            if not isinstance(type_, DataType | str):
                raise FunctionTypeError(
                    "Invalid result_type: result_type should be DataType or str but contains "
                    f"{type_}"
                )
    elif not isinstance(result_type, DataType | str) and (kind == "SCALAR" or result_type):
        raise FunctionTypeError(
            f"Invalid returnType: returnType should be DataType or str but is {result_type}"
        )
    if kind == "AGGREGATE" and func_type == "pandas" and isinstance(result_type, MapType):
        raise FunctionTypeError(
            "Invalid returnType: Pandas UDAF doesn't support DataType type MAP currently"
        )


def _wrapped(f: Any, *declared: Any) -> Any:
    """The wrapper of a function; without one, a decorator that makes it."""
    if f is None:
        return lambda function: _wrapped(function, *declared)
    return UserDefinedFunctionWrapper(f, *declared)


def udf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Makes a scalar function from a Python function or a `ScalarFunction`.

    Args:
        f: The function; without it `udf` is a decorator.
        input_types: Types of the arguments; those of the call without them.
        result_type: Type of the result.
        deterministic: Whether equal arguments give equal results.
        name: Its name in plans.
        func_type: `general`, `pandas` for a function of `pandas.Series`, or `arrow` for one of
            `pyarrow.Array`; a coroutine function is awaited, many rows at a time.

    Example:
        >>> @udf(result_type=DataTypes.BIGINT())
        ... def add_one(i):
        ...     return i + 1
    """
    return _wrapped(f, input_types, "SCALAR", deterministic, name, func_type, result_type)


def udtf(
    f: Any = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Makes a table function from a Python function or a `TableFunction`."""
    return _wrapped(f, input_types, "TABLE", deterministic, name, "general", result_types)


def udaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Makes an aggregate function from an `AggregateFunction` or a function of `pandas.Series`."""
    declared = (deterministic, name, func_type, result_type, accumulator_type)
    return _wrapped(f, input_types, "AGGREGATE", *declared)


def udtaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Makes a table aggregate function from a `TableAggregateFunction`."""
    declared = (deterministic, name, func_type, result_type, accumulator_type)
    return _wrapped(f, input_types, "TABLE_AGGREGATE", *declared)


def as_wrapper(function: Any) -> UserDefinedFunctionWrapper | ProcessTableBinding:
    """A function as the catalog keeps it."""
    process = process_binding(function)
    if process is not None:
        return process
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if isinstance(function, ImperativeAggregateFunction):
        wrap = udaf if isinstance(function, AggregateFunction) else udtaf
        wrapped: UserDefinedFunctionWrapper = wrap(function)
        return wrapped
    raise FunctionTypeError(
        f"{function!r} has no declared types: wrap it with udf(), udtf() or udaf() first"
    )
