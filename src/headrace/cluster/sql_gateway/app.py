"""The application of the gateway: its endpoints with all prefixes, behind the guard."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount

from headrace.cluster.rest import openapi
from headrace.cluster.rest.guard import Guard, GuardSettings
from headrace.cluster.sql_gateway.endpoints import VERSIONS, endpoints
from headrace.cluster.sql_gateway.sessions import Sessions, UnknownSessionError
from headrace.common.errors import ConfigurationError, HeadraceError, JobExecutionError, SqlError

__all__ = ["create_app"]

_TITLE = "headrace SQL gateway"
_ABOUT = "Flink's REST interface of its SQL gateway. All paths exist below `/v1` to `/v4`."


async def _refused(request: Request, error: Exception) -> Response:
    code = 500
    if isinstance(error, HTTPException):
        return JSONResponse({"errors": [str(error.detail)]}, error.status_code, error.headers)
    if isinstance(error, UnknownSessionError):
        code = 404
    elif isinstance(error, ConfigurationError | SqlError):
        code = 400
    elif isinstance(error, HeadraceError) and not isinstance(error, JobExecutionError):
        code = 409
    return JSONResponse({"errors": [str(error)]}, code)


def create_app(sessions: Sessions, guard: GuardSettings) -> Starlette:
    """The application."""
    described = endpoints(sessions)
    routes = [e.route() for e in (*described, *openapi.endpoints(described, _TITLE, _ABOUT))]
    versions: list[BaseRoute] = [Mount(f"/{version}", routes=routes) for version in VERSIONS]
    app = Starlette(
        routes=[*versions, *routes],
        middleware=[Middleware(Guard, settings=guard)],
        exception_handlers={Exception: _refused, HeadraceError: _refused, HTTPException: _refused},
    )
    # A path is what it is: one with a slash too many is not found.
    app.router.redirect_slashes = False
    return app
