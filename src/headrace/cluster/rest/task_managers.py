"""Task managers: Spark's executors, and the slots beside them."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from headrace.cluster.rest.endpoints import TEXT, Cluster, Endpoint

__all__ = ["endpoints"]


class _TaskManagers:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def all(self, request: Request) -> Response:
        managers = self._cluster.executors.all()
        shown = [{k: v for k, v in m.items() if k != "allocatedSlots"} for m in managers]
        return JSONResponse({"taskmanagers": shown})

    def one(self, request: Request) -> Response:
        return JSONResponse(self._one(request))

    def logs(self, request: Request) -> Response:
        slots = self._one(request)["allocatedSlots"]
        jobs = sorted({slot["jobId"] for slot in slots})
        return JSONResponse(
            {"logs": [{"name": f"{job}.log", "size": 0, "mtime": 0} for job in jobs]}
        )

    def log(self, request: Request) -> Response:
        """What slots write goes to the log of their job."""
        slots = self._one(request)["allocatedSlots"]
        jobs = sorted({slot["jobId"] for slot in slots})
        return PlainTextResponse("".join(self._cluster.dispatcher.log(job) for job in jobs))

    def _one(self, request: Request) -> dict[str, Any]:
        name = request.path_params["manager"]
        found = self._cluster.executors.one(name)
        if found is None:
            raise HTTPException(404, f"no task manager {name!r}")
        return found


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about task managers."""
    managers, top = _TaskManagers(cluster), "/taskmanagers/{manager}"
    return [
        Endpoint("/taskmanagers", managers.all, "Executors and how many slots they have"),
        Endpoint(top, managers.one, "An executor with its slots"),
        Endpoint(f"{top}/logs", managers.logs, "Logs with what its slots wrote"),
        Endpoint(f"{top}/log", managers.log, "What its slots wrote", answers=TEXT),
        Endpoint(f"{top}/stdout", managers.log, "What its slots wrote", answers=TEXT),
    ]
