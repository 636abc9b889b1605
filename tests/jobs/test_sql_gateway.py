"""A SQL gateway with real jobs: over REST, with our own client and with that of Flink."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from headrace.cluster.client.rest_client import RestClient
from headrace.common.errors import HeadraceError, UnknownJobError
from tests.faults.processes import short_lived
from tests.jobs.flink_command import FlinkUnavailableError, sql_client_command
from tests.jobs.rest_fuzzing import check_all

pytestmark = pytest.mark.timeout(900)

HEADRACE = [sys.executable, "-m", "headrace.cluster.cli"]
LIMIT_S = 300.0

BOUNDED = """CREATE TABLE five (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5',
'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '5')"""
ENDLESS = """CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen',
'rows-per-second' = '500', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0',
'fields.n.end' = '1000000000')"""
NOWHERE = "CREATE TABLE nowhere (n BIGINT) WITH ('connector' = 'blackhole')"
SCRIPT = f"""{BOUNDED};
CREATE TABLE nowhere (n INT) WITH ('connector' = 'blackhole');
SHOW TABLES;
SELECT n, n * 1.5 AS more, CAST(NULL AS STRING) AS nothing FROM five;
SET 'table.dml-sync' = 'true';
INSERT INTO nowhere SELECT n FROM five;
BEGIN STATEMENT SET;
INSERT INTO nowhere SELECT n FROM five;
INSERT INTO nowhere SELECT n + 1 FROM five;
END;
SELECT m FROM five;
SHOW CATALOGS;
"""


def headrace(*arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [*HEADRACE, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


class RunningGateway:
    """`headrace sql-gateway start` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        settings = ["--master", "local[2]", "-p", "1"]
        settings.append("-Dsql-gateway.endpoint.rest.bind-port=18300-18399")
        where = ("--dir", str(directory), "--json")
        about = json.loads(headrace("sql-gateway", "start", *where, *settings))
        self.address = f"127.0.0.1:{about['port']}"
        self.client = RestClient(self.address)

    def open(self) -> Session:
        handle = self.client.request("POST", "/v2/sessions", {})["sessionHandle"]
        return Session(self, f"/v2/sessions/{handle}")


class Session:
    """One session, and its statements."""

    def __init__(self, gateway: RunningGateway, path: str) -> None:
        self.gateway = gateway
        self.path = path

    def request(self, method: str, path: str, body: Any = None) -> Any:
        return self.gateway.client.request(method, path, body)

    def execute(self, statement: str) -> str:
        body = {"statement": statement}
        handle = self.request("POST", f"{self.path}/statements", body)["operationHandle"]
        return f"{self.path}/operations/{handle}"

    def pages(self, operation: str) -> Iterator[dict[str, Any]]:
        """All pages that are ready, up to the last."""
        uri = f"{operation}/result/0?rowFormat=JSON"
        while True:
            page = self.request("GET", uri)
            if page["resultType"] == "NOT_READY":
                time.sleep(0.1)
                continue
            yield page
            if page["resultType"] == "EOS":
                return
            uri = page["nextResultUri"]

    def rows(self, statement: str) -> list[list[Any]]:
        pages = self.pages(self.execute(statement))
        return [row["fields"] for page in pages for row in page["results"]["data"]]

    def state_of(self, job: str) -> str:
        (state,) = [row[2] for row in self.rows("SHOW JOBS") if row[0] == job]
        return str(state)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    running = RunningGateway(tmp_path_factory.mktemp("gateway"))
    yield running
    headrace("sql-gateway", "stop", "--dir", str(running.directory))
    headrace("sql-gateway", "stop", "--dir", str(running.directory), code=2)


def test_rows_of_a_query_come_page_by_page(gateway: RunningGateway) -> None:
    session = gateway.open()
    session.rows(BOUNDED)
    (*_, last) = pages = list(session.pages(session.execute("SELECT n, n > 2 AS b FROM five")))
    assert all(p["isQueryResult"] and len(p["jobID"]) == 32 for p in pages)
    columns = [(c["name"], c["logicalType"]["type"]) for c in last["results"]["columns"]]
    assert columns == [("n", "INTEGER"), ("b", "BOOLEAN")]
    rows = [row for page in pages for row in page["results"]["data"]]
    assert sorted(row["fields"] for row in rows) == [[n, n > 2] for n in range(1, 6)]
    assert {row["kind"] for row in rows} == {"INSERT"}
    until(lambda: session.state_of(last["jobID"]) == "FINISHED", "the job went on")


def test_an_endless_query_is_cancelled(gateway: RunningGateway) -> None:
    session = gateway.open()
    session.rows(ENDLESS)
    operation = session.execute("SELECT n FROM endless")
    seen: list[int] = []
    for page in session.pages(operation):
        seen += [row["fields"][0] for row in page["results"]["data"]]
        if len(seen) >= 1000:
            break
    assert len(set(seen)) == len(seen)
    assert session.state_of(page["jobID"]) == "RUNNING"
    assert session.request("POST", f"{operation}/cancel") == {"status": "CANCELED"}
    until(lambda: session.state_of(page["jobID"]) == "CANCELED", "the job went on")
    with pytest.raises(HeadraceError, match="is CANCELED"):
        session.request("GET", f"{operation}/result/0")


def test_an_insert_outlives_its_session_and_another_one_stops_it(gateway: RunningGateway) -> None:
    first, second = gateway.open(), gateway.open()
    for statement in (ENDLESS, NOWHERE):
        first.rows(statement)
    assert second.rows("SHOW TABLES") == []
    ((job,),) = first.rows("INSERT INTO nowhere SELECT n FROM endless")
    first.request("DELETE", first.path)
    with pytest.raises(UnknownJobError, match="does not exist"):
        first.rows("SHOW JOBS")
    until(lambda: second.state_of(job) == "RUNNING", "the job did not start")
    second.rows(f"STOP JOB '{job}'")
    until(lambda: second.state_of(job) == "CANCELED", "the job went on")


def test_generated_requests_find_no_mistake(gateway: RunningGateway) -> None:
    session = gateway.open()
    operation = session.execute("SHOW TABLES")
    known = {
        "session_handle": [session.path.rsplit("/", 1)[1]],
        "operation_handle": [operation.rsplit("/", 1)[1]],
        "token": ["0", "1"],
    }
    description = session.request("GET", "/openapi.json")
    # What is refused on purpose looks like a mistake of the server.
    description["paths"] = {
        path: found for path, found in description["paths"].items() if "501" not in str(found)
    }
    assert check_all(description, f"http://{gateway.address}", known) == 14
    assert session.rows("SHOW TABLES") == []


def check_script(output: str) -> None:
    """What both clients show of the script, up to its error."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    for n in range(1, 6):
        more = f"{n * 1.5:.1f}"
        assert f"| +I | {n} | {more} | <NULL> |" in lines
    assert "| five |" in lines
    assert output.count("[INFO] Complete execution of the SQL update statement.") == 2
    assert "Column 'm' not found in any table" in output
    assert "       ^" in output
    assert "default_catalog" not in output


def test_our_client_runs_a_script(gateway: RunningGateway, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    client = ("sql-client", "gateway", "--endpoint", gateway.address, "-f", str(script))
    check_script(headrace(*client, code=1))


def test_the_prompt_gives_up_an_endless_query(gateway: RunningGateway, tmp_path: Path) -> None:
    tables = tmp_path / "tables.sql"
    tables.write_text(f"{ENDLESS};")
    arguments = ["sql-client", "gateway", "--endpoint", gateway.address, "-i", str(tables)]
    arguments += ["--history", str(tmp_path / "history")]
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    terminal = pexpect.spawn(
        HEADRACE[0],
        [*HEADRACE[1:], *arguments],
        env=environment,
        timeout=LIMIT_S,
        encoding="utf-8",
        dimensions=(40, 120),
    )
    try:
        terminal.expect_exact("HELP; shows the commands")
        terminal.send("SELECT n FROM endl\t")
        terminal.expect_exact("ess")
        terminal.send(";\r")
        terminal.expect_exact("| +I |")
        terminal.send("\x03")
        terminal.expect_exact("[INFO] Cancelled.")
        terminal.send("QUIT;\r")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    assert terminal.exitstatus == 0
    session = gateway.open()
    until(lambda: "RUNNING" not in str(session.rows("SHOW JOBS")), "the query goes on")


@pytest.mark.timeout(1800)
def test_flinks_own_client_runs_a_script(gateway: RunningGateway, tmp_path: Path) -> None:
    try:
        command, environment = sql_client_command()
    except FlinkUnavailableError as error:
        pytest.skip(f"no SQL client of Flink (HEADRACE_FLINK names a flink command): {error}")
    script = tmp_path / "script.sql"
    script.write_text(f"SET 'sql-client.execution.result-mode' = 'tableau';\n{SCRIPT}")
    arguments = ["gateway", "--endpoint", gateway.address, "-f", str(script)]
    done = subprocess.run(
        [command, *arguments, "--history", str(tmp_path / "history")],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**environment, **short_lived(), "FLINK_LOG_DIR": str(tmp_path)},
    )
    check_script(done.stdout)
