"""Long and deeply nested statements run; what is too deep for planning is refused in a sentence."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.sql.parsing import parse_expression, parse_statement
from tests.examples import scaled
from tests.sql.sessions import LocalSession

# Smaller in `make test-quick`.
LENGTH = min(1000, scaled(1000))
DEPTH = min(300, scaled(300))

T = "FROM (VALUES (1, 'x', CAST(NULL AS INT))) t(a, s, n)"

LONG: dict[str, tuple[Callable[[int], str], Callable[[int], Any]]] = {
    "additions": (lambda k: "SELECT " + " + ".join(["a"] * k) + f" {T}", lambda k: k),
    "additions of NULL": (lambda k: "SELECT " + " + ".join(["n"] * k) + f" {T}", lambda k: None),
    "concatenations": (lambda k: "SELECT " + " || ".join(["s"] * k) + f" {T}", lambda k: "x" * k),
    "ANDs": (
        lambda k: f"SELECT a {T} WHERE " + " AND ".join(f"a <> {i + 2}" for i in range(k)),
        lambda k: 1,
    ),
    "ORs of NULL": (
        lambda k: f"SELECT a {T} WHERE " + " OR ".join(["n <> 1"] * k) + " OR a = 1",
        lambda k: 1,
    ),
    "branches of CASE": (
        lambda k: (
            "SELECT CASE a "
            + " ".join(f"WHEN {i + 2} THEN 's{i}'" for i in range(k))
            + f" WHEN 1 THEN 'last' END {T}"
        ),
        lambda k: "last",
    ),
    "branches of CASE that need lines": (
        lambda k: (
            "SELECT CASE "
            + " ".join(f"WHEN COALESCE(n, a) = {i + 2} THEN 1 / n" for i in range(k))
            + f" WHEN COALESCE(n, a) = 1 THEN 7 ELSE 1 / 0 END {T}"
        ),
        lambda k: 7,
    ),
    "arguments of COALESCE": (
        lambda k: "SELECT COALESCE(" + ", ".join(["n"] * k) + f", a, 1 / 0) {T}",
        lambda k: 1,
    ),
    "branches of UNION ALL": (
        lambda k: f"SELECT {k} AS x {T}" + f" UNION ALL SELECT {k} {T}" * (k // 5),
        lambda k: k,
    ),
    "a list of IN": (
        lambda k: f"SELECT a {T} WHERE a IN (" + ", ".join(map(str, range(k))) + ")",
        lambda k: 1,
    ),
    "columns": (
        lambda k: "SELECT " + ", ".join(f"a + {i} AS c{i}" for i in range(k)) + f" {T}",
        lambda k: 1,
    ),
    "keys of GROUP BY": (
        lambda k: "SELECT COUNT(*) " + T + " GROUP BY " + ", ".join(f"a + {i}" for i in range(k)),
        lambda k: 1,
    ),
    "aggregates": (
        lambda k: "SELECT " + ", ".join(f"SUM(a + {i})" for i in range(k)) + f" {T}",
        lambda k: 1,
    ),
    "a chain of WITH": (
        lambda k: (
            f"WITH q0 AS (SELECT a {T})"
            + "".join(f", q{i + 1} AS (SELECT a FROM q{i})" for i in range(k))
            + f" SELECT * FROM q{k}"
        ),
        lambda k: 1,
    ),
}

DEEP: dict[str, tuple[Callable[[int], str], Callable[[int], Any]]] = {
    "parentheses": (lambda k: "(" * k + "a" + ")" * k, lambda k: 1),
    "functions": (lambda k: "UPPER(" * k + "s" + ")" * k, lambda k: "X"),
    "NOT": (lambda k: "NOT " * k + "(a = 1)", lambda k: k % 2 == 0),
    "CASE in ELSE": (
        lambda k: "CASE WHEN n = 1 THEN 0 ELSE " * k + "a" + " END" * k,
        lambda k: 1,
    ),
    "CASE in THEN": (
        lambda k: "CASE WHEN a = 1 THEN " * k + "a" + " ELSE 1 / 0 END" * k,
        lambda k: 1,
    ),
    "CASE in WHEN": (
        lambda k: "CASE WHEN " * k + "a = 1" + " THEN a = 1 ELSE 1 / 0 = 1 END" * k,
        lambda k: True,
    ),
    "COALESCE": (lambda k: "COALESCE(n, " * k + "a" + ", 1 / 0)" * k, lambda k: 1),
    "AND and OR": (
        lambda k: "(n = 1 OR (a = 1 AND " * k + "a = 1" + "))" * k,
        lambda k: True,
    ),
    "NULLIF": (lambda k: "NULLIF(" * k + "a" + ", 2)" * k, lambda k: 1),
    "ARRAY": (lambda k: "ARRAY[" * k + "a" + "]" * k, None),
    "ROW": (lambda k: "ROW(" * k + "a" + ")" * k, None),
    "functions with a syntax of their own": (
        lambda k: "TRIM(BOTH FROM SUBSTRING(" * k + "s" + " FROM 1 FOR 1))" * k,
        lambda k: "x",
    ),
}


@pytest.mark.parametrize("shape", LONG)
def test_long_statements_run(shape: str) -> None:
    text, expected = LONG[shape]
    assert LocalSession().query(text(LENGTH)).rows[0][1][0] == expected(LENGTH)


@pytest.mark.parametrize("shape", DEEP)
def test_deep_expressions_run(shape: str) -> None:
    text, expected = DEEP[shape]
    ((_, (value,)),) = LocalSession().query(f"SELECT {text(DEPTH)} {T}").rows
    if expected is None:
        for _ in range(DEPTH):
            (value,) = value
        assert value == 1
    else:
        assert value == expected(DEPTH)


def test_deep_subqueries_run() -> None:
    text = "SELECT a FROM " + "(SELECT a FROM " * 300 + f"(SELECT a {T})" + ")" * 300
    assert LocalSession().query(text).rows == [(0, (1,))]


def test_a_deep_key_of_groups_is_found_again() -> None:
    key = " + ".join(["a"] * 250)
    assert LocalSession().query(f"SELECT {key} {T} GROUP BY {key}").rows == [(0, (250,))]


def test_what_is_too_deep_is_refused_and_leaves_nothing_behind() -> None:
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    with pytest.raises(SqlError, match=r"nested too deeply: .* 100000 nested calls.* Split it"):
        parse_statement("SELECT " + "(" * 20_000 + "1" + ")" * 20_000)
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_errors_of_deep_statements_are_those_of_others() -> None:
    with pytest.raises(SqlError, match="line 1, column 8: "):
        LocalSession().query("SELECT " + " + ".join(["b"] * 500) + f" {T}")


def test_deep_expressions_without_a_statement() -> None:
    assert parse_expression("(" * 300 + "a" + ")" * 300).parts == ("a",)  # type: ignore[attr-defined]
