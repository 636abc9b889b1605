"""The slot report: Spark's executors as Flink's task managers, with the slots beside them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.cluster.manager.bodies import AllocatedSlot, Hardware, Resource, TaskManager
from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.log_files import WorkerLog

if TYPE_CHECKING:
    from headrace.spark.executor_report import ExecutorReport

__all__ = ["Executors"]

_FRESH_S = 1.0
_MB = 1 << 20


class Executors:
    """Asks Spark and the jobs, at most once a second."""

    def __init__(
        self,
        report: Callable[[], list[ExecutorReport]],
        dispatcher: Dispatcher,
        spark_version: str,
    ) -> None:
        self._report = report
        self._dispatcher = dispatcher
        self.spark_version = spark_version
        self._lock = threading.Lock()
        self._known: list[TaskManager] = []
        self._log_urls: dict[str, dict[str, str]] = {}
        self._asked = float("-inf")

    def all(self) -> list[TaskManager]:
        """Every executor with its slots."""
        with self._lock:
            if time.monotonic() - self._asked > _FRESH_S:
                self._known = self._now()
                self._asked = time.monotonic()
            return self._known

    def one(self, name: str) -> TaskManager | None:
        """The executor of that id."""
        return next((m for m in self.all() if m.id == name), None)

    def own_logs(self, name: str) -> list[WorkerLog]:
        """What an executor itself writes, where a worker of Spark shows it."""
        urls = self._log_urls.get(name, {})
        return [WorkerLog(n, url) for n, url in sorted(urls.items()) if WorkerLog.served_at(url)]

    def _now(self) -> list[TaskManager]:
        executors = self._report()
        self._log_urls = {e.id: e.log_urls for e in executors}
        slots = self._dispatcher.slots()
        placed: dict[str, list[AllocatedSlot]] = {e.id: [] for e in executors}
        for slot in slots:
            near = [e for e in executors if e.host == slot.host] or executors
            if near:
                # Of several executors on a host each has its share, as Spark spreads tasks.
                fewest = min(near, key=lambda e: len(placed[e.id]))
                placed[fewest.id].append(slot)
        return [_described(e, placed[e.id]) for e in executors]


def _described(executor: ExecutorReport, slots: list[AllocatedSlot]) -> TaskManager:
    free = max(executor.cores - len(slots), 0)
    free_memory = executor.max_memory - executor.memory_used
    physical_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return TaskManager(
        id=executor.id,
        path=executor.address,
        time_since_last_heartbeat=int(time.time() * 1000),
        slots_number=executor.cores,
        free_slots=free,
        total_resource=Resource(float(executor.cores), executor.max_memory // _MB),
        free_resource=Resource(float(free), free_memory // _MB),
        hardware=Hardware(executor.cores, physical_memory, free_memory),
        host=executor.host,
        active_tasks=executor.active_tasks,
        max_memory=executor.max_memory,
        memory_used=executor.memory_used,
        allocated_slots=tuple(slots),
    )
