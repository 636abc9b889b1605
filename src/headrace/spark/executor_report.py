"""What Spark knows of its executors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from headrace.spark.jvm import executors

__all__ = ["ExecutorReport", "executors_of"]


@dataclass(frozen=True)
class ExecutorReport:
    """An executor: its place, its cores, its memory in bytes, and how many tasks it runs.

    Attributes:
        log_urls: Where Spark shows what the executor wrote, by the name of the file.
    """

    id: str
    address: str
    cores: int
    max_memory: int
    memory_used: int
    active_tasks: int
    log_urls: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """The host without its port."""
        return self.address.rsplit(":", 1)[0]


def executors_of(context: SparkContext) -> list[ExecutorReport]:
    """The executors that are there now; on one machine the driver is the executor."""
    try:
        known = executors(context)
        reports = [
            ExecutorReport(
                e.id(),
                e.hostPort(),
                e.totalCores(),
                e.maxMemory(),
                e.memoryUsed(),
                e.activeTasks(),
                _urls(e.executorLogs()),
            )
            for e in known
        ]
    except Py4JError:
        return []
    others = [r for r in reports if r.id != "driver"]
    # A local Spark has room for the tasks of live jobs beside what it was told to have.
    here = [replace(r, cores=min(r.cores, context.defaultParallelism)) for r in reports]
    return others or here


def _urls(logs: Any) -> dict[str, str]:
    entries = logs.toSeq()
    pairs = [entries.apply(i) for i in range(entries.size())]
    return {str(pair._1()): str(pair._2()) for pair in pairs}
