"""Kafka's topics as tables of SQL, against a real broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from tests.kafka.broker import Kafka
from tests.kafka.running import now_ms
from tests.sql.sessions import LocalSession


def table(kafka: Kafka, columns: str, topic: str, **options: str) -> str:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.servers,
        "format": "json",
        **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    }
    text = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
    return f"CREATE TABLE t ({columns}) WITH ({text})"


def read(create: str, query: str = "SELECT * FROM t") -> list[Any]:
    session = LocalSession()
    session.execute(create)
    return [tuple(row) for _, row in session.query(query, clock=now_ms).rows]


FROM_START = {"scan__startup__mode": "earliest-offset", "scan__bounded__mode": "latest-offset"}


def test_rows_are_written_and_read_back(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    create = table(kafka, "id BIGINT, name STRING", topic, **FROM_START)
    session = LocalSession()
    session.execute(create)
    session.insert("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, CAST(NULL AS STRING))")
    assert sorted(read(create), key=str) == [(1, "a"), (2, "b"), (3, None)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scan__startup__mode": "earliest-offset"}, [0, 1, 2, 3, 4, 5]),
        ({"scan__startup__mode": "latest-offset"}, []),
        (
            {"scan__startup__mode": "timestamp", "scan__startup__timestamp-millis": "1004"},
            [4, 5],
        ),
        (
            {
                "scan__startup__mode": "specific-offsets",
                "scan__startup__specific-offsets": "partition:0,offset:3",
            },
            [3, 4, 5],
        ),
        (
            {"scan__startup__mode": "group-offsets", "properties__group__id": "tables"},
            [2, 3, 4, 5],
        ),
        (
            {
                "scan__startup__mode": "earliest-offset",
                "scan__bounded__mode": "specific-offsets",
                "scan__bounded__specific-offsets": "partition:0,offset:2",
            },
            [0, 1],
        ),
        (
            {
                "scan__startup__mode": "earliest-offset",
                "scan__bounded__mode": "timestamp",
                "scan__bounded__timestamp-millis": "1003",
            },
            [0, 1, 2],
        ),
    ],
)
def test_where_reading_begins_and_ends(
    kafka: Kafka, options: dict[str, str], expected: list[int]
) -> None:
    topic = kafka.topic()
    for i in range(6):
        kafka.write(topic, [json.dumps({"id": i})], timestamp=1_000 + i)
    kafka.commit("tables", topic, 2)
    given = {"scan__bounded__mode": "latest-offset", **options}
    assert read(table(kafka, "id INT", topic, **given)) == [(i,) for i in expected]


def test_keys_headers_and_metadata(kafka: Kafka) -> None:
    topic = kafka.topic()
    create = table(
        kafka,
        "k_user STRING, amount INT, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
        "headers MAP<STRING, BYTES> METADATA, p INT METADATA FROM 'partition' VIRTUAL, "
        "o BIGINT METADATA FROM 'offset' VIRTUAL, topic STRING METADATA VIRTUAL",
        topic,
        key__format="raw",
        key__fields="k_user",
        key__fields_prefix="k_",
        value__fields_include="EXCEPT_KEY",
        **FROM_START,
    )
    session = LocalSession()
    session.execute(create)
    session.insert(
        "INSERT INTO t SELECT u, a, TO_TIMESTAMP_LTZ(1000 + a, 3), MAP['h', ENCODE('x', 'UTF-8')] "
        "FROM (VALUES ('ada', 1), ('bob', 2)) AS v(u, a)"
    )
    assert read(create) == [
        ("ada", 1, 1_001_000, {"h": b"x"}, 0, 0, topic),
        ("bob", 2, 1_002_000, {"h": b"x"}, 0, 1, topic),
    ]
    plain = table(kafka, "amount INT, `user` STRING", topic, **FROM_START)
    assert read(plain) == [(1, None), (2, None)]


def test_malformed_messages_fail_or_are_skipped(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, ['{"id": 1}', "{", '{"id": "x"}', "{}"])
    with pytest.raises(HeadraceError, match="Failed to deserialize JSON"):
        read(table(kafka, "id INT", topic, **FROM_START))
    skipping = {**FROM_START, "json__ignore-parse-errors": "true"}
    assert read(table(kafka, "id INT", topic, **skipping)) == [(1,), (None,), (None,)]
    strict = {**FROM_START, "json__fail-on-missing-field": "true"}
    with pytest.raises(HeadraceError, match="Failed to deserialize JSON"):
        read(table(kafka, "id INT", topic, **strict))


def test_changes_of_a_database(kafka: Kafka) -> None:
    topic = kafka.topic()
    first = {"id": 1, "name": "a"}
    changes: list[tuple[str, Any, Any]] = [
        ("c", None, first),
        ("u", first, {"id": 1, "name": "b"}),
        ("c", None, {"id": 2, "name": "c"}),
        ("d", {"id": 2, "name": "c"}, None),
    ]
    for op, before, after in changes:
        source = {"table": "people"}
        message = {"before": before, "after": after, "op": op, "source": source}
        kafka.write(topic, [json.dumps(message)])
    create = table(
        kafka,
        "id INT, origin STRING METADATA FROM 'value.source.table' VIRTUAL, name STRING, "
        "at BIGINT METADATA FROM 'offset' VIRTUAL, PRIMARY KEY (id) NOT ENFORCED",
        topic,
        **{**FROM_START, "format": "debezium-json"},
    )
    session = LocalSession()
    session.execute(create)
    rows = session.query("SELECT * FROM t", clock=now_ms).rows
    assert [(kind, *row) for kind, row in rows] == [
        (0, 1, "people", "a", 0),
        (1, 1, "people", "a", 1),
        (2, 1, "people", "b", 1),
        (0, 2, "people", "c", 2),
        (3, 2, "people", "c", 3),
    ]
    totals = session.query("SELECT COUNT(*), MAX(name) FROM t", clock=now_ms)
    assert totals.materialized() == [(1, "b")]
    kafka.write(topic, ["{}"])
    with pytest.raises(HeadraceError, match=r"offset 4 of partition 0 .* Corrupt Debezium JSON"):
        session.query("SELECT id FROM t", clock=now_ms)


def test_changes_are_written(kafka: Kafka) -> None:
    topic = kafka.topic()
    columns = "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    options = {**FROM_START, "format": "canal-json", "key__format": "raw", "key__fields": "k"}
    session = LocalSession()
    session.execute(table(kafka, columns, topic, **options))
    counted = "SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS v(k) GROUP BY k"
    session.insert(f"INSERT INTO t {counted}", epoch_records=1)
    assert kafka.values(topic).count('{"data":[{"k":"a","n":1}],"type":"DELETE"}') == 1
    left = session.query("SELECT * FROM t", clock=now_ms).materialized()
    assert sorted(left) == [("a", 2), ("b", 1)]


@pytest.mark.parametrize(
    ("columns", "options", "statement", "message"),
    [
        ("id INT", {"scan__startup__mode": "earliest"}, "SELECT * FROM t", "Expected one of"),
        ("id INT", {"scan__startup__mode": "timestamp"}, "SELECT * FROM t", "timestamp-millis"),
        ("id INT", {"key__format": "raw"}, "SELECT * FROM t", "go together"),
        (
            "id INT",
            {"key__format": "raw", "key__fields": "idd"},
            "SELECT * FROM t",
            "did you mean 'id'?",
        ),
        ("m INT METADATA FROM 'ofset'", {}, "SELECT * FROM t", "did you mean 'offset'?"),
        (
            "m STRING METADATA FROM 'value.tabel' VIRTUAL",
            {"format": "canal-json"},
            "SELECT * FROM t",
            "did you mean 'value.table'?",
        ),
        (
            "id INT",
            {"key__format": "ogg-json", "key__fields": "id"},
            "SELECT * FROM t",
            "A key format should only deal with INSERT-only records",
        ),
        ("id INT", {"json__ignore-parse-errors": "yes"}, "SELECT * FROM t", "Supported values"),
        ("id INT", {"grup": "x"}, "SELECT * FROM t", "Unsupported options"),
        ("id INT, PRIMARY KEY (id) NOT ENFORCED", {}, "INSERT INTO t VALUES (1)", "PRIMARY KEY"),
        (
            "id INT",
            {"sink__delivery-guarantee": "exactly-once"},
            "INSERT INTO t VALUES (1)",
            "sink.transactional-id-prefix",
        ),
        (
            "n BIGINT",
            {},
            "INSERT INTO t SELECT COUNT(*) FROM (VALUES (1)) AS v(a) GROUP BY a",
            "doesn't support consuming update",
        ),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_planned(
    columns: str, options: dict[str, str], statement: str, message: str
) -> None:
    class Nowhere:
        servers = "localhost:1"

    session = LocalSession()
    session.execute(table(Nowhere(), columns, "x", **options))  # type: ignore[arg-type]
    with pytest.raises(SqlError) as error:
        session.executor.execute(f"EXPLAIN {statement}")
    assert message in str(error.value)


def test_a_message_may_have_several_rows(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, ['[{"id":1},{"id":2}]', "[]", '{"id":3}'])
    columns = "id BIGINT, at BIGINT METADATA FROM 'offset' VIRTUAL"
    assert read(table(kafka, "id BIGINT", topic, **FROM_START)) == [(1,), (2,), (3,)]
    assert read(table(kafka, columns, topic, **FROM_START)) == [(1, 0), (2, 0), (3, 2)]


def test_a_message_without_a_value_is_null_in_raw(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, ["a", None])
    columns = "v STRING, at BIGINT METADATA FROM 'offset' VIRTUAL"
    raw = {**FROM_START, "format": "raw"}
    assert read(table(kafka, "v STRING", topic, **raw)) == [("a",), (None,)]
    assert read(table(kafka, columns, topic, **raw)) == [("a", 0), (None, 1)]


def test_metadata_is_cast_to_the_declared_type(kafka: Kafka) -> None:
    topic = kafka.topic()
    columns = (
        "id BIGINT, at TIMESTAMP(3) METADATA FROM 'timestamp', "
        "place STRING METADATA FROM 'offset' VIRTUAL, WATERMARK FOR at AS at"
    )
    session = LocalSession(options={"table.local-time-zone": "Asia/Tokyo"})
    session.execute(table(kafka, columns, topic, **FROM_START))
    session.insert("INSERT INTO t VALUES (1, TIMESTAMP '2024-01-01 09:00:00.5')")
    [message] = kafka.read(topic)
    assert message.timestamp()[1] == 1_704_067_200_500
    [(_, row)] = session.query("SELECT id, CAST(at AS STRING), place FROM t", clock=now_ms).rows
    assert tuple(row) == (1, "2024-01-01 09:00:00.500", "0")
