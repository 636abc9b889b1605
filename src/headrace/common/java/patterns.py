"""Regular expressions in Java's words, for Python's `re`."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["java_pattern"]

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9A-Fa-f",
    "Space": r" \t\n\x0b\f\r",
}
"""What a class contains, as it stands within brackets."""

_PUNCTUATION = r"!-#%-*,-/:;?@\[-\]_{}" + "\xa1\xa7\xab\xb6\xb7\xbb\xbf\u2010-\u2027\u2030-\u205e"
_LETTERS = {"L", "IsL", "IsAlphabetic", "IsLetter", "javaLetter", "IsLatin"}
_ESCAPES = {"h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]", "z": r"\Z"}
_ESCAPES |= {"R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", "Z": r"(?=\n?\Z)", "e": r"\x1b"}


@lru_cache(4096)
def java_pattern(text: str) -> re.Pattern[str]:
    r"""A pattern of `java.util.regex`; `re.error` if Python has nothing like it.

    As in Java, `\d`, `\w`, `\s` and `\b` know ASCII alone.
    """
    return re.compile(_Reader(text).read(), re.ASCII)


class _Reader:
    """Goes through a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> str:
        out = []
        while self._at < len(self._text):
            out.append(self._piece())
        return "".join(out)

    def _piece(self) -> str:
        if self._next("\\Q"):
            quoted, _, _ = self._text[self._at :].partition("\\E")
            self._at += len(quoted) + 2
            return re.escape(quoted)
        if re.match(r"\(\?<[A-Za-z]", self._text[self._at :]) and self._next("(?<"):
            return "(?P<"
        if self._text[self._at] == "[":
            return self._brackets()
        if self._text[self._at] == "\\":
            return self._escape()
        self._at += 1
        return self._text[self._at - 1]

    def _next(self, start: str) -> bool:
        found = self._text.startswith(start, self._at)
        self._at += len(start) if found else 0
        return found

    def _escape(self) -> str:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in ("p", "P"):
            return self._property(letter == "P")
        self._at += 2
        if letter == "k" and self._next("<"):
            name, _, _ = self._text[self._at :].partition(">")
            self._at += len(name) + 1
            return f"(?P={name})"
        return _ESCAPES.get(letter, "\\" + letter)

    def _property(self, negated: bool) -> str:
        r"""`\p{Alpha}` or `\pL`: one character of a class."""
        found = re.compile(r"\\[pP](?:\{(\w+)\}|(\w))").match(self._text, self._at)
        if found is None:
            raise re.error("a class such as \\p{Alpha} is expected", self._text, self._at)
        self._at = found.end()
        return _class_of(found[1] or found[2], negated)

    def _brackets(self) -> str:
        """`[a-c&&[^b]]`: what all parts of an intersection, and one piece of a union, match."""
        self._at += 1
        negated = self._next("^")
        parts: list[list[str]] = [[]]
        plain = "\\]" if self._next("]") else ""
        while not self._next("]"):
            if self._at >= len(self._text):
                raise re.error("a class in brackets does not end", self._text, self._at)
            if self._next("&&"):
                parts[-1] += [f"[{plain}]"] if plain else []
                parts.append([])
                plain = ""
            elif self._text[self._at] == "[":
                parts[-1].append(self._brackets())
            elif re.match(r"\\[pPhR]", self._text[self._at :]):
                parts[-1].append(self._escape())
            else:
                size = 2 if self._text[self._at] == "\\" else 1
                plain += self._text[self._at : self._at + size]
                self._at += size
        if plain and parts == [[]]:
            return f"[{'^' if negated else ''}{plain}]"
        parts[-1] += [f"[{plain}]"] if plain else []
        if not all(parts):
            raise re.error("a part of a class in brackets is empty", self._text, self._at)
        *ahead, last = (f"(?:{'|'.join(part)})" for part in parts)
        whole = "".join(f"(?={part})" for part in ahead) + last
        return rf"(?:(?!{whole})[\s\S])" if negated else whole


def _class_of(name: str, negated: bool) -> str:
    inverse = "^" if negated else ""
    if name in _POSIX:
        return f"[{inverse}{_POSIX[name]}]"
    if name in _LETTERS:
        # All that is a word's character in Unicode, but no digit and no underscore.
        letter = r"(?u:[^\W\d_])"
        return rf"(?:(?!{letter})[\s\S])" if negated else letter
    if name in ("N", "Nd", "IsDigit", "IsN", "IsNd"):
        return rf"(?u:\{'D' if negated else 'd'})"
    if name in ("IsWhite_Space", "IsWhiteSpace", "Z", "Zs", "IsZ"):
        return rf"(?u:\{'S' if negated else 's'})"
    if name in ("P", "IsPunctuation", "IsP"):
        return f"[{inverse}{_PUNCTUATION}]"
    if name in ("Lu", "IsUppercase", "IsLu", "Ll", "IsLowercase", "IsLl"):
        upper = "u" in name.lower().removeprefix("is")[:2]
        return f"[{inverse}{_letters(upper)}]"
    raise re.error(f"\\p{{{name}}} is not known")


@lru_cache(2)
def _letters(upper: bool) -> str:
    """Letters of one case, as ranges within brackets."""
    found = [c for c in range(0x10000) if (chr(c).isupper() if upper else chr(c).islower())]
    ranges: list[list[int]] = []
    for code in found:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{a:04x}-\\u{b:04x}" for a, b in ranges)
