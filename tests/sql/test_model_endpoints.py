"""Models behind an HTTP endpoint: a real server that speaks the common chat and embedding form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError, SqlError
from headrace.sql.models.endpoint import Endpoint, EndpointError
from tests.sql.sessions import LocalSession


class Server(ThreadingHTTPServer):
    """Answers a chat with its text in capitals; words of the text say what goes wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: set[Any] = set()
        self.failures: list[tuple[int, dict[str, str]]] = []
        """What the next requests are answered with, instead of a result."""
        self.lock = threading.Lock()
        self.arrived = threading.Condition(self.lock)
        self.wanted = 0
        """How many requests have to be there at the same time before one is answered."""
        self.waiting = 0
        self.released = threading.Event()
        self.answered: list[str] = []
        """Texts, after they were answered."""
        self.closes = False
        """Whether it closes connections without saying so."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def together(self) -> None:
        with self.arrived:
            self.waiting += 1
            self.arrived.notify_all()
            there = self.arrived.wait_for(lambda: self.waiting >= self.wanted, 30)
            assert there, "requests come one after the other"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
            self.server.connections.add(self.client_address)
            failure = self.server.failures.pop(0) if self.server.failures else None
        if self.server.wanted:
            self.server.together()
        if failure is not None:
            return self.answer(failure[0], b'{"error": "not now"}', failure[1])
        text = body["messages"][-1]["content"] if "messages" in body else body["input"]
        if text == "slow":
            self.server.released.wait(60)
            self.server.answered.append(text)
        if text == "bad":
            return self.answer(400, b'{"error": "a bad word"}', {"X-Why": "words"})
        if text == "garbage":
            return self.answer(200, b"no json", {})
        if text == "odd":
            return self.answer(200, b'{"choices": [{}]}', {})
        return self.answer(200, json.dumps(_result(body, text)).encode(), {})

    def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = self.server.closes

    def log_message(self, *_: Any) -> None:
        pass


def _result(body: dict[str, Any], text: str) -> dict[str, Any]:
    if "messages" not in body:
        return {"data": [{"embedding": [len(text), 0.5]}]}
    count = body.get("n", 1)
    said = [text.upper() + (str(i) if count > 1 else "") for i in range(count)]
    return {"choices": [{"message": {"role": "assistant", "content": c}} for c in said]}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture(params=[False, True], ids=["streaming", "batch"])
def session(request: pytest.FixtureRequest) -> LocalSession:
    return LocalSession(batch=request.param)


def chat(
    session: LocalSession,
    server: Server,
    texts: list[str | None],
    more: str = "",
    call: str = "",
    outputs: str = "content STRING",
    columns: str = "content",
) -> list[Any]:
    """What a chat says to texts."""
    values = ", ".join(f"('{t}')" if t else "(CAST(NULL AS STRING))" for t in texts)
    session.execute(f"CREATE VIEW said AS SELECT * FROM (VALUES {values}) AS t(txt)")
    session.execute(
        f"CREATE MODEL m INPUT (`input` STRING) OUTPUT ({outputs}) WITH ('provider' = 'openai', "
        f"'endpoint' = '{server.url}/chat/completions', 'api-key' = 'secret', 'model' = 'gpt'"
        f"{more})"
    )
    query = f"SELECT {columns} FROM ML_PREDICT(TABLE said, MODEL m, DESCRIPTOR(txt){call})"
    return session.query(query).materialized()


class TestRequests:
    def test_chat(self, session: LocalSession, server: Server) -> None:
        found = chat(session, server, ["ada", None, "bob"], ", 'temperature' = '0.5'")
        assert found == [("ADA",), ("BOB",)]
        server.requests.sort(key=str)
        assert server.requests == [
            {
                "model": "gpt",
                "messages": [
                    {"role": "system", "content": "You are a helpful assistant."},
                    {"role": "user", "content": text},
                ],
                "temperature": 0.5,
            }
            for text in ("ada", "bob")
        ]
        assert server.headers[0]["Authorization"] == "Bearer secret"

    def test_all_options_of_a_chat(self, session: LocalSession, server: Server) -> None:
        options = {
            "system-prompt": "Be brief.", "topP": "0.5", "stop": "a,b", "max-tokens": "7",
            "presence-penalty": "0.1", "n": "2", "seed": "3", "response-format": "json_object",
        }  # fmt: skip
        more = "".join(f", '{k}' = '{v}'" for k, v in options.items())
        assert chat(session, server, ["ada"], more) == [("ADA0",), ("ADA1",)]
        (request,) = server.requests
        assert request.pop("messages")[0]["content"] == "Be brief."
        assert request == {
            "model": "gpt", "top_p": 0.5, "stop": ["a", "b"], "max_tokens": 7,
            "presence_penalty": 0.1, "n": 2, "seed": 3, "response_format": {"type": "json_object"},
        }  # fmt: skip

    def test_embeddings(self, session: LocalSession, server: Server) -> None:
        session.execute("CREATE VIEW said AS SELECT * FROM (VALUES ('ada')) AS t(txt)")
        session.execute(
            "CREATE MODEL e INPUT (`input` STRING) OUTPUT (vec ARRAY<FLOAT>) WITH ("
            f"'provider' = 'openai', 'endpoint' = '{server.url}/embeddings/', 'api-key' = 'k', "
            "'model' = 'small', 'dimension' = '2')"
        )
        query = "SELECT vec FROM ML_PREDICT(TABLE said, MODEL e, DESCRIPTOR(txt))"
        assert session.query(query).materialized() == [((3.0, 0.5),)]
        assert server.requests == [
            {"model": "small", "encoding_format": "float", "dimensions": 2, "input": "ada"}
        ]

    def test_a_bounded_number_of_requests_is_in_flight(
        self, session: LocalSession, server: Server
    ) -> None:
        server.wanted = 3
        texts: list[str | None] = [f"t{i}" for i in range(9)]
        found = chat(session, server, texts, call=", MAP['max-concurrent-operations', '3']")
        assert found == [(f"T{i}",) for i in range(9)]
        assert len(server.connections) <= 3


class TestFailures:
    def test_a_passing_failure_is_retried(self, session: LocalSession, server: Server) -> None:
        server.failures = [(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})]
        assert chat(session, server, ["ada"]) == [("ADA",)]
        assert len(server.requests) == 3

    def test_retries_end(self, session: LocalSession, server: Server) -> None:
        server.failures = [(503, {"Retry-After": "0"})] * 9
        with pytest.raises(JobExecutionError, match=r"answered 503.*not now"):
            chat(session, server, ["ada"], ", 'retry-num' = '2'")
        assert len(server.requests) == 3

    def test_a_failure_does_not_wait_for_other_requests(
        self, session: LocalSession, server: Server
    ) -> None:
        server.wanted = 2
        with pytest.raises(JobExecutionError, match="a bad word"):
            chat(session, server, ["slow", "bad"], ", 'retry-num' = '0'")
        assert not server.answered
        server.released.set()

    def test_a_connection_that_the_server_has_closed_is_opened_again(self, server: Server) -> None:
        server.closes = True
        endpoint = Endpoint(f"{server.url}/embeddings", {})
        assert [endpoint.post({"input": "ada"}, 30)["data"] for _ in range(3)]
        assert len(server.connections) == 3
        endpoint.close()

    def test_failover_does_not_retry(self, session: LocalSession, server: Server) -> None:
        server.failures = [(503, {"Retry-After": "0"})] * 9
        with pytest.raises(JobExecutionError, match="answered 503"):
            chat(session, server, ["ada"], ", 'error-handling-strategy' = 'FAILOVER'")
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("bad", "answered 400.*a bad word"),
            ("garbage", "did not answer with JSON"),
            ("odd", "answered in an unknown form"),
        ],
    )
    def test_an_answer_that_stays_wrong(
        self, session: LocalSession, server: Server, text: str, message: str
    ) -> None:
        with pytest.raises(JobExecutionError, match=message):
            chat(session, server, [text], ", 'retry-num' = '0'")

    @pytest.mark.parametrize(
        "more",
        [
            ", 'error-handling-strategy' = 'ignore'",
            ", 'retry-fallback-strategy' = 'ignore'",
        ],
    )
    def test_a_failed_row_may_be_ignored(
        self, session: LocalSession, server: Server, more: str
    ) -> None:
        assert chat(session, server, ["bad", "ok"], more) == [("OK",)]

    def test_or_say_what_went_wrong(self, session: LocalSession, server: Server) -> None:
        outputs = (
            "content STRING, `error-string` STRING METADATA VIRTUAL, code INT METADATA FROM "
            "'http-status-code' VIRTUAL, `http-headers-map` MAP<STRING, ARRAY<STRING>> METADATA"
        )
        found = chat(
            session, server, ["bad", "ok"], ", 'error-handling-strategy' = 'ignore'", "", outputs,
            "content, code, `error-string`, `http-headers-map`['X-Why']",
        )  # fmt: skip
        (bad, ok) = found
        assert ok == ("OK", None, None, None)
        assert bad[:2] == (None, 400)
        assert "a bad word" in bad[2]
        assert bad[3] == ("words",)

    def test_a_server_that_is_away_is_named(self, session: LocalSession, server: Server) -> None:
        server.server_close()
        with pytest.raises(JobExecutionError, match=rf"{server.url}/chat/completions did not"):
            chat(session, server, ["ada"], ", 'retry-num' = '0'")

    def test_the_time_is_for_all_attempts(self) -> None:
        now = [0.0]
        endpoint = Endpoint("http://127.0.0.1:1/x", {}, 100, lambda: now[0], lambda s: _add(now, s))
        with pytest.raises(EndpointError, match=r"no answer within 20 s: .*127\.0\.0\.1:1"):
            endpoint.post({}, 20)
        assert 11 < now[0] < 20


def _add(now: list[float], seconds: float) -> None:
    now[0] += seconds


class TestDeclarations:
    @pytest.mark.parametrize(
        ("inputs", "outputs", "options", "message"),
        [
            ("a STRING", "b STRING", "'endpoint' = '{}'", "missing(.|\n)*api-key"),
            ("a STRING", "b STRING", "'foo' = 'bar'", "Unsupported options(.|\n)*foo"),
            ("a STRING", "b STRING", "'endpoint' = 'http://x/foo'", "Unsupported endpoint"),
            ("a STRING", "b STRING", "'endpoint' = 'x/embeddings'", "Unsupported endpoint"),
            ("a INT", "b STRING", "", "input column a should be STRING, but is a INT"),
            ("a STRING", "b INT", "", "output column b should be STRING, but is a INT"),
            ("a STRING", "b STRING, c INT", "", r"exactly one output physical.*\[b, c\]"),
            ("a STRING", "b STRING", "'temperature' = 'hot'", "'temperature' .* is a number"),
            ("a STRING", "b STRING", "'n' = 'x'", "'n' of model .* is a number"),
            ("a STRING", "b STRING", "'error-handling-strategy' = 'x'", "is one of RETRY, FAIL"),
            ("a STRING", "b STRING, c INT METADATA", "", "Unexpected metadata column c"),
            (
                "a STRING",
                "b STRING, c STRING METADATA FROM 'http-status-code'",
                "",
                "Expected metadata column http-status-code to be of type INT",
            ),
        ],
    )
    def test_refused(self, inputs: str, outputs: str, options: str, message: str) -> None:
        session = LocalSession()
        given = {
            "'provider'": "'openai'",
            "'endpoint'": "'http://x/chat/completions'",
            "'api-key'": "'k'",
            "'model'": "'m'",
        }
        if options == "'endpoint' = '{}'":
            del given["'api-key'"]
        elif options:
            key, _, value = options.partition(" = ")
            given[key] = value
        clause = ", ".join(f"{k} = {v}" for k, v in given.items())
        session.execute(f"CREATE MODEL m INPUT ({inputs}) OUTPUT ({outputs}) WITH ({clause})")
        session.execute("CREATE VIEW t AS SELECT * FROM (VALUES ('x', 1)) AS t(s, i)")
        column = "i" if inputs == "a INT" else "s"
        with pytest.raises(SqlError, match=message):
            session.plan(f"SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR({column}))")

    def test_it_is_only_asynchronous(self) -> None:
        session = LocalSession()
        session.execute(
            "CREATE MODEL m INPUT (a STRING) OUTPUT (b STRING) WITH ('provider' = 'openai', "
            "'endpoint' = 'http://x/chat/completions', 'api-key' = 'k', 'model' = 'm')"
        )
        session.execute("CREATE VIEW t AS SELECT * FROM (VALUES ('x')) AS t(s)")
        with pytest.raises(SqlError, match="Require sync mode, but model provider openai"):
            session.plan(
                "SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(s), MAP['async', 'false'])"
            )
