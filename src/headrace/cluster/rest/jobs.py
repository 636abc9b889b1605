"""Jobs: the list, everything about one, and how it is steered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.manager.bodies import JobState, Stage
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import ACCEPTED, TEXT, Cluster, Endpoint, Query
from headrace.cluster.rest.logs import PART, part_of_log
from headrace.cluster.rest.operations import Operations, failure_cause
from headrace.cluster.rest.reading import body_of, flag_of, job_of, number_of, text_of
from headrace.common.errors import JobExecutionError
from headrace.coordination.bodies.jobs import Epochs, Exceptions, JobOverview
from headrace.coordination.checkpoint_store import load_checkpoint

__all__ = ["endpoints"]

_PARTS = {
    "plan": "The job graph",
    "exceptions": "Failures, with tracebacks",
    "config": "How the job is run",
    "timeline": "The last minutes of a job, second by second",
    "watermarks": "Event time, and the split that holds it back",
    "diagnosis": "What limits the job now, and what to do",
    "accumulators": "Values of accumulators",
}
_OUTCOMES = {"FINISHED": "SUCCEEDED", "CANCELED": "CANCELED", "FAILED": "FAILED"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TRIGGER = {"triggerId": _TEXT_OR_NULL}
_STARTED = {
    "type": "object",
    "properties": {"request-id": {"type": "string"}},
    "required": ["request-id"],
}


class _Jobs:
    def __init__(self, cluster: Cluster, operations: Operations) -> None:
        self._jobs = cluster.dispatcher
        self._operations = operations

    def all(self, request: Request) -> Response:
        return Answer({"jobs": [JobState(j.jid, j.state) for j in self._jobs.overview()]})

    def overview(self, request: Request) -> Response:
        return Answer({"jobs": self._jobs.overview()})

    def part(self, name: str) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            return Answer(self._jobs.details(job_of(request), name))

        return answer

    def status(self, request: Request) -> Response:
        return Answer({"status": self._overview(request).state})

    def result(self, request: Request) -> Response:
        """How a job ended; that it goes on is an answer, too."""
        job = self._overview(request)
        outcome = _OUTCOMES.get(job.state)
        if outcome is None:
            return Answer({"status": Stage("IN_PROGRESS")})
        found = {
            "id": job.jid,
            "application-status": outcome,
            "net-runtime": job.duration,
            "accumulator-results": {},
        }
        if outcome == "FAILED":
            known: Exceptions = self._jobs.details(job_of(request), "exceptions")
            found["failure-cause"] = failure_cause(JobExecutionError(known.root_exception or ""))
        return Answer({"status": Stage("COMPLETED"), "job-execution-result": found})

    def epochs(self, request: Request) -> Response:
        limit = int(number_of(request, "limit", 120, least=1, most=1000))
        after = number_of(request, "after", 0)
        known: Epochs = self._jobs.details(job_of(request), "epochs")
        wanted = [e for e in known.epochs if e.id > after][-limit:]
        return Answer(replace(known, epochs=tuple(wanted)))

    def program(self, request: Request) -> Response:
        return Answer(self._jobs.program(job_of(request)))

    def log(self, request: Request) -> Response:
        return part_of_log(request, self._jobs.log_file(job_of(request)))

    def change(self, request: Request) -> Response:
        mode = request.query_params.get("mode", "cancel")
        if mode != "cancel":
            raise HTTPException(400, f"mode must be cancel, not {mode!r}")
        self._jobs.perform(job_of(request), "cancel")
        return Answer({}, ACCEPTED)

    async def savepoint(self, request: Request) -> Response:
        body, job = await body_of(request), self._known(request)
        directory = text_of(body, "target-directory")
        cancel = flag_of(body, "cancel-job")

        def take() -> Any:
            path = self._jobs.perform(job, "savepoint", directory=directory)
            if cancel:
                self._jobs.perform(job, "cancel")
            return path

        return self._started(take, body)

    async def stop(self, request: Request) -> Response:
        body, job = await body_of(request), self._known(request)
        directory, drain = text_of(body, "targetDirectory"), flag_of(body, "drain")
        return self._started(
            lambda: self._jobs.perform(job, "stop", directory=directory, drain=drain), body
        )

    async def rescale(self, request: Request) -> Response:
        job, parallelism = self._known(request), request.query_params.get("parallelism", "")
        if not (
            parallelism.isascii() and parallelism.isdecimal() and 1 <= int(parallelism) <= 32768
        ):
            raise HTTPException(400, "parallelism must be a number of at least 1")
        return self._started(
            lambda: self._jobs.perform(job, "rescale", parallelism=int(parallelism)), {}
        )

    async def dispose(self, request: Request) -> Response:
        path = text_of(await body_of(request), "savepoint-path")
        if path is None:
            raise HTTPException(400, "savepoint-path is missing")
        return self._started(lambda: load_checkpoint(path).discard(), {})

    def operation(self, request: Request) -> Response:
        return Answer(self._operations.status(request.path_params["trigger"]))

    def _started(self, do: Callable[[], Any], body: dict[str, Any]) -> Response:
        trigger = self._operations.start(do, text_of(body, "triggerId"))
        return Answer({"request-id": trigger}, ACCEPTED)

    def _overview(self, request: Request) -> JobOverview:
        overview: JobOverview = self._jobs.details(job_of(request), "overview")
        return overview

    def _known(self, request: Request) -> str:
        self._jobs.require(job_of(request))
        return job_of(request)


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about jobs."""
    jobs = _Jobs(cluster, Operations())
    number = {"type": "integer", "minimum": 0}
    savepoint = _body({"target-directory": _TEXT_OR_NULL, "cancel-job": {"type": "boolean"}})
    stop = _body({"targetDirectory": _TEXT_OR_NULL, "drain": {"type": "boolean"}})
    parallelism = Query(
        "parallelism", "the new one", {"type": "integer", "minimum": 1, "maximum": 32768}
    )
    return [
        Endpoint("/jobs", jobs.all, "Ids and states of all jobs"),
        Endpoint("/jobs/overview", jobs.overview, "All jobs in a few figures"),
        Endpoint("/jobs/{job}", jobs.part("job"), "A job with its vertices, rates and diagnosis"),
        Endpoint(
            "/jobs/{job}",
            jobs.change,
            "Cancel a job",
            "PATCH",
            (Query("mode", "what to do", {"type": "string", "enum": ["cancel"]}),),
            status=ACCEPTED,
        ),
        Endpoint("/jobs/{job}/status", jobs.status, "Its state"),
        Endpoint("/jobs/{job}/execution-result", jobs.result, "How it ended, if it has"),
        *(Endpoint(f"/jobs/{{job}}/{p}", jobs.part(p), about) for p, about in _PARTS.items()),
        Endpoint(
            "/jobs/{job}/epochs",
            jobs.epochs,
            "The last epochs, with what took their time",
            query=(
                Query(
                    "limit", "at most this many", {"type": "integer", "minimum": 1, "maximum": 1000}
                ),
                Query("after", "only those after this one", number),
            ),
        ),
        Endpoint("/jobs/{job}/program", jobs.program, "Its program, with all jobs of that"),
        Endpoint(
            "/jobs/{job}/log",
            jobs.log,
            "What the program and its functions wrote",
            query=PART,
            answers=TEXT,
        ),
        *_operation(jobs.savepoint, "/jobs/{job}/savepoints", "Take a savepoint", savepoint),
        Endpoint("/jobs/{job}/savepoints/{trigger}", jobs.operation, "How far a savepoint is"),
        *_operation(jobs.stop, "/jobs/{job}/stop", "Stop with a savepoint", stop),
        Endpoint(
            "/jobs/{job}/rescaling",
            jobs.rescale,
            "Change the parallelism",
            "PATCH",
            (parallelism,),
            schema=_STARTED,
            status=ACCEPTED,
        ),
        Endpoint("/jobs/{job}/rescaling/{trigger}", jobs.operation, "How far the change is"),
        *_operation(
            jobs.dispose,
            "/savepoint-disposal",
            "Delete a savepoint",
            {
                **_body({"savepoint-path": {"type": "string"}}),
                "required": ["savepoint-path"],
            },
        ),
        Endpoint("/savepoint-disposal/{trigger}", jobs.operation, "How far the deletion is"),
    ]


def _operation(handle: Any, path: str, summary: str, body: dict[str, Any]) -> list[Endpoint]:
    return [Endpoint(path, handle, summary, "POST", body=body, schema=_STARTED, status=ACCEPTED)]


def _body(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {**properties, **_TRIGGER}}
