"""The built dashboard is that of the sources, and is served safely."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from headrace.cluster.rest.dashboard import dashboard_routes, is_dashboard_path

ROOT = Path(__file__).parents[4]
SOURCES = ROOT / "dashboard"
BUILT = ROOT / "src/headrace/cluster/dashboard"
PARTS = ("src", "public", "index.html", "package-lock.json", "tsconfig.json", "vite.config.ts")


def digests(root: Path, parts: tuple[str, ...]) -> dict[str, str]:
    found = [f for part in parts for f in (root / part, *(root / part).rglob("*")) if f.is_file()]
    return {f.relative_to(root).as_posix(): _digest(f) for f in found}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_built_files_are_those_of_the_sources() -> None:
    record = json.loads((BUILT / "build.json").read_text())
    names = tuple(f.name for f in BUILT.iterdir() if f.name != "build.json")
    advice = "the dashboard has changed: run `make dashboard` and commit what it builds"
    assert digests(SOURCES, PARTS) == record["sources"], advice
    assert digests(BUILT, names) == record["assets"], advice


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes


def get(path: str, **headers: str) -> Answer:
    """What the dashboard's routes answer; `path` is decoded, as a server hands it over."""
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }
    asyncio.run(Starlette(routes=dashboard_routes())(scope, receive, send))
    start, body = messages
    return Answer(
        start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, body["body"]
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/dashboard/app.js", "text/javascript; charset=utf-8"),
        ("/dashboard/index.css", "text/css; charset=utf-8"),
        ("/dashboard/icon.svg", "image/svg+xml"),
    ],
)
def test_files_have_their_type_and_a_policy(path: str, kind: str) -> None:
    answer = get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_file_that_a_browser_has_is_not_sent_again() -> None:
    tag = get("/dashboard/app.js").headers["etag"]
    again = get("/dashboard/app.js", if_none_match=tag)
    assert (again.status, again.content) == (304, b"")


@pytest.mark.parametrize(
    "name", ["build.json", "../cli.py", "..%2fcli.py", "none.js", "src/x", "", "."]
)
def test_nothing_else_is_served(name: str) -> None:
    assert get(f"/dashboard/{name}").status == 404


def test_the_page_needs_nothing_from_elsewhere() -> None:
    for file in BUILT.iterdir():
        text = file.read_text().replace("http://www.w3.org/", "")
        assert "http://" not in text, file.name
        assert "https://" not in text, file.name


def test_only_the_dashboard_is_open_without_a_token() -> None:
    assert is_dashboard_path("/")
    assert is_dashboard_path("/dashboard/app.js")
    assert not is_dashboard_path("/jobs")
    assert not is_dashboard_path("/v1/overview")
