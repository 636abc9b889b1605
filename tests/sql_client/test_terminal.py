"""The client in a real terminal: typed statements, keys, and what the screen shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.sql_client.terminal import WAIT_S, Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history"


@pytest.fixture
def terminal(history: Path, tmp_path: Path) -> Iterator[Terminal]:
    init = tmp_path / "init.sql"
    init.write_text("CREATE TABLE clicks (price INT) WITH ('connector' = 'datagen');")
    opened = Terminal(history, "-i", str(init))
    try:
        opened.expect("HELP; shows the commands")
        yield opened
    finally:
        opened.close()


def test_statements_errors_keys_and_history(terminal: Terminal, history: Path) -> None:
    terminal.run("SHOW TABLES;")
    terminal.expect("1 row in set")
    # A statement goes over several lines until its semicolon.
    terminal.run("SELECT prise")
    terminal.run("FROM clicks;")
    terminal.expect("did you mean 'price'?")
    shown = terminal.expect("^^^^^")
    assert "SELECT prise" in shown
    terminal.run("SET 'sql-client.execution.result-mode' = 'tabel';")
    terminal.expect("is one of tableau, table, changelog")
    terminal.run("SET 'parallelism.default' = 'many';")
    terminal.expect("Could not parse value 'many' for key 'parallelism.default'")
    # Tab completes a name that is the only one.
    terminal.type("DESCRIBE cli\t")
    terminal.expect("cks")
    terminal.run(";")
    terminal.expect("price")
    terminal.expect("1 row in set")
    # The arrow key brings the last statement back.
    terminal.type("\x1b[A")
    terminal.expect("DESCRIBE clicks;")
    terminal.run("")
    terminal.expect("1 row in set")
    # Ctrl-C gives up what was typed.
    terminal.type("SELECT nonsense \x03")
    terminal.run("HELP;")
    terminal.expect("STOP JOB 'id'")
    terminal.run("QUIT;")
    assert terminal.ended() == 0
    assert "+DESCRIBE clicks;" in history.read_text()


def test_a_file_runs_up_to_its_first_error(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("SHOW DATABASES;\nSELECT * FROM nowhere;\nSHOW CATALOGS;\n")
    output, status = pexpect.run(
        f"{sys.executable} -m headrace.cluster.cli sql-client -f {script}",
        withexitstatus=True,
        timeout=WAIT_S,
        encoding="utf-8",
    )
    assert "default_database" in output
    assert "[ERROR] Could not execute SQL statement." in output
    assert "'nowhere' not found" in output
    assert "catalog name" not in output
    assert status == 1
