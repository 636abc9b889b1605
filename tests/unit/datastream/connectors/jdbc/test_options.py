"""JDBC URLs, placeholders, upserts, ranges, and what is refused while a program is built."""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    upsert_statement,
)
from headrace.datastream.connectors.jdbc.prepared import _name_of, keeps_prepared
from headrace.datastream.connectors.jdbc.scan import ranges
from headrace.datastream.connectors.jdbc.statements import (
    count_placeholders,
    translate_placeholders,
)
from headrace.datastream.connectors.jdbc.url import JdbcUrl


def options(url: str = "jdbc:postgresql://db:5433/shop") -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
    return (
        builder.with_user_name("me")
        .with_password("secret")
        .with_driver_name("org.postgresql.Driver")
        .build()
    )


def test_options_keep_what_they_were_given() -> None:
    given = options()
    assert given.get_db_url() == "jdbc:postgresql://db:5433/shop"
    assert (given.get_user_name(), given.get_password()) == ("me", "secret")
    assert given.get_driver_name() == "org.postgresql.Driver"
    assert "secret" not in repr(given)
    short = options("jdbc:mysql://db/shop?password=secret&useSSL=false")
    assert short.get_db_url() == "jdbc:mysql://db/shop?password=secret&useSSL=false"
    assert "secret" not in repr(short)


def test_execution_options() -> None:
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_interval_ms(), defaults.get_batch_size()) == (0, 5000)
    assert defaults.get_max_retries() == 3
    built = (
        JdbcExecutionOptions.builder()
        .with_batch_interval_ms(7)
        .with_batch_size(8)
        .with_max_retries(0)
        .build()
    )
    assert (built.batch_interval_ms, built.batch_size, built.max_retries) == (7, 8, 0)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://h/d", JdbcUrl("postgresql", "h", 5432, "d")),
        ("jdbc:mysql://h:1/d", JdbcUrl("mysql", "h", 1, "d")),
        ("jdbc:mariadb://h/my%20db", JdbcUrl("mariadb", "h", 3306, "my db")),
        (
            "jdbc:postgresql://h/d?sslmode=require&application_name=x",
            JdbcUrl(
                "postgresql", "h", 5432, "d", (("sslmode", "require"), ("application_name", "x"))
            ),
        ),
    ],
)
def test_urls(url: str, expected: JdbcUrl) -> None:
    assert JdbcUrl.parse(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d",
        "jdbc:oracle:thin:@h",
        "jdbc:postgresql://h",
        "jdbc:postgresql://h:x/d",
        1,
    ],
)
def test_bad_urls(url: Any) -> None:
    with pytest.raises((GraphError, FunctionTypeError)):
        JdbcUrl.parse(url)


@pytest.mark.parametrize(
    ("sql", "count", "translated"),
    [
        ("INSERT INTO t VALUES (?, ?)", 2, "INSERT INTO t VALUES (%s, %s)"),
        ("SELECT '?' || ? -- why?\n, \"a?\"", 1, "SELECT '?' || %s -- why?\n, \"a?\""),
        ("SELECT 'it''s ?', `b?`, /* ? */ ?", 1, "SELECT 'it''s ?', `b?`, /* ? */ %s"),
        ("SELECT * FROM t WHERE a LIKE '5%' AND b % 2 = ?", 1,
         "SELECT * FROM t WHERE a LIKE '5%%' AND b %% 2 = %s"),
        ("SELECT tags ?? 'x' FROM t", 0, "SELECT tags ? 'x' FROM t"),
        ("SELECT $$?$$, $a$ ? $$ $a$, ?", 1, "SELECT $$?$$, $a$ ? $$ $a$, %s"),
    ],
)  # fmt: skip
def test_placeholders(sql: str, count: int, translated: str) -> None:
    assert count_placeholders(sql) == count
    assert translate_placeholders(sql) == translated


def test_numbered_placeholders() -> None:
    sql = translate_placeholders("VALUES (?, '5%', ?)", lambda n: f"${n}")
    assert sql == "VALUES ($1, '5%', $2)"


def test_upserts() -> None:
    postgresql, mysql = options(), options("jdbc:mysql://h/d")
    assert upsert_statement(postgresql, "s.t", ["id", "a"], ["id"]) == (
        'INSERT INTO "s"."t" ("id", "a") VALUES (?, ?) '
        'ON CONFLICT ("id") DO UPDATE SET "a" = EXCLUDED."a"'
    )
    assert upsert_statement(postgresql, "t", ["id"], ["id"]).endswith('("id") DO NOTHING')
    assert upsert_statement(mysql, "t", ["id", "a"], ["id"]) == (
        "INSERT INTO `t` (`id`, `a`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `a` = VALUES(`a`)"
    )


@pytest.mark.parametrize(
    ("lower", "upper", "count", "expected"),
    [
        (1, 10, 2, [6]),
        (0, 2, 5, [1, 2]),
        (7, 7, 4, []),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 10), 2, [datetime.date(2024, 1, 6)]),
        (
            datetime.datetime(2024, 1, 1),
            datetime.datetime(2024, 1, 3),
            2,
            [datetime.datetime(2024, 1, 2)],
        ),
        (Decimal(0), Decimal(3), 3, [Decimal(1), Decimal(2)]),
    ],
)
def test_ranges(lower: Any, upper: Any, count: int, expected: list[Any]) -> None:
    assert ranges(lower, upper, count) == expected


ROW = Types.ROW([Types.INT(), Types.STRING()])
INSERT = "INSERT INTO t VALUES (?, ?)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: JdbcSink.sink("INSERT INTO t VALUES (?)", ROW, options()), "1 placeholders"),
        (lambda: JdbcSink.sink("", ROW, options()), "SQL statement"),
        (lambda: JdbcSink.sink(INSERT, Types.INT(), options()), "Types.ROW"),
        (lambda: JdbcSink.sink(INSERT, ROW, "jdbc:..."), "JdbcConnectionOptions"),
        (lambda: JdbcSink.sink(INSERT, ROW, options(), 3), "JdbcExecutionOptions"),
        (
            lambda: JdbcSink.exactly_once_sink(
                INSERT, ROW, options("jdbc:mysql://h/d"), JdbcExactlyOnceOptions("p" * 47)
            ),
            "46 bytes at most",
        ),
        (lambda: JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build(), "with_url"),
        (lambda: JdbcExecutionOptions.builder().with_batch_size(0), "at least 1"),
        (lambda: JdbcExactlyOnceOptions.builder().with_transaction_id_prefix("a'b"), "letters"),
        (lambda: JdbcSource.builder().set_db_url("jdbc:mysql://h/d").build(), "set_sql"),
        (lambda: JdbcSource.builder().set_sql("SELECT 1").build(), "with_url"),
        (
            lambda: (
                JdbcSource.builder().set_sql("SELECT ?").set_connection_options(options()).build()
            ),
            "given 0 values",
        ),
        (lambda: upsert_statement(options(), "t", ["a"], ["b"]), "some of the columns"),
    ],
)
def test_errors_while_building(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((GraphError, FunctionTypeError), match=words):
        make()


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'headrace\[jdbc\]'"):
        JdbcSink.sink(INSERT, ROW, options())


def test_names_cannot_leave_their_quotes() -> None:
    sql = upsert_statement(options(), 's."t', ['a"; --', "k"], ["k"])
    assert sql.startswith('INSERT INTO "s"."""t" ("a""; --", "k") VALUES')
    assert 'SET "a""; --" = EXCLUDED."a""; --"' in sql
    sql = upsert_statement(options("jdbc:mysql://db/shop"), "t`", ["a`b", "k"], ["k"])
    assert sql.startswith("INSERT INTO `t``` (`a``b`, `k`) VALUES")


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:oracle://u:hidden@db/shop?password=hidden",
        "postgresql://u:hidden@db/shop?password=hidden",
        "jdbc:mysql://u:hidden@db:x/shop?password=hidden",
    ],
)
def test_an_error_does_not_show_passwords(url: str) -> None:
    with pytest.raises(GraphError) as error:
        JdbcUrl.parse(url)
    assert "hidden" not in str(error.value)
    assert "db" in str(error.value)


@pytest.mark.parametrize(
    ("version", "keeps"),
    [
        ("8.0.36", True),
        ("5.7.7-log", True),
        ("5.6.51", False),
        ("10.11.6-MariaDB-0+deb12u1", True),
        ("10.4.32-MariaDB", False),
    ],
)
def test_which_servers_keep_prepared_transactions(version: str, keeps: bool) -> None:
    assert keeps_prepared(version) is keeps


@pytest.mark.parametrize("data", ["bücher:op1-ab", "bücher:op1-ab".encode()])
def test_names_of_transactions_are_cut_by_bytes(data: str | bytes) -> None:
    assert _name_of(data, len("bücher:op".encode())) == "bücher:op:1-ab"
