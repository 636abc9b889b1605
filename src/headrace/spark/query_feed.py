"""Runs a `SparkQuery` on some partitions of its table, in the JVM.

An aggregation is done for each partition by itself, without an exchange: Spark plans it in two
phases around one, and what is run here is the plan below the exchange. Which of its columns hold
which aggregate is read from the plan above it, since Spark computes equal aggregates only once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.spark_query import (
    ParquetFiles,
    RowNumbers,
    SparkQuery,
    names_of,
)
from headrace.spark.feeds import DataFrameFeed, arrow_batches, spark_failure
from headrace.spark.session import get_or_create_session

__all__ = ["QueryFeed"]

_BATCH_ROWS = 50_000
_RULES = "org.apache.spark.sql.catalyst.optimizer."
_SETTINGS = {
    # A condition that is never true must not leave another plan than others do.
    "spark.sql.optimizer.excludedRules": f"{_RULES}PruneFilters,{_RULES}PropagateEmptyRelation",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # Partitions have to be the same after a restore, whatever else is different.
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
}


class QueryFeed(DataFrameFeed):
    """The partitions of a table, with a query that is planned once for all of them."""

    def __init__(self, query: SparkQuery, inputs: dict[str, Any]) -> None:
        self._query = query
        self._inputs = inputs
        self._session = get_or_create_session({}).newSession()
        for key, value in _SETTINGS.items():
            self._session.conf.set(key, value)
        try:
            frame = self._described()
        except (PySparkException, Py4JError) as error:
            raise _refused(error) from None
        super().__init__(frame)
        self._order: list[int] | None = None

    def payloads(self, parts: Sequence[int]) -> Any:
        """In the order of the files: watermarks follow their times."""
        order = self._in_order()
        jvm: Any = self._session._jvm
        pruning = jvm.org.apache.spark.rdd.PartitionPruningRDD
        united: Any = None
        for part in parts:
            only = jvm.java.util.ArrayList()
            only.add(order[part])
            chosen = jvm.PythonUtils.toSeq(only).toSet()
            piece = pruning.create(self._planned(), chosen).toJavaRDD()
            united = piece if united is None else united.union(piece)
        return united.coalesce(1, False)

    def _in_order(self) -> list[int]:
        """Spark puts the largest pieces of files first."""
        if self._order is None:
            files = {file: i for i, file in enumerate(self._inputs.get("files", ()))}
            pieces = _pieces(self._planned()) if files else []
            places = [(files[path], start) for path, start in pieces]
            self._order = sorted(range(len(places)), key=places.__getitem__)
            self._order = self._order or list(range(self.partitions))
        return self._order

    def _described(self) -> DataFrame:
        query = self._query
        frame = _table(self._session, query.table, self._inputs)
        for step in query.steps:
            if isinstance(step, str):
                frame = frame.where(step)
            else:
                frame = frame.selectExpr(*names_of(step))
        group = query.group_by
        if group is None:
            typed = zip(query.outputs, query.types, strict=True)
            return frame.selectExpr(*(f"CAST({text} AS {kind})" for text, kind in typed))
        typed = zip(group.keys, query.types, strict=False)
        casts = [f"CAST({key} AS {kind})" for key, kind in typed]
        keys = [f.expr(key).alias(f"k{i}") for i, key in enumerate(casts)]
        found = [f.expr(text).alias(f"a{i}") for i, text in enumerate(group.aggregates)]
        return frame.groupBy(*keys).agg(*found)

    def _planned(self) -> Any:
        if self._batches is None:
            try:
                self._batches = self._plan()
            except (PySparkException, Py4JError) as error:
                raise _refused(error) from None
        return self._batches

    def _plan(self) -> Any:
        if self._query.group_by is None:
            return arrow_batches(self._frame)
        local = _local_phase(self._session, self._frame._jdf)
        nulls = [f"CAST(NULL AS {kind}) AS o{i}" for i, kind in enumerate(self._query.types)]
        shape = self._session.range(0).selectExpr(*nulls)
        found = [attribute.dataType().simpleString() for attribute in _items(local.output())]
        if found != [field.dataType.simpleString() for field in shape.schema]:
            raise HeadraceError(f"Spark plans the columns {found}, not {shape.schema}")
        return shape._jdf.toArrowBatchRdd(local)


def _refused(error: Exception) -> HeadraceError:
    return HeadraceError(
        f"Spark cannot run a part of the query: {spark_failure(error)}; with "
        "table.exec.spark-segments set to false headrace's own operators do it"
    )


def _table(
    session: SparkSession, table: ParquetFiles | RowNumbers, inputs: dict[str, Any]
) -> DataFrame:
    if isinstance(table, RowNumbers):
        numbers = session.range(0, table.count, 1, inputs["partitions"])
        return numbers.selectExpr(*names_of(table.texts))
    # Opening a file counts as much as a whole partition, so no partition has two.
    for setting in ("maxPartitionBytes", "openCostInBytes"):
        session.conf.set(f"spark.sql.files.{setting}", str(inputs["bytes"]))
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in table.columns)
    reader = session.read.schema(ddl).option("__globPaths__", "false")
    frame = reader.parquet(*(f"file:{file}" for file in inputs["files"]))
    return frame.selectExpr(*names_of(table.texts))


def _pieces(rdd: Any) -> list[tuple[str, int]]:
    """Path and first byte of what each partition reads."""
    while rdd.getClass().getSimpleName() != "FileScanRDD":
        if rdd.dependencies().isEmpty():
            return []
        rdd = rdd.dependencies().head().rdd()
    found = []
    for partition in _items(rdd.filePartitions()):
        (piece,) = partition.files()
        found.append((piece.toPath().toUri().getPath(), piece.start()))
    return found


def _local_phase(session: SparkSession, java: Any) -> Any:
    """The plan below the exchange, with the columns of the whole result in their order."""
    whole = java.queryExecution().executedPlan()
    node, final = whole, None
    while node.getClass().getSimpleName() != "ShuffleExchangeExec":
        if node.getClass().getSimpleName().endswith("AggregateExec"):
            final = node
        if node.children().isEmpty():
            # All rows of a key are in one partition anyhow.
            return whole
        node = node.children().head()
    assert final is not None
    below = node.child()
    places = _places(final)
    output = below.output()
    jvm: Any = session._jvm
    chosen = jvm.java.util.ArrayList()
    for expression in _items(final.resultExpressions()):
        (used,) = _items(expression.references().toSeq())
        chosen.add(output.apply(places[used.exprId().id()]))
    columns = jvm.PythonUtils.toSeq(chosen)
    with _active(session):
        return jvm.org.apache.spark.sql.execution.ProjectExec(columns, below)


@contextlib.contextmanager
def _active(session: SparkSession) -> Iterator[None]:
    """A node of a plan belongs to the session that is active where it is made."""
    jvm: Any = session._jvm
    sessions = getattr(jvm, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _places(final: Any) -> dict[int, int]:
    """Ids of what the second phase gives, and the column of the first phase it is made of."""
    keys = _items(final.groupingExpressions())
    places = {key.toAttribute().exprId().id(): i for i, key in enumerate(keys)}
    at = len(keys)
    for aggregate in _items(final.aggregateExpressions()):
        places[aggregate.resultAttribute().exprId().id()] = at
        at += aggregate.aggregateFunction().aggBufferAttributes().length()
    return places


def _items(sequence: Any) -> Sequence[Any]:
    return [sequence.apply(i) for i in range(sequence.length())]
