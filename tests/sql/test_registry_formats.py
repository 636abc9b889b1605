"""Avro whose schemas are in a registry, against one over HTTP."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.formats.avro import fastavro, record_writer
from headrace.formats.schema_registry import SchemaRegistry
from headrace.sql.connectors.kafka.rows import KafkaLayout, ValueSchema, row_serializer
from headrace.sql.connectors.message_parts import Part
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions, decoder_for, encoder_for
from tests.schema_registry import Registry, running_registry
from tests.sql.sessions import LocalSession
from tests.sql.test_format_options import row_type

pytest.importorskip("fastavro", reason="pip install 'headrace[avro]'")

COLUMNS = "id INT NOT NULL, name STRING"
# What Flink registers for these columns.
SCHEMA = (
    '{"type":"record","name":"record","namespace":"org.apache.flink.avro.generated","fields":'
    '[{"name":"id","type":"int"},{"name":"name","type":["null","string"],"default":null}]}'
)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as found:
        yield found


def options(name: str, registry: Registry, given: dict[str, str]) -> FormatOptions:
    values = {"url": registry.url, "subject": "t-value"} | {
        k.replace("__", ".").replace("_", "-"): v for k, v in given.items()
    }
    return FormatOptions({k: v for k, v in values.items() if v}, name=name)


def encoder(
    registry: Registry, columns: str = COLUMNS, name: str = "avro-confluent", **given: str
) -> Encoder:
    return encoder_for(name, row_type(columns), options(name, registry, given))


def decoder(
    registry: Registry, columns: str = COLUMNS, name: str = "avro-confluent", **given: str
) -> Decoder:
    return decoder_for(name, row_type(columns), options(name, registry, given))


def test_rows_and_their_schema(registry: Registry) -> None:
    rows = [(1, "a"), (2, None)]
    writer = encoder(registry)
    assert registry.asked == [], "a plan needs no registry"
    messages = pickle.loads(pickle.dumps(writer)).encode(rows)
    assert registry.subjects == {"t-value": [1]}
    assert registry.schemas == [SCHEMA]
    assert all(m.startswith(b"\0\0\0\0\1") for m in messages)
    reader = pickle.loads(pickle.dumps(decoder(registry)))
    assert reader.decode([*messages, b""]) == rows
    assert registry.asked == ["/subjects/t-value/versions", "/schemas/ids/1"]


ALL = (
    "b BOOLEAN, i BIGINT, d DOUBLE, c DECIMAL(10, 2), day DATE, t TIME(3), ts TIMESTAMP(3), "
    "us TIMESTAMP_LTZ(6), r ROW<x INT, y ROW<z STRING>>, m MAP<STRING, INT>, a ARRAY<STRING>, "
    "raw BYTES"
)
VALUES = (
    *(True, 2**40, 1.5, Decimal("3.20"), 19_782, 3_600_000_000, 1_709_200_800_123_000),
    *(1_709_200_800_123_456, (1, ("q",)), {"k": 1, "l": None}, ("x", None), b"\0\1"),
)


@pytest.mark.parametrize("name", ["avro-confluent", "debezium-avro-confluent"])
def test_values_of_all_types(registry: Registry, name: str) -> None:
    rows: list[Any] = [VALUES, (None,) * len(VALUES)]
    found = decoder(registry, ALL, name).decode(encoder(registry, ALL, name).encode(rows))
    assert [row[: len(VALUES)] for row in found] == rows


def written(registry: Registry, schema: Any, *records: Any) -> list[bytes]:
    """Messages of another program."""
    head = b"\0" + registry.register("other", schema).to_bytes(4, "big")
    write = record_writer(fastavro().parse_schema(schema))
    return [head + write(r) for r in records]


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    found = [{"name": name, "type": type_} for name, type_ in fields]
    return {"type": "record", "name": "Other", "namespace": "com.shop", "fields": found}


def test_each_message_is_read_by_its_own_schema(registry: Registry) -> None:
    [old] = written(registry, record(("id", "int")), {"id": 1})
    schema = record(("more", "double"), ("name", "string"), ("id", "long"))
    [new] = written(registry, schema, {"more": 0.5, "name": "b", "id": 2})
    assert decoder(registry).decode([old, new, old]) == [(1, None), (2, "b"), (1, None)]
    assert registry.asked == ["/schemas/ids/1", "/schemas/ids/2"]


def test_times_of_other_programs(registry: Registry) -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    local = {"type": "long", "logicalType": "local-timestamp-micros"}
    schema = record(("a", millis), ("b", local), ("c", "long"))
    [message] = written(registry, schema, {"a": 1_500, "b": 2_500_000, "c": 3_500})
    columns = "a TIMESTAMP(3), b TIMESTAMP(6), c TIMESTAMP_LTZ(3)"
    assert decoder(registry, columns).decode([message]) == [(1_500_000, 2_500_000, 3_500_000)]


def test_changes_of_debezium(registry: Registry) -> None:
    row = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "int"}]}
    source = {
        "type": "record",
        "name": "Source",
        "fields": [{"name": "table", "type": "string"}, {"name": "ts_ms", "type": "long"}],
    }
    schema = record(
        ("before", ["null", row]),
        ("after", ["null", "Value"]),
        ("source", source),
        ("op", "string"),
        ("ts_ms", ["null", "long"]),
    )
    rest = {"source": {"table": "people", "ts_ms": 5}, "ts_ms": 7}
    one, two = {"id": 1}, {"id": 2}
    messages = written(
        registry,
        schema,
        {"before": None, "after": one, "op": "r", **rest},
        {"before": one, "after": two, "op": "u", **rest},
        {"before": two, "after": None, "op": "d", **rest},
    )
    name = "debezium-avro-confluent"
    given = options(name, registry, {})
    keys = ("source.table", "source.timestamp", "ingestion-timestamp", "source.properties")
    wanted = FormatOptions(given.values, metadata=keys, name=name)
    more = ("people", 5_000, 7_000, {"table": "people", "ts_ms": "5"})
    assert decoder_for(name, row_type("id INT"), wanted).decode(messages) == [
        (1, *more, 0),
        (1, *more, 1),
        (2, *more, 2),
        (2, *more, 3),
    ]
    [bad] = written(registry, schema, {"before": None, "after": two, "op": "u", **rest})
    with pytest.raises(HeadraceError, match=r"Can't deserialize Debezium Avro.*REPLICA IDENTITY"):
        decoder(registry, "id INT", name).decode([bad])


def test_changes_are_written_as_flink_writes_them(registry: Registry) -> None:
    name = "debezium-avro-confluent"
    messages = encoder(registry, "id INT", name).encode([(1, 0), (1, 1), (2, 2), (2, 3)])
    [schema] = map(json.loads, registry.schemas)
    fields = [(f["name"], f["type"][1]) for f in schema["fields"]]
    assert [(name, t if isinstance(t, str) else t["name"]) for name, t in fields] == [
        ("before", "record_before"),
        ("after", "record_after"),
        ("op", "string"),
    ]
    found = decoder(registry, "id INT", name).decode(messages)
    assert found == [(1, 0), (1, 3), (2, 0), (2, 3)]


def test_a_schema_of_the_user(registry: Registry) -> None:
    given = json.loads(SCHEMA) | {"name": "Person", "namespace": "com.shop", "doc": "people"}
    [message] = encoder(registry, schema=json.dumps(given)).encode([(1, "a")])
    assert json.loads(registry.schemas[0]) == given
    assert decoder(registry).decode([message]) == [(1, "a")]
    with pytest.raises(SqlError, match="does not match the table"):
        encoder(registry, schema=json.dumps(record(("id", "long"))))
    with pytest.raises(SqlError, match="is not a schema of Avro"):
        encoder(registry, schema="{")


def test_users_and_tokens(registry: Registry) -> None:
    registry.user = "ada:secret"
    with pytest.raises(HeadraceError, match=r"refused the schema of subject 't-value': 401 Unauth"):
        encoder(registry).encode([(1, "a")])
    [message] = encoder(registry, basic_auth__user_info="ada:secret").encode([(1, "a")])
    in_url = registry.url.replace("//", "//ada:secret@")
    given = {"url": in_url, "basic_auth__credentials_source": "URL"}
    assert decoder(registry, **given).decode([message]) == [(1, "a")]
    assert decoder(registry, bearer_auth__token="ada:secret").decode([message]) == [(1, "a")]


def test_a_user_in_urls(registry: Registry) -> None:
    registry.user = "ada:p@ss/1"
    with running_registry() as gone:
        pass
    urls = [url.replace("//", "//ada:p%40ss%2F1@") for url in (gone.url, registry.url)]
    given = {"url": ",".join(urls), "basic_auth__credentials_source": "URL"}
    [message] = encoder(registry, **given).encode([(1, "a")])
    assert decoder(registry, **given).decode([message]) == [(1, "a")]


def test_passwords_are_in_no_error(registry: Registry) -> None:
    with running_registry() as gone:
        pass
    host, source = gone.url.removeprefix("http://"), "basic_auth__credentials_source"
    for given, message in (
        ({"url": f"http://ada:secret@{host}"}, r"'avro-confluent.url' has a user and password"),
        ({"url": f"http://ada:secret@{host}", source: "URL"}, "cannot be had"),
        ({"url": f"{gone.url},http://a:secret@{host}", source: "URL"}, "cannot be had"),
        ({"url": f"http://a:secret@{host},http://b:secret@{host}", source: "URL"}, "one user"),
        ({"url": f"http://ada:secret/1@{host}", source: "URL"}, "must be http://host:port"),
        ({"url": f"ada:secret@{host}", source: "URL"}, "must be http://host:port"),
    ):
        with pytest.raises(HeadraceError, match=message) as refused:
            encoder(registry, **given).encode([(1, "a")])
        assert "secret" not in str(refused.value)
    secrets = SchemaRegistry((gone.url,), "ada:secret", "secret", password="secret")
    assert "secret" not in repr(secrets)


def test_what_is_not_a_registry(registry: Registry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(HeadraceError, match=r"cannot be had .* SSH-2.0-OpenSSH"):
            encoder(registry, url=f"http://127.0.0.1:{port}").encode([(1, "a")])
        thread.join()


def test_what_a_registry_refuses(registry: Registry) -> None:
    with pytest.raises(HeadraceError, match=r"404 Schema 7 not found; was the message written"):
        decoder(registry).decode([b"\0\0\0\0\7x"])
    registry.frozen.add("t-value")
    with pytest.raises(HeadraceError, match=r"409 Schema is incompatible; change the table"):
        encoder(registry).encode([(1, "a")])


def test_a_registry_that_is_away(registry: Registry) -> None:
    with running_registry() as gone:
        pass
    with pytest.raises(HeadraceError, match=r"cannot be had from the schema registry: .*refused"):
        encoder(registry, url=gone.url).encode([(1, "a")])

    def part(url: str) -> Part:
        options = FormatOptions({"url": url, "subject": "t-value"}, name="avro-confluent")
        return Part("avro-confluent", options, (0,), row_type("id INT"))

    layout = KafkaLayout(1, part(gone.url))
    for probed in (ValueSchema(layout.value), row_serializer("t", layout, None, kinds=False)):
        with pytest.raises(HeadraceError, match="cannot be had from the schema registry"):
            probed.probe()
    part(registry.url).probe()
    [message] = encoder(registry, url=f"{gone.url}, {registry.url}").encode([(1, "a")])
    assert decoder(registry).decode([message]) == [(1, "a")]


def test_messages_without_a_schema(registry: Registry) -> None:
    for message in (b"{}", b"\0\0"):
        with pytest.raises(HeadraceError, match="Magic number does not match"):
            decoder(registry).decode([message])
    [message] = encoder(registry).encode([(1, "a")])
    with pytest.raises(HeadraceError, match="Failed to deserialize an Avro record"):
        decoder(registry).decode([message[:7]])


def test_what_is_refused(registry: Registry) -> None:
    with pytest.raises(SqlError, match=r"Missing required options are:\n\navro-confluent.url"):
        decoder(registry, url="")
    with pytest.raises(SqlError, match=r"Option avro-confluent.subject is required"):
        encoder(registry, subject="")
    session = LocalSession()
    session.execute(
        "CREATE TABLE t (id INT) WITH ('connector' = 'filesystem', 'path' = '/tmp/x', "
        f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}')"
    )
    with pytest.raises(SqlError, match="is a format of messages, not of files"):
        session.query("SELECT * FROM t")
