"""Paths into JSON values: `lax $.a.b[0]`, `$['a b']`, `$.a[*].b`, `$.a[1:]`, `$.*` and `$..a`.

Filters, as in `$.a[?(@.b > 2)]`, are in `json_filter`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.sql.functions.builtin.json_filter import MISSING, Condition, FilterReader

__all__ = ["MISSING", "Path", "parse_path"]

_ANY, _SIZE = object(), object()
_STEP = re.compile(
    r"(?P<deep>\.\.)?(?:\.?(?P<name>[^\W\d][\w-]*+)(?!\()|\.?(?P<star>\*)"
    r"|\.?\[\s*(?P<index>-?\d+)\s*\]"
    r"|\.(?P<size>length\(\))|\.?\[\s*(?P<several>-?\d+(?:\s*,\s*-?\d+)+)\s*\]"
    r"|\.?\[\s*(?P<slice>-?\d*\s*:\s*-?\d*)\s*\]"
    r"|\.?\[\s*(?P<all>\*)\s*\]|\.?\[\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\s*\])"
)


_FILTER = re.compile(r"(?P<deep>\.\.)?\.?\[\s*\?\s*\(")
_END = re.compile(r"\s*\)\s*\]")


@dataclass(frozen=True)
class _Filter:
    """A step to the values that a condition takes: elements of a list, or an object itself."""

    takes: Condition


@dataclass(frozen=True)
class Path:
    """Steps from the root; `strict` says that something missing is an error.

    A path with `*` or `..` may find many values: they come as one list.
    """

    steps: tuple[tuple[bool, Any], ...]
    strict: bool

    @property
    def definite(self) -> bool:
        many = (
            deep or isinstance(step, tuple | slice | _Filter) or step is _ANY
            for deep, step in self.steps
        )
        return not any(many)

    def find(self, value: Any, root: Any = None) -> Any:
        """What is there; MISSING if nothing is. The root is that of a filter around this path."""
        root = value if root is None else root
        found = [value]
        for deep, step in self.steps:
            if deep:
                found = [inner for v in found for inner in _descendants(v)]
            if isinstance(step, _Filter):
                # Elements of lists are among the descendants already.
                found = [x for v in found for x in _taken(v, step, root, elements=not deep)]
                continue
            found = [inner for v in found for inner in _children(v, step)]
        if self.definite:
            return found[0] if found else MISSING
        return found


def _children(value: Any, step: Any) -> Iterator[Any]:
    if step is _ANY:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value
    elif step is _SIZE:
        if isinstance(value, dict | list):
            yield len(value)
    elif isinstance(step, tuple):
        for one in step:
            yield from _children(value, one)
    elif isinstance(step, slice):
        if isinstance(value, list):
            yield from value[step]
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
    elif isinstance(value, dict) and step in value:
        yield value[step]


def _taken(value: Any, step: _Filter, root: Any, elements: bool) -> Iterator[Any]:
    found = value if elements and isinstance(value, list) else [value]
    return (x for x in found if (found is value or isinstance(x, dict)) and step.takes(x, root))


def _descendants(value: Any) -> Iterator[Any]:
    yield value
    for inner in _children(value, _ANY):
        yield from _descendants(inner)


@lru_cache(1024)
def parse_path(text: str) -> Path:
    """Reads a path; `strict` is the default, as in Flink."""
    found = re.fullmatch(r"\s*(?:(lax|strict)\s+)?(.*?)\s*", text, re.IGNORECASE | re.DOTALL)
    if found is None or not found[2]:
        raise HeadraceError(f"a JSON path begins with $, but this is {text!r}")
    body = found[2] if found[2].startswith("$") else f"$.{found[2]}"
    path, end = _read(body, 1)
    if end < len(body):
        raise HeadraceError(f"JSON path {text!r} cannot be read at {body[end:]!r}")
    return Path(path.steps, (found[1] or "strict").lower() == "strict")


def _read(text: str, position: int) -> tuple[Path, int]:
    """The steps from a position on, and where they end."""
    steps: list[tuple[bool, Any]] = []
    while True:
        begin = _FILTER.match(text, position)
        if begin is not None:
            reader = FilterReader(text, begin.end(), _read)
            condition = reader.either()
            end = _END.match(text, reader.position)
            if end is None:
                break
            steps.append((begin["deep"] is not None, _Filter(condition)))
            position = end.end()
            continue
        step = _STEP.match(text, position)
        if step is None:
            break
        steps.append((step["deep"] is not None, _step_of(step)))
        position = step.end()
    return Path(tuple(steps), True), position


def _step_of(step: re.Match[str]) -> Any:
    if step["star"] or step["all"]:
        return _ANY
    if step["size"]:
        return _SIZE
    if step["several"]:
        return tuple(int(i) for i in step["several"].split(","))
    if step["slice"]:
        return slice(*(int(i) if i.strip() else None for i in step["slice"].split(":")))
    if step["index"] is not None:
        return int(step["index"])
    return next(s for s in (step["name"], step["single"], step["double"]) if s is not None)
