"""The description of the interface: `/openapi.json`, and a page for people at `/docs`."""

from __future__ import annotations

import html
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import JSON, Endpoint
from headrace.version import __version__

__all__ = ["description_of", "endpoints"]

_PARAMETER = re.compile(r"{(\w+)}")
_SEGMENT = {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$"}
_ERROR = {
    "type": "object",
    "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
    "required": ["errors"],
}
_REFUSALS = {
    "400": "The request is wrong; `errors` says how.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page of another site.",
    "404": "There is no such thing.",
    "409": "It cannot be done now; `errors` says why.",
    "413": "The request is too large.",
}


_TITLE = "headrace JobManager"
_ABOUT = "Flink's REST interface, and what headrace adds to it. All paths also exist below `/v1`."


def description_of(
    described: list[Endpoint], title: str = _TITLE, about: str = _ABOUT
) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in described:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "description": about,
        },
        "paths": paths,
        "components": {
            "schemas": {"Errors": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _SEGMENT}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    parameters += [
        {"name": q.name, "in": "query", "description": q.about, "schema": q.schema}
        for q in endpoint.query
    ]
    schema = endpoint.schema if endpoint.answers == JSON else {"type": "string"}
    refused = {JSON: {"schema": {"$ref": "#/components/schemas/Errors"}}}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": _name(endpoint),
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {
                "description": endpoint.summary,
                "content": {endpoint.answers: {"schema": schema}},
            },
            **{code: {"description": d, "content": refused} for code, d in _REFUSALS.items()},
        },
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"content": {JSON: {"schema": endpoint.body}}}
    if endpoint.upload:
        file = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
        file["required"] = ["file"]
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": file}}}
    return operation


def _name(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", endpoint.path)
    return "_".join([endpoint.method.lower(), *words])


def _page(document: dict[str, Any]) -> str:
    """A page without scripts: it works offline and under any policy."""
    parts = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            rows = "".join(_row(p) for p in operation["parameters"])
            table = f"<table>{rows}</table>" if rows else ""
            parts.append(
                f"<section><h2><b>{method.upper()}</b> <code>{html.escape(path)}</code></h2>"
                f"<p>{html.escape(operation['summary'])}</p>{table}</section>"
            )
    return _HTML.format(version=html.escape(__version__), parts="".join(parts))


def _row(parameter: dict[str, Any]) -> str:
    about = html.escape(parameter.get("description", "in the path"))
    return f"<tr><td><code>{html.escape(parameter['name'])}</code></td><td>{about}</td></tr>"


_HTML = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>headrace REST interface</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: auto; padding: 1rem }}
h2 {{ font-size: 1rem; margin: 1.5rem 0 0 }}
p, table {{ margin: .2rem 0 0 1rem }}
td {{ padding-right: 1rem; vertical-align: top }}
</style>
<h1>headrace {version}: REST interface</h1>
<p>Flink's paths and JSON, and what headrace adds. For programs:
<a href="openapi.json">openapi.json</a>.</p>
{parts}
</html>
"""


def endpoints(
    described: list[Endpoint], title: str = _TITLE, about: str = _ABOUT
) -> list[Endpoint]:
    """The description and the page."""
    document = description_of(described, title, about)
    page = _page(document)

    def answer(request: Request) -> Response:
        return Answer(document)

    def show(request: Request) -> Response:
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(page, headers=policy)

    return [
        Endpoint("/openapi.json", answer, "This description"),
        Endpoint("/docs", show, "This description for people", answers="text/html"),
    ]
