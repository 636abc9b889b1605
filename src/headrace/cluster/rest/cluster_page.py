"""The cluster itself: overview, configuration, logs and threads of the JobManager, its end."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.manager.log_files import LocalLog
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import JOB_MANAGER_LOG, TEXT, Cluster, Endpoint
from headrace.cluster.rest.logs import PART, list_of_logs, part_of_log
from headrace.cluster.rest.thread_infos import thread_infos
from headrace.runtime.slot.thread_dump import thread_dump
from headrace.version import __version__

__all__ = ["endpoints"]

_ENDED = {"FINISHED": "jobs-finished", "CANCELED": "jobs-cancelled", "FAILED": "jobs-failed"}
_LIST = {"type": "array", "items": {"type": "object"}}


class _ClusterPage:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def overview(self, request: Request) -> Response:
        counts = {"jobs-running": 0, **dict.fromkeys(_ENDED.values(), 0)}
        for job in self._cluster.dispatcher.overview():
            counts[_ENDED.get(job.state, "jobs-running")] += 1
        managers = self._cluster.executors.all()
        return Answer(
            {
                "taskmanagers": len(managers),
                "slots-total": sum(m.slots_number for m in managers),
                "slots-available": sum(m.free_slots for m in managers),
                **counts,
                "flink-version": __version__,
                "flink-commit": "headrace",
            }
        )

    def config(self, request: Request) -> Response:
        return Answer(
            {
                "refresh-interval": 3000,
                "timezone-name": time.tzname[0],
                "timezone-offset": -time.timezone * 1000,
                "flink-version": __version__,
                "flink-revision": "headrace",
                "features": {
                    "web-submit": True,
                    "web-cancel": True,
                    "web-rescale": True,
                    "web-history": False,
                    "flame-graph": True,
                    "live-records": True,
                },
            }
        )

    def settings(self, request: Request) -> Response:
        known = self._cluster.configuration
        return Answer([{"key": k, "value": v} for k, v in sorted(known.items())])

    def environment(self, request: Request) -> Response:
        return Answer(
            {
                "version": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "spark": self._cluster.executors.spark_version,
                "directory": self._cluster.directory,
                "pid": os.getpid(),
                "classpath": [],
                "jvm": {"version": "", "arch": platform.machine(), "options": []},
            }
        )

    def logs(self, request: Request) -> Response:
        return list_of_logs(self._logs())

    def log(self, request: Request) -> Response:
        wanted = request.path_params.get("name", JOB_MANAGER_LOG)
        # Only what the list shows can be read: a name of a client is never a path.
        found = next((log for log in self._logs() if log.name == wanted), None)
        if found is None:
            raise HTTPException(404, f"there is no log {wanted!r}")
        return part_of_log(request, found)

    def _logs(self) -> list[LocalLog]:
        found = sorted(Path(self._cluster.directory).glob("*.log"))
        return [LocalLog(path.name, path) for path in found]

    def threads(self, request: Request) -> Response:
        return Answer({"threadInfos": thread_infos(thread_dump())})

    def shut_down(self, request: Request) -> Response:
        self._cluster.shut_down()
        return Answer({})


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about the cluster."""
    page = _ClusterPage(cluster)
    return [
        Endpoint("/overview", page.overview, "The cluster in a few figures"),
        Endpoint("/config", page.config, "What the dashboard has to know"),
        Endpoint("/jobmanager/config", page.settings, "Settings of the JobManager", schema=_LIST),
        Endpoint("/jobmanager/environment", page.environment, "Versions"),
        Endpoint("/jobmanager/logs", page.logs, "Logs of the JobManager"),
        Endpoint("/jobmanager/log", page.log, "The log", query=PART, answers=TEXT),
        Endpoint("/jobmanager/stdout", page.log, "The same", query=PART, answers=TEXT),
        Endpoint("/jobmanager/logs/{name}", page.log, "A log", query=PART, answers=TEXT),
        Endpoint("/jobmanager/thread-dump", page.threads, "What its threads are doing now"),
        Endpoint(
            "/cluster",
            page.shut_down,
            "End the JobManager; the next one resumes its jobs",
            "DELETE",
        ),
    ]
