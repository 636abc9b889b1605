"""Models that are Python objects, in a slot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.runtime.operator import Operator
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import ArrayType
from headrace.sql.types.arrow import arrow_type_of
from headrace.sql.types.arrow_columns import arrow_array
from headrace.sql.types.values import row_to_external, to_internal
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits, Rows, parts, together
from headrace.sql.udf.bound import runtime_context
from headrace.sql.udf.function_context import FunctionContext

__all__ = ["ModelFunctionContext", "PredictFunction", "PythonPredictions"]


class ModelFunctionContext(FunctionContext):
    """What a model may ask about its surroundings, in `open`."""

    def __init__(
        self, runtime_context: Any, job_parameters: dict[str, str], options: dict[str, str]
    ) -> None:
        super().__init__(runtime_context, job_parameters)
        self._options = options

    def get_option(self, key: str, default_value: str | None = None) -> str | None:
        """An option of the model, as `CREATE MODEL ... WITH` has it."""
        return self._options.get(key, default_value)


class PredictFunction:
    """A model in Python, for `ML_PREDICT`.

    Subclass it, or use any object that has a `predict`, or a function of a `DataFrame`. An object
    needs neither `open` nor `close`. A class is made into an object in each subtask, which saves
    sending what `open` loads.

    If `predict` is a coroutine function, several calls are in flight at the same time.

    Example:
        >>> class Lengths(PredictFunction):
        ...     def predict(self, batch):
        ...         return batch["text"].str.len()
    """

    #: How many rows a call of `predict` gets at most.
    rows_per_call = 1000

    def open(self, function_context: ModelFunctionContext) -> None:
        """Called once in each subtask, before the first prediction: load the model here."""

    def predict(self, batch: Any) -> Any:
        """The results of a `DataFrame` that has the input columns of the model.

        There is a result for each row, in the same order: a `DataFrame` with the output columns, or
        for a single one also a `Series`, a numpy array or a list of its values. A list for several
        columns has tuples, dicts or rows. It may be a coroutine function.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Called once in each subtask, also after a failure."""


@dataclass
class PythonPredictions(BatchTableFunction):
    """Calls a user's model, which sees a `DataFrame`; `limits` are those of a coroutine."""

    given: Any
    name: str
    inputs: Schema
    outputs: Schema
    options: dict[str, str]
    zone: str
    limits: CallLimits | None

    def open(self, operator: Operator) -> None:
        zone = ZoneInfo(self.zone)
        self._give = row_to_external(self.inputs.types, zone)
        self._take = to_internal(self.outputs.row_type, zone)
        self._model = self.given() if isinstance(self.given, type) else self.given
        self._predict = getattr(self._model, "predict", self._model)
        self._size = getattr(self._model, "rows_per_call", PredictFunction.rows_per_call)
        self._runner = asyncio.Runner() if self.limits is not None else None
        if hasattr(self._model, "open"):
            parameters = operator.context.task.job_parameters
            runtime = runtime_context(operator)
            self._model.open(ModelFunctionContext(runtime, parameters, self.options))

    def batch(self, rows: Rows) -> list[Rows]:
        pieces = parts(rows, self._size)
        if self._runner is not None:
            assert self.limits is not None
            made = self._runner.run(together(self._awaited, pieces, self.limits))
        else:
            made = [self._taken(self._predict(self._frame(p)), len(p)) for p in pieces]
        return [[row] for piece in made for row in piece]

    async def _awaited(self, rows: Sequence[Any]) -> Rows:
        return self._taken(await self._predict(self._frame(rows)), len(rows))

    def _frame(self, rows: Sequence[Any]) -> Any:
        import pandas as pd

        columns = zip(*map(self._give, rows), strict=True)
        return pd.DataFrame(
            {
                f.name: arrow_array(values, f.type).to_pandas()
                for f, values in zip(self.inputs, columns, strict=True)
            }
        )

    def _taken(self, results: Any, count: int) -> Rows:
        rows = _rows_of(results, self.outputs)
        if rows is None:
            raise FunctionTypeError(
                f"predict() of model {self.name} must return a DataFrame, a Series, an array or a "
                f"list with a result for each row, not {type(results).__name__}"
            )
        if len(rows) != count:
            raise FunctionTypeError(
                f"predict() of model {self.name} returned {len(rows)} results for {count} rows"
            )
        try:
            return [self._take(row) for row in rows]
        except TypeMismatchError as error:
            raise TypeMismatchError(f"result of model {self.name}: {error}") from error

    def close(self) -> None:
        if getattr(self, "_runner", None) is not None:
            self._runner.close()  # type: ignore[union-attr]
        if hasattr(getattr(self, "_model", None), "close"):
            self._model.close()


def _rows_of(results: Any, outputs: Schema) -> list[Any] | None:
    """What a model returned, as rows of the output columns; None if it is something else."""
    import numpy as np
    import pandas as pd

    if isinstance(results, pd.DataFrame):
        named = set(outputs.names) <= set(results.columns)
        columns = [results[n] for n in outputs.names] if named else _positions(results, outputs)
        return list(zip(*map(_values, columns, outputs.types), strict=True))
    if isinstance(results, np.ndarray) and results.ndim == 2:
        single = len(outputs) == 1 and isinstance(outputs[0].type, ArrayType)
        return [(row,) for row in results.tolist()] if single else results.tolist()
    if isinstance(results, pd.Series | np.ndarray):
        results = _values(pd.Series(results), outputs.types[0])
    if not isinstance(results, list | tuple):
        return None
    if len(outputs) > 1:
        return [(None,) * len(outputs) if row is None else row for row in results]
    return [(value,) for value in results]


def _positions(frame: Any, outputs: Schema) -> list[Any]:
    if frame.shape[1] != len(outputs):
        raise FunctionTypeError(
            f"predict() returned the columns {list(frame.columns)}, not {outputs.names}"
        )
    return [frame.iloc[:, i] for i in range(len(outputs))]


def _values(series: Any, type_: Any) -> list[Any]:
    """The values of a column, with None where pandas has its own sign for that."""
    import pyarrow as pa

    found: list[Any] = pa.Array.from_pandas(
        series, type=arrow_type_of(type_), safe=False
    ).to_pylist()
    return found
