"""The control socket of a running job: other processes of the same user steer the job through it.

A request is one line of JSON with an operation and its arguments. The answer is any number of
lines `{"progress": ...}` and at the end one line, `{"result": ...}` or `{"error": ...}`. The socket
is in a directory that only its user can enter, so whoever can connect may do so.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import logging
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any

import cloudpickle

from headrace.common.errors import HeadraceError, UnknownVertexError
from headrace.common.files.scratch import ScratchDirectory
from headrace.common.job_status import JobStatus
from headrace.coordination.access.job_registry import JobEntry, JobRegistry, process_start
from headrace.coordination.access.program_jobs import archive_file
from headrace.coordination.bodies.flink_json import to_json
from headrace.coordination.bodies.observations import FlameGraph, PeekedRecords
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.observations import Observations
from headrace.coordination.views.job_details import details_of, part_of
from headrace.graph.ids import VertexId

__all__ = ["JobControl", "operations", "publish"]

_log = logging.getLogger(__name__)

_PROGRESS_S = 0.5
_REQUEST_S = 10.0
_QUERY_S = 60.0
_LONGEST_REQUEST = 1 << 20

Operation = Callable[[JobMaster, dict[str, Any]], Any]


def _savepoint(master: JobMaster, request: dict[str, Any]) -> Future[str]:
    return master.trigger_savepoint(request.get("directory"))


def _stop(master: JobMaster, request: dict[str, Any]) -> Future[str]:
    return master.stop_with_savepoint(bool(request.get("drain")), request.get("directory"))


def _query(master: JobMaster, request: dict[str, Any]) -> dict[str, str]:
    key = pickle.loads(base64.b64decode(request["key"]))
    state = master.query_state(request["name"], key).result(_QUERY_S)
    content = base64.b64encode(cloudpickle.dumps(state.value)).decode()
    return {"kind": state.kind, "content": content, "text": repr(state.value)}


def _flame_graph(master: JobMaster, request: dict[str, Any]) -> FlameGraph:
    observations, vertex = _observed(master, request)
    return observations.flame_graph(
        vertex, str(request["type"]), request.get("subtask"), refresh=bool(request.get("refresh"))
    )


def _records(master: JobMaster, request: dict[str, Any]) -> PeekedRecords:
    observations, vertex = _observed(master, request)
    limit, wait_s = int(request["limit"]), float(request["wait"])
    return observations.records(master.job_graph, vertex, request.get("operator"), limit, wait_s)


def _observed(master: JobMaster, request: dict[str, Any]) -> tuple[Observations, VertexId]:
    vertex = VertexId(request["vertex"])
    if all(v.id != vertex for v in master.job_graph.vertices):
        raise UnknownVertexError(f"the job has no vertex {vertex!r}")
    return _observations(master), vertex


def _observations(master: JobMaster) -> Observations:
    if master.attempt is None or master.status() is not JobStatus.RUNNING:
        raise HeadraceError(f"the job is {master.status().name}: it cannot be inspected now")
    return master.attempt.observations


operations: dict[str, Operation] = {
    "details": lambda master, request: part_of(master, str(request["part"])),
    "savepoint": _savepoint,
    "stop": _stop,
    "cancel": lambda master, _: master.cancel(),
    "rescale": lambda master, request: master.rescale(int(request["parallelism"])),
    "query": _query,
    "flamegraph": _flame_graph,
    "records": _records,
    "threads": lambda master, _: _observations(master).threads(),
}
"""What can be asked of a job. A result that is a future is waited for."""


def publish(master: JobMaster) -> None:
    """Let a job be found and steered by other processes until it ends."""
    try:
        control = JobControl(master)
    except (HeadraceError, OSError) as error:
        _log.warning("job %s cannot be reached by others: %s", master.job_id, error)
        return
    master.result_future().add_done_callback(lambda _: control.close())


class JobControl:
    """Publishes one job and answers requests for it until it ends."""

    def __init__(self, master: JobMaster, registry: JobRegistry | None = None) -> None:
        self._master = master
        self._registry = registry or JobRegistry()
        self._private = ScratchDirectory("control", sockets=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._private.path / "socket"))
        os.chmod(self._listener.getsockname(), 0o600)
        self._listener.listen(16)
        self._lock = threading.Lock()
        self._closed = False
        self._entry = JobEntry(
            job_id=master.job_id.to_hex_string(),
            name=master.job_graph.job_name,
            pid=os.getpid(),
            process_start=process_start(os.getpid()),
            address=self._listener.getsockname(),
            state=JobStatus.RUNNING.name,
            started_ms=int(time.time() * 1000),
            checkpoints=master.checkpoints.store.directory,
            program=master.options.run.program,
            parallelism=master.options.run.parallelism,
        )
        self._registry.put(self._entry)
        threading.Thread(target=self._accept, daemon=True, name="headrace-job-control").start()
        # The program may be through before the job's thread comes to tell us, or is done with it:
        # a job that left nothing behind would be taken for one that failed.
        atexit.register(self.close)

    def close(self) -> None:
        """The job, or the program that runs it, has ended; who comes second waits for the first."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._close()
        atexit.unregister(self.close)

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._private.remove()
        status = self._master.status()
        if not status.is_terminal_state():
            # The program ends and takes the job along.
            status = JobStatus.CANCELED
        failure = self._master.history.root_failure
        ended = replace(
            self._entry,
            state=status.name,
            ended_ms=int(time.time() * 1000),
            error=failure.message if failure and status is JobStatus.FAILED else None,
        )
        with contextlib.suppress(OSError):
            self._archive(status)
            self._registry.put(ended)

    def _archive(self, status: JobStatus) -> None:
        """Write a record of the finished job, if one was asked for."""
        archive = archive_file(self._entry.job_id)
        if archive is not None:
            new = archive.with_suffix(".new")
            new.write_text(json.dumps(to_json(details_of(self._master, status))))
            new.replace(archive)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            # Not a daemon: who stops the job gets the answer although the program ends with it.
            threading.Thread(target=self._serve, args=(connection,), daemon=False).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_REQUEST_S)
        with contextlib.suppress(OSError), connection, connection.makefile("rwb") as stream:

            def tell(message: dict[str, Any]) -> None:
                stream.write(json.dumps(message).encode() + b"\n")
                stream.flush()

            try:
                request = json.loads(stream.readline(_LONGEST_REQUEST))
                tell({"result": to_json(self._answer(request, tell))})
            except Exception as error:  # noqa: BLE001 - who asked is told, and the server stays
                tell({"error": {"type": type(error).__name__, "message": str(error)}})

    def _answer(self, request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> Any:
        name = request.get("operation", "")
        operation = operations.get(name)
        if operation is None:
            raise HeadraceError(
                f"this job does not know the operation {name!r}: it runs another version of "
                "headrace"
            )
        outcome = operation(self._master, request)
        if not isinstance(outcome, Future):
            return outcome
        while not wait([outcome], _PROGRESS_S).done:
            tell({"progress": self._master.checkpoints.progress() or {}})
        result = outcome.result()
        if name == "rescale":
            # For whoever has to start the program again.
            self._entry = replace(self._entry, parallelism=int(request["parallelism"]))
            self._registry.put(self._entry)
        return result
