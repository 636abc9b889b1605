"""What is known of a regular expression without running it."""

from __future__ import annotations

import re

__all__ = ["takes_part"]

_TOKENS = re.compile(r"\\.|\[\^?(?:\\.|[^]\\[])+\]|\(\?|.", re.DOTALL)
# Python and Java do not read these alike, or nobody here looks into them.
_UNCLEAR = {"(?", "[", "]", "{", "}"}


def takes_part(pattern: str, group: int) -> bool:
    """Whether a group is part of each match; of a pattern that is not simple that is not known."""
    tokens = _TOKENS.findall(pattern)
    if not _UNCLEAR.isdisjoint(tokens) or not _is_valid(pattern):
        return False
    certain, inside = {0}, []
    opened = 0
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "(":
            opened += 1
            inside.append(opened)
        elif token == ")":
            closed = inside.pop()
            if not inside and following not in ("*", "?"):
                certain.add(closed)
        elif token == "|" and not inside:
            return False
    return group in certain


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
