"""Filters of JSON paths: what is between the brackets of `$.a[?(@.b > 2 && @.c == 'x')]`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.java.patterns import java_pattern

__all__ = ["MISSING", "Condition", "FilterReader"]

MISSING = object()
"""What a path finds where there is nothing."""

Condition = Callable[[Any, Any], bool]
"""Whether a filter takes a value, given with the root that it is in."""

_Operand = Callable[[Any, Any], Any]
_OPERATOR = re.compile(r"\s*(===|!==|==|!=|<=|>=|=~|<|>)\s*")
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)*)/([a-z]*)")
_LITERAL = re.compile(
    r"(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)\b"
    r"|'(?P<single>(?:[^'\\]|\\.)*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\""
)
_WORDS = {"true": True, "false": False, "null": None}


class FilterReader:
    """Reads one filter; `read_path` reads the steps behind `@` and `$`, and says where they end."""

    def __init__(
        self, text: str, position: int, read_path: Callable[[str, int], tuple[Any, int]]
    ) -> None:
        self._text = text
        self.position = position
        self._read_path = read_path

    def either(self) -> Condition:
        """Conditions of which one is enough."""
        parts = [self._both()]
        while self._match("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda v, root: any(p(v, root) for p in parts)

    def _both(self) -> Condition:
        parts = [self._single()]
        while self._match("&&"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else lambda v, root: all(p(v, root) for p in parts)

    def _single(self) -> Condition:
        if self._match("!"):
            negated = self._single()
            return lambda v, root: not negated(v, root)
        if self._match("("):
            inner = self.either()
            if not self._match(")"):
                raise self._error()
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        left = self._operand()
        found = _OPERATOR.match(self._text, self.position)
        if found is None:
            raise self._error()
        self.position = found.end()
        if found[1] == "=~":
            return self._matching(left)
        compare, right = _COMPARISONS[found[1]], self._operand()
        return lambda v, root: compare(left(v, root), right(v, root))

    def _matching(self, left: _Operand) -> Condition:
        found = _PATTERN.match(self._text, self.position)
        if found is None:
            raise self._error()
        self.position = found.end()
        pattern = java_pattern(f"(?{found[2]}){found[1]}" if found[2] else found[1])

        def matches(value: Any, root: Any) -> bool:
            text = left(value, root)
            return isinstance(text, str) and pattern.fullmatch(text) is not None

        return matches

    def _operand(self) -> _Operand:
        if self._match("@"):
            here, self.position = self._read_path(self._text, self.position)
            return lambda v, root: here.find(v, root)
        if self._match("$"):
            above, self.position = self._read_path(self._text, self.position)
            return lambda v, root: above.find(root, root)
        found = _LITERAL.match(self._text, self.position)
        if found is None:
            raise self._error()
        self.position = found.end()
        value = _literal(found)
        return lambda v, root: value

    def _match(self, sign: str) -> bool:
        """Whether a sign comes next, behind blanks; then it is read."""
        rest = self._text[self.position :]
        start = self.position + len(rest) - len(rest.lstrip())
        if not self._text.startswith(sign, start):
            return False
        self.position = start + len(sign)
        while self._text[self.position : self.position + 1] == " ":
            self.position += 1
        return True

    def _error(self) -> HeadraceError:
        return HeadraceError(
            f"JSON path {self._text!r} cannot be read at {self._text[self.position :]!r}; a filter "
            "compares, as in [?(@.price < 10 && @.item == 'fig')]"
        )


def _literal(found: re.Match[str]) -> Any:
    if found["number"]:
        return Decimal(found["number"])
    if found["word"]:
        return _WORDS[found["word"]]
    text = found["single"] if found["single"] is not None else found["double"]
    return re.sub(r"\\(.)", r"\1", text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _identical(left: Any, right: Any) -> bool:
    same_kind = type(left) is type(right) or (_is_number(left) and _is_number(right))
    return same_kind and bool(left == right)


def _equal(left: Any, right: Any) -> bool:
    """A text equals the number that it contains."""
    if _is_number(left) and isinstance(right, str):
        left, right = right, left
    if isinstance(left, str) and _is_number(right):
        try:
            return bool(Decimal(left) == right)
        except InvalidOperation:
            return False
    return _identical(left, right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Numbers are compared with numbers, and texts with texts."""

    def result(left: Any, right: Any) -> bool:
        texts = isinstance(left, str) and isinstance(right, str)
        return (texts or (_is_number(left) and _is_number(right))) and compare(left, right)

    return result


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "===": _identical,
    "!==": lambda left, right: not _identical(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
