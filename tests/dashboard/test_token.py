"""A JobManager that asks for a token lets its dashboard ask for it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.dashboard.conftest import Visitor

# The first test of all may have to install a browser, or the packages of the build.
pytestmark = pytest.mark.timeout(900)

TOKEN = "correct horse"
FIRST_PAGE = ("/config", "/overview", "/jobs/overview")


@pytest.fixture
def server() -> Iterator[str]:
    """The guard before the dashboard and the three paths that its first page asks for."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from headrace.cluster.rest.dashboard import dashboard_routes
    from headrace.cluster.rest.guard import Guard, GuardSettings

    def answer(request: Request) -> JSONResponse:
        return JSONResponse({"jobs": [], "features": {}})

    app = Starlette(
        routes=[*(Route(p, answer) for p in FIRST_PAGE), *dashboard_routes()],
        middleware=[Middleware(Guard, settings=GuardSettings(("127.0.0.1",), TOKEN, 1 << 20))],
    )
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join()


def test_the_token_can_be_entered(open_page: Callable[..., Visitor], server: str) -> None:
    from playwright.sync_api import expect

    visitor = open_page(server)
    page = visitor.page
    visitor.open("")
    field = page.get_by_label("Token of the cluster")
    field.fill("wrong")
    page.get_by_role("button", name="Enter").click()
    expect(field).to_have_value("")
    field.fill(TOKEN)
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_text(re.compile("^No jobs yet"))).to_be_visible()
    assert [c for c in visitor.complaints if "401" not in c] == []
    visitor.complaints.clear()
