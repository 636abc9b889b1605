"""Runs a `Relation` as one query of Spark, with all that it does for one: adaptive plans, spilling.

The query is analysed and planned while the slots start. Its stages run in the job of the epoch that
reads the rows, so that whatever ends the job ends them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.spark_query import (
    ArrowRows,
    ParquetFiles,
    Part,
    Relation,
    RowNumbers,
    SourceSplits,
    SparkQuery,
    SparkTable,
)
from headrace.spark.feeds import DataFrameFeed, batches_of, nothing, spark_failure
from headrace.spark.jvm import java_frame, jvm_of
from headrace.spark.python_parts import SplitReader, StepInTask, as_large, this_python
from headrace.spark.query_feed import (
    active,
    query_text,
    read_files,
    refused,
    rows_text,
    session_with,
    view_of,
)
from headrace.spark.session import get_or_create_session, is_this_process

__all__ = ["RelationFeed", "planned_text", "relation_frame"]

_log = logging.getLogger(__name__)
_MIB = 1 << 20
_SMALL = 8 * _MIB
"""Tables of fewer bytes Spark may send to every task of a join."""
_SHUFFLE = "spark.sql.shuffle.partitions"
_PARTITION_BYTES = 16 * _MIB
_HASH_JOINS = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
_USUAL_MEMORY = 1024 * _MIB
"""What Spark takes by default. Sorting for joins spills when it is full; hash tables fail."""
_TABLES_IN_MEMORY = 24
"""A hash table takes several times the bytes of its rows in an exchange, and is not alone."""
_ROW_BYTES = 16
_MOST_PARTITIONS = 200
_FEW_ROWS = {
    # They are computed sooner than code for them is compiled, or a better plan is found.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_MANY_ROWS = {"spark.sql.adaptive.enabled": "true"}


class RelationFeed(DataFrameFeed):
    """The rows of a relation in as many parts as there are subtasks to read them."""

    def __init__(self, query: SparkQuery, inputs: dict[str, Any], parallelism: int) -> None:
        try:
            super().__init__(relation_frame(query, inputs, parallelism))
        except (PySparkException, Py4JError) as error:
            raise _failure(error) from None
        self._parallelism = parallelism
        self._planning: Future[None] = Future()
        threading.Thread(target=self._plan_ahead, name="headrace-plan", daemon=True).start()

    def payloads(self, parts: Sequence[int]) -> Any:
        numbers = [i for part in parts for i in range(part, self.partitions, self._parallelism)]
        if not numbers:
            return nothing(self._frame.sparkSession.sparkContext)
        return super().payloads(sorted(numbers))

    def _planned(self) -> Any:
        self._planning.result()
        if self._batches is None:
            try:
                self._batches = batches_of(self._frame)
            except (PySparkException, Py4JError) as error:
                raise _failure(error) from None
        return self._batches

    def _plan_ahead(self) -> None:
        try:
            java_frame(self._frame).queryExecution().executedPlan()
        except (PySparkException, Py4JError):
            _log.debug("Spark does not plan a query, as whoever reads its rows will see")
        finally:
            self._planning.set_result(None)


def planned_text(query: SparkQuery, inputs: dict[str, Any], parallelism: int) -> str:
    """Spark's physical plan before it runs, when it may still change."""
    try:
        frame = relation_frame(query, inputs, parallelism)
        return str(frame._jdf.queryExecution().executedPlan().toString()).rstrip()
    except (PySparkException, Py4JError) as error:
        raise _failure(error) from None


def _failure(error: Exception) -> HeadraceError:
    """Of a text that Spark does not take, or of what it computes."""
    if isinstance(error, AnalysisException | HeadraceError):
        return refused(error)
    return HeadraceError(spark_failure(error))


def _settings(inputs: dict[str, Any]) -> dict[str, str]:
    """Settings for as much as is read; exchanges are cut into pieces of some megabytes."""
    size = 0
    for found in inputs.values():
        size += sum(map(os.path.getsize, found.get("files", ())))
        size += found.get("rows", 0) * _ROW_BYTES
        size += _MIB if found.get("size", 0) is None else found.get("size", 0)
    context = get_or_create_session({}).sparkContext
    partitions = max(context.defaultParallelism, size // _PARTITION_BYTES)
    # A power of two, so that there are few different sessions.
    partitions = min(1 << (partitions - 1).bit_length(), _MOST_PARTITIONS)
    defaults = {_SHUFFLE: f"{partitions}", _HASH_JOINS: _hash_join_bytes(context)}
    users = context.getConf()
    chosen = _FEW_ROWS if size < _MIB else _MANY_ROWS
    return {**chosen, **{k: v for k, v in defaults.items() if not users.contains(k)}}


def _hash_join_bytes(context: SparkContext) -> str:
    """How large the smaller side of a join may be for a hash table, in bytes of an exchange."""
    if not is_this_process(str(context.master)):
        return "0"
    spare = jvm_of(context).java.lang.Runtime.getRuntime().maxMemory() - _USUAL_MEMORY
    return f"{max(spare, 0) // (_TABLES_IN_MEMORY * context.defaultParallelism)}"


def relation_frame(query: SparkQuery, inputs: dict[str, Any], parallelism: int = 1) -> DataFrame:
    """The query, as one text, of what `inputs` says of each table."""
    session, relation = session_with(_settings(inputs)), query.table
    assert isinstance(relation, Relation)
    with contextlib.ExitStack() as views:
        views.enter_context(this_python(session.sparkContext))
        parts: list[str] = []
        for name, part in relation.parts:
            text = _part_text(session, views, part, parts, inputs.get(name, {}), parallelism)
            parts.append(f"{name} AS ({text})")
        typed = zip(query.outputs, query.types, strict=True)
        columns = [(f"o{i}", f"CAST({x} AS {kind})") for i, (x, kind) in enumerate(typed)]
        return session.sql(f"WITH {', '.join(parts)} {query_text(columns, relation.parts[-1][0])}")


def _part_text(
    session: SparkSession,
    views: contextlib.ExitStack,
    part: Part,
    before: list[str],
    found: dict[str, Any],
    parallelism: int,
) -> str:
    """A part as a query of names that are before it, and of views that last until all is read."""
    if isinstance(part, str):
        return part
    if isinstance(part, ParquetFiles):
        return query_text(part.texts, views.enter_context(read_files(session, part, found)))
    if isinstance(part, RowNumbers):
        return query_text(part.texts, rows_text(part, found))
    if isinstance(part, SparkTable):
        # Views of a program belong to its session.
        frame = get_or_create_session({}).read.options(**dict(part.options)).table(part.name)
        return query_text(part.texts, views.enter_context(view_of(frame, session)))
    if isinstance(part, ArrowRows):
        import pyarrow as pa

        with active(session):
            frame = session.createDataFrame(pa.ipc.open_stream(part.data).read_all())
        return f"SELECT * FROM {views.enter_context(view_of(frame))}"
    ddl = ", ".join(f"{column} {kind}" for column, kind in part.columns)
    if isinstance(part, SourceSplits):
        splits = found["splits"]
        numbers = session.range(0, len(splits), 1, len(splits))
        read = numbers.mapInArrow(SplitReader(part.function, splits, parallelism), ddl)
        if found["size"] is None or found["size"] > _SMALL:
            read = as_large(read)
        return query_text(part.texts, views.enter_context(view_of(read)))
    rows = session.sql(f"WITH {', '.join(before)} {part.text}")
    made = rows.mapInArrow(StepInTask(part.function, parallelism), ddl)
    return f"SELECT * FROM {views.enter_context(view_of(made))}"
