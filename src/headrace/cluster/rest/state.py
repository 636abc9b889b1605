"""Queryable state of running jobs, by key."""

from __future__ import annotations

import base64
import pickle

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.client.jobs import literal
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import Cluster, Endpoint, Query
from headrace.cluster.rest.reading import is_plain, job_of

__all__ = ["endpoints"]

_SHOWN = {
    "type": "object",
    "properties": {"kind": {"type": "string"}, "value": {"type": "string"}},
    "required": ["kind", "value"],
}


class _States:
    def __init__(self, cluster: Cluster) -> None:
        self._jobs = cluster.dispatcher

    def query(self, request: Request) -> Response:
        given = request.query_params.get("key")
        if given is None or not is_plain(given):
            raise HTTPException(400, "key is missing, or is not a text")
        # A literal or a text: what a client sends is never unpickled.
        key = given if request.query_params.get("text") == "true" else literal(given)
        answer = self._jobs.perform(
            job_of(request),
            "query",
            name=request.path_params["name"],
            key=base64.b64encode(pickle.dumps(key)).decode(),
        )
        return Answer({"kind": answer["kind"], "value": answer["text"]})


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about queryable state."""
    return [
        Endpoint(
            "/jobs/{job}/state/{name}",
            _States(cluster).query,
            "The state of a key, by the queryable name of the state",
            query=(
                Query("key", "the key: a Python literal, or else text"),
                Query("text", "take the key as text", {"type": "boolean"}),
            ),
            schema=_SHOWN,
        )
    ]
