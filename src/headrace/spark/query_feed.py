"""Runs a `SparkQuery` on some partitions of its table, in the JVM.

An aggregation is done for each partition by itself, without an exchange: Spark plans it in two
phases around one, and what is run here is the plan below the exchange. Which of its columns hold
which aggregate is read from the plan above it, since Spark computes equal aggregates only once.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.spark_query import (
    UNSCALED,
    ParquetFiles,
    Relation,
    RowNumbers,
    SparkQuery,
)
from headrace.spark.feeds import DataFrameFeed, arrow_batches, spark_failure
from headrace.spark.jvm import java_frame, jvm_of
from headrace.spark.session import get_or_create_session

__all__ = [
    "QUERY_SETTINGS",
    "QueryFeed",
    "active",
    "query_text",
    "read_files",
    "refused",
    "rows_text",
    "session_with",
    "view_of",
]

_BATCH_ROWS = 50_000
_UNSCALED_VALUE = "org.apache.spark.sql.catalyst.expressions.UnscaledValue"
_RULES = "org.apache.spark.sql.catalyst.optimizer."
QUERY_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    # Java's own letters, as in Flink.
    "spark.sql.icu.caseMappings.enabled": "false",
    # A literal is what it says, whatever it looks like.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.crossJoin.enabled": "true",
    # Queries in one another take two rounds each.
    "spark.sql.analyzer.maxIterations": "1000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
}
"""What gives texts their meaning."""

_PARTWISE = {
    # A condition that is never true must not leave another plan than others do, and the local sum
    # of a small decimal is a decimal.
    "spark.sql.optimizer.excludedRules": ",".join(
        _RULES + rule for rule in ("PruneFilters", "PropagateEmptyRelation", "DecimalAggregates")
    ),
    "spark.sql.adaptive.enabled": "false",
    # Partitions have to be the same after a restore, whatever else is different.
    "spark.sql.files.minPartitionNum": "1",
}


class QueryFeed(DataFrameFeed):
    """The partitions of a table, with a query that is planned once for all of them."""

    def __init__(self, query: SparkQuery, inputs: dict[str, Any]) -> None:
        self._query = query
        self._inputs = inputs
        self._session = session_with(_partwise(inputs.get("bytes")))
        self._order: list[int] | None = None
        self._planning: Future[Any] = Future()
        # While the slots of the job start, and for all of its sources at once.
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
            self._frame = _described(self._session, self._query, self._inputs)
            self._planning.set_result(self._plan())
        except (PySparkException, Py4JError) as error:
            self._planning.set_exception(refused(error))
        except BaseException as error:  # noqa: BLE001 - a thread's top: the future has it
            self._planning.set_exception(error)

    def _plan(self) -> Any:
        if self._query.group_by is None:
            return arrow_batches(self._frame)
        local = _local_phase(self._session, java_frame(self._frame))
        planned = [attribute.dataType().sql() for attribute in _items(local.output())]
        wanted = [kind.replace(" ", "") for kind in self._query.types]
        fields = java_frame(self._frame).schema().fields()
        if not planned == wanted == [field.dataType().sql() for field in fields]:
            raise HeadraceError(f"Spark plans the columns {planned}, not {wanted}")
        return java_frame(self._frame).toArrowBatchRdd(local)


def _ascending(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers in pieces, each of which goes up: an RDD keeps the order of its partitions."""
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and pieces[-1][-1] < number:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return pieces


def refused(error: Exception) -> HeadraceError:
    """What to do where Spark does not take a text."""
    # With the `pyflink` alias our errors are caught as Py4J's.
    if isinstance(error, HeadraceError):
        return error
    return HeadraceError(
        f"Spark cannot run a part of the query: {spark_failure(error)}; with "
        "table.exec.spark-segments set to false headrace's own operators do it"
    )


_sessions: dict[Any, SparkSession] = {}


def session_with(more: Mapping[str, str]) -> SparkSession:
    """A session with the settings of queries and some more.

    Sessions are kept, since it takes a while to make one; there are few different ones.
    """
    base = get_or_create_session({})
    key = (id(base.sparkContext), tuple(sorted(more.items())))
    session = _sessions.get(key)
    if session is None:
        session = base.newSession()
        for name, value in {**QUERY_SETTINGS, **more}.items():
            session.conf.set(name, value)
        _add_functions(session)
        _sessions[key] = session
    return session


def _add_functions(session: SparkSession) -> None:
    """What Spark has for its own rules, by a name for texts."""
    jvm = jvm_of(session)
    value = jvm.java.lang.Class.forName(_UNSCALED_VALUE)
    tag = jvm.scala.reflect.ClassTag.apply(value)
    base = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistryBase
    builder = base.build(UNSCALED, jvm.scala.Option.empty(), tag)._2()
    java: Any = session._jsparkSession
    registry = java.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(UNSCALED, builder, "internal")


def _partwise(partition_bytes: int | None) -> dict[str, str]:
    """Settings for partitions of files of that size."""
    if partition_bytes is None:
        return _PARTWISE
    # Opening a file counts as much as a whole partition, so no partition has two.
    sizes = ("maxPartitionBytes", "openCostInBytes")
    return {**_PARTWISE, **{f"spark.sql.files.{name}": str(partition_bytes) for name in sizes}}


def _described(session: SparkSession, query: SparkQuery, inputs: dict[str, Any]) -> DataFrame:
    """The query as one text, so that Spark analyses it once."""
    table = query.table
    assert not isinstance(table, Relation)
    if isinstance(table, RowNumbers):
        return session.sql(_text(query, rows_text(table, inputs)))
    with read_files(session, table, inputs) as name:
        return session.sql(_text(query, name))


def rows_text(table: RowNumbers, inputs: dict[str, Any]) -> str:
    """What makes rows of their numbers."""
    return f"range(0, {table.count}, 1, {inputs['partitions']})"


def read_files(
    session: SparkSession, table: ParquetFiles, inputs: dict[str, Any]
) -> AbstractContextManager[str]:
    """The name of a view of files."""
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in table.columns)
    reader = session.read.schema(ddl).option("__globPaths__", "false")
    return view_of(reader.parquet(*(f"file:{file}" for file in inputs["files"])))


@contextlib.contextmanager
def view_of(frame: DataFrame, session: SparkSession | None = None) -> Iterator[str]:
    """The name of a view of a DataFrame, for as long as texts refer to it.

    With a `session` that one sees a DataFrame of another, with its own settings.
    """
    name = f"headrace_{secrets.token_hex(8)}"
    if session is not None:
        frame = _moved(frame, session)
    frame.createTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def _moved(frame: DataFrame, session: SparkSession) -> DataFrame:
    jvm: Any = session._jvm
    plan = frame._jdf.queryExecution().analyzed()
    datasets = getattr(jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$")
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)


def _text(query: SparkQuery, rows: str) -> str:
    assert not isinstance(query.table, Relation)
    text = query_text(query.table.texts, rows)
    for step in query.steps:
        if isinstance(step, str):
            text = f"SELECT * FROM ({text}) WHERE {step}"
        else:
            text = query_text(step, f"({text})")
    group = query.group_by
    outputs = query.outputs if group is None else group.keys
    typed = zip(outputs, query.types, strict=False)
    casts = [f"CAST({output} AS {kind})" for output, kind in typed]
    chosen = [*casts, *(group.aggregates if group is not None else ())]
    text = query_text([(f"o{i}", x) for i, x in enumerate(chosen)], f"({text})")
    return f"{text} GROUP BY {', '.join(casts)}" if group is not None and casts else text


def query_text(texts: Sequence[tuple[str, str]], rows: str) -> str:
    """A query of columns, by their names and texts."""
    return f"SELECT {', '.join(f'{text} AS {name}' for name, text in texts)} FROM {rows}"


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
    jvm = jvm_of(session)
    chosen = jvm.java.util.ArrayList()
    for expression in _items(final.resultExpressions()):
        (used,) = _items(expression.references().toSeq())
        chosen.add(output.apply(places[used.exprId().id()]))
    columns = jvm.PythonUtils.toSeq(chosen)
    with active(session):
        return jvm.org.apache.spark.sql.execution.ProjectExec(columns, below)


@contextlib.contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Has a session be the active one for a while, and then the user's again.

    A node of a plan belongs to the session that is active where it is made, and PySpark makes the
    session active that gets rows of a program.
    """
    jvm = jvm_of(session)
    sessions = getattr(jvm, "org.apache.spark.sql.classic.SparkSession")
    before, in_python = sessions.getActiveSession(), SparkSession._activeSession
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        SparkSession._activeSession = in_python
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
