"""Tables of Elasticsearch and OpenSearch in SQL, with a real Elasticsearch."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from headrace.util.exceptions import TableException
from tests.connectors.test_elasticsearch import ask, documents
from tests.sql.sessions import LocalSession
from tests.unit.datastream.connectors.reading import FakeWriterContext
from tools.database_server import DatabaseUnavailableError
from tools.elasticsearch_server import ElasticsearchServer

pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)
AWAY = "'hosts' = 'http://127.0.0.1:1', 'index' = 'i'"


@pytest.fixture(scope="module")
def server() -> Iterator[ElasticsearchServer]:
    try:
        made = ElasticsearchServer()
        try:
            yield made.start()  # type: ignore[misc]
        finally:
            made.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


def index_name() -> str:
    return f"table-{next(_numbers)}"


def session_with(
    columns: str, options: str, connector: str = "elasticsearch-7", parallelism: int = 2
) -> LocalSession:
    session = LocalSession(parallelism=parallelism)
    session.execute(f"CREATE TABLE t ({columns}) WITH ('connector' = '{connector}', {options})")
    return session


def at(server: ElasticsearchServer, index: str, more: str = "") -> str:
    return f"'hosts' = 'http://127.0.0.1:1;{server.url}', 'index' = '{index}'{more}"


@pytest.mark.parametrize(
    "connector", ["elasticsearch-7", "elasticsearch-8", "opensearch", "opensearch-2"]
)
def test_rows_without_a_key_are_added(server: ElasticsearchServer, connector: str) -> None:
    index = index_name()
    columns = "id INT, name STRING, price DECIMAL(8, 2), `at` TIMESTAMP(3), tags ARRAY<STRING>"
    session = session_with(columns, at(server, index), connector)
    row = "(1, 'ä\n\"', 1.5, TIMESTAMP '2024-02-29 10:20:30', ARRAY['x', 'y'])"
    session.insert(f"INSERT INTO t VALUES {row}, {row}")
    expected = {
        "id": 1,
        "name": 'ä\n"',
        "price": 1.5,
        "at": "2024-02-29 10:20:30",
        "tags": ["x", "y"],
    }
    assert list(documents(server, index).values()) == [expected] * 2


def test_options_of_json_go_to_the_format(server: ElasticsearchServer) -> None:
    index = index_name()
    more = ", 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601', "
    more += "'json.encode.ignore-null-fields' = 'true', 'sink.parallelism' = '1'"
    session = session_with("`at` TIMESTAMP(3), n INT", at(server, index, more))
    session.insert("INSERT INTO t SELECT TIMESTAMP '2024-02-29 10:20:30', CAST(NULL AS INT)")
    assert list(documents(server, index).values()) == [{"at": "2024-02-29T10:20:30"}]


@pytest.mark.parametrize("connector", ["elasticsearch-7", "elasticsearch-8", "opensearch"])
def test_changes_are_written_by_key(server: ElasticsearchServer, connector: str) -> None:
    index = index_name()
    columns = "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED"
    more = ", 'sink.bulk-flush.max-actions' = '3'"
    session = session_with(columns, at(server, index, more), connector)
    values = ", ".join(f"('{'abc'[i % 3]}', {i})" for i in range(30))
    query = f"INSERT INTO t SELECT k, SUM(v) FROM (VALUES {values}) AS x(k, v) GROUP BY k"
    # Epochs after which the job fails are written once more.
    session.insert(query, epoch_records=4, restore_after=(2, 5))
    totals = {"a": 135, "b": 145, "c": 155}
    assert documents(server, index) == {k: {"name": k, "total": v} for k, v in totals.items()}


@pytest.mark.parametrize("connector", ["elasticsearch-7", "elasticsearch-8"])
def test_rows_that_go_are_deleted(server: ElasticsearchServer, connector: str) -> None:
    index = index_name()
    columns = "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED"
    session = session_with(columns, at(server, index), connector)
    # The largest of each: with every new row the old one goes, and its key with it.
    session.insert(
        "INSERT INTO t SELECT n, v FROM (SELECT n, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v "
        "DESC) AS r FROM (VALUES ('x', 'a', 1), ('x', 'b', 2), ('x', 'c', 3), ('y', 'd', 1)) "
        "AS w(k, n, v)) WHERE r = 1 ON CONFLICT DO DEDUPLICATE",
        epoch_records=1,
        restore_after=(2, 3),
    )
    assert documents(server, index) == {
        "c": {"name": "c", "total": 3},
        "d": {"name": "d", "total": 1},
    }


def test_new_rows_merge_with_documents_up_to_elasticsearch_7(server: ElasticsearchServer) -> None:
    for connector, kept in (("elasticsearch-7", {"other": 7}), ("elasticsearch-8", {})):
        index = index_name()
        session = session_with(
            "id INT, other INT, PRIMARY KEY (id) NOT ENFORCED", at(server, index)
        )
        session.insert("INSERT INTO t VALUES (1, 7)")
        session = session_with(
            "id INT, PRIMARY KEY (id) NOT ENFORCED", at(server, index), connector
        )
        session.insert("INSERT INTO t VALUES (1)")
        assert documents(server, index) == {"1": {"id": 1, **kept}}


def test_ids_are_the_columns_of_the_key(server: ElasticsearchServer) -> None:
    index = index_name()
    columns = (
        "a STRING, b BIGINT, c BOOLEAN, d DOUBLE, e DATE, f TIME, g TIMESTAMP(3), "
        "h DECIMAL(12, 8), i TIMESTAMP_LTZ(3), n INT, "
        "PRIMARY KEY (a, b, c, d, e, f, g, h, i) NOT ENFORCED"
    )
    session = session_with(columns, at(server, index, ", 'document-id.key-delimiter' = '$'"))
    session.insert(
        "INSERT INTO t VALUES ('ä', 7, TRUE, 1e10, DATE '2024-02-29', TIME '10:20:00', "
        "TIMESTAMP '2024-02-29 10:20:30.120', 0.0000001, TO_TIMESTAMP_LTZ(0, 3), 1)"
    )
    assert list(documents(server, index)) == [
        "ä$7$true$1.0E10$2024-02-29$10:20$2024-02-29T10:20:30.120$1.0E-7$1970-01-01T00:00"
    ]


@pytest.mark.parametrize(
    ("type_", "value", "variable", "expected"),
    [
        ("STRING", "'oslo'", "{v}", "oslo"),
        ("INT", "CAST(NULL AS INT)", "{v}", "null"),
        ("BIGINT", "CAST(5 AS BIGINT)", "{v}-x", "5-x"),
        ("DATE", "DATE '2024-02-29'", "{v}", "19782"),
        ("DATE", "DATE '2024-02-29'", "{v|}", "2024_02_29"),
        ("DATE", "DATE '2024-02-29'", "{v|yyyy-MM}", "2024-02"),
        ("TIME", "TIME '10:20:30'", "{v|}", "10_20_30"),
        ("TIMESTAMP(3)", "TIMESTAMP '2024-02-29 10:20:30'", "{v|}-x", "2024_02_29_10_20_30-x"),
        ("TIMESTAMP_LTZ(3)", "TO_TIMESTAMP_LTZ(0, 3)", "{v|yyyy.MM.dd}", "1970.01.01"),
    ],
)
def test_the_index_may_be_named_by_a_row(
    server: ElasticsearchServer, type_: str, value: str, variable: str, expected: str
) -> None:
    base = index_name()
    session = session_with(f"v {type_}", at(server, f"{base}-{variable}"))
    session.insert(f"INSERT INTO t SELECT {value}")
    assert len(documents(server, f"{base}-{expected}")) == 1


def test_changes_go_to_the_index_of_their_row(server: ElasticsearchServer) -> None:
    base = index_name()
    columns = "city STRING, total BIGINT, PRIMARY KEY (city) NOT ENFORCED"
    session = session_with(columns, at(server, f"{base}-{{city}}"))
    values = "('oslo', 1), ('rome', 2), ('oslo', 3)"
    session.insert(f"INSERT INTO t SELECT c, SUM(v) FROM (VALUES {values}) AS x(c, v) GROUP BY c")
    assert documents(server, f"{base}-oslo") == {"oslo": {"city": "oslo", "total": 4}}
    assert documents(server, f"{base}-rome") == {"rome": {"city": "rome", "total": 2}}


def test_the_index_may_have_the_time_of_writing(server: ElasticsearchServer) -> None:
    base = index_name()
    session = session_with("n INT", at(server, f"{base}-{{now()|yyyy}}-x"))
    session.insert("INSERT INTO t VALUES (1), (2)")
    ask(server, f"{base}-*/_refresh", "POST")
    hits = ask(server, f"{base}-*/_search")["hits"]["hits"]
    assert {len(hit["_index"]) for hit in hits} == {len(f"{base}-2024-x")}
    assert len(hits) == 2


@pytest.mark.parametrize("by_number", [False, True])
def test_tables_of_older_programs(server: ElasticsearchServer, by_number: bool) -> None:
    index = index_name()
    hosts = f"'connector.hosts' = '{server.url}'"
    if by_number:
        hosts = (
            "'connector.hosts.0.hostname' = '127.0.0.1', 'connector.hosts.0.protocol' = 'http', "
            f"'connector.hosts.0.port' = '{server.port}'"
        )
    session = LocalSession()
    session.execute(
        "CREATE TABLE t (a STRING, b STRING, n BIGINT, PRIMARY KEY (a, b) NOT ENFORCED) WITH ("
        f"'connector.type' = 'elasticsearch', 'connector.version' = '7', {hosts}, "
        f"'connector.index' = '{index}', 'connector.document-type' = 'payment', "
        "'update-mode' = 'upsert', 'connector.flush-on-checkpoint' = 'true', "
        "'connector.key-delimiter' = '$', 'connector.key-null-literal' = 'n/a', "
        "'connector.failure-handler' = 'retry-rejected', "
        "'connector.bulk-flush.max-size' = '42mb', 'connector.bulk-flush.max-actions' = '32', "
        "'connector.bulk-flush.interval' = '1000', 'connector.bulk-flush.backoff.delay' = '1000', "
        "'format.type' = 'json')"
    )
    session.insert("INSERT INTO t VALUES ('x', 'y', 1)")
    assert documents(server, index) == {"x$y": {"a": "x", "b": "y", "n": 1}}


def test_older_tables_of_version_6_have_a_type_and_no_handlers_of_java() -> None:
    options = (
        "'connector.type' = 'elasticsearch', 'connector.version' = '6', "
        "'connector.hosts' = 'http://h:1', 'connector.index' = 'i'"
    )
    session = LocalSession()
    session.execute(f"CREATE TABLE t (n INT) WITH ({options})")
    with pytest.raises(SqlError, match="document-type"):
        session.execute("EXPLAIN INSERT INTO t VALUES (1)")
    session.execute(
        f"CREATE TABLE u (n INT) WITH ({options}, 'connector.failure-handler' = 'ignore')"
    )
    with pytest.raises(SqlError, match=r"legacy option 'connector\.failure-handler'"):
        session.execute("EXPLAIN INSERT INTO u VALUES (1)")


def test_json_of_a_column_may_have_several_lines(server: ElasticsearchServer) -> None:
    index = index_name()
    session = session_with("document STRING", at(server, index, ", 'format' = 'raw'"))
    session.insert("INSERT INTO t VALUES ('{\n \"a\": 1\n}')")
    assert list(documents(server, index).values()) == [{"a": 1}]


class _Busy(http.server.BaseHTTPRequestHandler):
    """Is too busy for the first action that it gets."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        lines = [json.loads(line) for line in body.splitlines()]
        actions = [line for line in lines if "doc" not in line]
        bodies = self.server.bodies  # type: ignore[attr-defined]
        statuses = [200 if bodies or i else 429 for i in range(len(actions))]
        bodies.append([next(iter(a.values()))["_id"] for a in actions])
        items = [{next(iter(a)): {"status": s}} for a, s in zip(actions, statuses, strict=True)]
        answer = json.dumps({"errors": 429 in statuses, "items": items}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        pass


def test_changes_keep_their_order_when_the_server_was_busy() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), _Busy) as busy:
        busy.bodies = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=busy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        builder = Elasticsearch7SinkBuilder().set_hosts(f"127.0.0.1:{busy.server_port}")
        builder.set_emitter(ElasticsearchEmitter.static_index("i", "id"))
        builder.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 1, 1)
        writer = builder.build().create_writer(FakeWriterContext())
        try:
            writer.write([{"id": 1, "n": 1}, {"id": 2, "n": 1}, {"id": 1, "n": 2}], None)
            writer.flush(False)
        finally:
            writer.close()
            busy.shutdown()
            thread.join()
        # The server has the second change of 1 already, and the first must not be its last.
        assert busy.bodies == [["1", "2", "1"], ["1", "1"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("columns", "options", "connector", "message"),
    [
        ("n INT", "'index' = 'i'", "elasticsearch-7", "Missing required options are:\n\nhosts"),
        ("n INT", "'hosts' = 'http://h:1'", "opensearch", "Missing required options are:\n\nindex"),
        ("n INT", AWAY, "elasticsearch-6", "Missing required options are:\n\ndocument-type"),
        ("n INT", f"{AWAY}, 'document-type' = 't'", "elasticsearch-7", "Unsupported options"),
        ("n INT", f"{AWAY}, 'document-type' = ' '", "elasticsearch-6", "must not be empty"),
        ("n INT", f"{AWAY}, 'sink.bulk-flush.max-action' = '1'", "elasticsearch-7", "Unsupported"),
        ("n INT", "'hosts' = 'http://h', 'index' = 'i'", "elasticsearch-7", "Missing port"),
        ("n INT", "'hosts' = 'ftp://h:1', 'index' = 'i'", "elasticsearch-7", "a host is 'http:"),
        ("n INT", "'hosts' = 'http://h:1', 'index' = ''", "elasticsearch-7", "must not be empty"),
        ("n INT", f"{AWAY}, 'username' = 'me'", "elasticsearch-7", "set at the same time"),
        (
            "n INT",
            f"{AWAY}, 'sink.bulk-flush.max-actions' = '-2'",
            "elasticsearch-7",
            "must be at least 1. Got: -2",
        ),
        (
            "n INT",
            f"{AWAY}, 'sink.bulk-flush.max-size' = '1kb'",
            "elasticsearch-7",
            "must be in MB granularity. Got: 1kb",
        ),
        (
            "n INT",
            f"{AWAY}, 'sink.bulk-flush.backoff.max-retries' = '0'",
            "elasticsearch-7",
            "must be at least 1. Got: 0",
        ),
        (
            "n INT",
            f"{AWAY}, 'sink.bulk-flush.backoff.strategy' = 'LINEAR'",
            "opensearch-2",
            "is one of CONSTANT, EXPONENTIAL",
        ),
        (
            "n INT",
            f"{AWAY}, 'sink.delivery-guarantee' = 'exactly-once'",
            "elasticsearch-7",
            "does not support the EXACTLY_ONCE guarantee",
        ),
        ("n INT", f"{AWAY}, 'format' = 'debezium-json'", "elasticsearch-7", "not 'debezium-json'"),
        ("n INT", f"{AWAY}, 'format' = 'jsn'", "elasticsearch-7", "Could not find any factory"),
        (
            "n BYTES, PRIMARY KEY (n) NOT ENFORCED",
            AWAY,
            "elasticsearch-7",
            r"illegal types: \[VARBINARY\]",
        ),
        (
            "n INT",
            "'hosts' = 'http://h:1', 'index' = '{n}-{n}'",
            "elasticsearch-7",
            "Chaining dynamic index pattern",
        ),
        (
            "n INT",
            "'hosts' = 'http://h:1', 'index' = 'i-{m}'",
            "elasticsearch-7",
            "Unknown field 'm' in index pattern 'i-{m}'",
        ),
        ("n INT", "'hosts' = 'http://h:1', 'index' = '{n'", "elasticsearch-7", "without a '}'"),
        (
            "n INT",
            "'hosts' = 'http://h:1', 'index' = '{n|yyyy}'",
            "elasticsearch-7",
            "only support types are: DATE,TIME,TIMESTAMP",
        ),
        (
            "n DOUBLE",
            "'hosts' = 'http://h:1', 'index' = '{n}'",
            "elasticsearch-7",
            "Unsupported type DOUBLE of index field",
        ),
        (
            "n DATE",
            "'hosts' = 'http://h:1', 'index' = '{n|bbb}'",
            "elasticsearch-7",
            "'index' of table .*b",
        ),
        ("n INT, m INT METADATA", AWAY, "elasticsearch-7", "no metadata columns"),
    ],
)
def test_what_is_wrong_shows_when_the_statement_is_planned(
    columns: str, options: str, connector: str, message: str
) -> None:
    session = session_with(columns, options, connector)
    type_ = columns.split()[1].strip(",")
    with pytest.raises(SqlError, match=message):
        session.execute(f"EXPLAIN INSERT INTO t (n) SELECT CAST(NULL AS {type_})")


def test_updates_need_a_primary_key_and_an_index_that_stays() -> None:
    count = "EXPLAIN INSERT INTO t SELECT COUNT(*) FROM (VALUES (1)) AS v(a) GROUP BY a"
    with pytest.raises(TableException, match="please declare primary key"):
        session_with("n BIGINT", AWAY).execute(count)
    session = session_with(
        "n BIGINT, PRIMARY KEY (n) NOT ENFORCED",
        "'hosts' = 'http://h:1', 'index' = '{now()|yyyy}'",
    )
    with pytest.raises(TableException, match="based on system time only works on append only"):
        session.execute(count)


@pytest.mark.parametrize("connector", ["elasticsearch-7", "opensearch"])
def test_documents_are_not_read(connector: str) -> None:
    with pytest.raises(SqlError, match=r"only be used as a sink.*does not read documents"):
        session_with("n INT", AWAY, connector).query("SELECT * FROM t")


def test_all_options_of_flink_are_known() -> None:
    common = (
        AWAY
        + ", 'document-id.key-delimiter' = '-', 'sink.bulk-flush.max-actions' = '0', "
        + "'sink.bulk-flush.max-size' = '-1', 'sink.bulk-flush.interval' = '1s', "
        + "'sink.flush-on-checkpoint' = 'false', 'sink.delivery-guarantee' = 'none', "
        + "'username' = 'me', 'password' = 'secret', 'connection.path-prefix' = '/v1', "
        + "'connection.request-timeout' = '1s', 'connection.timeout' = '1s', "
        + "'socket.timeout' = '1s', 'format' = 'json', 'json.map-null-key.mode' = 'DROP', "
        + "'sink.parallelism' = '2'"
    )
    backoff = (
        ", 'sink.bulk-flush.backoff.strategy' = 'CONSTANT', "
        "'sink.bulk-flush.backoff.max-retries' = '3', 'sink.bulk-flush.backoff.delay' = '1s'"
    )
    queue = (
        ", 'sink.bulk-flush.max-buffered-actions' = '9', "
        "'sink.bulk-flush.max-in-flight-actions' = '9'"
    )
    more = {
        "elasticsearch-6": backoff + ", 'document-type' = 't'",
        "elasticsearch-7": backoff,
        "elasticsearch-8": queue,
        "opensearch": backoff + ", 'allow-insecure' = 'true'",
        "opensearch-2": backoff + ", 'allow-insecure' = 'true'",
    }
    for connector, options in more.items():
        session_with("n INT", common + options, connector).execute(
            "EXPLAIN INSERT INTO t VALUES (1)"
        )
