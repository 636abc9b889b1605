"""What an endpoint is: a path, who answers, and its description for the OpenAPI page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.executors import Executors
from headrace.cluster.manager.programs import Programs

__all__ = ["ACCEPTED", "JOB_MANAGER_LOG", "JSON", "TEXT", "Cluster", "Endpoint", "Query"]

JSON = "application/json"
TEXT = "text/plain"
ACCEPTED = 202
JOB_MANAGER_LOG = "job-manager.log"

Handler = Callable[[Request], Response | Awaitable[Response]]


@dataclass(frozen=True)
class Cluster:
    """What the endpoints work on."""

    dispatcher: Dispatcher
    programs: Programs
    slots: int
    configuration: dict[str, str]
    shut_down: Callable[[], None]
    executors: Executors
    directory: str


@dataclass(frozen=True)
class Query:
    """A parameter after the question mark."""

    name: str
    about: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True)
class Endpoint:
    """One method of one path. Handlers that are not coroutines run on threads of their own."""

    path: str
    handle: Handler
    summary: str
    method: str = "GET"
    query: tuple[Query, ...] = ()
    body: dict[str, Any] | None = None
    upload: bool = False
    answers: str = JSON
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    status: int = 200

    def route(self) -> Route:
        """The route that serves it."""
        return Route(self.path, self.handle, methods=[self.method])
