"""Functions of JSON text, with the simple paths `$.a.b[0]`."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_MISSING = object()


@lru_cache(1024)
def _steps(path: str) -> tuple[str | int, ...] | None:
    body = re.sub(r"^(lax|strict)\s+", "", path.strip())
    if not body.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(body):
        found = _STEP.match(body, position)
        if found is None:
            return None
        name = next(g for g in (found[1], found[3], found[4], found[2]) if g is not None)
        steps.append(int(name) if found[2] is not None else name)
        position = found.end()
    return tuple(steps)


def _at(text: str, path: str) -> Any:
    steps = _steps(path)
    try:
        value = json.loads(text)
    except ValueError:
        return _MISSING
    if steps is None:
        return _MISSING
    for step in steps:
        if isinstance(step, int):
            fits = isinstance(value, list) and step < len(value)
        else:
            fits = isinstance(value, dict) and step in value
        if not fits:
            return _MISSING
        value = value[step]
    return value


def is_json(text: str | None) -> bool:
    if text is None:
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def json_exists(text: str, path: str) -> bool:
    return _at(text, path) is not _MISSING


def json_value(text: str, path: str) -> str | None:
    value = _at(text, path)
    if value is _MISSING or value is None or isinstance(value, dict | list):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def json_query(text: str, path: str) -> str | None:
    value = _at(text, path)
    if not isinstance(value, dict | list):
        return None
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
