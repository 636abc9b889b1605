"""The cluster itself: overview, configuration, logs of the JobManager, its end."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

import headrace
from headrace.cluster.rest.endpoints import TEXT, Cluster, Endpoint, Query
from headrace.cluster.rest.reading import number_of

__all__ = ["endpoints"]

_ENDED = {"FINISHED": "jobs-finished", "CANCELED": "jobs-cancelled", "FAILED": "jobs-failed"}
_TAIL = 4 << 20
_LOG = "job-manager.log"
_LIST = {"type": "array", "items": {"type": "object"}}


class _ClusterPage:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def overview(self, request: Request) -> Response:
        counts = {"jobs-running": 0, **dict.fromkeys(_ENDED.values(), 0)}
        for job in self._cluster.dispatcher.overview():
            counts[_ENDED.get(job["state"], "jobs-running")] += 1
        managers = self._cluster.executors.all()
        return JSONResponse(
            {
                "taskmanagers": len(managers),
                "slots-total": sum(m["slotsNumber"] for m in managers),
                "slots-available": sum(m["freeSlots"] for m in managers),
                **counts,
                "flink-version": headrace.__version__,
                "flink-commit": "headrace",
            }
        )

    def config(self, request: Request) -> Response:
        return JSONResponse(
            {
                "refresh-interval": 3000,
                "timezone-name": time.tzname[0],
                "timezone-offset": -time.timezone * 1000,
                "flink-version": headrace.__version__,
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
        return JSONResponse([{"key": k, "value": v} for k, v in sorted(known.items())])

    def environment(self, request: Request) -> Response:
        return JSONResponse(
            {
                "version": headrace.__version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "spark": self._cluster.executors.spark_version,
                "classpath": [],
                "jvm": {"version": "", "arch": platform.machine(), "options": []},
            }
        )

    def logs(self, request: Request) -> Response:
        found = sorted(Path(self._cluster.log_directory).glob("*.log"))
        return JSONResponse(
            {
                "logs": [
                    {
                        "name": p.name,
                        "size": (s := p.stat()).st_size,
                        "mtime": int(s.st_mtime * 1000),
                    }
                    for p in found
                ]
            }
        )

    def log(self, request: Request) -> Response:
        wanted = request.path_params.get("name", _LOG)
        # Only what the list shows can be read: a name of a client is never a path.
        paths = {p.name: p for p in Path(self._cluster.log_directory).glob("*.log")}
        if wanted not in paths:
            raise HTTPException(404, f"there is no log {wanted!r}")
        return PlainTextResponse(tail(paths[wanted], int(number_of(request, "offset", 0))))

    def shut_down(self, request: Request) -> Response:
        self._cluster.shut_down()
        return JSONResponse({})


def tail(path: Path, offset: int, most: int = _TAIL) -> str:
    """The last bytes of a file, from an offset on."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(min(offset, size), size - most))
        return file.read().decode(errors="replace")


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about the cluster."""
    page = _ClusterPage(cluster)
    offset = Query("offset", "skip so many bytes", {"type": "integer", "minimum": 0})
    return [
        Endpoint("/overview", page.overview, "The cluster in a few figures"),
        Endpoint("/config", page.config, "What the dashboard has to know"),
        Endpoint("/jobmanager/config", page.settings, "Settings of the JobManager", schema=_LIST),
        Endpoint("/jobmanager/environment", page.environment, "Versions"),
        Endpoint("/jobmanager/logs", page.logs, "Logs of the JobManager"),
        Endpoint("/jobmanager/log", page.log, "The log", query=(offset,), answers=TEXT),
        Endpoint("/jobmanager/stdout", page.log, "The same", query=(offset,), answers=TEXT),
        Endpoint("/jobmanager/logs/{name}", page.log, "A log", query=(offset,), answers=TEXT),
        Endpoint(
            "/cluster", page.shut_down, "End the JobManager; jobs go on with the next one", "DELETE"
        ),
    ]
