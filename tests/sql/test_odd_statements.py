"""Whatever is written, statements run or are refused with an error of headrace."""

from __future__ import annotations

import random
import re

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql import statements as s
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.parsing import parse_statement
from tests.examples import QUICK, scaled
from tests.sql.sessions import HERE, LocalSession, case_files, statements, with_tables

_VALUES = [
    *("NULL", "0", "1", "-1", "1.5", "1e300", "9223372036854775807", "''", "'x'", "x'00'", "TRUE"),
    *("DATE '2020-01-01'", "TIME '10:00:00'", "TIMESTAMP '2020-01-01 00:00:00'"),
    *("INTERVAL '1' DAY", "INTERVAL '1' MONTH", "ARRAY[1]", "MAP['a', 1]", "ROW(1, 'a')"),
]
_SPECIAL = ("YEAR", "MINUTE", "TIMESTAMPADD", "OVERLAPS", "JSON_ELEMENT", "CAST", "TRIM")
_INTERNAL = re.compile(
    r"\b(Type|Attribute|Key|Name|Syntax|Indentation|Recursion|Assertion|Index|Unbound\w+|Overflow)Error"
)


def run(session: LocalSession, text: str) -> None:
    """A query; an error of headrace is fine unless it reports one of Python."""
    try:
        session.query(text)
    except HeadraceError as error:
        last = str(error).strip().splitlines()[-1]
        assert not _INTERNAL.search(last), f"{text}\n{last}"


@pytest.mark.parametrize("count", range(6))
def test_functions_with_any_number_of_arguments_of_any_type(count: int) -> None:
    rng = random.Random(count)
    session = LocalSession()
    names = [*builtin_registry().names(), *_SPECIAL]
    # Each with one number of arguments where it has to be quick.
    for name in names[count::6] if QUICK else names:
        args = [rng.choice(_VALUES) for _ in range(count)]
        columns = [f"c{i}" for i in range(count)]
        run(session, f"SELECT {name}({', '.join(args)}) FROM (VALUES (1)) t(a)")
        if count:
            rows = f"(VALUES ({', '.join(args)})) t({', '.join(columns)})"
            run(session, f"SELECT {name}({', '.join(columns)}) FROM {rows}")


_TOKEN = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\w+(?:\.\d+)?|<=|>=|<>|\|\||=>|\s+|.", re.DOTALL)
_CUT_OFF = ["USE MODULES ", "USE CATALOG ", "ALTER orders", "DROP TABLE IF EXISTS -- ", "SHOW "]


def mutated(rng: random.Random, bases: list[list[str]]) -> str:
    """A statement with a token of another one in place of one of its own, left out, or doubled."""
    tokens = list(rng.choice(bases))
    place = rng.choice([i for i, x in enumerate(tokens) if not x.isspace()])
    other = rng.choice([x for x in rng.choice(bases) if not x.isspace()])
    tokens[place] = rng.choice(["", other, f"{other} ", tokens[place] * 2])
    return "".join(tokens)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mutated_queries_are_planned_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    texts = [
        text
        for name in case_files()
        for text in statements((HERE / "cases" / f"{name}.sql").read_text(encoding="utf-8"))
    ]
    bases = [_TOKEN.findall(text) for text in texts]
    session = with_tables(batch=seed % 2 == 0)
    for _ in range(scaled(250)):
        text = mutated(rng, bases)
        try:
            statement = parse_statement(text)
            if isinstance(statement, s.Query):
                plan = session.plan(text)
                session.session.check(plan)
                session.session.translator().stream(plan)
        except HeadraceError:
            pass
        except Exception as error:
            raise AssertionError(f"{text} gives {error!r}") from error
        finally:
            session.env._transformations = []


@pytest.mark.parametrize("text", _CUT_OFF)
def test_a_statement_that_ends_too_early_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        LocalSession().execute(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM m GROUP BY x",
        "SELECT DISTINCT x FROM m",
        "SELECT COUNT(DISTINCT x) FROM m",
        "SELECT COLLECT(x) FROM m",
        "SELECT x FROM m INTERSECT SELECT x FROM m",
    ],
)
def test_maps_are_not_keys(text: str) -> None:
    session = LocalSession()
    with pytest.raises(SqlError, match=r"MAP<.* cannot be compared"):
        session.query(f"WITH m AS (SELECT x FROM (VALUES (MAP['a', 1])) t(x)) {text}")


def test_an_unknown_column_of_order_by_is_named() -> None:
    with pytest.raises(SqlError, match="'broken' not found"):
        with_tables().query("SELECT item, COUNT(*) AS n FROM orders GROUP BY item ORDER BY broken")


@pytest.mark.parametrize(
    ("over", "condition", "count"),
    [
        ("ORDER BY x", "n < 2.5", 2),
        ("ORDER BY x", "n <= 2.5 AND n < 10", 2),
        ("ORDER BY x", "n < CAST(NULL AS INT)", 0),
        ("", "n < 3", 2),
    ],
)
def test_numbers_of_rows_are_compared_with_anything(over: str, condition: str, count: int) -> None:
    numbered = f"SELECT x, ROW_NUMBER() OVER ({over}) AS n FROM (VALUES (7), (8), (9)) AS t(x)"
    found = LocalSession(batch=True).query(f"SELECT * FROM ({numbered}) WHERE {condition}")
    assert len(found.rows) == count
