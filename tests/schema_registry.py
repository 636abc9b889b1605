"""A schema registry over HTTP, with as much of Confluent's interface as clients of formats use."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class Registry:
    """Schemas by id, and the versions of subjects.

    Attributes:
        user: `name:password` that requests need, if any.
        frozen: Subjects that take no other schema, as if none were compatible.
        asked: Paths of all requests.
    """

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.user: str | None = None
        self.frozen: set[str] = set()
        self.asked: list[str] = []
        self.url = ""

    def register(self, subject: str, schema: Any) -> int:
        """What a producer does before its first message."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        if text not in self.schemas:
            self.schemas.append(text)
        found = self.schemas.index(text) + 1
        versions = self.subjects.setdefault(subject, [])
        if found not in versions:
            versions.append(found)
        return found

    def answer(self, path: str, body: bytes, authorization: str | None) -> tuple[int, Any]:
        self.asked.append(path)
        if self.user is not None:
            wanted = f"Basic {base64.b64encode(self.user.encode()).decode()}"
            if authorization not in (wanted, f"Bearer {self.user}"):
                return 401, {"error_code": 401, "message": "Unauthorized"}
        match path.strip("/").split("/"):
            case ["schemas", "types"]:
                return 200, ["AVRO"]
            case ["schemas", "ids", number]:
                if not 0 < int(number) <= len(self.schemas):
                    return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
                return 200, {"schema": self.schemas[int(number) - 1]}
            case ["subjects", subject, "versions"]:
                schema = json.loads(body)["schema"]
                known = self.subjects.get(unquote(subject), [])
                if unquote(subject) in self.frozen and schema not in [
                    self.schemas[i - 1] for i in known
                ]:
                    return 409, {"error_code": 409, "message": "Schema is incompatible"}
                return 200, {"id": self.register(unquote(subject), schema)}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


@contextmanager
def running_registry() -> Iterator[Registry]:
    """A registry on loopback, in a thread of this process."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._do(b"")

        def do_POST(self) -> None:
            self._do(self.rfile.read(int(self.headers["Content-Length"])))

        def _do(self, body: bytes) -> None:
            status, found = registry.answer(self.path, body, self.headers.get("Authorization"))
            text = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
