"""Serves the dashboard: a few built files, read once, under a policy that trusts no other site."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["dashboard_routes", "is_dashboard_path"]

_FOLDER = "/dashboard/"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # The names of the files say nothing of their version: a browser asks, and mostly gets a 304.
    "Cache-Control": "no-cache",
}


def is_dashboard_path(path: str) -> bool:
    """Whether a path is the dashboard's, which holds no data and where a token can be entered."""
    return path == "/" or path.startswith(_FOLDER)


def dashboard_routes() -> list[Route]:
    """The page at `/` and its files."""
    return [Route("/", _page), Route(f"{_FOLDER}{{name}}", _file)]


def _page(request: Request) -> Response:
    return _answer(request, "index.html")


def _file(request: Request) -> Response:
    return _answer(request, request.path_params["name"])


def _answer(request: Request, name: str) -> Response:
    found = _files().get(name)
    if found is None:
        raise HTTPException(404, f"the dashboard has no file {name!r}")
    content, kind = found
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**_HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=kind)


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Content and type by name. A name that was asked for is never used as a path."""
    folder = resources.files("headrace.cluster") / "dashboard"
    return {
        file.name: (file.read_bytes(), kind)
        for file in folder.iterdir()
        if (kind := _TYPES.get(f".{file.name.rpartition('.')[2]}")) is not None
    }
