"""Tables that a program looks up itself: `LookupTableSource`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError
from headrace.common.types import Row, row_of
from headrace.runtime.operator import Operator
from headrace.sql.lookups.search import VectorSearchTableSource
from headrace.sql.lookups.tables import Key, KeySource
from headrace.sql.plan.expressions import Schema
from headrace.sql.types.values import row_to_external, to_internal
from headrace.sql.udf.bound import runtime_context
from headrace.sql.udf.function_context import FunctionContext

__all__ = ["LookupTableSource", "PythonKeys", "as_lookup_source"]


class LookupTableSource:
    """A table whose rows a program finds by key, for `JOIN ... FOR SYSTEM_TIME AS OF`.

    Subclass it, or register a plain function or coroutine function of the keys with
    `TableEnvironment.create_temporary_lookup_table`. The keys of a batch of rows come together.
    Keys are rows of the columns that the join compares, and never have a NULL. What comes back are
    rows of the whole table, in any order: those whose columns equal a key are its rows.

    If `lookup` is a coroutine function, several calls are in flight at the same time.

    Example:
        >>> class Cities(LookupTableSource):
        ...     def lookup(self, keys):
        ...         return [(k.id, NAMES[k.id]) for k in keys if k.id in NAMES]
    """

    #: How many keys a call of `lookup` gets at most.
    keys_per_call = 1000

    def open(self, function_context: FunctionContext) -> None:
        """Called once in each subtask, before the first lookup."""

    def lookup(self, keys: list[Row]) -> Iterable[Any]:
        """The rows of some keys: tuples, dicts or rows. It may be a coroutine function."""
        raise NotImplementedError

    def probe(self) -> str:
        """Look whether the rows can be reached from here, for `headrace doctor`.

        Returns:
            What was reached, in a few words; empty if there is nothing to reach.

        Raises:
            HeadraceError: What is missing, and what to do.
        """
        return ""

    def close(self) -> None:
        """Called once in each subtask, also after a failure."""


class _FunctionSource(LookupTableSource):
    def __init__(self, function: Any) -> None:
        self.lookup = function  # type: ignore[method-assign]


def as_lookup_source(source: Any) -> LookupTableSource | VectorSearchTableSource:
    """A source of what a user registered: a source, its class, or a function of the keys."""
    kinds = (LookupTableSource, VectorSearchTableSource)
    if isinstance(source, type) and issubclass(source, kinds):
        source = source()
    if isinstance(source, kinds):
        return source
    if callable(source) and not isinstance(source, type):
        return _FunctionSource(source)
    raise FunctionTypeError(
        "a lookup table must be a LookupTableSource, a VectorSearchTableSource or a function of "
        f"the keys, not {source!r}"
    )


class PythonKeys(KeySource):
    """A user's source, which sees users' objects."""

    def __init__(
        self, source: LookupTableSource, schema: Schema, columns: Sequence[int], zone: str
    ) -> None:
        self._source = source
        self._schema = schema
        self._columns = tuple(columns)
        self._zone = zone
        self.keys_per_call = source.keys_per_call
        self.asynchronous = inspect.iscoroutinefunction(source.lookup)

    def open(self, operator: Operator) -> None:
        zone = ZoneInfo(self._zone)
        self._names = [self._schema[c].name for c in self._columns]
        self._give = row_to_external([self._schema[c].type for c in self._columns], zone)
        self._take = to_internal(self._schema.row_type, zone)
        parameters = operator.context.task.job_parameters
        self._source.open(FunctionContext(runtime_context(operator), parameters))

    def rows_of(self, keys: Sequence[Key]) -> Any:
        given = [row_of(self._give(key), self._names) for key in keys]
        if self.asynchronous:
            return self._awaited(given)
        return self._taken(self._source.lookup(given))

    async def _awaited(self, keys: list[Row]) -> list[Any]:
        return self._taken(await self._source.lookup(keys))  # type: ignore[misc]

    def _taken(self, rows: Iterable[Any] | None) -> list[Any]:
        if rows is None or isinstance(rows, str | tuple | Row) or not hasattr(rows, "__iter__"):
            raise FunctionTypeError(
                "lookup() must return a list of rows of the table, also for a single one; "
                f"it returned {rows!r}"
            )
        return [self._take(row) for row in rows]

    def probe(self) -> str:
        return self._source.probe()

    def close(self) -> None:
        self._source.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_give", "_take")}
