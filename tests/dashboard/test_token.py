"""A JobManager that asks for a token lets its dashboard ask for it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboard.conftest import Visitor

TOKEN = "correct horse"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The REST server alone: no job is needed, and so no Spark."""
    import uvicorn

    from headrace.cluster.dispatcher import Dispatcher
    from headrace.cluster.programs import Programs
    from headrace.cluster.rest.app import Cluster, create_app
    from headrace.cluster.rest.guard import GuardSettings

    programs = Programs(tmp_path / "programs", 1 << 20)
    cluster = Cluster(Dispatcher(tmp_path, programs, {}), programs, 2, {}, lambda: None)
    app = create_app(cluster, GuardSettings(("127.0.0.1",), TOKEN, 1 << 20))
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
    expect(page.get_by_text("No job runs.")).to_be_visible()
    assert [c for c in visitor.complaints if "401" not in c] == []
    visitor.complaints.clear()
