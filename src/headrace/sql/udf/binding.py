"""User-defined functions as the binder and the slots see them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from headrace.common.errors import FunctionTypeError
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.types import ArrayType, DataType, RowField, RowType
from headrace.sql.udf.annotations import declared_type
from headrace.sql.udf.batched import Constants, batch_function
from headrace.sql.udf.bound import (
    BoundAggregate,
    BoundFunction,
    BoundTableFunction,
    PandasAggregate,
    RowsAggregate,
)

__all__ = ["FunctionBinding"]


class FunctionBinding:
    """What the binder asks of a user-defined function: its kind, and the types of a call.

    Attributes:
        gives_rows: Whether this is an aggregate whose result is an array of rows.
    """

    gives_rows = False
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
        self._keeps_rows = False
        self._input_types = (
            None if input_types is None else [declared_type(x) for x in _list(input_types)]
        )
        self._result_type = result_type
        self._accumulator_type = accumulator_type
        call = getattr(function, "eval", function)
        self.asynchronous = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - objects with `async def __call__`
        )

    def named(self, name: str) -> Self:
        """The same function under another name."""
        other = copy(self)
        other.name = name
        return other

    @property
    def batched(self) -> bool:
        """Whether the function takes many rows at once, so that it has a step of its own."""
        vectorized = self.func_type != "general" or self.asynchronous
        return self.kind is FunctionKind.SCALAR and vectorized

    @property
    def takes_constants(self) -> bool:
        """Whether the function gets constants as they are, not as columns."""
        return self.func_type == "pandas"

    def batch_bound(
        self,
        types: tuple[DataType, ...],
        result: DataType,
        settings: Any,
        constants: Constants = (),
    ) -> Any:
        """The function for slots, if it takes many rows at once.

        Types are those of the arguments that are not constants.
        """
        return batch_function(self, types, result, settings, constants)

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
            kind = self._aggregate_kind()
            return kind(self, tuple(types), result or self.result_type(), zone)
        if self.kind is FunctionKind.TABLE:
            return BoundTableFunction(self, tuple(types), _row_of(self._result_type), zone)
        return BoundFunction(self, tuple(types), result or self.result_type(), zone)

    def _aggregate_kind(self) -> type[BoundAggregate]:
        if self.func_type == "pandas" or not hasattr(self.function, "create_accumulator"):
            return PandasAggregate
        return RowsAggregate if self._keeps_rows else BoundAggregate

    @property
    def mergeable(self) -> bool:
        """Whether accumulators of an aggregate function can be put together."""
        merge = getattr(self.function, "merge", None)
        own = getattr(merge, "__qualname__", "") != "ImperativeAggregateFunction.merge"
        return own or issubclass(self._aggregate_kind(), RowsAggregate)

    def keeping_rows(self) -> FunctionBinding:
        """An aggregate function whose rows are kept, so that it need not merge accumulators."""
        keeping = copy(self)
        keeping._keeps_rows = True
        return keeping


class _FlatAggregate(FunctionBinding):
    """A table aggregate function where an aggregate is expected: its rows are one array."""

    gives_rows = True

    def __init__(self, function: FunctionBinding, result: DataType) -> None:
        vars(self).update(vars(function))
        self.kind = FunctionKind.AGGREGATE
        self._result_type = result


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _row_of(declared: Any) -> RowType:
    """Result types of a table function as one row."""
    if isinstance(declared, list | tuple):
        return RowType([RowField(f"f{i}", declared_type(x)) for i, x in enumerate(declared)])
    type_ = declared_type(declared)
    return type_ if isinstance(type_, RowType) else RowType([RowField("f0", type_)])
