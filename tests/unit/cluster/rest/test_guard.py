"""Requests that the REST server refuses before anybody sees them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from starlette.middleware.exceptions import ExceptionMiddleware

from headrace.cluster.manager.job_manager import JobManager
from headrace.cluster.rest.guard import Guard, GuardSettings
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError

LOCAL = GuardSettings(("127.0.0.1", "localhost"), None, 100)
TOKEN = GuardSettings((), "secret", 100)


def status(
    settings: GuardSettings, method: str = "GET", body: bytes | None = b"", **headers: str
) -> int:
    """The status of the answer."""
    answered: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        if body is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answered.append(message["status"])

    named = {"host": "localhost:8081", **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": "/jobs",
        "headers": [(k.encode(), v.encode()) for k, v in named.items()],
    }
    # Starlette's exceptions become answers outside of the application and inside of the guard.
    asyncio.run(Guard(ExceptionMiddleware(app), settings)(scope, receive, send))
    return answered[0]


def test_only_the_own_host_name_is_served() -> None:
    assert status(LOCAL) == 200
    assert status(LOCAL, host="127.0.0.1:8081") == 200
    assert status(LOCAL, host="evil.example:8081") == 403


def test_a_foreign_page_changes_nothing() -> None:
    assert status(LOCAL, "POST") == 200
    assert status(LOCAL, "POST", origin="http://localhost:8081") == 200
    assert status(LOCAL, "POST", origin="http://evil.example") == 403
    assert status(LOCAL, "PATCH", origin="null") == 403
    assert status(LOCAL, "DELETE", sec_fetch_site="cross-site") == 403


def test_a_token_is_asked_for_where_there_is_one() -> None:
    assert status(TOKEN) == 401
    assert status(TOKEN, authorization="Bearer wrong") == 401
    assert status(TOKEN, authorization="Bearer secret") == 200


def test_large_requests_are_cut_off() -> None:
    assert status(LOCAL, "POST", content_length="101") == 413
    assert status(LOCAL, "POST", content_length="many") == 413
    assert status(LOCAL, "POST", body=b"x" * 101) == 413


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    assert status(replace(LOCAL, patience_s=0.01), "POST", body=None, content_length="5") == 408


def test_an_open_address_needs_token_and_certificate(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_all = Configuration.from_dict({"rest.bind-address": "0.0.0.0"})
    monkeypatch.delenv("HEADRACE_CLUSTER_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="HEADRACE_CLUSTER_TOKEN"):
        JobManager(tmp_path, open_to_all)
    monkeypatch.setenv("HEADRACE_CLUSTER_TOKEN", "secret")
    with pytest.raises(ConfigurationError, match=r"security\.ssl\.rest\.certificate"):
        JobManager(tmp_path, open_to_all)
