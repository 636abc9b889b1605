"""Where statements end in a text: at semicolons that are not part of text, names or comments."""

from __future__ import annotations

import re

__all__ = ["is_complete", "split_statements"]

# Nothing can follow these, so they need no semicolon.
_ALONE = ("CLEAR", "EXIT", "HELP", "QUIT")

# Text, names and comments that do not end go on to the end.
_TOKEN = re.compile(
    r"""
      '(?:[^']|'')*(?:'|\Z)    # text
    | `[^`]*(?:`|\Z)           # a name
    | --[^\n]*                 # a comment
    | /\*.*?(?:\*/|\Z)        # a comment
    | ;
    """,
    re.VERBOSE | re.DOTALL,
)
_SET = re.compile(
    r"\s*(EXECUTE\s+STATEMENT\s+SET\s+BEGIN|BEGIN\s+STATEMENT\s+SET)\b", re.IGNORECASE
)
_COMMENT = re.compile(r"--[^\n]*|/\*(?!\+).*?\*/", re.DOTALL)


def _pieces(text: str) -> tuple[list[str], str]:
    """Statements that have ended, each with its semicolon, and the rest."""
    found, start = [], 0
    for match in _TOKEN.finditer(text):
        if match[0] == ";":
            found.append(text[start : match.end()])
            start = match.end()
    return found, text[start:]


def _bare(text: str) -> str:
    """A statement without comments, for a look at its words."""
    return _COMMENT.sub(" ", text).strip()


def split_statements(text: str) -> list[str]:
    """The statements of a script; a statement set is one, and the last may lack its semicolon."""
    pieces, rest = _pieces(text)
    if _bare(rest):
        pieces.append(rest)
    out: list[str] = []
    inside: list[str] | None = None
    for piece in pieces:
        if inside is not None:
            inside.append(piece)
            if _bare(piece).rstrip("; \n").upper() == "END":
                out.append("".join(inside))
                inside = None
        elif _SET.match(_bare(piece)):
            inside = [piece]
        elif _bare(piece).strip("; \n"):
            out.append(piece)
    return out if inside is None else [*out, "".join(inside)]


def is_complete(text: str) -> bool:
    """Whether a text that is being typed can be run: it ends with a semicolon of its own."""
    pieces, rest = _pieces(text)
    if not pieces:
        return not text.strip() or text.strip().upper() in _ALONE
    if _bare(rest):
        return False
    if _SET.match(_bare(text)):
        return _bare(pieces[-1]).rstrip("; \n").upper() == "END"
    return True
