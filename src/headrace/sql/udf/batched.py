"""User-defined functions of many rows at once, on slots: pandas, Arrow and asynchronous ones."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.sql.types import DataType, RowType
from headrace.sql.udf.batch_table import CallLimits, Rows, together
from headrace.sql.udf.binding import FunctionBinding, OpenedFunction

__all__ = ["ArrowFunction", "AsyncFunction", "BatchFunction", "PandasFunction", "plain_value"]


class BatchFunction(OpenedFunction):
    """A function on internal values that gets all rows of a batch."""

    @abstractmethod
    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments, as many as there are rows."""

    def _taken(self, results: Sequence[Any], rows: Rows) -> list[Any]:
        name = self._binding.name
        if len(results) != len(rows):
            raise FunctionTypeError(
                f"function {name} gave {len(results)} results for {len(rows)} rows"
            )
        try:
            return [self._take(r) for r in results]
        except TypeMismatchError as error:
            raise TypeMismatchError(f"result of function {name}: {error}") from error


class ArrowFunction(BatchFunction):
    """Gets a `pyarrow.Array` for each argument, and gives one."""

    def batch(self, rows: Rows) -> list[Any]:
        """The results of rows of arguments."""
        return self._taken(self._computed(self._arrays(rows)), rows)

    def _arrays(self, rows: Rows) -> list[Any]:
        import pyarrow as pa

        from headrace.sql.connectors.arrow_types import arrow_type_of

        columns = zip(*map(self._give, rows), strict=True)
        return [
            pa.array([plain_value(v) for v in values], arrow_type_of(type_))
            for values, type_ in zip(columns, self._types, strict=True)
        ]

    def _computed(self, arrays: list[Any]) -> list[Any]:
        result = self._eval(*arrays)
        if not hasattr(result, "to_pylist"):
            raise FunctionTypeError(
                f"function {self._binding.name} must return a pyarrow.Array, not "
                f"{type(result).__name__}"
            )
        values: list[Any] = result.to_pylist()
        return values


class PandasFunction(ArrowFunction):
    """Gets a `pandas.Series` for each argument, a `DataFrame` for a row, and gives the same."""

    def _computed(self, arrays: list[Any]) -> list[Any]:
        import pandas as pd

        from headrace.sql.connectors.arrow_types import arrow_type_of

        result = self._eval(*map(_series, arrays, self._types))
        import pyarrow as pa

        if isinstance(result, pd.DataFrame):
            if not isinstance(self._result, RowType):
                raise FunctionTypeError(
                    f"function {self._binding.name} gave a DataFrame, but its result is "
                    f"{self._result.sql_text()}"
                )
            kinds = [arrow_type_of(f.data_type) for f in self._result.fields]
            columns = [
                pa.Array.from_pandas(result.iloc[:, i], type=kind, safe=False).to_pylist()
                for i, kind in enumerate(kinds)
            ]
            return list(zip(*columns, strict=True))
        if not isinstance(result, pd.Series):
            raise FunctionTypeError(
                f"function {self._binding.name} must return a pandas.Series, not "
                f"{type(result).__name__}"
            )
        kind = arrow_type_of(self._result)
        values: list[Any] = pa.Array.from_pandas(result, type=kind, safe=False).to_pylist()
        return values


class AsyncFunction(BatchFunction):
    """Awaits the results of a batch together, so many at a time, each with time and attempts."""

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
        return self._taken(self._runner.run(together(self._attempted, rows, self._limits)), rows)

    async def _attempted(self, row: tuple[Any, ...]) -> Any:
        """The result of a row; the time that a call may take is for all attempts, as in Flink."""
        args, limits = self._give(row), self._limits
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


def _series(array: Any, type_: DataType) -> Any:
    if isinstance(type_, RowType):
        import pandas as pd

        return pd.DataFrame(
            {f.name: array.field(i).to_pandas() for i, f in enumerate(type_.fields)}
        )
    return array.to_pandas()


def plain_value(value: Any) -> Any:
    """Rows as dicts, which Arrow takes."""
    if hasattr(value, "get_row_kind"):
        return {k: plain_value(v) for k, v in value.as_dict(True).items()}
    if isinstance(value, list):
        return [plain_value(v) for v in value]
    if isinstance(value, dict):
        return [(plain_value(k), plain_value(v)) for k, v in value.items()]
    return value
