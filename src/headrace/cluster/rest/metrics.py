"""Metrics of jobs, vertices, subtasks, the JobManager and the task managers; Prometheus."""

from __future__ import annotations

import os
import resource
import threading
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from headrace.cluster.manager.bodies import TaskManager
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import TEXT, Cluster, Endpoint, Query
from headrace.cluster.rest.reading import job_of, list_of
from headrace.cluster.rest.vertices import subtask_at
from headrace.coordination.bodies.metrics import JobMetrics, SubtaskMetrics
from headrace.coordination.views.metric_names import aggregated, flat, selected, subtask_metrics
from headrace.coordination.views.prometheus import CONTENT_TYPE, prometheus_text

__all__ = ["endpoints"]


class _Metrics:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._jobs = cluster.dispatcher
        self._started = time.monotonic()

    def of_job(self, request: Request) -> Response:
        values = flat(self._tree(job_of(request)).job)
        return Answer(selected(values, list_of(request, "get")))

    def of_jobs(self, request: Request) -> Response:
        wanted = list_of(request, "jobs")
        trees = [t for t in self._trees() if wanted is None or t.id in wanted]
        return self._aggregated(request, [flat(t.job) for t in trees])

    def of_vertex(self, request: Request) -> Response:
        values = {
            f"{subtask.index}.{name}": value
            for subtask in self._subtasks(request)
            for name, value in subtask_metrics(subtask).items()
        }
        return Answer(selected(values, list_of(request, "get")))

    def of_subtasks(self, request: Request) -> Response:
        subtasks = self._subtasks(request)
        wanted = _indices(list_of(request, "subtasks"), len(subtasks))
        return self._aggregated(request, [subtask_metrics(subtasks[i]) for i in wanted])

    def of_subtask(self, request: Request) -> Response:
        values = subtask_metrics(subtask_at(self._subtasks(request), request))
        return Answer(selected(values, list_of(request, "get")))

    def of_job_manager(self, request: Request) -> Response:
        return Answer(selected(self._own(), list_of(request, "get")))

    def of_task_managers(self, request: Request) -> Response:
        managers = self._cluster.executors.all()
        return self._aggregated(request, [_manager_metrics(m) for m in managers])

    def of_task_manager(self, request: Request) -> Response:
        manager = self._cluster.executors.one(request.path_params["manager"])
        if manager is None:
            raise HTTPException(404, f"no task manager {request.path_params['manager']!r}")
        return Answer(selected(_manager_metrics(manager), list_of(request, "get")))

    def prometheus(self, request: Request) -> Response:
        text = prometheus_text(self._trees(), self._own())
        return PlainTextResponse(text, media_type=CONTENT_TYPE)

    def _aggregated(self, request: Request, parts: list[dict[str, Any]]) -> Response:
        how = list_of(request, "agg")
        return Answer(aggregated(parts, list_of(request, "get"), how))

    def _tree(self, job: str) -> JobMetrics:
        tree: JobMetrics = self._jobs.details(job, "metrics")
        return tree

    def _trees(self) -> list[JobMetrics]:
        return [self._tree(j.jid) for j in self._jobs.overview() if j.end_time < 0]

    def _subtasks(self, request: Request) -> tuple[SubtaskMetrics, ...]:
        vertex = request.path_params["vertex"]
        found = self._tree(job_of(request)).vertices.get(vertex)
        if found is None:
            raise HTTPException(404, f"the job has no vertex {vertex!r}")
        return found.subtasks

    def _own(self) -> dict[str, Any]:
        jobs = self._jobs.overview()
        managers = self._cluster.executors.all()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "numRunningJobs": sum(j.state == "RUNNING" for j in jobs),
            "numRegisteredTaskManagers": len(managers),
            "taskSlotsTotal": sum(m.slots_number for m in managers),
            "taskSlotsAvailable": sum(m.free_slots for m in managers),
            "Status.JVM.CPU.Time": int((usage.ru_utime + usage.ru_stime) * 1e9),
            "Status.JVM.CPU.Load": os.getloadavg()[0],
            "Status.JVM.Memory.Heap.Used": usage.ru_maxrss * 1024,
            "Status.JVM.Threads.Count": threading.active_count(),
            "uptime": int((time.monotonic() - self._started) * 1000),
        }


def _manager_metrics(manager: TaskManager) -> dict[str, Any]:
    return {
        "Status.Shuffle.Netty.UsedMemory": manager.memory_used,
        "Status.JVM.Memory.Heap.Max": manager.max_memory,
        "Status.JVM.Memory.Heap.Used": manager.memory_used,
        "taskSlotsTotal": manager.slots_number,
        "taskSlotsAvailable": manager.free_slots,
        "activeTasks": manager.active_tasks,
    }


def _indices(wanted: list[str] | None, count: int) -> list[int]:
    """Numbers and ranges, as `0,2-4`."""
    if wanted is None:
        return list(range(count))
    found: set[int] = set()
    for part in wanted:
        first, _, last = part.partition("-")
        if not all(p.isascii() and p.isdecimal() for p in (first, last or first)):
            raise HTTPException(400, f"subtasks are numbers and ranges such as 0,2-4, not {part!r}")
        found.update(range(int(first), min(int(last or first), count - 1) + 1))
    return sorted(i for i in found if i < count)


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about metrics."""
    metrics, vertex = _Metrics(cluster), "/jobs/{job}/vertices/{vertex}"
    get = Query("get", "names, separated by commas; without it all names are listed")
    how = Query("agg", "min, max, avg, sum, skew, separated by commas; all if not given")
    subtasks = Query("subtasks", "numbers and ranges such as 0,2-4")
    jobs = Query("jobs", "ids, separated by commas; all running jobs if not given")
    many = {"type": "array", "items": {"type": "object"}}

    def one(path: str, handle: Any, about: str, *query: Query) -> Endpoint:
        return Endpoint(path, handle, about, query=(get, *query), schema=many)

    return [
        # Before `/jobs/{job}`, which would take it for a job.
        one("/jobs/metrics", metrics.of_jobs, "Metrics over jobs", how, jobs),
        one("/jobs/{job}/metrics", metrics.of_job, "Metrics of a job"),
        one(f"{vertex}/metrics", metrics.of_vertex, "Metrics of a vertex, by subtask"),
        one(
            f"{vertex}/subtasks/metrics",
            metrics.of_subtasks,
            "Metrics over subtasks",
            how,
            subtasks,
        ),
        one(f"{vertex}/subtasks/{{subtask}}/metrics", metrics.of_subtask, "Metrics of a subtask"),
        one("/jobmanager/metrics", metrics.of_job_manager, "Metrics of the JobManager"),
        one("/taskmanagers/metrics", metrics.of_task_managers, "Metrics over task managers", how),
        one(
            "/taskmanagers/{manager}/metrics", metrics.of_task_manager, "Metrics of a task manager"
        ),
        Endpoint("/metrics", metrics.prometheus, "All metrics for Prometheus", answers=TEXT),
    ]
