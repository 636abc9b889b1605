"""A real S3 server for tests: a process of its own, on loopback, with one bucket."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

_START_S = 180.0
BUCKET = "checkpoints"


@dataclass(frozen=True)
class S3Server:
    """Where it is, and how to get in."""

    endpoint: str

    @property
    def settings(self) -> dict[str, str]:
        """The options of a job."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.endpoint.region": "eu-west-1",
            "s3.access-key": "test",
            "s3.secret-key": "test",
        }

    def files(self) -> Any:
        """The bucket as a test sees it."""
        import s3fs

        return s3fs.S3FileSystem(
            key="test",
            secret="test",
            endpoint_url=self.endpoint,
            use_listings_cache=False,
            client_kwargs={"region_name": "eu-west-1"},
        )


@contextlib.contextmanager
def running_s3_server() -> Iterator[S3Server]:
    """Start a server and end it."""
    pytest.importorskip("moto.server", reason="needs moto[server]")
    pytest.importorskip("s3fs", reason="needs s3fs")
    with socket.socket() as chooser:
        chooser.bind(("127.0.0.1", 0))
        port = chooser.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        server = S3Server(f"http://127.0.0.1:{port}")
        _wait_for(server.endpoint, process)
        server.files().mkdir(BUCKET)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{endpoint}/moto-api/"):
            return
        time.sleep(0.05)
    raise RuntimeError("the S3 server did not start")
