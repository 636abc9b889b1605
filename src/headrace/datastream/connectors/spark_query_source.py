"""Reads the result of a query that Spark runs inside of epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.fed_split import FedSplit
from headrace.datastream.connectors.spark_query import (
    ParquetFiles,
    Relation,
    RowNumbers,
    SparkQuery,
)
from headrace.datastream.connectors.spark_source import (
    ArrowReader,
    Partitions,
    PartitionsEnumerator,
)

__all__ = ["SparkQuerySource", "TableEnumerator", "spark_plan"]


@dataclass(frozen=True)
class SparkQuerySource(Source):
    """Reads the result of a query.

    `records` makes records of a batch of columns; without it they remain columns.
    """

    query: SparkQuery
    schema: bytes
    records: Callable[[Any], list[Any]] | None = None

    @property
    def bounded(self) -> bool:
        return True

    @property
    def fed_by_spark(self) -> bool:
        return True

    @property
    def tables(self) -> list[Any]:
        """What is read, each with a `probe`."""
        table = self.query.table
        return list(table.tables.values()) if isinstance(table, Relation) else [table]

    def probe(self) -> str:
        return ", ".join(filter(None, (table.probe() for table in self.tables)))

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        if isinstance(self.query.table, Relation):
            return _RelationEnumerator(self.query, parallelism)
        from headrace.spark.query_feed import QueryFeed

        return TableEnumerator(self.query.table, parallelism, partial(QueryFeed, self.query))

    def create_reader(self, context: ReaderContext) -> SourceReader:
        split_id, as_columns = f"spark-{context.subtask}", self.records is None
        return ArrowReader(self.schema, self.records, split_id, as_columns=as_columns)


class TableEnumerator(PartitionsEnumerator):
    """Gives out partitions of a table that is cut when a job starts for the first time.

    `feed` makes what is read of the cut.
    """

    def __init__(
        self,
        table: ParquetFiles | RowNumbers,
        parallelism: int,
        feed: Callable[[dict[str, Any]], Partitions],
    ) -> None:
        self._inputs = table.cut(parallelism)
        self._make_feed = feed
        super().__init__(feed(self._inputs), parallelism, table.first_parts(self._inputs))

    def snapshot(self) -> Any:
        return {**super().snapshot(), "inputs": self._inputs}

    def restore(self, snapshot: Any) -> None:
        # Files that have come since then are not part of what is being read.
        self._inputs = snapshot["inputs"]
        self._feed = self._make_feed(self._inputs)
        super().restore(snapshot)


class _RelationEnumerator(SplitEnumerator):
    """Gives each subtask its part of the rows in the first epoch.

    Where rows are after a join or an aggregation is not the same the next time, so that they have
    to be read in one epoch: all of them, or none.
    """

    def __init__(self, query: SparkQuery, parallelism: int) -> None:
        from headrace.spark.relation_feed import RelationFeed

        self._feed = RelationFeed(query, query.table.cut(parallelism), parallelism)
        self._parallelism = parallelism
        self._given = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if self._given:
            return {}
        self._given = True
        parts = range(self._parallelism)
        return {part: [FedSplit(f"part-{part}", self._feed, part)] for part in parts}

    @property
    def finished(self) -> bool:
        return self._given

    def snapshot(self) -> Any:
        return {"given": self._given}

    def restore(self, snapshot: Any) -> None:
        self._given = snapshot["given"]


def spark_plan(query: SparkQuery, parallelism: int) -> str:
    """How Spark would run a query of a relation; or why it is not known."""
    from headrace.spark.relation_feed import planned_text

    try:
        return planned_text(query, query.table.cut(parallelism), parallelism)
    except HeadraceError as error:
        return f"not known: {error}"
