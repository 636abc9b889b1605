"""Programs: uploading, running, deleting."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.manager.dispatcher import Submission
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import Cluster, Endpoint
from headrace.cluster.rest.reading import body_of, flag_of, is_plain, text_of

__all__ = ["endpoints"]

_MOST_PARALLELISM = 32768
_TEXTS = {"type": "array", "items": {"type": "string"}}
_RUN = {
    "type": "object",
    "properties": {
        "entry": {"type": ["string", "null"]},
        "programArgsList": _TEXTS,
        "settings": {"type": "object", "additionalProperties": {"type": "string"}},
        "parallelism": {"type": ["integer", "null"], "minimum": 1, "maximum": _MOST_PARALLELISM},
        "savepointPath": {"type": ["string", "null"]},
        "allowNonRestoredState": {"type": "boolean"},
        "pyflink": {"type": "boolean"},
    },
}


class _Programs:
    def __init__(self, cluster: Cluster) -> None:
        self._programs = cluster.programs
        self._jobs = cluster.dispatcher

    def all(self, request: Request) -> Response:
        return Answer({"files": [vars(p) for p in self._programs.all()]})

    async def upload(self, request: Request) -> Response:
        async with request.form(max_files=1, max_fields=10) as form:
            found = [part for part in form.values() if isinstance(part, UploadFile)]
            if not found:
                raise HTTPException(400, "a part with a file is missing")
            file = found[0]
            program = await run_in_threadpool(
                self._programs.add, file.filename or "", lambda target: _copy(file, target)
            )
        return Answer({"filename": program.id, "status": "success"})

    def delete(self, request: Request) -> Response:
        self._programs.delete(request.path_params["program"])
        return Answer({})

    async def run(self, request: Request) -> Response:
        submission = _submission(request.path_params["program"], await body_of(request))
        job = await run_in_threadpool(self._jobs.submit, submission)
        return Answer({"jobid": job})


def _copy(file: UploadFile, target: Any) -> None:
    while data := file.file.read(1 << 20):
        target.write(data)


def _submission(program: str, body: dict[str, Any]) -> Submission:
    arguments, settings = body.get("programArgsList", []), body.get("settings", {})
    parallelism = body.get("parallelism")
    if not isinstance(arguments, list) or not all(_is_text(a) for a in arguments):
        raise HTTPException(400, "programArgsList must be a list of strings")
    if not isinstance(settings, dict) or not all(
        _is_text(k) and _is_text(v) for k, v in settings.items()
    ):
        raise HTTPException(400, "settings must be a map of strings")
    if parallelism is not None and (
        type(parallelism) is not int or not 1 <= parallelism <= _MOST_PARALLELISM
    ):
        raise HTTPException(400, "parallelism must be a number of at least 1")
    return Submission(
        program,
        text_of(body, "entry"),
        tuple(arguments),
        dict(settings),
        parallelism,
        text_of(body, "savepointPath"),
        flag_of(body, "allowNonRestoredState"),
        flag_of(body, "pyflink"),
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_plain(value)


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about programs."""
    programs = _Programs(cluster)
    return [
        Endpoint("/programs", programs.all, "Programs that were uploaded"),
        Endpoint(
            "/programs/upload", programs.upload, "Upload a .py or .zip file", "POST", upload=True
        ),
        Endpoint("/programs/{program}", programs.delete, "Delete a program", "DELETE"),
        Endpoint("/programs/{program}/run", programs.run, "Run a program", "POST", body=_RUN),
    ]
