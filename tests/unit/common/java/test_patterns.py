"""Patterns of Java find in Python what they find in Java."""

from __future__ import annotations

import re

import pytest

from headrace.common.java.patterns import java_pattern

FOUND = [
    (r"\p{L}+", "1éab2", "éab"),
    (r"\p{Lu}", "aÉ", "É"),
    (r"\P{Alpha}+", "ab12", "12"),
    (r"[^\p{Alpha}]+", "ab12", "12"),
    (r"\p{Punct}+", "a!?b", "!?"),
    (r"[\p{Lower}&&[^p]]+", "pplum", "lum"),
    (r"[0-9&&[^1]]+", "1234", "234"),
    (r"[a-c[x-z]]+", "dayd", "ay"),
    (r"(?<n>a)\k<n>", "xaa", "aa"),
    (r"(?<=a)b", "ab", "b"),
    (r"\Q.*\E", "a.*b", ".*"),
    (r"a\z", "ba", "a"),
    (r"\h+", "a \tb", " \t"),
    (r"\d", "٣", None),
    (r"\w", "é", None),
]


@pytest.mark.parametrize(("pattern", "text", "found"), FOUND)
def test_finds_what_java_finds(pattern: str, text: str, found: str | None) -> None:
    match = java_pattern(pattern).search(text)
    assert (match and match[0]) == found


@pytest.mark.parametrize("pattern", ["(", "[a", "[a&&]", r"\p{Nothing}", "\\"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(re.error):
        java_pattern(pattern)
