"""Talks to a JobManager: the jobs of a cluster as commands see them, and submission."""

from __future__ import annotations

import io
import json
import os
import secrets
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

from headrace.cluster.manager.bodies import TriggerStatus
from headrace.common.errors import ConfigurationError, HeadraceError, StateError, UnknownJobError
from headrace.coordination.access.control_client import OnProgress
from headrace.coordination.bodies.flink_json import from_json
from headrace.coordination.bodies.jobs import JobDetails, JobOverview

__all__ = ["RestClient", "RestJobs", "packed"]

_POLL_S = 0.3
_REQUEST_S = 60.0
_PIECE = 1 << 16


class RestClient:
    """Requests to one server.

    Args:
        address: `host:port` or a URL.
        server: What it is, for errors.
        start: The command that starts one.
    """

    def __init__(
        self,
        address: str,
        server: str = "JobManager",
        start: str = "headrace start-cluster",
    ) -> None:
        self.url = address if "://" in address else f"http://{address}"
        self._server = server
        self._start = start
        self._token = os.environ.get("HEADRACE_CLUSTER_TOKEN")
        # As the environment says now: later Pythons remember whom the first request trusted.
        self._tls = ssl.create_default_context() if self.url.startswith("https:") else None

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        on_progress: OnProgress = lambda progress: None,
    ) -> Any:
        """The answer to a request: parsed if it is JSON, else text."""
        headers, answer = self._answer(method, path, body, content_type, on_progress)
        text = answer.decode(errors="replace")
        is_json = headers.get_content_type() == "application/json"
        return json.loads(text) if is_json else text

    def log(self, job: str, offset: int) -> tuple[int, bytes]:
        """What a job wrote, from a place on or from what is left, and the place behind it.

        It may end in the middle of a character.
        """
        headers, text = self._answer("GET", f"/jobs/{job}/log?offset={offset}")
        return int(headers["Headrace-Log-Offset"]) + len(text), text

    def _answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        on_progress: OnProgress = lambda progress: None,
    ) -> tuple[Message, bytes]:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if data is not None:
            request.data = _pieces(data, on_progress)
            request.add_header("Content-Length", str(len(data)))
        request.add_header("Content-Type", content_type)
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_S, context=self._tls) as answer:
                return answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            raise _rebuilt(error, self._server) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, BrokenPipeError | ConnectionResetError) and data is not None:
                raise HeadraceError(
                    f"the {self._server} at {self.url} broke off a request of {len(data):,} bytes; "
                    "it takes 100 MB at most"
                ) from None
            raise HeadraceError(
                f"there is no {self._server} at {self.url} ({reason}); `{self._start}` starts one"
            ) from None

    def upload(
        self, name: str, content: bytes, on_progress: OnProgress = lambda progress: None
    ) -> str:
        """Hand over a program; its id."""
        boundary = secrets.token_hex(16)
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        answer = self.request(
            "POST",
            "/programs/upload",
            body,
            content_type=f"multipart/form-data; boundary={boundary}",
            on_progress=on_progress,
        )
        program: str = answer["filename"]
        return program

    def submit(self, program: str, how: dict[str, Any]) -> str:
        """Run a program that was uploaded; the id of its job."""
        job: str = self.request("POST", f"/programs/{urllib.parse.quote(program)}/run", how)[
            "jobid"
        ]
        return job


class RestJobs:
    """Jobs of a cluster."""

    def __init__(self, address: str) -> None:
        self._client = RestClient(address)

    def overview(self) -> list[JobOverview]:
        return from_json(list[JobOverview], self._client.request("GET", "/jobs/overview")["jobs"])

    def savepoint(self, job: str, directory: str | None, on_progress: OnProgress) -> str:
        body = {"target-directory": directory, "cancel-job": False}
        return str(self._triggered("POST", self._id(job), "savepoints", "", body, on_progress))

    def stop(self, job: str, drain: bool, directory: str | None, on_progress: OnProgress) -> str:
        body = {"targetDirectory": directory, "drain": drain}
        return str(self._triggered("POST", self._id(job), "stop", "", body, on_progress))

    def cancel(self, job: str) -> str:
        job_id = self._id(job)
        self._client.request("PATCH", f"/jobs/{job_id}?mode=cancel")
        return job_id

    def rescale(self, job: str, parallelism: int, on_progress: OnProgress) -> str:
        job_id, query = self._id(job), f"?parallelism={parallelism}"
        self._triggered("PATCH", job_id, "rescaling", query, None, on_progress)
        return job_id

    def query(self, job: str, name: str, key: Any) -> dict[str, Any]:
        query = {"key": key, "text": "true"} if isinstance(key, str) else {"key": repr(key)}
        path = f"/jobs/{self._id(job)}/state/{urllib.parse.quote(name, safe='')}"
        try:
            answer = self._client.request("GET", f"{path}?{urllib.parse.urlencode(query)}")
        except UnknownJobError as error:
            # The job is known by now: it has no such state, or nothing for the key.
            raise StateError(str(error)) from None
        return {"kind": answer["kind"], "text": answer["value"]}

    def details(self, job: str) -> JobDetails:
        return from_json(JobDetails, self._client.request("GET", f"/jobs/{job}"))

    def log(self, job: str, offset: int) -> tuple[int, bytes, bool]:
        found = self._found(job)
        # Asked before: what it wrote last is there when it is known to have ended.
        return (*self._client.log(found.jid, offset), found.end_time >= 0)

    def _id(self, wanted: str) -> str:
        found = self._found(wanted)
        if found.end_time >= 0:
            raise UnknownJobError(f"job {found.jid} is {found.state}")
        return found.jid

    def _found(self, wanted: str) -> JobOverview:
        jobs = self.overview()
        found = [j for j in jobs if j.jid.startswith(wanted.lower()) and len(wanted) >= 4]
        found += [j for j in jobs if j.name == wanted and j not in found]
        running = [j for j in found if j.end_time < 0] or found
        if len(running) != 1:
            listed = ", ".join(f"{j.jid} ({j.name})" for j in running)
            text = f"{wanted!r} matches several jobs: {listed}" if running else f"no job {wanted!r}"
            raise UnknownJobError(f"{text} at {self._client.url}")
        return running[0]

    def _triggered(
        self, method: str, job: str, what: str, query: str, body: Any, on_progress: OnProgress
    ) -> Any:
        trigger = self._client.request(method, f"/jobs/{job}/{what}{query}", body)["request-id"]
        asked = "savepoints" if what == "stop" else what
        while True:
            answer = self._client.request("GET", f"/jobs/{job}/{asked}/{trigger}")
            outcome = from_json(TriggerStatus, answer).operation
            if outcome is not None:
                break
            on_progress({})
            time.sleep(_POLL_S)
        if outcome.failure_cause is not None:
            raise HeadraceError(outcome.failure_cause.stack_trace)
        return outcome.location


def packed(program: Path, more: list[Path]) -> tuple[str, bytes]:
    """Name and content to upload: the file itself, or a zip of a directory and further files."""
    if not more and program.suffix in (".zip", ".py"):
        return program.name, program.read_bytes()
    zipped = program.suffix == ".zip"
    content = io.BytesIO(program.read_bytes() if zipped else b"")
    with zipfile.ZipFile(content, "a" if zipped else "w", zipfile.ZIP_DEFLATED) as archive:
        for path in more if zipped else (program, *more):
            if path.is_dir():
                # The program's own directory is the top of the zip; a package keeps its name.
                package = path != program and (path / "__init__.py").exists()
                top = path.parent if package else path
                for file in sorted(f for f in path.rglob("*") if f.is_file()):
                    archive.write(file, file.relative_to(top))
            elif path.exists():
                archive.write(path, path.name)
            else:
                raise ConfigurationError(f"there is no file {str(path)!r}")
    return f"{program.stem or 'program'}.zip", content.getvalue()


def _rebuilt(error: urllib.error.HTTPError, server: str) -> HeadraceError:
    try:
        text = "; ".join(json.loads(error.read())["errors"])
    except (ValueError, KeyError, TypeError):
        text = f"the {server} answered {error.code} {error.reason}"
    return UnknownJobError(text) if error.code == 404 else HeadraceError(text)


def _pieces(data: bytes, on_progress: OnProgress) -> Iterator[bytes]:
    """The data bit by bit, each of which is told about when it was sent."""
    for start in range(0, len(data), _PIECE):
        yield data[start : start + _PIECE]
        on_progress({"bytes": min(start + _PIECE, len(data)), "of": len(data)})
