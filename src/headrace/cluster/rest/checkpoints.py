"""Checkpoints of a job: history, configuration, details."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.cluster.rest.endpoints import Cluster, Endpoint
from headrace.cluster.rest.reading import job_of

__all__ = ["endpoints"]


class _Checkpoints:
    def __init__(self, cluster: Cluster) -> None:
        self._jobs = cluster.dispatcher

    def all(self, request: Request) -> Response:
        return JSONResponse(self._jobs.details(job_of(request), "checkpoints"))

    def config(self, request: Request) -> Response:
        found = self._jobs.details(job_of(request), "checkpoint-config")
        if not found:
            raise HTTPException(404, "the job takes no checkpoints")
        return JSONResponse(found)

    def details(self, request: Request) -> Response:
        return JSONResponse(self._one(request)["checkpoint"])

    def subtasks(self, request: Request) -> Response:
        found = self._one(request)["vertices"].get(request.path_params["vertex"])
        if found is None:
            raise HTTPException(404, f"the job has no vertex {request.path_params['vertex']!r}")
        return JSONResponse(found)

    def _one(self, request: Request) -> Any:
        number = request.path_params["checkpoint"]
        found = self._jobs.details(job_of(request), "checkpoint-details").get(number)
        if found is None:
            raise HTTPException(404, f"nothing is known of checkpoint {number!r}")
        return found


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about checkpoints."""
    checkpoints, top = _Checkpoints(cluster), "/jobs/{job}/checkpoints"
    one = f"{top}/details/{{checkpoint}}"
    return [
        Endpoint(top, checkpoints.all, "Counts, the latest checkpoints and the history"),
        Endpoint(f"{top}/config", checkpoints.config, "How checkpoints are taken"),
        Endpoint(one, checkpoints.details, "A checkpoint, by vertex"),
        Endpoint(f"{one}/subtasks/{{vertex}}", checkpoints.subtasks, "A checkpoint, by subtask"),
    ]
