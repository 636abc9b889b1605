"""The routes: Flink's paths, with and without `/v1`, over the dispatcher."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

import headrace
from headrace.cluster.dispatcher import Dispatcher, Submission
from headrace.cluster.programs import Programs, UnknownProgramError
from headrace.cluster.rest.dashboard import dashboard_routes
from headrace.cluster.rest.guard import Guard, GuardSettings
from headrace.cluster.rest.operations import Operations, UnknownOperationError
from headrace.common.errors import ConfigurationError, HeadraceError, UnknownJobError
from headrace.coordination.checkpoint_store import load_checkpoint

__all__ = ["Cluster", "create_app"]

_ENDED = {"FINISHED": "jobs-finished", "CANCELED": "jobs-cancelled", "FAILED": "jobs-failed"}
_ACCEPTED = 202


@dataclass(frozen=True)
class Cluster:
    """What the routes work on."""

    dispatcher: Dispatcher
    programs: Programs
    slots: int
    configuration: dict[str, str]
    shut_down: Callable[[], None]


class _Routes:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._jobs = cluster.dispatcher
        self._operations = Operations()

    def all(self) -> list[Route]:
        """Every route once."""
        return [
            Route("/overview", self.overview),
            Route("/config", self.config),
            Route("/jobmanager/config", self.settings),
            Route("/taskmanagers", self.task_managers),
            Route("/jobs", self.jobs),
            Route("/jobs/overview", self.jobs_overview),
            Route("/jobs/{job}", self.details("job")),
            Route("/jobs/{job}", self.change, methods=["PATCH"]),
            *(
                Route(f"/jobs/{{job}}/{part}", self.details(part))
                for part in ("plan", "checkpoints", "exceptions")
            ),
            Route("/jobs/{job}/log", self.log),
            Route("/jobs/{job}/vertices/{vertex}", self.vertex),
            Route("/jobs/{job}/savepoints", self.savepoint, methods=["POST"]),
            Route("/jobs/{job}/savepoints/{trigger}", self.operation),
            Route("/jobs/{job}/stop", self.stop, methods=["POST"]),
            Route("/jobs/{job}/rescaling", self.rescale, methods=["PATCH"]),
            Route("/jobs/{job}/rescaling/{trigger}", self.operation),
            Route("/savepoint-disposal", self.dispose, methods=["POST"]),
            Route("/savepoint-disposal/{trigger}", self.operation),
            Route("/programs", self.programs),
            Route("/programs/upload", self.upload, methods=["POST"]),
            Route("/programs/{program}", self.delete_program, methods=["DELETE"]),
            Route("/programs/{program}/run", self.run_program, methods=["POST"]),
            Route("/cluster", self.shut_down, methods=["DELETE"]),
        ]

    # The cluster. Methods that are not coroutines run on threads of their own.

    def overview(self, request: Request) -> Response:
        counts = {"jobs-running": 0, **dict.fromkeys(_ENDED.values(), 0)}
        for job in self._jobs.overview():
            counts[_ENDED.get(job["state"], "jobs-running")] += 1
        return JSONResponse(
            {
                "taskmanagers": 1,
                "slots-total": self._cluster.slots,
                "slots-available": self._cluster.slots,
                **counts,
                "flink-version": headrace.__version__,
                "flink-commit": "headrace",
            }
        )

    def config(self, request: Request) -> Response:
        return JSONResponse(
            {
                "refresh-interval": 3000,
                "timezone-name": time.tzname[0],
                "timezone-offset": -time.timezone * 1000,
                "flink-version": headrace.__version__,
                "flink-revision": "headrace",
                "features": {"web-submit": True, "web-cancel": True, "web-rescale": True},
            }
        )

    def settings(self, request: Request) -> Response:
        known = self._cluster.configuration
        return JSONResponse([{"key": k, "value": v} for k, v in sorted(known.items())])

    def task_managers(self, request: Request) -> Response:
        slots = self._cluster.slots
        one = {"id": "spark", "path": "spark", "slotsNumber": slots, "freeSlots": slots}
        return JSONResponse({"taskmanagers": [one]})

    def shut_down(self, request: Request) -> Response:
        self._cluster.shut_down()
        return JSONResponse({})

    # Jobs.

    def jobs(self, request: Request) -> Response:
        found = [{"id": j["jid"], "status": j["state"]} for j in self._jobs.overview()]
        return JSONResponse({"jobs": found})

    def jobs_overview(self, request: Request) -> Response:
        return JSONResponse({"jobs": self._jobs.overview()})

    def details(self, part: str) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            return JSONResponse(self._jobs.details(_job(request), part))

        return answer

    def vertex(self, request: Request) -> Response:
        found = self._jobs.details(_job(request), "vertices").get(request.path_params["vertex"])
        if found is None:
            raise HTTPException(404, f"the job has no vertex {request.path_params['vertex']!r}")
        return JSONResponse(found)

    def log(self, request: Request) -> Response:
        offset = request.query_params.get("offset", "0")
        if not offset.isdecimal():
            raise HTTPException(400, "offset is a number")
        return PlainTextResponse(self._jobs.log(_job(request), int(offset)))

    def change(self, request: Request) -> Response:
        mode = request.query_params.get("mode", "cancel")
        if mode != "cancel":
            raise HTTPException(400, f"mode is cancel, not {mode!r}")
        self._jobs.perform(_job(request), "cancel")
        return JSONResponse({}, _ACCEPTED)

    async def savepoint(self, request: Request) -> Response:
        body, job = await _body(request), self._known(request)
        directory = _text(body, "target-directory")
        cancel = bool(body.get("cancel-job"))

        def take() -> Any:
            path = self._jobs.perform(job, "savepoint", directory=directory)
            if cancel:
                self._jobs.perform(job, "cancel")
            return path

        return self._started(take, body)

    async def stop(self, request: Request) -> Response:
        body, job = await _body(request), self._known(request)
        directory, drain = _text(body, "targetDirectory"), bool(body.get("drain"))
        return self._started(
            lambda: self._jobs.perform(job, "stop", directory=directory, drain=drain), body
        )

    async def rescale(self, request: Request) -> Response:
        job, parallelism = self._known(request), request.query_params.get("parallelism", "")
        if not parallelism.isdecimal() or int(parallelism) < 1:
            raise HTTPException(400, "parallelism is a number of at least 1")
        return self._started(
            lambda: self._jobs.perform(job, "rescale", parallelism=int(parallelism)), {}
        )

    async def dispose(self, request: Request) -> Response:
        path = _text(await _body(request), "savepoint-path")
        if path is None:
            raise HTTPException(400, "savepoint-path is missing")
        return self._started(lambda: load_checkpoint(path).discard(), {})

    def operation(self, request: Request) -> Response:
        return JSONResponse(self._operations.status(request.path_params["trigger"]))

    def _started(self, do: Callable[[], Any], body: dict[str, Any]) -> Response:
        trigger = self._operations.start(do, _text(body, "triggerId"))
        return JSONResponse({"request-id": trigger}, _ACCEPTED)

    def _known(self, request: Request) -> str:
        self._jobs.log(_job(request), 0)
        return _job(request)

    # Programs.

    def programs(self, request: Request) -> Response:
        return JSONResponse({"files": [vars(p) for p in self._cluster.programs.all()]})

    async def upload(self, request: Request) -> Response:
        async with request.form(max_files=1, max_fields=10) as form:
            found = [part for part in form.values() if isinstance(part, UploadFile)]
            if not found:
                raise HTTPException(400, "a part with a file is missing")
            file = found[0]
            program = await run_in_threadpool(
                self._cluster.programs.add,
                file.filename or "",
                lambda target: _copy(file, target),
            )
        return JSONResponse({"filename": program.id, "status": "success"})

    def delete_program(self, request: Request) -> Response:
        self._cluster.programs.delete(request.path_params["program"])
        return JSONResponse({})

    async def run_program(self, request: Request) -> Response:
        submission = _submission(request.path_params["program"], await _body(request))
        job = await run_in_threadpool(self._jobs.submit, submission)
        return JSONResponse({"jobid": job})


def _job(request: Request) -> str:
    job: str = request.path_params["job"]
    return job


def _copy(file: UploadFile, target: Any) -> None:
    while data := file.file.read(1 << 20):
        target.write(data)


async def _body(request: Request) -> dict[str, Any]:
    data = await request.body()
    try:
        body = json.loads(data) if data else {}
    except ValueError as error:
        raise HTTPException(400, f"the request is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request is not a JSON object")
    return body


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise HTTPException(400, f"{name} is text, not {value!r}")
    return value


def _submission(program: str, body: dict[str, Any]) -> Submission:
    arguments, settings = body.get("programArgsList", []), body.get("settings", {})
    parallelism = body.get("parallelism")
    if not isinstance(arguments, list) or not all(isinstance(a, str) for a in arguments):
        raise HTTPException(400, "programArgsList is a list of texts")
    if not isinstance(settings, dict) or not all(isinstance(v, str) for v in settings.values()):
        raise HTTPException(400, "settings are texts by key")
    if parallelism is not None and (type(parallelism) is not int or parallelism < 1):
        raise HTTPException(400, "parallelism is a number of at least 1")
    return Submission(
        program,
        _text(body, "entry"),
        tuple(arguments),
        dict(settings),
        parallelism,
        _text(body, "savepointPath"),
        bool(body.get("allowNonRestoredState")),
        bool(body.get("pyflink")),
    )


async def _refused(request: Request, error: Exception) -> Response:
    code = 500
    if isinstance(error, HTTPException):
        return JSONResponse({"errors": [str(error.detail)]}, error.status_code)
    if isinstance(error, UnknownJobError | UnknownProgramError | UnknownOperationError):
        code = 404
    elif isinstance(error, ConfigurationError):
        code = 400
    elif isinstance(error, HeadraceError):
        code = 409
    return JSONResponse({"errors": [str(error)]}, code)


def create_app(cluster: Cluster, guard: GuardSettings) -> Starlette:
    """The application."""
    routes = _Routes(cluster).all()
    everywhere: list[BaseRoute] = [Mount("/v1", routes=routes), *routes, *dashboard_routes()]
    return Starlette(
        routes=everywhere,
        middleware=[Middleware(Guard, settings=guard)],
        exception_handlers={HeadraceError: _refused, HTTPException: _refused},
    )
