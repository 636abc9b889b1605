"""What is known of a regular expression without running it."""

from __future__ import annotations

import re

__all__ = ["takes_part"]

_TOKENS = re.compile(r"\\.|\[\^?(?:\\.|[^]\\[])+\]|\(\?|.", re.DOTALL)
# Python and Java do not read these alike, or nobody here looks into them.
_UNCLEAR = {"(?", "[", "]", "{", "}", r"\0", r"\U"}
_UNCLEAR_IN_CLASS = re.compile(r"\\[\dbU]|&&")


def takes_part(pattern: str, group: int) -> bool:
    """Whether a group is part of each match; of a pattern that is not simple that is not known."""
    tokens = _TOKENS.findall(pattern)
    if any(map(_is_unclear, tokens)) or not _is_valid(pattern):
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


def _is_unclear(token: str) -> bool:
    # Pairs of backslashes are themselves.
    in_class = token[0] == "[" and _UNCLEAR_IN_CLASS.search(token.replace(r"\\", ""))
    return token in _UNCLEAR or bool(in_class)


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
