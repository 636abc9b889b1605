"""Topics whose messages replace each other by their key, as tables, against a real broker."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.connectors.kafka import KafkaSink
from headrace.sql import statements as s
from headrace.sql.connectors.kafka.connector import KafkaTableSink
from headrace.sql.parsing import parse_statement
from headrace.testing.connectors import check_sink
from tests.kafka.broker import Kafka
from tests.kafka.running import now_ms
from tests.schema_registry import running_registry
from tests.sql.sessions import LocalSession

COLUMNS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"


def table(kafka: Kafka | None, topic: str, columns: str = COLUMNS, **options: str) -> str:
    given = {
        "connector": "upsert-kafka",
        "topic": topic,
        "properties.bootstrap.servers": "localhost:1" if kafka is None else kafka.servers,
        "key.format": "json",
        "value.format": "json",
        **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    }
    text = ", ".join(f"'{k}' = '{v}'" for k, v in given.items() if v)
    return f"CREATE TABLE t ({columns}) WITH ({text})"


def session_of(create: str, **options: str) -> LocalSession:
    session = LocalSession(options=options)
    session.execute(create)
    return session


def write(kafka: Kafka, topic: str, *messages: tuple[Any, Any], partition: int = 0) -> None:
    for key, value in messages:
        key = key if isinstance(key, bytes | None) else json.dumps(key).encode()
        text = value if isinstance(value, str | None) else json.dumps(value)
        kafka.write(topic, [text], partition=partition, key=key)


def test_the_sink_keeps_the_contract(kafka: Kafka) -> None:
    topics: list[str] = []

    def sink() -> KafkaSink:
        more = {"sink__delivery_guarantee": "exactly-once", "sink__transactional_id_prefix": "c"}
        session = session_of(table(kafka, topics[-1], **more))
        text = "INSERT INTO t SELECT 1, 'a' ON CONFLICT DO DEDUPLICATE"
        insert = parse_statement(text)
        assert isinstance(insert, s.Insert)
        target = session.session.insert_plan(insert, text).target
        assert isinstance(target, KafkaTableSink)
        return replace(target.sink, schema=target.messages(kinds=True))

    def read() -> list[tuple[int, str | None]]:
        kafka.wait_until_settled(topics[-1])
        found: list[tuple[int, str | None]] = []
        for message in kafka.read(topics[-1]):
            value = message.value()
            row = {"name": None} if value is None else json.loads(value)
            found.append((json.loads(message.key())["id"], row["name"]))
        last = dict(found)
        assert {last[id_] for id_ in range(6)} == {None}
        assert all(last[id_] == f"new {id_}" for id_ in range(6, 12))
        return found

    # Rows that come, are updated or deleted, and the kinds of these changes.
    rows = [(id_, f"n{id_}", 0) for id_ in range(12)]
    rows += [(id_, f"n{id_}", 3) if id_ < 6 else (id_, f"new {id_}", 2) for id_ in range(12)]
    check_sink(
        sink,
        rows,
        None,
        read=read,
        clear=lambda: topics.append(kafka.topic(2)),
        expected=[(id_, None if kind == 3 else name) for id_, name, kind in rows],
        key=lambda row: row[0],
        parallelisms=(2,),
        epoch_records=8,
    )


TO_THE_END = {"scan__bounded__mode": "latest-offset"}


def test_rows_replace_each_other_and_go(kafka: Kafka) -> None:
    topic = kafka.topic()
    write(
        kafka,
        topic,
        ({"id": 1}, {"id": 1, "name": "a"}),
        ({"id": 2}, {"id": 2, "name": "b"}),
        ({"id": 1}, {"id": 1, "name": "c"}),
        ({"id": 3}, None),
        ({"id": 2}, None),
        ({"id": 1}, {"id": 1, "name": "c"}),
    )
    create = table(kafka, topic, **TO_THE_END)
    every = session_of(create, **{"table.exec.mini-batch.enabled": "false"})
    rows = every.query("SELECT * FROM t", clock=now_ms).rows
    assert [(kind, *row) for kind, row in rows] == [
        (0, 1, "a"),
        (0, 2, "b"),
        (1, 1, "a"),
        (2, 1, "c"),
        (3, 2, "b"),
    ]
    session = session_of(create)
    assert session.query("SELECT * FROM t", clock=now_ms).rows == [(0, (1, "c"))]
    counted = session.query("SELECT COUNT(*), MAX(name) FROM t", clock=now_ms, epoch_records=2)
    assert counted.materialized() == [(1, "c")]


def test_state_of_keys_outlives_a_restart(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    for partition in (0, 1):
        for name in "abc":
            ids = range(partition, 10, 2)
            write(kafka, topic, *(({"id": i}, {"name": name}) for i in ids), partition=partition)
        write(kafka, topic, ({"id": partition}, None), partition=partition)
    options = {"value__fields-include": "EXCEPT_KEY", **TO_THE_END}
    session = session_of(table(kafka, topic, **options))
    found = session.query(
        "SELECT * FROM t", clock=now_ms, epoch_records=3, restore_after=range(1, 12, 2)
    )
    assert sorted(found.materialized()) == [(i, "c") for i in range(2, 10)]
    assert {kind for kind, _ in found.rows} == {0, 1, 2, 3}


def test_rows_go_from_topic_to_topic_without_state(kafka: Kafka) -> None:
    source, target = kafka.topic(), kafka.topic()
    messages = [(1, "a"), (2, "b"), (1, "c"), (3, None), (2, None), (4, "d")]
    write(kafka, source, *(({"id": i}, {"id": i, "name": v} if v else None) for i, v in messages))
    session = session_of(table(kafka, source, **TO_THE_END))
    session.execute(table(kafka, target).replace("TABLE t", "TABLE copied"))
    insert = "INSERT INTO copied SELECT id, UPPER(name) FROM t WHERE id < 4"
    assert "ChangelogNormalize" not in session.explain(f"EXPLAIN {insert}").split("Optimized")[1]
    session.insert(insert, clock=now_ms)
    # The delete of a key that nobody knows goes through as well, as in Flink.
    found = {m.key().decode(): m.value() for m in kafka.read(target)}
    assert found == {'{"id":1}': b'{"id":1,"name":"C"}', '{"id":2}': None, '{"id":3}': None}


def test_the_last_change_of_a_key_is_written(kafka: Kafka) -> None:
    topic = kafka.topic()
    columns = "k_id INT, n BIGINT, PRIMARY KEY (k_id) NOT ENFORCED"
    create = table(
        kafka,
        topic,
        columns,
        key__fields_prefix="k_",
        value__fields_include="EXCEPT_KEY",
        **TO_THE_END,
    )
    session = session_of(create, **{"table.exec.mini-batch.enabled": "false"})
    # Every change reaches the sink: 1 comes three times, 2 comes and goes.
    session.insert(
        "INSERT INTO t SELECT id, n FROM (SELECT id, COUNT(*) AS n FROM "
        "(VALUES (1), (2), (1), (2), (1)) AS v(id) GROUP BY id) WHERE id = 1 OR n < 2"
    )
    found = {m.key().decode(): m.value() for m in kafka.read(topic)}
    assert found == {'{"id":1}': b'{"n":3}', '{"id":2}': None}
    assert len(kafka.read(topic)) == 2
    assert session.query("SELECT * FROM t", clock=now_ms).materialized() == [(1, 3)]


def test_exactly_once_through_restarts(kafka: Kafka) -> None:
    source, target = kafka.topic(2), kafka.topic(2)
    for partition in (0, 1):
        kafka.write(source, [json.dumps({"id": i % 5}) for i in range(50)], partition=partition)
    session = session_of(
        table(
            kafka,
            target,
            "id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED",
            sink__delivery_guarantee="exactly-once",
            sink__transactional_id_prefix=target,
            sink__parallelism="2",
            **TO_THE_END,
        )
    )
    session.execute(
        "CREATE TABLE s (id INT) WITH ('connector' = 'kafka', 'format' = 'json', "
        f"'topic' = '{source}', 'properties.bootstrap.servers' = '{kafka.servers}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    session.insert(
        "INSERT INTO t SELECT id, COUNT(*) FROM s GROUP BY id",
        clock=now_ms,
        epoch_records=7,
        restore_after=range(1, 20, 3),
    )
    kafka.wait_until_settled(target)
    counts: dict[int, list[int]] = {}
    for message in kafka.read(target):
        row = json.loads(message.value())
        counts.setdefault(row["id"], []).append(row["n"])
    # Of each key every count is there once, in its order.
    assert {i: n[-1] for i, n in counts.items()} == dict.fromkeys(range(5), 20)
    assert all(n == sorted(set(n)) for n in counts.values())


def test_keys_and_values_with_schemas_of_a_registry(kafka: Kafka) -> None:
    pytest.importorskip("fastavro", reason="pip install 'headrace[avro]'")
    topic = kafka.topic()
    with running_registry() as registry:
        options = {f"{part}.format": "avro-confluent" for part in ("key", "value")}
        urls = {f"{part}.avro-confluent.url": registry.url for part in ("key", "value")}
        session = session_of(table(kafka, topic, **options, **urls, **TO_THE_END))
        values = "(VALUES (1, 'a'), (2, 'b')) AS v(id, name)"
        session.insert(f"INSERT INTO t SELECT id, MAX(name) FROM {values} GROUP BY id")
        assert registry.subjects.keys() == {f"{topic}-key", f"{topic}-value"}
        [first] = [m.key() for m in kafka.read(topic) if m.value().endswith(b"a")]
        kafka.write(topic, [None], key=first)
        assert session.query("SELECT * FROM t", clock=now_ms).materialized() == [(2, "b")]


def test_bad_messages(kafka: Kafka) -> None:
    topic = kafka.topic()
    write(kafka, topic, ({"id": 1}, {"id": 1, "name": "a"}), (b"{", {"id": 2}), ({"id": 3}, "{"))
    session = session_of(table(kafka, topic, **TO_THE_END))
    with pytest.raises(HeadraceError, match=r"offset 1 of partition 0 .*Failed to deserialize"):
        session.query("SELECT * FROM t", clock=now_ms)
    ignoring = {f"{part}.json.ignore-parse-errors": "true" for part in ("key", "value")}
    session = session_of(table(kafka, topic, **ignoring, **TO_THE_END))
    assert session.query("SELECT * FROM t", clock=now_ms).materialized() == [(1, "a")]
    write(kafka, topic, (None, {"id": 4}))
    with pytest.raises(HeadraceError, match=r"offset 3 .*it has no key"):
        session.query("SELECT * FROM t", clock=now_ms)


@pytest.mark.parametrize(
    ("columns", "options", "statement", "message"),
    [
        ("id INT", {}, "SELECT * FROM t", "tables require to define a PRIMARY KEY constraint"),
        (COLUMNS, {"value__format": ""}, "SELECT * FROM t", "value.format"),
        (COLUMNS, {"key__format": ""}, "INSERT INTO t VALUES (1, 'a')", "key.format"),
        (
            COLUMNS,
            {"value__format": "debezium-json"},
            "SELECT * FROM t",
            "doesn't support 'debezium-json' as value format, because 'debezium-json' is not in "
            "insert-only mode",
        ),
        (COLUMNS, {"key__format": "ogg-json"}, "SELECT * FROM t", "as key format"),
        (COLUMNS, {"scan__startup__mode": "x"}, "SELECT * FROM t", "Unsupported options"),
        (COLUMNS, {"key__fields": "id"}, "SELECT * FROM t", "Unsupported options"),
        (COLUMNS, {"key__fields_prefix": "k_"}, "SELECT * FROM t", "key prefix is not allowed"),
        (
            COLUMNS,
            {"sink__buffer-flush__max-rows": "5"},
            "INSERT INTO t VALUES (1, 'a')",
            "greater than zero together",
        ),
        (
            COLUMNS,
            {"sink__delivery_guarantee": "exactly-once"},
            "INSERT INTO t VALUES (1, 'a')",
            "sink.transactional-id-prefix must be specified",
        ),
    ],
)
def test_what_is_refused(
    columns: str, options: dict[str, str], statement: str, message: str
) -> None:
    session = session_of(table(None, "t", columns, **options))
    with pytest.raises(SqlError, match=message):
        session.executor.execute(f"EXPLAIN {statement}")


def test_batch_mode_is_refused() -> None:
    session = LocalSession(batch=True)
    session.execute(table(None, "t", **TO_THE_END))
    with pytest.raises(SqlError, match="only possible for INSERT-only table sources"):
        session.executor.execute("EXPLAIN SELECT * FROM t")
