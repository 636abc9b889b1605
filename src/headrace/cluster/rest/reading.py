"""Reads requests: bodies, path and query parameters, each refused with a reason if it is wrong."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

__all__ = ["body_of", "flag_of", "is_plain", "job_of", "list_of", "number_of", "text_of"]


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings; empty if it brings nothing."""
    data = await request.body()
    try:
        body = json.loads(data) if data else {}
        # A half of a pair of surrogates can be written in JSON, and nowhere else.
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise HTTPException(400, "the request is not valid Unicode") from None
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the request is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request is not a JSON object")
    return body


def text_of(body: dict[str, Any], name: str) -> str | None:
    """A text of a body, if it is there."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise HTTPException(400, f"{name} must be a string, not {value!r}")
    if value is not None and not is_plain(value):
        raise HTTPException(400, f"{name} is not a text that file systems accept")
    return value


def is_plain(text: str) -> bool:
    """Whether a text can be an argument of a process or a path."""
    return "\0" not in text


def flag_of(body: dict[str, Any], name: str) -> bool:
    """A truth value of a body, false if it is not there."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise HTTPException(400, f"{name} must be true or false, not {value!r}")
    return bool(value)


def job_of(request: Request) -> str:
    """The job of the path."""
    job: str = request.path_params["job"]
    return job


def number_of(
    request: Request, name: str, default: float, *, least: float = 0, most: float = 1e12
) -> float:
    """A number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise HTTPException(
            400, f"{name} must be a number from {least:g} to {most:g}, not {text!r}"
        )
    return number


def list_of(request: Request, name: str) -> list[str] | None:
    """A list of the query, separated by commas; None if it is not there."""
    text = request.query_params.get(name)
    return None if text is None else [part for part in text.split(",") if part]
