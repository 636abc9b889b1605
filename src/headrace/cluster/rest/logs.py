"""Lists logs and answers with parts of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from headrace.cluster.manager.log_files import Log
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import TEXT, Query
from headrace.cluster.rest.reading import number_of

__all__ = ["PART", "list_of_logs", "part_of_log"]

_NUMBER = {"type": "integer", "minimum": 0}
PART = (
    Query("offset", "skip this many bytes", _NUMBER),
    Query("limit", "at most this many bytes; everything if not given", _NUMBER),
)


def list_of_logs(logs: Iterable[Log]) -> Response:
    """As Flink lists them."""
    found = [{"name": log.name, "size": log.size(), "mtime": log.mtime_ms} for log in logs]
    return Answer({"logs": found})


def part_of_log(request: Request, log: Log) -> Response:
    """The part that the query wants, of what is there now: a log that grows has an end, too."""
    offset = max(int(number_of(request, "offset", 0)), log.begin())
    size = log.size()
    left = max(size - offset, 0)
    limit = min(int(number_of(request, "limit", left)), left)
    pieces = iter(log.read(offset, limit))
    # What fails at the beginning is an answer that says so, not a text that breaks off.
    first = next(pieces, b"")
    headers = {"Headrace-Log-Size": str(size), "Headrace-Log-Offset": str(offset)}
    return StreamingResponse(itertools.chain((first,), pieces), headers=headers, media_type=TEXT)
