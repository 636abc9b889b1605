"""Queries and jobs of a client in a real terminal: live views, savepoints, going on from one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest
from pyarrow import parquet

from tests.sql_client.terminal import WAIT_S, Terminal

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

_LAST = 10_000_000_000


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One client for all tests, because Spark's start is most of what they take."""
    folder = tmp_path_factory.mktemp("client")
    init = folder / "init.sql"
    init.write_text(
        "SET 'parallelism.default' = '1';\n"
        "CREATE TABLE ten (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10',\n"
        "  'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '9');\n"
        "CREATE TABLE clicks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50',\n"
        "  'fields.id.kind' = 'sequence', 'fields.id.start' = '0',\n"
        f"  'fields.id.end' = '{_LAST}');\n"
    )
    opened = Terminal(folder / "history", "-i", str(init))
    try:
        opened.expect("HELP; shows the commands")
        yield opened
        opened.run("QUIT;")
        assert opened.ended() == 0
    finally:
        opened.close()


def test_a_tableau_ends_with_its_query_or_with_control_c(terminal: Terminal) -> None:
    terminal.run("SELECT COUNT(*) AS total FROM ten;")
    terminal.expect("total |")
    terminal.expect("10 |")
    terminal.expect("in set")
    terminal.run("SELECT id AS endless FROM clicks;")
    terminal.expect("endless |")
    terminal.expect("7 |")
    terminal.type("\x03")
    terminal.expect("[INFO] Cancelled.")
    # The client is there for the next statement, and the query's job is gone.
    terminal.run("SELECT id + 100 AS after_it FROM ten;")
    terminal.expect("109 |")
    terminal.expect("10 rows in set")
    terminal.run("SHOW JOBS;")
    assert "RUNNING" not in terminal.expect("rows in set")


def test_the_live_table_shows_what_is_left_after_all_changes(terminal: Terminal) -> None:
    terminal.does("SET 'sql-client.execution.result-mode' = 'table';")
    terminal.run("SELECT id / 4 AS fours, COUNT(*) AS c FROM ten GROUP BY id / 4;")
    terminal.expect("SQL Query Result (Table)")
    terminal.expect("3 rows   ended")
    shown = terminal.expect("Q Quit")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines()]
    assert sorted(r for r in rows if len(r) == 2) == [
        ["0", "4"],
        ["1", "4"],
        ["2", "2"],
        ["fours", "c"],
    ]
    # A smaller terminal is drawn anew, with what has room in it.
    terminal.child.setwinsize(9, 24)
    terminal.expect("SQL Query Result (Table)\r\n")
    terminal.type("q")
    terminal.child.setwinsize(40, 120)
    terminal.expect("headrace SQL>")


def test_the_changelog_is_seen_live_until_somebody_quits(terminal: Terminal) -> None:
    terminal.does("SET 'sql-client.execution.result-mode' = 'changelog';")
    terminal.run("SELECT COUNT(*) AS c FROM clicks;")
    terminal.expect("SQL Query Result (Changelog)")
    # Not the first change of all: a machine that is busy may draw when it is out of sight.
    terminal.expect("| -U |")
    terminal.expect("| +U |")
    terminal.type("Q")
    terminal.expect("[INFO] Result retrieval cancelled.")
    terminal.does("RESET 'sql-client.execution.result-mode';")


def test_a_job_is_stopped_with_a_savepoint_and_goes_on_from_it(
    terminal: Terminal, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    terminal.does(f"SET 'execution.checkpointing.savepoint-dir' = '{tmp_path / 'savepoints'}';")
    terminal.does("SET 'execution.checkpointing.interval' = '1 s';")
    terminal.does(
        "CREATE TABLE kept (id BIGINT) WITH ('connector' = 'filesystem', 'format' = 'parquet', "
        f"'path' = '{out}');"
    )
    job = _started(terminal)
    wait_until(lambda: bool(_ids(out)), "the first job writes nothing")
    path = _stopped(terminal, job)
    assert path.startswith(f"file:{tmp_path}") or path.startswith(str(tmp_path))
    before = _ids(out)
    assert before == list(range(len(before)))

    terminal.does(f"SET 'execution.state-recovery.path' = '{path}';")
    job = _started(terminal)
    terminal.does("RESET 'execution.state-recovery.path';")
    wait_until(lambda: len(_ids(out)) > len(before), "the second job writes nothing")
    _stopped(terminal, job)
    after = _ids(out)
    assert after == list(range(len(after)))


def _started(terminal: Terminal) -> str:
    terminal.run("INSERT INTO kept SELECT id FROM clicks;")
    terminal.expect("Job ID: ")
    job = terminal.matched(r"[0-9a-f]{32}")
    terminal.run("SHOW JOBS;")
    terminal.expect(job)
    terminal.expect("in set")
    return job


def _stopped(terminal: Terminal, job: str) -> str:
    terminal.run(f"STOP JOB '{job}' WITH SAVEPOINT;")
    terminal.expect("savepoint path |")
    path = terminal.matched(r"\S*/savepoint-\S+")
    terminal.expect("1 row in set")
    return path


def _ids(folder: Path) -> list[int]:
    """What readers see: files that a checkpoint has finished."""
    files = [f for f in folder.glob("*") if not f.name.startswith((".", "_"))]
    return sorted(x for f in files for x in parquet.read_table(f)["id"].to_pylist())


def wait_until(condition: Callable[[], bool], message: str) -> None:
    limit = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < limit, message
        time.sleep(0.1)


def test_a_file_fills_the_screen_where_it_asks_for_that(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "SET 'sql-client.execution.result-mode' = 'table';\n"
        "SELECT x * 6 AS answer FROM (VALUES (7)) AS t(x);\n"
    )
    command = ["-m", "headrace.cluster.cli", "sql", str(script)]
    client = pexpect.spawn(sys.executable, command, timeout=WAIT_S, encoding="utf-8")
    try:
        client.expect_exact("SQL Query Result (Table)")
        client.expect_exact("42")
        client.send("q")
        client.expect(pexpect.EOF)
    finally:
        client.close()
    assert client.exitstatus == 0
