"""Materialized tables: what statements say of them, and when they are refreshed."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.catalog import InMemoryCatalog
from headrace.sql.catalog.materialization import Freshness
from headrace.sql.catalog.start_mode import StartMode
from headrace.sql.functions.builtin.times import parse_timestamp
from headrace.sql.parsing import parse_statement
from headrace.sql.plan import nodes as n
from headrace.sql.session.refresh_scheduler import RefreshScheduler
from headrace.sql.session.starting_points import beginning_at
from headrace.util.exceptions import CatalogException
from tests.sql.sessions import LocalSession

# No clock comes to the times of these tables while a test runs: midnight begins a day.
CREATE = "CREATE MATERIALIZED TABLE m PARTITIONED BY (ds) WITH ({options}) {clauses} AS {query}"
QUERY = "SELECT id, ds FROM src"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LocalSession]:
    made = LocalSession()
    made.execute(
        "CREATE TABLE src (id INT, ds STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/src', 'format' = 'json')"
    )
    yield made
    made.session.scheduler.close()


def created(
    session: LocalSession,
    path: Path,
    clauses: str = "FRESHNESS = INTERVAL '1' DAY",
    query: str = QUERY,
    more: str = "",
) -> None:
    options = f"'connector' = 'filesystem', 'path' = '{path}/m', 'format' = 'json'{more}"
    session.execute(CREATE.format(options=options, clauses=clauses, query=query))


def shown(session: LocalSession, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for _, row in session.executor.execute(statement).rows()]


def test_a_statement_has_all_clauses() -> None:
    found = parse_statement(
        "CREATE OR ALTER MATERIALIZED TABLE c.d.m (b, a) COMMENT 'x' PARTITIONED BY (a) "
        "WITH ('k' = 'v') START_MODE = FROM_BEGINNING FRESHNESS = INTERVAL '30' SECONDS "
        "REFRESH_MODE = CONTINUOUS AS SELECT a, b FROM t"
    )
    assert isinstance(found, s.CreateMaterializedTable)
    assert found.path == ("c", "d", "m")
    assert found.names == ("b", "a")
    assert found.table.partitioned_by == ("a",)
    assert found.table.options == {"k": "v"}
    assert found.table.comment == "x"
    assert found.freshness == ("30", "SECONDS")
    assert found.refresh_mode == "CONTINUOUS"
    assert found.query_text == "SELECT a, b FROM t"
    assert found.or_alter


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("FRESHNESS = INTERVAL '0' SECOND", "only supports positive integer type values"),
        ("FRESHNESS = INTERVAL -'1' SECOND", "But was: -1"),
        ("FRESHNESS = INTERVAL '1' MONTH", "only supports SECOND, MINUTE, HOUR, DAY, WEEK"),
        ("FRESHNESS = INTERVAL '5' HOUR", "only freshness that are factors of 24"),
        ("FRESHNESS = INTERVAL '60' SECOND REFRESH_MODE = FULL", "must be less than 60"),
        ("FRESHNESS = INTERVAL '2' DAY", "freshness must be 1 when the time unit is DAY"),
        ("FRESHNESS = 3", "only supports define interval type FRESHNESS"),
        ("START_MODE = FROM_THEN", "Expecting one of FROM_BEGINNING, FROM_NOW"),
        ("START_MODE = FROM_NOW(INTERVAL '0' DAY)", "only supports positive integer type values"),
        ("START_MODE = FROM_NOW(INTERVAL '1' EPOCH)", "only supports SECOND, MINUTE, HOUR"),
        ("START_MODE = FROM_TIMESTAMP(TIMESTAMP 'noon')", "a timestamp, which 'noon' is not"),
        ("START_MODE = FROM_NOW FRESHNESS = INTERVAL '1' DAY", "is for a continuous refresh"),
        (
            "START_MODE = FROM_NOW FRESHNESS = INTERVAL '1' MINUTE",
            r"default_database.src cannot be read for what comes from now on alone",
        ),
    ],
)
def test_what_freshness_cannot_be(
    session: LocalSession, tmp_path: Path, clauses: str, message: str
) -> None:
    with pytest.raises(SqlError, match=message):
        created(session, tmp_path, clauses)
    assert shown(session, "SHOW MATERIALIZED TABLES") == []


KAFKA = (
    "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', "
    "'format' = 'json', 'scan.startup.mode' = 'earliest-offset'"
)
MYSQL = (
    "'connector' = 'mysql-cdc', 'hostname' = 'localhost', 'username' = 'ada', 'password' = 'x', "
    "'database-name' = 'shop', 'table-name' = 'orders'"
)
POSTGRES = (
    "'connector' = 'postgres-cdc', 'hostname' = 'localhost', 'username' = 'ada', 'password' = 'x', "
    "'database-name' = 'shop', 'schema-name' = 'public', 'table-name' = 'orders', "
    "'slot.name' = 'job'"
)


def test_sources_begin_at_a_moment_or_now(session: LocalSession) -> None:
    for name, options in (("k", KAFKA), ("m", MYSQL), ("p", POSTGRES)):
        session.execute(f"CREATE TABLE {name} (id INT, at AS PROCTIME()) WITH ({options})")

    def starts(query: str, millis: int | None) -> list[tuple[str | None, ...]]:
        plan = session.session.query_plan(parse_statement(query).tree, query)
        found, waiting = [], [beginning_at(plan, millis)]
        while waiting:
            node = waiting.pop()
            waiting.extend(node.inputs)
            if isinstance(node, n.Scan):
                options = node.declared.options
                keys = ("connector", "scan.startup.mode", "scan.startup.timestamp-millis")
                found.append(tuple(options.get(key) for key in keys))
        return sorted(found)

    both = "SELECT id FROM k UNION ALL SELECT id FROM m"
    assert starts(both, 1000) == [
        ("kafka", "timestamp", "1000"),
        ("mysql-cdc", "timestamp", "1000"),
    ]
    assert starts(f"{both} UNION ALL SELECT id FROM p", None) == [
        ("kafka", "latest-offset", None),
        ("mysql-cdc", "latest-offset", None),
        ("postgres-cdc", "latest-offset", None),
    ]
    with pytest.raises(SqlError, match=r"table .*\.p cannot be read for what came since a moment"):
        starts("SELECT id FROM p", 1000)
    # Rows are looked up in a table as it is; it has no beginning.
    session.execute(
        "CREATE TABLE items (id INT) WITH ('connector' = 'jdbc', "
        "'url' = 'jdbc:postgresql://localhost:1/shop', 'table-name' = 'items')"
    )
    lookup = "SELECT k.id FROM k JOIN items FOR SYSTEM_TIME AS OF k.at AS i ON i.id = k.id"
    assert starts(lookup, None) == [("jdbc", None, None), ("kafka", "latest-offset", None)]
    with pytest.raises(SqlError, match=r"table .*\.items cannot be read"):
        starts("SELECT k.id FROM k JOIN items ON items.id = k.id", None)


@pytest.mark.parametrize(
    ("clause", "moment"),
    [
        ("FROM_NOW", None),
        ("RESUME_OR_FROM_NOW(INTERVAL '2' HOUR)", "2024-03-31 10:00:00"),
        ("FROM_NOW(INTERVAL '1' MONTH)", "2024-02-29 12:00:00"),
        ("FROM_TIMESTAMP(TIMESTAMP '2024-01-01 00:00:00')", "2024-01-01 00:00:00"),
        (
            "FROM_TIMESTAMP(TIMESTAMP WITH LOCAL TIME ZONE '2024-01-01 00:00:00')",
            "2023-12-31 23:00:00",
        ),
    ],
)
def test_a_start_mode_is_a_moment(clause: str, moment: str | None) -> None:
    found = parse_statement(
        f"CREATE MATERIALIZED TABLE m START_MODE = {clause} AS SELECT id FROM src"
    )
    assert isinstance(found, s.CreateMaterializedTable)
    assert found.start_mode is not None
    start = StartMode.of(*found.start_mode)
    assert str(start) == clause
    now = parse_timestamp("2024-03-31 12:00:00")
    assert now is not None
    expected = None if moment is None else parse_timestamp(moment)
    assert start.moment(now, ZoneInfo("Europe/Berlin")) == expected
    altered = parse_statement(f"ALTER MATERIALIZED TABLE m START_MODE = {clause} AS SELECT 1 AS a")
    assert isinstance(altered, s.Alter)
    assert altered.value[2] == found.start_mode


def test_the_schedule_is_that_of_the_clock() -> None:
    at = datetime.datetime(2024, 2, 29, 10, 59, 59, 5)
    assert Freshness(20, "SECOND").next_after(at) == datetime.datetime(2024, 2, 29, 11)
    assert Freshness(4, "HOUR").next_after(at) == datetime.datetime(2024, 2, 29, 12)
    assert Freshness(1, "DAY").next_after(at) == datetime.datetime(2024, 3, 1)
    assert Freshness(1, "HOUR").next_after(at.replace(minute=0, second=0, microsecond=0)) == (
        datetime.datetime(2024, 2, 29, 11)
    )


def test_a_schedule_goes_on_after_a_failure_and_ends_when_it_is_stopped() -> None:
    scheduler, twice, times = RefreshScheduler(), threading.Event(), []

    def refresh(due: datetime.datetime) -> None:
        times.append(due)
        if len(times) == 2:
            scheduler.stop(("c", "d", "t"))
            twice.set()
        raise SqlError("this fails")

    scheduler.start(("c", "d", "t"), Freshness(1, "SECOND"), refresh)
    assert ("c", "d", "t") in scheduler
    assert twice.wait(60)
    assert ("c", "d", "t") not in scheduler
    assert times[0] < times[1]
    assert times[0].microsecond == 0


def test_statements_know_the_table(session: LocalSession, tmp_path: Path) -> None:
    created(session, tmp_path, more=", 'partition.fields.ds.date-formatter' = 'yyyy'")
    assert shown(session, "SHOW MATERIALIZED TABLES") == [("m",)]
    assert shown(session, "SHOW TABLES") == [("m",), ("src",)]
    assert [row[:2] for row in shown(session, "DESCRIBE m")] == [("id", "INT"), ("ds", "STRING")]
    [(text,)] = shown(session, "SHOW CREATE OR ALTER MATERIALIZED TABLE m")
    assert text == (
        "CREATE OR ALTER MATERIALIZED TABLE `default_catalog`.`default_database`.`m` (\n"
        "  `id` INT,\n  `ds` VARCHAR(2147483647)\n)\nPARTITIONED BY (`ds`)\nWITH (\n"
        f"  'connector' = 'filesystem',\n  'format' = 'json',\n"
        "  'partition.fields.ds.date-formatter' = 'yyyy',\n"
        f"  'path' = '{tmp_path}/m'\n)\nSTART_MODE = FROM_BEGINNING\n"
        "FRESHNESS = INTERVAL '1' DAY\nREFRESH_MODE = FULL\nAS SELECT id, ds FROM src\n"
    )
    session.execute("DROP MATERIALIZED TABLE m")
    assert shown(session, "SHOW TABLES") == [("src",)]
    session.execute(str(text))
    assert shown(session, "SHOW MATERIALIZED TABLES") == [("m",)]


def test_other_statements_are_not_for_it(session: LocalSession, tmp_path: Path) -> None:
    created(session, tmp_path)
    with pytest.raises(SqlError, match="Please use SHOW CREATE MATERIALIZED TABLE instead"):
        session.execute("SHOW CREATE TABLE m")
    with pytest.raises(SqlError, match=r"Table with identifier .* does not exist"):
        session.execute("DROP TABLE m")
    with pytest.raises(SqlError, match="use ALTER MATERIALIZED TABLE"):
        session.execute("ALTER TABLE m SET ('a' = 'b')")
    with pytest.raises(SqlError, match="is not a materialized table"):
        session.execute("ALTER MATERIALIZED TABLE src SUSPEND")
    with pytest.raises(SqlError, match="Only materialized table support create or alter"):
        session.execute(
            "CREATE OR ALTER MATERIALIZED TABLE src FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS a"
        )
    with pytest.raises(SqlError, match="doesn't exist"):
        session.execute("ALTER MATERIALIZED TABLE nothing REFRESH")
    with pytest.raises(SqlError, match="Materialized Table with identifier"):
        session.execute("DROP MATERIALIZED TABLE src")
    session.execute("DROP MATERIALIZED TABLE IF EXISTS nothing")


def test_columns_are_declared_or_those_of_the_query(session: LocalSession, tmp_path: Path) -> None:
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/m', 'format' = 'json'"
    rest = f"WITH ({options}) FRESHNESS = INTERVAL '1' DAY AS SELECT id, ds FROM src"
    session.execute(f"CREATE MATERIALIZED TABLE a (ds, id) {rest}")
    assert [row[0] for row in shown(session, "DESCRIBE a")] == ["ds", "id"]
    session.execute(
        "CREATE MATERIALIZED TABLE b (twice AS id * 2, id BIGINT, PRIMARY KEY (ds) NOT ENFORCED) "
        f"{rest}"
    )
    assert [row[:4] for row in shown(session, "DESCRIBE b")] == [
        ("twice", "BIGINT", True, None),
        ("id", "BIGINT", True, None),
        ("ds", "STRING", False, "PRI(ds)"),
    ]
    for columns, message in [
        ("(id)", "The number of columns in the column list must match"),
        ("(id, other)", "Column 'other' not found in the source schema"),
        ("(other INT)", "physical column 'other' is defined in the DDL, but is not used"),
        ("(id BOOLEAN)", "do not match"),
    ]:
        with pytest.raises(SqlError, match=message):
            session.execute(f"CREATE MATERIALIZED TABLE c {columns} {rest}")
    assert shown(session, "SHOW MATERIALIZED TABLES") == [("a",), ("b",)]


def test_what_cannot_be_created_is_refused(session: LocalSession, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="Partition column 'ds' not defined in the query's schema"):
        created(session, tmp_path, query="SELECT id FROM src")
    with pytest.raises(SqlError, match="isn't a partition column"):
        created(session, tmp_path, more=", 'partition.fields.id.date-formatter' = 'yyyy'")
    with pytest.raises(SqlError, match="only supports referring to char, varchar and string"):
        created(
            session,
            tmp_path,
            query="SELECT ds AS id, id AS ds FROM src",
            more=", 'partition.fields.ds.date-formatter' = 'yyyy'",
        )
    session.execute("CREATE TEMPORARY VIEW recent AS SELECT * FROM src")
    with pytest.raises(SqlError, match="recent"):
        created(session, tmp_path, query="SELECT id, ds FROM recent")
    # A full refresh replaces rows, which a printer cannot.
    with pytest.raises(SqlError, match="INSERT OVERWRITE requires"):
        session.execute(
            "CREATE MATERIALIZED TABLE m WITH ('connector' = 'print') "
            "FRESHNESS = INTERVAL '1' DAY AS SELECT id FROM src"
        )
    assert shown(session, "SHOW TABLES") == [("recent",), ("src",)]


def test_a_catalog_that_would_lose_the_query_refuses_it(
    session: LocalSession, tmp_path: Path
) -> None:
    class Columns(InMemoryCatalog):
        holds_materialized_tables = False

    session.session.catalogs.registry.register("columns", Columns("columns"))
    with pytest.raises(CatalogException, match="has no CREATE MATERIALIZED TABLE"):
        session.execute(
            "CREATE MATERIALIZED TABLE `columns`.`default`.m WITH ('connector' = 'blackhole') "
            "AS SELECT id FROM src"
        )


def test_a_schedule_ends_when_another_session_has_suspended_the_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    catalog = f"CREATE CATALOG shop WITH ('type' = 'file', 'path' = '{tmp_path}/shop')"
    sessions = [LocalSession(), LocalSession()]
    for session in sessions:
        session.execute(catalog)
        session.execute("USE CATALOG shop")
    one, other = sessions
    one.execute(
        "CREATE TABLE src (id INT, ds STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/src', 'format' = 'json')"
    )
    refreshes = []
    scheduler = one.session.scheduler
    start = scheduler.start
    monkeypatch.setattr(scheduler, "start", lambda *how: (refreshes.append(how[2]), start(*how))[1])
    created(one, tmp_path)
    path = ("shop", "default", "m")
    assert path in scheduler
    other.execute("ALTER MATERIALIZED TABLE m SUSPEND")
    refreshes[0](datetime.datetime(2024, 1, 1))
    assert path not in scheduler
    other.execute("ALTER MATERIALIZED TABLE m RESUME")
    assert path in other.session.scheduler
    other.session.scheduler.close()


def test_a_full_refresh_is_suspended_resumed_and_changed(
    session: LocalSession, tmp_path: Path
) -> None:
    created(session, tmp_path)
    path = ("default_catalog", "default_database", "m")
    assert path in session.session.scheduler
    session.execute("ALTER MATERIALIZED TABLE m SUSPEND")
    assert path not in session.session.scheduler
    with pytest.raises(SqlError, match="refresh workflow has been suspended"):
        session.execute("ALTER MATERIALIZED TABLE m SUSPEND")
    session.execute("ALTER MATERIALIZED TABLE m RESUME")
    assert path in session.session.scheduler
    with pytest.raises(SqlError, match="refresh workflow has been resumed"):
        session.execute("ALTER MATERIALIZED TABLE m RESUME")
    session.execute("ALTER MATERIALIZED TABLE m AS SELECT id, ds, id + 1 AS more FROM src")
    assert [row[0] for row in shown(session, "DESCRIBE m")] == ["id", "ds", "more"]
    for query, message in [
        ("SELECT id, ds FROM src", "drop column is unsupported"),
        ("SELECT id, ds AS other, 1 AS more FROM src", "Column mismatch at position 2"),
    ]:
        with pytest.raises(SqlError, match=message):
            session.execute(f"ALTER MATERIALIZED TABLE m AS {query}")
    session.execute("ALTER MATERIALIZED TABLE m SET ('sink.parallelism' = '1')")
    with pytest.raises(SqlError, match="RESET does not support changing 'connector'"):
        session.execute("ALTER MATERIALIZED TABLE m RESET ('connector')")
    session.execute("ALTER MATERIALIZED TABLE m ADD twice AS id * 2")
    with pytest.raises(SqlError, match="Dropping of persisted columns is not supported"):
        session.execute("ALTER MATERIALIZED TABLE m DROP id")
    with pytest.raises(SqlError, match="physical column `y` could not be found in the query"):
        session.execute("ALTER MATERIALIZED TABLE m ADD y INT")
    with pytest.raises(SqlError, match="unknown partition keys:\n\nid"):
        session.execute("ALTER MATERIALIZED TABLE m REFRESH PARTITION (id = 1)")
