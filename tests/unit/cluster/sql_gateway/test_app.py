"""The SQL gateway over REST, as far as it goes without a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.cluster.rest.guard import GuardSettings
from headrace.cluster.sql_gateway.app import create_app
from headrace.cluster.sql_gateway.server import SqlGateway
from headrace.cluster.sql_gateway.sessions import Sessions
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.sql.catalog.materialization import Freshness

LIMIT_S = 120.0
TABLE = "CREATE TABLE clicks (price INT) WITH ('connector' = 'datagen')"


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Gateway:
    """The application, and requests to it."""

    def __init__(self, token: str | None = None, **settings: str) -> None:
        given = {f"sql-gateway.session.{k.replace('_', '-')}": v for k, v in settings.items()}
        self.sessions = Sessions(Configuration.from_dict(given))
        guard = GuardSettings(("testserver",), token, 10_000)
        app = create_app(self.sessions, guard)
        self.http = TestClient(app, raise_server_exceptions=False)

    def open(self, **body: Any) -> str:
        answer = self.http.post("/v4/sessions", json=body)
        assert answer.status_code == 200, answer.text
        return f"/v4/sessions/{answer.json()['sessionHandle']}"

    def execute(self, session: str, statement: str, **more: Any) -> str:
        answer = self.http.post(f"{session}/statements", json={"statement": statement, **more})
        assert answer.status_code == 200, answer.text
        return f"{session}/operations/{answer.json()['operationHandle']}"

    def first(self, operation: str, row_format: str = "JSON") -> dict[str, Any]:
        """The first page, or the error that is there instead."""
        page: dict[str, Any] = {}

        def ready() -> bool:
            answer = self.http.get(f"{operation}/result/0?rowFormat={row_format}")
            page.clear()
            page.update(answer.json())
            return page.get("resultType") != "NOT_READY"

        until(ready, "the statement had no result")
        return page

    def rows(self, session: str, statement: str) -> list[list[Any]]:
        page = self.first(self.execute(session, statement))
        return [row["fields"] for row in page["results"]["data"]]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.sessions.close_all()


def test_a_session_runs_statements_and_is_closed(gateway: Gateway) -> None:
    assert gateway.http.get("/v1/api_versions").json()["versions"] == ["V1", "V2", "V3", "V4"]
    assert gateway.http.get("/info").json()["productName"] == "headrace"
    session = gateway.open(sessionName="mine", properties={"parallelism.default": "3"})
    assert gateway.http.get(session).json()["properties"]["parallelism.default"] == "3"
    operation = gateway.execute(session, TABLE)
    done = gateway.first(operation)
    assert (done["resultKind"], done["isQueryResult"]) == ("SUCCESS", False)
    assert gateway.http.get(f"{operation}/status").json() == {"status": "FINISHED"}
    assert done["nextResultUri"] == f"{operation}/result/1?rowFormat=JSON"
    last = gateway.http.get(done["nextResultUri"]).json()
    assert (last["resultType"], last["results"]["data"]) == ("EOS", [])
    assert "nextResultUri" not in last
    assert gateway.http.delete(f"{operation}/close").json() == {"status": "CLOSED"}
    assert gateway.http.get(f"{operation}/status").status_code == 404
    described = gateway.first(gateway.execute(session, "DESCRIBE clicks"), "PLAIN_TEXT")
    assert described["results"]["rowFormat"] == "PLAIN_TEXT"
    assert described["results"]["data"][0]["fields"][:3] == ["price", "INT", "TRUE"]
    text = {"type": "VARCHAR", "nullable": True, "length": 2147483647}
    assert described["results"]["columns"][0] == {
        "name": "name",
        "logicalType": text,
        "comment": None,
    }
    assert gateway.http.post(f"{session}/heartbeat").json() == {}
    assert gateway.http.delete(session).json() == {"status": "CLOSED"}
    for answer in (gateway.http.get(session), gateway.http.delete(session)):
        assert answer.status_code == 404
        assert "does not exist" in answer.json()["errors"][0]


def test_sessions_do_not_see_each_other(gateway: Gateway) -> None:
    first, second = gateway.open(), gateway.open()
    gateway.first(gateway.execute(first, TABLE))
    gateway.first(gateway.execute(first, "SET 'table.exec.state.ttl' = '1 h'"))
    assert gateway.rows(first, "SHOW TABLES") == [["clicks"]]
    assert gateway.rows(second, "SHOW TABLES") == []
    assert "table.exec.state.ttl" not in gateway.http.get(second).json()["properties"]


def test_a_statement_may_have_settings_of_its_own(gateway: Gateway) -> None:
    session = gateway.open()
    gateway.first(gateway.execute(session, "SET 'pipeline.name' = 'mine'"))
    operation = gateway.execute(session, TABLE, executionConfig={"pipeline.name": "other"})
    gateway.first(operation)
    assert gateway.http.get(session).json()["properties"]["pipeline.name"] == "mine"
    wrong = gateway.execute(session, "SHOW TABLES", executionConfig={"execution.runtime-mode": "x"})
    assert gateway.first(wrong)["errors"] == [
        "'execution.runtime-mode' is streaming or batch, not 'x'"
    ]


def test_a_session_is_configured_with_statements_that_change_it(gateway: Gateway) -> None:
    session = gateway.open()
    configure = f"{session}/configure-session"
    assert gateway.http.post(configure, json={"statement": TABLE}).json() == {}
    assert gateway.rows(session, "SHOW TABLES") == [["clicks"]]
    refused = gateway.http.post(configure, json={"statement": "SELECT 1"})
    assert refused.status_code == 400
    assert "Unsupported statement for configuring session" in refused.json()["errors"][0]
    again = gateway.http.post(configure, json={"statement": TABLE})
    assert (again.status_code, "already exists" in again.json()["errors"][0]) == (400, True)


def test_names_are_completed(gateway: Gateway) -> None:
    session = gateway.open()
    gateway.first(gateway.execute(session, TABLE))
    body = {"statement": "SELECT * FROM cli", "position": 17}
    answer = gateway.http.request("GET", f"{session}/complete-statement", json=body)
    assert answer.json()["candidates"][0] == "clicks"


def test_errors_show_the_place(gateway: Gateway) -> None:
    session = gateway.open()
    gateway.first(gateway.execute(session, TABLE))
    operation = gateway.execute(session, "SELECT prise FROM clicks")
    (error,) = gateway.first(operation)["errors"]
    assert "Column 'prise' not found" in error
    assert error.splitlines()[-1].strip() == "^^^^^"
    assert gateway.http.get(f"{operation}/status").json() == {"status": "ERROR"}
    assert gateway.http.get(f"{operation}/result/0").status_code == 400
    (error,) = gateway.first(gateway.execute(session, "SELECT FROM WHERE"))["errors"]
    assert error.startswith("SQL parse failed. line 1, column ")


def test_a_statement_set_may_come_in_pieces(gateway: Gateway) -> None:
    session = gateway.open()

    def outcome(statement: str) -> str:
        page = gateway.first(gateway.execute(session, statement))
        return str(page["errors"][0] if "errors" in page else page["resultKind"])

    for statement in (TABLE, "CREATE TABLE sink (n INT) WITH ('connector' = 'blackhole')"):
        assert outcome(statement) == "SUCCESS"
    assert "No Statement Set to submit" in outcome("END;")
    assert outcome("BEGIN STATEMENT SET;") == "SUCCESS"
    assert outcome("INSERT INTO sink SELECT price FROM clicks") == "SUCCESS"
    assert "Column 'prise' not found" in outcome("INSERT INTO sink SELECT prise FROM clicks")
    assert "Only 'INSERT' statement is allowed" in outcome("SHOW TABLES")


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "says"),
    [
        ("POST", "/sessions", b"{", 400, "not JSON"),
        ("POST", "/sessions", b"[1]", 400, "not a JSON object"),
        ("POST", "/sessions", {"sessionName": 1}, 400, "sessionName must be a string"),
        ("POST", "/sessions", {"properties": {"a": 1}}, 400, "properties must be a map of strings"),
        ("POST", "/sessions", {"properties": {"parallelism.default": "x"}}, 400, "parallelism"),
        ("GET", "/sessions/00000000-0000-4000-8000-000000000001", None, 404, "does not exist"),
        (
            "POST",
            "/sessions/00000000-0000-4000-8000-000000000001/statements",
            {"statement": "X"},
            404,
            "not exist",
        ),
        ("POST", "{session}/statements", {}, 400, "statement must be a string"),
        (
            "POST",
            "{session}/statements",
            {"statement": "X", "executionTimeout": -1},
            400,
            "executionTimeout must be a number",
        ),
        ("GET", "{session}/operations/x/status", None, 404, "Can not find the submitted"),
        ("DELETE", "{session}/operations/x/close", None, 404, "Can not find the submitted"),
        ("GET", "{operation}/result/1", None, 400, "the token is 0 now, not 1"),
        ("GET", "{operation}/result/x", None, 400, "the token must be a number"),
        ("GET", "{operation}/result/0?rowFormat=XML", None, 400, "rowFormat must be one of"),
        (
            "GET",
            "{session}/complete-statement",
            {"statement": "S"},
            400,
            "position must be a number",
        ),
        (
            "POST",
            "{session}/materialized-tables/t/refresh",
            {"isPeriodic": True},
            501,
            "materialized tables",
        ),
        ("POST", "/workflow/embedded-scheduler/create", {}, 501, "materialized tables"),
        ("POST", "{session}/scripts", {}, 501, "scripts do not get"),
        ("GET", "/nothing", None, 404, "Not Found"),
    ],
)
def test_wrong_requests_are_refused(
    gateway: Gateway, method: str, path: str, body: Any, code: int, says: str
) -> None:
    session = gateway.open()
    operation = gateway.execute(session, "SHOW TABLES")
    until(
        lambda: gateway.http.get(f"{operation}/status").json()["status"] == "FINISHED",
        "the statement did not end",
    )
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    url = path.format(session=session, operation=operation)
    answer = gateway.http.request(method, url, **content)
    assert answer.status_code == code
    assert says in answer.json()["errors"][0]


def test_strangers_and_pages_of_others_are_refused(tmp_path: Path) -> None:
    gateway = Gateway(token="secret")
    assert gateway.http.get("/info").status_code == 401
    known = {"Authorization": "Bearer secret"}
    assert gateway.http.post("/sessions", json={}, headers=known).status_code == 200
    foreign = {**known, "Origin": "http://evil.example"}
    assert gateway.http.post("/sessions", json={}, headers=foreign).status_code == 403
    everywhere = Configuration.from_dict({"sql-gateway.endpoint.rest.address": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="runs programs for everyone"):
        SqlGateway(tmp_path, everywhere)


def test_there_are_only_so_many_sessions_and_idle_ones_are_closed() -> None:
    gateway = Gateway(max_num="1", idle_timeout="1 ms", check_interval="10 ms")
    session = gateway.open()
    until(lambda: gateway.http.get(session).status_code == 404, "the session was kept")
    kept = Gateway(max_num="1")
    kept.open()
    refused = kept.http.post("/sessions", json={})
    assert (refused.status_code, "max count: 1" in refused.json()["errors"][0]) == (409, True)


def test_a_session_that_refreshes_tables_is_not_idle() -> None:
    gateway = Gateway(idle_timeout="1 s", check_interval="1 d")
    session = gateway.open()
    scheduler = gateway.sessions.get(session.rsplit("/", 1)[1]).session.scheduler
    table = ("default_catalog", "default_database", "daily")
    scheduler.start(table, Freshness(1, "DAY"), lambda due: None)
    later = time.monotonic() + 60
    gateway.sessions.close_idle(later)
    assert gateway.http.get(session).status_code == 200
    scheduler.stop(table)
    gateway.sessions.close_idle(later)
    assert gateway.http.get(session).status_code == 404


def test_what_takes_too_long_or_is_not_wanted_any_more_is_given_up(gateway: Gateway) -> None:
    session = gateway.open()
    inner = gateway.sessions.get(session.rsplit("/", 1)[1])
    # As if another statement of the session took its time.
    with inner._running:
        late = gateway.execute(session, "SHOW TABLES", executionTimeout=1)
        unwanted = gateway.execute(session, "SHOW TABLES")
        assert gateway.http.get(f"{unwanted}/result/0").json()["resultType"] == "NOT_READY"
        assert gateway.http.post(f"{unwanted}/cancel").json() == {"status": "CANCELED"}
        until(
            lambda: gateway.http.get(f"{late}/status").json()["status"] == "TIMEOUT",
            "it was waited for",
        )
    answer = gateway.http.get(f"{late}/result/0")
    assert (answer.status_code, "is TIMEOUT" in answer.json()["errors"][0]) == (409, True)
    assert gateway.rows(session, "SHOW TABLES") == []


def test_the_description_has_every_path(gateway: Gateway) -> None:
    described = gateway.http.get("/openapi.json").json()
    assert described["info"]["title"] == "headrace SQL gateway"
    assert "/sessions/{session_handle}/statements" in described["paths"]


@pytest.mark.parametrize(
    ("ports", "says"),
    [("none", "not 'none'"), ("7-x", "must be a port or a range"), ("9-8", "is none")],
)
def test_ports_that_are_none_are_refused(tmp_path: Path, ports: str, says: str) -> None:
    settings = {"sql-gateway.endpoint.rest.bind-port": ports}
    with pytest.raises(ConfigurationError, match=says):
        SqlGateway(tmp_path, Configuration.from_dict(settings)).run()


@pytest.mark.parametrize("path", ["statements", "configure-session"])
def test_half_a_character_is_refused(path: str) -> None:
    gateway = Gateway()
    session = gateway.open()
    given = b'{"statement": "SELECT \\ud800"}'
    assert gateway.http.post(f"{session}/{path}", content=given).status_code == 400
