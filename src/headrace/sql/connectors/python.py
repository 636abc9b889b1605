"""The python connector: tables whose rows a program finds by key."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, SqlError
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.lookup_options import LookupCaching
from headrace.sql.lookups.python_source import LookupTableSource, PythonKeys, as_lookup_source
from headrace.sql.lookups.search import PythonSearch, SearchOrder, VectorSearchTableSource
from headrace.sql.lookups.tables import LookupLimits, LookupTable
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types import DoubleType
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits

__all__ = ["PythonFactory"]


class PythonFactory(TableFactory):
    """`'connector' = 'python'` with `lookup` or `search`, or an object of a program."""

    name = "python"

    def create_source(self, context: TableContext) -> TableSource:
        """A table that can be looked up or searched, but not read."""
        given = context.object
        if given is None:
            key = "search" if context.option("search") is not None else "lookup"
            given = _loaded(key, context.required(key), context.name)
        caching = LookupCaching.of(context)
        if caching.full:
            raise SqlError(
                f"table {context.name} is known by its keys alone: 'lookup.cache' is NONE or "
                "PARTIAL, not FULL"
            )
        context.check_all_used()
        try:
            source = as_lookup_source(given)
            if isinstance(source, VectorSearchTableSource):
                return _SearchTable(source, context)
            return _PythonTable(source, context, caching)
        except FunctionTypeError as error:
            raise SqlError(f"table {context.name}: {error}") from error


def _loaded(key: str, name: str, table: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(
            f"option '{key}' of table {table} names a source, or a function of keys, as "
            f"module:name, but '{name}' cannot be loaded: {error}"
        ) from error


@dataclass
class _PythonTable(TableSource):
    source: LookupTableSource
    context: TableContext
    caching: LookupCaching
    looks_up = True

    @property
    def looks_up_asynchronously(self) -> bool:  # type: ignore[override]
        return PythonKeys(self.source, self.context.schema, (), self.context.zone).asynchronous

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        raise SqlError(
            f"table {self.context.name} can only be looked up: join it with "
            "FOR SYSTEM_TIME AS OF a column of processing time"
        )

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        keys = PythonKeys(self.source, self.context.schema, columns, self.context.zone)
        return self.caching.of_keys(keys, columns, limits)


@dataclass
class _SearchTable(TableSource):
    source: VectorSearchTableSource
    context: TableContext
    searches = True

    @property
    def searches_asynchronously(self) -> bool:  # type: ignore[override]
        return inspect.iscoroutinefunction(self.source.search)

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        raise SqlError(f"table {self.context.name} can only be searched, with VECTOR_SEARCH")

    def vector_search(
        self, search: SearchOrder, limits: CallLimits, configuration: Configuration
    ) -> BatchTableFunction:
        schema = Schema((*self.context.schema, Field("score", DoubleType())))
        return PythonSearch(self.source, schema, search, self.context.zone, limits)
