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
from headrace.sql.types.arrow_columns import (
    arrow_array,
    objects_of_array,
    pandas_column,
    series_to_array,
)
from headrace.sql.udf.batch_table import CallLimits, Rows, together
from headrace.sql.udf.bound import OpenedFunction

if TYPE_CHECKING:
    from headrace.sql.udf.binding import FunctionBinding

__all__ = ["ArrowFunction", "AsyncFunction", "BatchFunction", "PandasFunction"]


class BatchFunction(OpenedFunction):
    """A function on internal values that gets all rows of a batch."""

    @abstractmethod
    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments, as many as there are rows."""

    def _taken(self, results: Sequence[Any], rows: Rows) -> list[Any]:
        name = self._binding.name
        if len(results) != len(rows):
            raise FunctionTypeError(
                f"The result length '{len(results)}' of Pandas UDF '{name}' is not equal to the "
                f"input length '{len(rows)}'"
            )
        try:
            return [self._take(r) for r in results]
        except TypeMismatchError as error:
            raise TypeMismatchError(f"result of function {name}: {error}") from error


class ArrowFunction(BatchFunction):
    """Gets a `pyarrow.Array` for each argument, and gives one."""

    # Arrow's instants have no zone; a series gets it as a whole.
    _aware = False

    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments."""
        return self._taken(self._computed(self._arrays(rows)), rows)

    def _arrays(self, rows: Rows) -> list[Any]:
        columns = zip(*map(self._give, rows), strict=True)
        return list(map(arrow_array, columns, self._types))

    def _computed(self, arrays: list[Any]) -> list[Any]:
        result = self._eval(*arrays)
        if not hasattr(result, "to_pylist"):
            raise FunctionTypeError(
                f"function {self._binding.name} must return a pyarrow.Array, not "
                f"{type(result).__name__}"
            )
        return objects_of_array(result, self._result)


class PandasFunction(ArrowFunction):
    """Gets a `pandas.Series` for each argument, a `DataFrame` for a row, and gives the same."""

    def _computed(self, arrays: list[Any]) -> list[Any]:
        import pandas as pd

        zone, name = ZoneInfo(self._zone), self._binding.name
        series = [pandas_column(a, x, zone) for a, x in zip(arrays, self._types, strict=True)]
        result = self._eval(*series)
        if isinstance(result, pd.DataFrame):
            if not isinstance(self._result, RowType):
                raise FunctionTypeError(
                    f"function {name} gave a DataFrame, but its result is {self._result.sql_text()}"
                )
            columns = [
                objects_of_array(series_to_array(result.iloc[:, i], f.data_type, zone), f.data_type)
                for i, f in enumerate(self._result.fields)
            ]
            return list(zip(*columns, strict=True))
        if not isinstance(result, pd.Series):
            raise FunctionTypeError(
                f"The result type of Pandas UDF '{name}' must be pandas.Series or "
                f"pandas.DataFrame, got {type(result)}"
            )
        return objects_of_array(series_to_array(result, self._result, zone), self._result)


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
        return self._taken(self._runner.run(together(self._attempted, given, self._limits)), rows)

    async def _attempted(self, args: Sequence[Any]) -> Any:
        """The result of a row; the time that a call may take is for all attempts, as in Flink."""
        limits = self._limits
        for _ in range(limits.attempts - 1):
            try:
                return await self._eval(*args)
            except Exception:
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
    binding: FunctionBinding, types: tuple[DataType, ...], result: DataType, settings: Any
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
    kind = PandasFunction if binding.func_type == "pandas" else ArrowFunction
    return kind(binding, types, result, zone)
