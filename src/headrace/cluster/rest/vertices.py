"""Vertices of a job: subtasks, back pressure, watermarks, flame graphs, live records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import Cluster, Endpoint, Query
from headrace.cluster.rest.reading import job_of, number_of
from headrace.coordination.bodies.vertices import VertexDetails

__all__ = ["endpoints", "subtask_at"]

T = TypeVar("T")

_KINDS = ("full", "on_cpu", "off_cpu")


class _Vertices:
    def __init__(self, cluster: Cluster) -> None:
        self._jobs = cluster.dispatcher
        self._executors = cluster.executors

    def part(self, name: str) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            return Answer(self._of_vertex(request, name))

        return answer

    def vertex(self, request: Request) -> Response:
        return Answer(self._placed(request))

    def subtask(self, request: Request) -> Response:
        return Answer(subtask_at(self._placed(request).subtasks, request))

    def _placed(self, request: Request) -> VertexDetails:
        """The vertex, with the task managers that have its subtasks: a job knows hosts only."""
        vertex: VertexDetails = self._of_vertex(request, "vertices")
        owners = {
            f"{slot.host}:{slot.pid}": manager.id
            for manager in self._executors.all()
            for slot in manager.allocated_slots or ()
        }
        subtasks = (
            replace(s, taskmanager_id=owners.get(s.endpoint, s.taskmanager_id))
            for s in vertex.subtasks
        )
        return replace(vertex, subtasks=tuple(subtasks))

    def flame_graph(self, request: Request) -> Response:
        kind = request.query_params.get("type", "full").lower()
        if kind not in _KINDS:
            raise HTTPException(400, f"type must be one of {', '.join(_KINDS)}, not {kind!r}")
        subtask = number_of(request, "subtaskindex", -1, least=-1, most=32768)
        found = self._jobs.perform(
            job_of(request),
            "flamegraph",
            vertex=request.path_params["vertex"],
            type=kind,
            subtask=None if subtask < 0 else int(subtask),
            refresh=request.query_params.get("refresh") == "true",
        )
        return Answer(found)

    def records(self, request: Request) -> Response:
        found = self._jobs.perform(
            job_of(request),
            "records",
            vertex=request.path_params["vertex"],
            operator=request.query_params.get("operator"),
            limit=int(number_of(request, "limit", 20, least=1, most=200)),
            wait=number_of(request, "wait", 2, most=10),
        )
        return Answer(found)

    def _of_vertex(self, request: Request, part: str) -> Any:
        vertex = request.path_params["vertex"]
        found = self._jobs.details(job_of(request), part).get(vertex)
        if found is None:
            raise HTTPException(404, f"the job has no vertex {vertex!r}")
        return found


def subtask_at(subtasks: Sequence[T], request: Request) -> T:
    """The subtask that the path means."""
    index: str = request.path_params["subtask"]
    if not (index.isascii() and index.isdecimal()) or int(index) >= len(subtasks):
        raise HTTPException(404, f"the vertex has no subtask {index!r}")
    return subtasks[int(index)]


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about vertices."""
    vertices, top = _Vertices(cluster), "/jobs/{job}/vertices/{vertex}"
    many = {"type": "array", "items": {"type": "object"}}
    return [
        Endpoint(top, vertices.vertex, "A vertex with its subtasks"),
        Endpoint(f"{top}/subtasks/{{subtask}}", vertices.subtask, "A subtask"),
        Endpoint(f"{top}/backpressure", vertices.part("backpressure"), "Who waits for whom"),
        Endpoint(
            f"{top}/watermarks",
            vertices.part("vertex_watermarks"),
            "Watermarks of the subtasks",
            schema=many,
        ),
        Endpoint(
            f"{top}/flamegraph",
            vertices.flame_graph,
            "What the subtasks are doing; the first call starts sampling, ask again for the result",
            query=(
                Query("type", "which samples", {"type": "string", "enum": list(_KINDS)}),
                Query("subtaskindex", "only of this one", {"type": "integer", "minimum": 0}),
                Query("refresh", "sample anew", {"type": "boolean"}),
            ),
        ),
        Endpoint(
            f"{top}/records",
            vertices.records,
            "The next records that leave an operator",
            query=(
                Query("operator", "id of the operator; the last one of the chain if not given"),
                Query(
                    "limit", "at most this many", {"type": "integer", "minimum": 1, "maximum": 200}
                ),
                Query(
                    "wait", "for this many seconds", {"type": "number", "minimum": 0, "maximum": 10}
                ),
            ),
        ),
    ]
