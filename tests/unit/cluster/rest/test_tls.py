"""The REST server over TLS and with a token."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from headrace.cluster.client.rest_client import RestClient
from headrace.common.errors import HeadraceError
from tests.certificates import certificate
from tests.unit.cluster.rest.rest_app import ENDED, rest_app

TOKEN = "a token for this test"


@pytest.fixture
def certificate_path(tmp_path: Path) -> Path:
    return certificate(tmp_path)[0]


@pytest.fixture
def address(tmp_path: Path, certificate_path: Path) -> Iterator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    server = uvicorn.Server(
        uvicorn.Config(
            rest_app(tmp_path / "cluster", token=TOKEN, hosts=()),
            log_level="warning",
            lifespan="off",
            ssl_certfile=str(certificate_path),
            ssl_keyfile=str(certificate_path.with_name("key.pem")),
        )
    )
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    serving.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    serving.join(60)


def test_only_who_trusts_and_is_trusted_gets_an_answer(
    address: str, certificate_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CLUSTER_TOKEN", TOKEN)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(HeadraceError, match="certificate"):
        RestClient(f"https://{address}").request("GET", "/jobs")
    with pytest.raises(HeadraceError, match="no JobManager"):
        RestClient(f"http://{address}").request("GET", "/jobs")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate_path))
    jobs = RestClient(f"https://{address}").request("GET", "/jobs")
    assert jobs == {"jobs": [{"id": ENDED, "status": "FAILED"}]}
    for token in ("wrong", ""):
        monkeypatch.setenv("HEADRACE_CLUSTER_TOKEN", token)
        with pytest.raises(HeadraceError, match="token"):
            RestClient(f"https://{address}").request("GET", "/jobs")
    monkeypatch.delenv("HEADRACE_CLUSTER_TOKEN")
    with pytest.raises(HeadraceError, match="token"):
        RestClient(f"https://{address}").request("GET", "/jobs")
