"""Rows that a statement or a program has, as a table that can be looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.configuration import Configuration
from headrace.datastream.connectors.collection import CollectionSource
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableSource
from headrace.sql.lookups.full_cache import FullTable, MemoryRows, WholeTable
from headrace.sql.lookups.tables import LookupLimits, LookupTable

__all__ = ["MemoryTable"]


@dataclass
class MemoryTable(TableSource):
    """Rows in internal form."""

    rows: tuple[tuple[Any, ...], ...]
    looks_up = True
    searches = True

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        return env._source(CollectionSource.of(list(self.rows)), None, "Values", None)

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        return FullTable(self.whole_table(configuration), columns)

    def whole_table(self, configuration: Configuration) -> WholeTable:
        return WholeTable(MemoryRows(self.rows))
