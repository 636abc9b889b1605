"""Hints: `/*+ OPTIONS(...) */` behind a table, `/*+ STATE_TTL(...) */` behind SELECT."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from headrace.common.errors import ConfigurationError
from headrace.common.option_types import DURATION
from headrace.sql.parser.excerpts import SpannedError
from headrace.sql.parser.syntax import Span

__all__ = ["hint_options", "state_ttls"]

# Of joins, where they say how and not what.
_OTHERS = frozenset(
    {"BROADCAST", "LOOKUP", "MULTI_JOIN", "NEST_LOOP", "SHUFFLE_HASH", "SHUFFLE_MERGE"}
)
_HINT = re.compile(r"\b(\w+)\s*\(([^)]*)\)")
_OPTION = re.compile(r"'([^']*)'\s*=\s*'([^']*)'")


@dataclass(frozen=True)
class StateTtl:
    """How long the state of a relation is kept."""

    relation: str
    millis: int
    span: Span | None


def hint_options(comments: Iterable[str], name: str = "OPTIONS") -> dict[str, str]:
    """The options of a hint among comments."""
    found: dict[str, str] = {}
    for comment in comments:
        for hint in _HINT.finditer(comment):
            if hint[1].upper() == name:
                found.update(_OPTION.findall(hint[2]))
    return found


def state_ttls(comments: Iterable[str], text: str) -> list[StateTtl]:
    """What STATE_TTL says behind SELECT; other hints must be known."""
    found = []
    for comment in comments:
        for hint in _HINT.finditer(comment) if comment.startswith("+") else ():
            name, options = hint[1].upper(), _OPTION.findall(hint[2])
            place = re.search(re.escape(hint[0]), text)
            span = None if place is None else (place.start(), place.end() - 1)
            if name != "STATE_TTL":
                _check_known(name, span)
                continue
            if not options:
                raise SpannedError(
                    "Invalid STATE_TTL hint, expecting at least one key-value options specified: "
                    "STATE_TTL('table' = '1 d')",
                    span,
                )
            found += [StateTtl(relation, _millis(ttl, span), span) for relation, ttl in options]
    return found


def _check_known(name: str, span: Span | None) -> None:
    if name not in _OTHERS:
        known = ", ".join(sorted({"STATE_TTL", *_OTHERS}))
        raise SpannedError(f"{name} is no hint of a query; there are {known}", span)


def _millis(text: str, span: Span | None) -> int:
    try:
        ttl: timedelta = DURATION.parse("STATE_TTL", text)
    except ConfigurationError as error:
        raise SpannedError(f"Invalid STATE_TTL hint value: {error}", span) from None
    return ttl // timedelta(milliseconds=1)
