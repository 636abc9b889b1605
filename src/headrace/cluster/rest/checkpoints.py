"""Checkpoints of a job: history, configuration, details."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import Cluster, Endpoint
from headrace.cluster.rest.reading import job_of
from headrace.coordination.bodies.checkpoints import CheckpointDetails

__all__ = ["endpoints"]


class _Checkpoints:
    def __init__(self, cluster: Cluster) -> None:
        self._jobs = cluster.dispatcher

    def all(self, request: Request) -> Response:
        return Answer(self._jobs.details(job_of(request), "checkpoints"))

    def config(self, request: Request) -> Response:
        found = self._jobs.details(job_of(request), "checkpoint_config")
        if found is None:
            raise HTTPException(404, "the job takes no checkpoints")
        return Answer(found)

    def details(self, request: Request) -> Response:
        return Answer(self._one(request).checkpoint)

    def subtasks(self, request: Request) -> Response:
        found = self._one(request).vertices.get(request.path_params["vertex"])
        if found is None:
            raise HTTPException(404, f"the job has no vertex {request.path_params['vertex']!r}")
        return Answer(found)

    def _one(self, request: Request) -> CheckpointDetails:
        number = request.path_params["checkpoint"]
        known: dict[str, CheckpointDetails] = self._jobs.details(
            job_of(request), "checkpoint_details"
        )
        if number not in known:
            raise HTTPException(404, f"nothing is known of checkpoint {number!r}")
        return known[number]


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
