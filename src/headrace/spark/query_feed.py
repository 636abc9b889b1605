"""Runs a `SparkQuery` on some partitions of its table, in the JVM.

An aggregation is done for each partition by itself, without an exchange: Spark plans it in two
phases around one, and what is run here is the plan below the exchange. Which of its columns hold
which aggregate is read from the plan above it, since Spark computes equal aggregates only once.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.spark_query import RowNumbers, SparkQuery
from headrace.spark.feeds import DataFrameFeed, arrow_batches, spark_failure
from headrace.spark.session import get_or_create_session

__all__ = ["QueryFeed"]

_BATCH_ROWS = 50_000
_RULES = "org.apache.spark.sql.catalyst.optimizer."
_SETTINGS = {
    # A condition that is never true must not leave another plan than others do, and the local sum
    # of a small decimal is a decimal.
    "spark.sql.optimizer.excludedRules": ",".join(
        _RULES + rule for rule in ("PruneFilters", "PropagateEmptyRelation", "DecimalAggregates")
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # Java's own letters, as in Flink.
    "spark.sql.icu.caseMappings.enabled": "false",
    # Partitions have to be the same after a restore, whatever else is different.
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
}


class QueryFeed(DataFrameFeed):
    """The partitions of a table, with a query that is planned once for all of them."""

    def __init__(self, query: SparkQuery, inputs: dict[str, Any]) -> None:
        self._query = query
        self._inputs = inputs
        self._session = _session_with(inputs.get("bytes"))
        try:
            frame = _described(self._session, query, inputs)
        except (PySparkException, Py4JError) as error:
            raise _refused(error) from None
        super().__init__(frame)
        self._order: list[int] | None = None
        self._planning: Future[Any] = Future()
        # While the slots of the job start.
        threading.Thread(target=self._plan_ahead, name="headrace-plan", daemon=True).start()

    def payloads(self, parts: Sequence[int]) -> Any:
        """In the order of the files: watermarks follow their times."""
        order = self._in_order()
        united: Any = None
        for run in _ascending([order[part] for part in parts]):
            piece = self.pruned(run)
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

    def _planned(self) -> Any:
        return self._planning.result()

    def _plan_ahead(self) -> None:
        try:
            self._planning.set_result(self._plan())
        except (PySparkException, Py4JError) as error:
            self._planning.set_exception(_refused(error))
        except BaseException as error:
            self._planning.set_exception(error)

    def _plan(self) -> Any:
        if self._query.group_by is None:
            return arrow_batches(self._frame)
        local = _local_phase(self._session, self._frame._jdf)
        planned = [attribute.dataType().sql() for attribute in _items(local.output())]
        wanted = [kind.replace(" ", "") for kind in self._query.types]
        fields = self._frame._jdf.schema().fields()
        if not planned == wanted == [field.dataType().sql() for field in fields]:
            raise HeadraceError(f"Spark plans the columns {planned}, not {wanted}")
        return self._frame._jdf.toArrowBatchRdd(local)


def _ascending(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers in pieces, each of which goes up: an RDD keeps the order of its partitions."""
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and pieces[-1][-1] < number:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return pieces


def _refused(error: Exception) -> HeadraceError:
    return HeadraceError(
        f"Spark cannot run a part of the query: {spark_failure(error)}; with "
        "table.exec.spark-segments set to false headrace's own operators do it"
    )


_sessions: dict[tuple[int, int | None], SparkSession] = {}


def _session_with(partition_bytes: int | None) -> SparkSession:
    """A session with the settings of queries, and with partitions of files of that size.

    Sessions are kept, since it takes a while to make one; sizes are few.
    """
    base = get_or_create_session({})
    key = (id(base.sparkContext), partition_bytes)
    session = _sessions.get(key)
    if session is None:
        session = base.newSession()
        settings = dict(_SETTINGS)
        if partition_bytes is not None:
            # Opening a file counts as much as a whole partition, so no partition has two.
            for name in ("maxPartitionBytes", "openCostInBytes"):
                settings[f"spark.sql.files.{name}"] = str(partition_bytes)
        for name, value in settings.items():
            session.conf.set(name, value)
        _sessions[key] = session
    return session


def _described(session: SparkSession, query: SparkQuery, inputs: dict[str, Any]) -> DataFrame:
    """The query as one text, so that Spark analyses it once."""
    if isinstance(query.table, RowNumbers):
        rows = f"range(0, {query.table.count}, 1, {inputs['partitions']})"
        return session.sql(_text(query, rows))
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in query.table.columns)
    reader = session.read.schema(ddl).option("__globPaths__", "false")
    frame = reader.parquet(*(f"file:{file}" for file in inputs["files"]))
    name = f"headrace_{secrets.token_hex(8)}"
    frame.createTempView(name)
    try:
        return session.sql(_text(query, name))
    finally:
        session.catalog.dropTempView(name)


def _text(query: SparkQuery, rows: str) -> str:
    text = f"SELECT {_columns(query.table.texts)} FROM {rows}"
    for step in query.steps:
        if isinstance(step, str):
            text = f"SELECT * FROM ({text}) WHERE {step}"
        else:
            text = f"SELECT {_columns(step)} FROM ({text})"
    group = query.group_by
    outputs = query.outputs if group is None else group.keys
    typed = zip(outputs, query.types, strict=False)
    casts = [f"CAST({output} AS {kind})" for output, kind in typed]
    chosen = [*casts, *(group.aggregates if group is not None else ())]
    text = f"SELECT {_columns([(f'o{i}', x) for i, x in enumerate(chosen)])} FROM ({text})"
    return f"{text} GROUP BY {', '.join(casts)}" if group is not None and casts else text


def _columns(texts: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{text} AS {name}" for name, text in texts)


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
