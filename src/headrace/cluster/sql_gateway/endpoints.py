"""The endpoints of the SQL gateway, with Flink's paths and JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.cluster.rest.endpoints import JSON, Endpoint, Query
from headrace.cluster.rest.reading import body_of
from headrace.cluster.sql_gateway.operation import Operation, OperationResult
from headrace.cluster.sql_gateway.result_json import PLAIN_TEXT, ROW_FORMATS, results_json
from headrace.cluster.sql_gateway.sessions import GatewaySession, Sessions
from headrace.sql.catalog.manager import quoted, text_literal
from headrace.version import __version__

__all__ = ["VERSIONS", "endpoints"]

VERSIONS = ("v1", "v2", "v3", "v4")
"""Of Flink's interface; each is there below a prefix of its own."""

_MOST_MS = 10**12
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_MILLIS = {"type": ["integer", "null"], "minimum": 0, "maximum": _MOST_MS}
_OPEN = {"type": "object", "properties": {"sessionName": _TEXT, "properties": _TEXTS}}
_STATEMENT = {
    "type": "object",
    "properties": {"statement": _TEXT, "executionTimeout": _MILLIS, "executionConfig": _TEXTS},
    "required": ["statement"],
}
_CONFIGURE = {
    "type": "object",
    "properties": {"statement": _TEXT, "executionTimeout": _MILLIS},
    "required": ["statement"],
}
_COMPLETE = {
    "type": "object",
    "properties": {"statement": _TEXT, "position": {"type": "integer", "minimum": 0}},
    "required": ["statement", "position"],
}
_REFRESH = {
    "type": "object",
    "properties": {
        "isPeriodic": {"type": "boolean"},
        "dynamicOptions": _TEXTS,
        "staticPartitions": _TEXTS,
        "executionConfig": _TEXTS,
    },
}


class _Gateway:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def info(self, request: Request) -> Response:
        return JSONResponse({"productName": "headrace", "version": __version__})

    def versions(self, request: Request) -> Response:
        return JSONResponse({"versions": [version.upper() for version in VERSIONS]})

    # Sessions.

    async def open(self, request: Request) -> Response:
        body = await body_of(request)
        name = body.get("sessionName")
        if name is not None and not isinstance(name, str):
            raise HTTPException(400, f"sessionName must be a string, not {name!r}")
        properties = _texts_of(body, "properties")
        session = await run_in_threadpool(self._sessions.open, name, properties)
        return JSONResponse({"sessionHandle": session.handle})

    def settings(self, request: Request) -> Response:
        return JSONResponse({"properties": self._session(request).settings()})

    def close(self, request: Request) -> Response:
        self._sessions.close(request.path_params["session_handle"])
        return JSONResponse({"status": "CLOSED"})

    def heartbeat(self, request: Request) -> Response:
        self._session(request)
        return JSONResponse({})

    async def configure(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        await run_in_threadpool(session.configure, _statement_of(body), _timeout_of(body))
        return JSONResponse({})

    async def complete(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        position = body.get("position")
        if type(position) is not int or position < 0:
            raise HTTPException(400, f"position must be a number from 0, not {position!r}")
        found = await run_in_threadpool(session.complete, _statement_of(body), position)
        return JSONResponse({"candidates": found})

    # Operations.

    async def execute(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        settings = _texts_of(body, "executionConfig")
        operation = session.execute(_statement_of(body), settings, _timeout_of(body))
        return JSONResponse({"operationHandle": operation.handle})

    async def refresh(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        if body.get("isPeriodic") or _texts_of(body, "dynamicOptions"):
            raise HTTPException(501, _SCHEDULES)
        partition = _texts_of(body, "staticPartitions")
        values = ", ".join(f"{quoted([k])} = {text_literal(v)}" for k, v in partition.items())
        text = f"ALTER MATERIALIZED TABLE {request.path_params['identifier']} REFRESH" + (
            f" PARTITION ({values})" if values else ""
        )
        operation = session.execute(text, _texts_of(body, "executionConfig"))
        return JSONResponse({"operationHandle": operation.handle})

    def status(self, request: Request) -> Response:
        return JSONResponse({"status": self._operation(request).status.value})

    def cancel(self, request: Request) -> Response:
        return JSONResponse({"status": self._operation(request).cancel().value})

    def close_operation(self, request: Request) -> Response:
        self._session(request).close_operation(request.path_params["operation_handle"])
        return JSONResponse({"status": "CLOSED"})

    def result(self, request: Request) -> Response:
        operation = self._operation(request)
        row_format = request.query_params.get("rowFormat", "JSON").upper()
        if row_format not in ROW_FORMATS:
            raise HTTPException(400, f"rowFormat must be one of {', '.join(ROW_FORMATS)}")
        token = request.path_params["token"]
        if not token.isdecimal() or len(token) > 18:
            raise HTTPException(400, f"the token must be a number from 0, not {token!r}")
        result = operation.result()
        if result is None:
            return JSONResponse({"resultType": "NOT_READY", "nextResultUri": request.url.path})
        text = _page_json(request, operation, result, int(token), row_format)
        return Response(text, media_type=JSON)

    def _session(self, request: Request) -> GatewaySession:
        return self._sessions.get(request.path_params["session_handle"])

    def _operation(self, request: Request) -> Operation:
        return self._session(request).operation(request.path_params["operation_handle"])


def _page_json(
    request: Request, operation: Operation, result: OperationResult, token: int, row_format: str
) -> str:
    rows, following = operation.page(token)
    head: dict[str, Any] = {
        "resultType": "EOS" if following is None else "PAYLOAD",
        "isQueryResult": result.is_query,
    }
    if result.job_id is not None:
        head["jobID"] = result.job_id
    success = not result.has_content
    head["resultKind"] = "SUCCESS" if success else "SUCCESS_WITH_CONTENT"
    if following is not None:
        version = request.scope.get("root_path") or f"/{VERSIONS[-1]}"
        session, handle = request.path_params["session_handle"], operation.handle
        head["nextResultUri"] = (
            f"{version}/sessions/{session}/operations/{handle}/result/{following}"
            f"?rowFormat={row_format}"
        )
    results = results_json(result.schema, rows, row_format, result.zone)
    return f'{json.dumps(head)[:-1]},"results":{results}}}'


def _statement_of(body: dict[str, Any]) -> str:
    statement = body.get("statement")
    if not isinstance(statement, str):
        raise HTTPException(400, f"statement must be a string, not {statement!r}")
    return statement


def _timeout_of(body: dict[str, Any]) -> float:
    """Seconds; 0 for none."""
    timeout = body.get("executionTimeout") or 0
    if type(timeout) is not int or not 0 <= timeout <= _MOST_MS:
        raise HTTPException(
            400, f"executionTimeout must be a number of milliseconds, not {timeout!r}"
        )
    return timeout / 1000


def _texts_of(body: dict[str, Any], name: str) -> dict[str, str]:
    texts = body.get(name) or {}
    if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
        raise HTTPException(400, f"{name} must be a map of strings")
    return texts


_SESSION = "/sessions/{session_handle}"
_OPERATION = _SESSION + "/operations/{operation_handle}"
_SCHEDULES = "materialized tables are refreshed by the session that created or resumed them"
_SCHEDULER = "/workflow/embedded-scheduler"
_UNSUPPORTED = (
    ("POST", f"{_SCHEDULER}/create", _SCHEDULES),
    ("POST", f"{_SCHEDULER}/suspend", _SCHEDULES),
    ("POST", f"{_SCHEDULER}/resume", _SCHEDULES),
    ("DELETE", f"{_SCHEDULER}/delete", _SCHEDULES),
    (
        "POST",
        _SESSION + "/scripts",
        "scripts do not get their own cluster; run their statements in a session",
    ),
)
"""What Flink has and we have not, with the reason."""


def _unsupported(entry: tuple[str, str, str]) -> Endpoint:
    method, path, reason = entry

    def refuse(request: Request) -> Response:
        raise HTTPException(501, reason)

    return Endpoint(path, refuse, f"Refused: {reason}", method, status=501)


def endpoints(sessions: Sessions) -> list[Endpoint]:
    """All endpoints."""
    gateway = _Gateway(sessions)
    formats = {"type": "string", "enum": list(ROW_FORMATS)}
    row_format = Query("rowFormat", f"How values are written; {PLAIN_TEXT} is for people", formats)
    return [
        Endpoint("/info", gateway.info, "Name and version"),
        Endpoint("/api_versions", gateway.versions, "Versions of this interface"),
        Endpoint("/sessions", gateway.open, "Open a session", "POST", body=_OPEN),
        Endpoint(_SESSION, gateway.settings, "Settings of a session"),
        Endpoint(_SESSION, gateway.close, "Close a session; its INSERTs continue", "DELETE"),
        Endpoint(_SESSION + "/heartbeat", gateway.heartbeat, "Keep a session from idling", "POST"),
        Endpoint(
            _SESSION + "/configure-session",
            gateway.configure,
            "Run a statement that changes the session, and wait for it",
            "POST",
            body=_CONFIGURE,
        ),
        Endpoint(
            _SESSION + "/complete-statement",
            gateway.complete,
            "What may stand at a position of a statement",
            body=_COMPLETE,
        ),
        Endpoint(
            _SESSION + "/statements",
            gateway.execute,
            "Run a statement in the background",
            "POST",
            body=_STATEMENT,
        ),
        Endpoint(
            _SESSION + "/materialized-tables/{identifier}/refresh",
            gateway.refresh,
            "Refresh a materialized table in the background",
            "POST",
            body=_REFRESH,
        ),
        Endpoint(_OPERATION + "/status", gateway.status, "State of a statement"),
        Endpoint(_OPERATION + "/cancel", gateway.cancel, "Cancel a statement", "POST"),
        Endpoint(_OPERATION + "/close", gateway.close_operation, "Forget a statement", "DELETE"),
        Endpoint(
            _OPERATION + "/result/{token}",
            gateway.result,
            "Rows of a statement, page by page",
            query=(row_format,),
        ),
        *map(_unsupported, _UNSUPPORTED),
    ]
