"""What Spark reads for sources: partitions of DataFrames as Arrow batches in the epoch's job.

A fed split is a part of what a `Feed` can read. The parts that a subtask is given for an epoch are
one partition of the epoch's first stage. The JVM reads them, with whatever Catalyst makes of the
plan, and writes Arrow batches; the task passes these on to the slot unopened.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from headrace.common.errors import FunctionTypeError, HeadraceError
from headrace.coordination.carrier import EpochRun
from headrace.datastream.connectors.fed_split import FedSplit
from headrace.graph.ids import VertexId
from headrace.spark.jvm import java_frame, java_rdd, jvm_of

__all__ = ["DataFrameFeed", "Feed", "FilesFeed", "arrow_schema_of", "nothing", "spark_failure"]

_RAISED = re.compile(r"^ {0,2}[A-Za-z_][\w.]*(?:: .*)?$", re.MULTILINE)
"""The line of a Python trace that names the exception; Spark moves some traces to the right."""


_LOST_TASK = re.compile(r"^Job aborted due to stage failure: .*?: Lost task [^:]*\): ")
"""Which of Spark's tasks it was says nothing to a user."""


_SHORTAGES = (
    (
        "No space left on device",
        "a disk is full where Spark keeps what it sorts and exchanges; free some of it, or set "
        "'spark.local.dir' to a directory on a larger one",
    ),
    (
        "OutOfMemoryError",
        "Spark's JVM ran out of memory; set 'spark.driver.memory' on a local master, or "
        "'spark.executor.memory' on a cluster, to more",
    ),
    (
        "ExecutorLostFailure",
        "Spark lost the executors of a task as often as it tries one: they were killed, often "
        "because they took more memory than their machine gives them, or the machine is gone; see "
        "their logs, and set 'spark.executor.memory' or 'spark.executor.memoryOverhead' to more",
    ),
)
"""What machines lack, and what to do about it."""


_NO_WORKER = re.compile(r"Error from python worker:\s+(.+)")
"""What a Python that Spark could not use as a worker said."""

_REASON = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?) SQLSTATE: ", re.DOTALL)
"""What a query itself gives as the reason why it fails."""


class Feed(ABC):
    """Something that Spark can read in parts. It lives with the job master."""

    @abstractmethod
    def payloads(self, parts: Sequence[Any]) -> Any:
        """A JavaRDD with one partition: the Arrow batches of some parts."""


class DataFrameFeed(Feed):
    """A DataFrame, whose parts are its partitions. It is planned once."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._batches: Any = None

    @property
    def partitions(self) -> int:
        """How many parts there are."""
        return int(self._planned().getNumPartitions())

    def split(self, number: int) -> FedSplit:
        """A part, for the epoch in which it is read."""
        return FedSplit(f"partition-{number}", self, number)

    def payloads(self, parts: Sequence[int]) -> Any:
        return self.pruned(parts).coalesce(1, False)

    def pruned(self, parts: Sequence[int]) -> Any:
        """A JavaRDD of some partitions alone, in their order."""
        jvm = jvm_of(self._frame.sparkSession)
        wanted = jvm.java.util.ArrayList()
        for part in parts:
            wanted.add(part)
        # A Scala set is a function that says what is in it.
        chosen = jvm.PythonUtils.toSeq(wanted).toSet()
        pruned = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(self._planned(), chosen)
        return pruned.toJavaRDD()

    def _planned(self) -> Any:
        if self._batches is None:
            self._batches = arrow_batches(self._frame)
        return self._batches


class FilesFeed(Feed):
    """Files that one of Spark's readers reads; the parts are paths."""

    def __init__(self, read: Callable[[list[str]], DataFrame], schema: bytes) -> None:
        self._read = read
        self._schema = schema

    def payloads(self, parts: Sequence[str]) -> Any:
        paths = list(parts)
        try:
            frame = self._read(paths)
            found = arrow_schema_of(frame)
        except PySparkException as error:
            raise HeadraceError(f"Spark cannot read {paths}: {spark_failure(error)}") from error
        if found != self._schema:
            raise HeadraceError(
                f"the files {paths} have different columns than earlier files: "
                f"{frame.schema.simpleString()}; have `read` select the columns and cast them"
            )
        return arrow_batches(frame).toJavaRDD().coalesce(1, False)


def batches_of(frame: DataFrame) -> Any:
    """The RDD of a DataFrame's Arrow batches, as bytes."""
    java = java_frame(frame)
    return java.toArrowBatchRdd(java.queryExecution().executedPlan())


def arrow_batches(frame: DataFrame) -> Any:
    """The same, with an error of ours if Spark cannot run it."""
    try:
        return batches_of(frame)
    except Py4JError as error:
        raise HeadraceError(f"Spark cannot read the DataFrame: {spark_failure(error)}") from None


def arrow_schema_of(frame: DataFrame) -> bytes:
    """The schema of those batches, which they do not carry themselves."""
    return arrow_schema_of_type(frame.schema)


def arrow_schema_of_type(columns: StructType) -> bytes:
    """The schema of batches with some columns."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if not isinstance(columns, StructType):
        raise FunctionTypeError(f"the columns of files must be a StructType, not {columns!r}")
    # Whether a column may hold nulls differs from file to file.
    nullable = StructType([StructField(f.name, f.dataType, True) for f in columns])
    schema: bytes = to_arrow_schema(nullable, timezone="UTC").serialize().to_pybytes()
    return schema


def fed_partitions(run: EpochRun) -> dict[int, list[FedSplit]]:
    """The splits of an epoch that Spark reads, by partition of the first level."""
    fed: dict[int, list[FedSplit]] = {}
    for number, partition in enumerate(run.levels[0]):
        splits = run.splits.get((VertexId(partition.vertex), partition.subtask), ())
        chosen = [split for split in splits if isinstance(split, FedSplit)]
        if chosen:
            fed[number] = chosen
    return fed


def payloads_of(context: SparkContext, fed: dict[int, list[FedSplit]], count: int) -> RDD[Any]:
    """The input of the first level: nothing, but for the partitions that are fed."""
    if not fed:
        return context.parallelize(range(count), count)
    parts = [
        _payloads(fed[number]) if number in fed else nothing(context) for number in range(count)
    ]
    united = parts[0]
    for part in parts[1:]:
        united = united.union(part)
    return RDD(united, context, NoOpSerializer())


def _payloads(splits: list[FedSplit]) -> Any:
    feed = splits[0].feed
    if feed is None:
        raise HeadraceError(f"{splits[0]!r} belongs to a program that has ended")
    return feed.payloads([split.part for split in splits])


def nothing(context: SparkContext) -> Any:
    """A JavaRDD with one partition, which is empty."""
    empty: RDD[Any] = context.parallelize([], 1)
    return java_rdd(empty)


def spark_failure(error: Exception) -> str:
    """What Spark says, without the traces of Java and of its Python workers."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    if reason := _REASON.search(text):
        return reason[1]
    _, found, trace = text.partition("Traceback (most recent call last):")
    raised = _RAISED.search(trace) if found else None
    if raised:
        said = raised[0].strip()
    elif no_worker := _NO_WORKER.search(text):
        said = no_worker[1]
    else:
        said = _LOST_TASK.sub("", text.partition("\n")[0])
    said = said.removeprefix(f"{HeadraceError.__module__}.HeadraceError: ")[:500]
    return next((f"{why} ({said})" for mark, why in _SHORTAGES if mark in said), said)
