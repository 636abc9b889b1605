"""The application: all endpoints, with and without `/v1`, behind the guard."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount

from headrace.cluster.manager.programs import UnknownProgramError
from headrace.cluster.rest import (
    checkpoints,
    cluster_page,
    jobs,
    metrics,
    openapi,
    programs,
    state,
    task_managers,
    vertices,
)
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.dashboard import dashboard_routes
from headrace.cluster.rest.endpoints import Cluster, Endpoint
from headrace.cluster.rest.guard import Guard, GuardSettings
from headrace.cluster.rest.operations import UnknownOperationError
from headrace.common.errors import (
    ConfigurationError,
    HeadraceError,
    UnknownJobError,
    UnknownKeyError,
    UnknownStateError,
    UnknownVertexError,
)

__all__ = ["Cluster", "all_endpoints", "create_app"]

_UNKNOWN = (
    UnknownJobError,
    UnknownKeyError,
    UnknownOperationError,
    UnknownProgramError,
    UnknownStateError,
    UnknownVertexError,
)


def all_endpoints(cluster: Cluster) -> list[Endpoint]:
    """Every endpoint once; of two that fit a path the first one answers."""
    return [
        *cluster_page.endpoints(cluster),
        *metrics.endpoints(cluster),
        *jobs.endpoints(cluster),
        *checkpoints.endpoints(cluster),
        *state.endpoints(cluster),
        *vertices.endpoints(cluster),
        *task_managers.endpoints(cluster),
        *programs.endpoints(cluster),
    ]


async def _refused(request: Request, error: Exception) -> Response:
    code = 500
    if isinstance(error, HTTPException):
        return Answer({"errors": [str(error.detail)]}, error.status_code, error.headers)
    if isinstance(error, _UNKNOWN):
        code = 404
    elif isinstance(error, ConfigurationError):
        code = 400
    elif isinstance(error, HeadraceError):
        code = 409
    return Answer({"errors": [str(error)]}, code)


def create_app(cluster: Cluster, guard: GuardSettings) -> Starlette:
    """The application."""
    described = all_endpoints(cluster)
    routes = [e.route() for e in (*described, *openapi.endpoints(described))]
    everywhere: list[BaseRoute] = [Mount("/v1", routes=routes), *routes, *dashboard_routes()]
    app = Starlette(
        routes=everywhere,
        middleware=[Middleware(Guard, settings=guard)],
        exception_handlers={HeadraceError: _refused, HTTPException: _refused},
    )
    # A path is what it is: one with a slash too many is not found.
    app.router.redirect_slashes = False
    return app
