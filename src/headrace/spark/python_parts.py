"""Parts of a query of Spark that run in its Python workers."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
from pyspark import SparkContext, TaskContext
from pyspark.sql import DataFrame

from headrace.datastream.connectors.spark_query import TaskPlace
from headrace.spark.session import is_this_process

__all__ = ["SplitReader", "StepInTask", "as_large", "this_python"]


class StepInTask:
    """A function of batches that knows which task it is in."""

    def __init__(self, function: Callable[..., Iterator[Any]], parallelism: int) -> None:
        # As for slots, so that what a program defines itself comes along.
        self._function = cloudpickle.dumps(function)
        self._parallelism = parallelism

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return pickle.loads(self._function)(batches, self._place())  # type: ignore[no-any-return]

    def _place(self) -> TaskPlace:
        task = TaskContext.get()
        assert task is not None
        return TaskPlace(task.partitionId(), self._parallelism, task.attemptNumber())


class SplitReader(StepInTask):
    """Reads the splits whose numbers come in."""

    def __init__(
        self, function: Callable[..., Iterator[Any]], splits: list[Any], parallelism: int
    ) -> None:
        super().__init__(function, parallelism)
        self._splits = [pickle.dumps(some) for some in splits]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        read = pickle.loads(self._function)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(pickle.loads(self._splits[number]), self._place())


def as_large(frame: DataFrame) -> DataFrame:
    """The same rows as something that Spark knows nothing of.

    It would take them for as few as the splits are, and send all of them to every task of a join.
    Where they turn out to be few, it finds that while the query runs.
    """
    session = frame.sparkSession
    rows = frame._jdf.queryExecution().toRdd()
    java: Any = session._jsparkSession
    return DataFrame(java.internalCreateDataFrame(rows, frame._jdf.schema(), False), session)


@contextlib.contextmanager
def this_python(context: SparkContext) -> Iterator[None]:
    """On this machine, functions get the interpreter of the program, as slots do.

    Spark's default is whatever `python3` is found first.
    """
    before = context.pythonExec
    if is_this_process(context.master or ""):
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before
