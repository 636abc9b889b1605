"""Pieces of a statement's text, and errors that show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.common.errors import SqlError
from headrace.sql.parser.syntax import Span

__all__ = ["Excerpt", "SpannedError", "located", "underlined"]


def underlined(
    message: str, text: str, span: Span | None, kind: type[SqlError] = SqlError
) -> SqlError:
    """An error that shows a piece of the text."""
    if span is None or not text:
        return kind(message)
    start, end = _closed(text, span)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    shown = text[line_start : line_end if line_end >= 0 else len(text)]
    column = start - line_start
    mark = " " * column + "^" * max(min(end, line_start + len(shown) - 1) - start + 1, 1)
    line = text.count("\n", 0, start) + 1
    return kind(f"{message}\n    {shown}\n    {mark}", (line, column + 1))


def _closed(text: str, span: Span) -> Span:
    """A piece with the parentheses that end behind it: they are in no node of the tree."""
    start, end = span
    inside = text[start : end + 1]
    missing = inside.count("(") + inside.count("[") - inside.count(")") - inside.count("]")
    behind = re.compile(r"\s*[)\]]").match
    while missing > 0:
        found = behind(text, end + 1)
        if found is None:
            return span
        end, missing = found.end() - 1, missing - 1
    return start, end


@dataclass(frozen=True)
class Excerpt:
    """A piece of a statement, or of a view's text, that a part of a plan comes from."""

    text: str
    span: Span | None = None

    def error(self, message: str, kind: type[SqlError] = SqlError) -> SqlError:
        """An error that shows the piece."""
        return underlined(message, self.text, self.span, kind)


class SpannedError(SqlError):
    """An error of code that knows the place, but not the text; `located` shows it."""

    def __init__(self, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.span = span


# A name in a message, in quotes of any kind.
_QUOTED = re.compile(r"'([^'\n]+)'|`([^`\n]+)`|\[([^\]\n]+)\]")


def located(error: SqlError, text: str, names: Sequence[str] = ()) -> None:
    """Gives an error its place.

    If the error does not know it, that is where the text has the first name of its message, or of
    the names that the statement is about.
    """
    if error.position is not None or not text:
        return
    message = str(error.args[0])
    if isinstance(error, SpannedError) and error.span is not None:
        _show(error, underlined(message, text, error.span))
        return
    quoted = (next(g for g in m.groups() if g) for m in _QUOTED.finditer(message))
    for name in (*(q.split(".")[-1].strip("`") for q in quoted), *names):
        found = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)
        if found is None:
            found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if found is not None:
            _show(error, underlined(message, text, (found.start(), found.end() - 1)))
            return


def _show(error: SqlError, shown: SqlError) -> None:
    error.args, error.position = shown.args, shown.position
