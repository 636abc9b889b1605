"""User-defined functions of many rows at once, on slots: pandas, Arrow and asynchronous ones."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.sql.types import DataType, RowType
from headrace.sql.types.arrow import arrow_type_of
from headrace.sql.types.arrow_columns import (
    arrow_array,
    external_column,
    has_columns,
    internal_column,
    objects_of_array,
    pandas_column,
    series_to_array,
)
from headrace.sql.types.values import row_to_external
from headrace.sql.udf.batch_table import CallLimits, Rows, together
from headrace.sql.udf.bound import OpenedFunction

if TYPE_CHECKING:
    from headrace.sql.udf.binding import FunctionBinding

__all__ = ["ArrowFunction", "AsyncFunction", "BatchFunction", "PandasFunction"]


Constants = Sequence[tuple[int, DataType, Any]]
"""Arguments that are the same for all rows: their place among all, type and internal value."""


class BatchFunction(OpenedFunction):
    """A function on internal values that gets all rows of a batch."""

    @abstractmethod
    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments, as many as there are rows."""

    def _taken(self, results: Sequence[Any], count: int) -> list[Any]:
        name = self._binding.name
        self._check_length(len(results), count)
        try:
            return [self._take(r) for r in results]
        except TypeMismatchError as error:
            raise TypeMismatchError(f"result of function {name}: {error}") from error

    def _check_length(self, found: int, expected: int) -> None:
        if found != expected:
            raise FunctionTypeError(
                f"The result length '{found}' of Pandas UDF '{self._binding.name}' is not equal to "
                f"the input length '{expected}'"
            )


class ArrowFunction(BatchFunction):
    """Gets a `pyarrow.Array` for each argument, and gives one."""

    # Arrow's instants have no zone; a series gets it as a whole.
    _aware = False

    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments."""
        result = self._called(self._arrays(rows))
        return self._taken(objects_of_array(result, self._result), len(rows))

    @property
    def takes_columns(self) -> bool:
        """Whether columns of internal values need not become rows on their way."""
        return all(has_columns(x, self._zone) for x in (*self._types, self._result))

    def columns(self, arguments: list[Any]) -> Any:
        """The column of results of columns of internal values, if it takes them."""
        count = len(arguments[0])
        result = self._called(list(map(external_column, arguments, self._types)))
        if result.type == arrow_type_of(self._result) and (
            self._result.is_nullable or not result.null_count
        ):
            self._check_length(len(result), count)
            return internal_column(result, self._result)
        # Every value is looked at, and the one that does not fit is named.
        return self._taken(objects_of_array(result, self._result), count)

    def _arrays(self, rows: Rows) -> list[Any]:
        columns = zip(*map(self._give, rows), strict=True)
        return list(map(arrow_array, columns, self._types))

    def _called(self, arrays: list[Any]) -> Any:
        result = self._eval(*arrays)
        if not hasattr(result, "to_pylist"):
            raise FunctionTypeError(
                f"function {self._binding.name} must return a pyarrow.Array, not "
                f"{type(result).__name__}"
            )
        return result.combine_chunks() if hasattr(result, "combine_chunks") else result


class PandasFunction(ArrowFunction):
    """Gets a `pandas.Series` for each argument, a `DataFrame` for a row, and gives the same.

    Constants are no series: the function gets their values, at their places.
    """

    def __init__(
        self,
        binding: FunctionBinding,
        types: tuple[DataType, ...],
        result: DataType,
        zone: str,
        constants: Constants,
    ) -> None:
        super().__init__(binding, types, result, zone)
        self._constants = constants

    def _prepare(self) -> None:
        super()._prepare()
        zone = ZoneInfo(self._zone)
        self._fixed = [
            (place, row_to_external((type_,), zone)((value,))[0])
            for place, type_, value in self._constants
        ]

    def _called(self, arrays: list[Any]) -> Any:
        import pandas as pd
        import pyarrow as pa

        zone, name = ZoneInfo(self._zone), self._binding.name
        given = [pandas_column(a, x, zone) for a, x in zip(arrays, self._types, strict=True)]
        for place, value in self._fixed:
            given.insert(place, value)
        result = self._eval(*given)
        if isinstance(result, pd.DataFrame):
            if not isinstance(self._result, RowType):
                raise FunctionTypeError(
                    f"function {name} gave a DataFrame, but its result is {self._result.sql_text()}"
                )
            columns = [
                series_to_array(result.iloc[:, i], f.data_type, zone)
                for i, f in enumerate(self._result.fields)
            ]
            return pa.StructArray.from_arrays(columns, [f.name for f in self._result.fields])
        if not isinstance(result, pd.Series):
            raise FunctionTypeError(
                f"The result type of Pandas UDF '{name}' must be pandas.Series or "
                f"pandas.DataFrame, got {type(result)}"
            )
        return series_to_array(result, self._result, zone)


class AsyncFunction(BatchFunction):
    """Awaits the results of a batch together, with limits on parallelism, time and attempts."""

    def __init__(
        self,
        binding: FunctionBinding,
        types: tuple[DataType, ...],
        result: DataType,
        zone: str,
        limits: AsyncLimits,
    ) -> None:
        super().__init__(binding, types, result, zone)
        self._limits = limits

    def _prepare(self) -> None:
        super()._prepare()
        self._runner = asyncio.Runner()

    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments."""
        given = map(self._give, rows)
        return self._taken(
            self._runner.run(together(self._attempted, given, self._limits)), len(rows)
        )

    async def _attempted(self, args: Sequence[Any]) -> Any:
        """The result of a row; the time that a call may take is for all attempts, as in Flink."""
        limits = self._limits
        for _ in range(limits.attempts - 1):
            try:
                return await self._eval(*args)
            except Exception:  # noqa: BLE001 - the user's function: tried again
                await asyncio.sleep(limits.retry_delay_ms / 1000)
        return await self._eval(*args)

    def close(self) -> None:
        """Called once in each subtask."""
        if hasattr(self, "_runner"):
            self._runner.close()
        super().close()


@dataclass(frozen=True)
class AsyncLimits(CallLimits):
    """How calls run, how often they are tried, and how long the next attempt waits."""

    attempts: int = 1
    retry_delay_ms: int = 0


def batch_function(
    binding: FunctionBinding,
    types: tuple[DataType, ...],
    result: DataType,
    settings: Any,
    constants: Constants,
) -> BatchFunction:
    """The function for slots."""
    zone = settings.zone
    if binding.asynchronous:
        limits = AsyncLimits(
            max(settings.concurrent_calls, 1),
            settings.call_timeout_ms,
            settings.call_attempts,
            settings.call_retry_delay_ms,
        )
        return AsyncFunction(binding, types, result, zone, limits)
    if binding.func_type == "pandas":
        return PandasFunction(binding, types, result, zone, constants)
    return ArrowFunction(binding, types, result, zone)
