"""Hints: `/*+ OPTIONS(...) */` behind a table, others behind SELECT."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.sql.parser.excerpts import SpannedError
from headrace.sql.parser.syntax import Span

__all__ = ["QueryHint", "hint_options", "query_hints"]

_KNOWN = (
    "BROADCAST",
    "LOOKUP",
    "MULTI_JOIN",
    "NEST_LOOP",
    "SHUFFLE_HASH",
    "SHUFFLE_MERGE",
    "STATE_TTL",
)
_HINT = re.compile(r"\b([A-Za-z_]\w*)\b(?:\s*\(((?:'[^']*'|[^')])*)\))?")
_OPTION = re.compile(r"'([^']*)'\s*=\s*'([^']*)'")


@dataclass(frozen=True)
class QueryHint:
    """A hint behind SELECT: its name, and what stands in its parentheses."""

    name: str
    tables: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    span: Span | None

    def __str__(self) -> str:
        inside = [*self.tables, *(f"{k}={v}" for k, v in self.options)]
        return f"{self.name}({', '.join(inside)})" if inside else self.name


def hint_options(comments: Iterable[str]) -> dict[str, str]:
    """The options of `OPTIONS` among comments."""
    found: dict[str, str] = {}
    for comment in comments:
        for hint in _HINT.finditer(comment):
            if hint[1].upper() == "OPTIONS":
                found.update(_OPTION.findall(hint[2] or ""))
    return found


def query_hints(comments: Iterable[str], text: str) -> list[QueryHint]:
    """The hints behind SELECT; their names must be known."""
    found = []
    for comment in comments:
        for hint in _HINT.finditer(comment) if comment.startswith("+") else ():
            place = re.search(re.escape(hint[0]), text)
            span = None if place is None else (place.start(), place.end() - 1)
            name, inside = hint[1].upper(), hint[2] or ""
            if name not in _KNOWN:
                raise SpannedError(
                    f"Hint: {name} should be registered in the HintStrategyTable; the hints of a "
                    f"query are {', '.join(_KNOWN)}",
                    span,
                )
            names = (part.strip(" '`\n\t") for part in _OPTION.sub("", inside).split(","))
            options = tuple(_OPTION.findall(inside))
            found.append(QueryHint(name, tuple(filter(None, names)), options, span))
    return found
