"""Changes in the JSON of Debezium, Canal, Maxwell and GoldenGate; see also `cases`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.formats.base import FormatOptions, decoder_for, encoder_for, metadata_keys
from tests.sql.sessions import HERE, LocalSession
from tests.sql.test_format_options import row_type

COLUMNS = "id INT, name STRING"
TOOLS = ("debezium", "canal", "maxwell", "ogg")
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)


def decoded(
    format_: str, columns: str, *messages: Any, metadata: tuple[str, ...] = (), **options: str
) -> list[Any]:
    given = FormatOptions({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
    decoder = decoder_for(format_, row_type(columns), replace(given, metadata=metadata))
    return decoder.decode(list(messages))


def lines(tool: str) -> list[str]:
    return (HERE / "data" / f"products.{tool}.json").read_text("utf-8").splitlines()


def test_metadata_of_debezium() -> None:
    keys = metadata_keys("debezium-json")
    first = decoded("debezium-json", "id INT", lines("debezium")[0], metadata=keys)[0]
    source = {
        "version": "1.1",
        "connector": "mysql",
        "ts_ms": "0",
        "snapshot": "true",
        "db": "inventory",
        "table": "products",
    }
    stamp = 1589355606100_000
    assert first == (101, None, stamp, 0, "inventory", None, "products", source, INSERT)
    line = lines("debezium-schema")[0]
    with_schema = decoded("debezium-json", "id INT", line, metadata=keys, schema_include="true")
    assert with_schema == [
        (101, '{"type":"struct"}', stamp, 0, "inventory", None, "products", source, INSERT)
    ]


def test_metadata_of_canal() -> None:
    keys = metadata_keys("canal-json")
    first, second, *_ = decoded("canal-json", "id INT", *lines("canal"), metadata=keys)
    stamps = (1589373515477_000, 1589373515000_000)
    assert first == (101, "inventory", "products", {"id": 4}, ("id",), *stamps, INSERT)
    assert second == (102, *first[1:])


def test_metadata_of_maxwell_and_golden_gate() -> None:
    keys = metadata_keys("maxwell-json")
    [row] = decoded("maxwell-json", "id INT", lines("maxwell")[0], metadata=keys)
    assert row == (101, "test", "product", ("id",), 1596684904_000_000, INSERT)
    keys = metadata_keys("ogg-json")
    [row] = decoded("ogg-json", "id INT", lines("ogg")[0], metadata=keys)
    assert row == (111, "PRODUCTS", ("id",), 1589384407_000_000, 1589384406_000_000, INSERT)


@pytest.mark.parametrize(
    ("tool", "message", "reason"),
    [
        ("debezium", "x", "Expecting value"),
        ("debezium", '{"op":"x"}', 'Unknown "op" value "x"'),
        ("debezium", '{"after":{"id":1},"op":"u"}', "REPLICA IDENTITY"),
        ("debezium", '{"after":{"id":1},"op":"d"}', "REPLICA IDENTITY"),
        ("debezium", '{"after":null,"op":"c"}', "no row after the change"),
        ("canal", '{"data":[],"type":"ALTER"}', 'Unknown "type" value "ALTER"'),
        ("canal", '{"data":[{"id":1}],"old":[],"type":"UPDATE"}', "shorter"),
        ("canal", '{"type":"INSERT"}', "data"),
        ("maxwell", '{"data":{"id":1},"type":"bootstrap-start"}', "bootstrap-start"),
        ("maxwell", '{"data":{"id":1},"type":"update"}', "no row before the change"),
        ("ogg", '{"op_type":"T"}', 'Unknown "op_type" value "T"'),
        ("ogg", '{"after":{"id":1},"op_type":"U"}', "REPLICA IDENTITY"),
    ],
)
def test_a_message_that_is_not_a_change(tool: str, message: str, reason: str) -> None:
    good = encoder_for(f"{tool}-json", row_type(COLUMNS), FormatOptions({})).encode([(1, "a")])
    with pytest.raises(HeadraceError, match=f"Corrupt {tool.capitalize()} JSON") as failure:
        decoded(f"{tool}-json", COLUMNS, *good, message)
    assert reason in str(failure.value)
    assert f"'{tool}-json.ignore-parse-errors' = 'true'" in str(failure.value)
    kept = decoded(f"{tool}-json", COLUMNS, *good, message, *good, ignore_parse_errors="true")
    assert kept == [(1, "a", INSERT)] * 2


def test_tables_and_databases_of_canal() -> None:
    given = {"table__include": "product", "database__include": ".*"}
    assert decoded("canal-json", "id INT", *lines("canal"), **given) == []
    given = {"table__include": "products|others", "database__include": "arch.*"}
    assert decoded("canal-json", "id INT", *lines("canal"), **given) == [(7, INSERT)]
    with pytest.raises(SqlError, match=r"canal-json.table.include.* is not a regular expression"):
        decoded("canal-json", "id INT", table__include="(")


def test_rows_of_one_message_of_canal_may_have_changed_differently() -> None:
    """Flink takes a field that one of them has in `old` for one that all of them have."""
    rows = [{"id": 1, "name": "a"}, {"id": 3, "name": "b"}]
    message = {"data": rows, "old": [{"name": "z"}, {"id": 2}], "type": "UPDATE"}
    assert decoded("canal-json", COLUMNS, json.dumps(message)) == [
        (1, "z", UPDATE_BEFORE),
        (1, "a", UPDATE_AFTER),
        (2, "b", UPDATE_BEFORE),
        (3, "b", UPDATE_AFTER),
    ]


# After the encoders in the sources of Flink 2.3, not recorded from a run of it.
WRITTEN = {
    "debezium": [
        '{"before":null,"after":{"id":1,"name":null},"op":"c"}',
        '{"before":{"id":1,"name":null},"after":null,"op":"d"}',
    ],
    "canal": [
        '{"data":[{"id":1,"name":null}],"type":"INSERT"}',
        '{"data":[{"id":1,"name":null}],"type":"DELETE"}',
    ],
    "maxwell": [
        '{"data":{"id":1,"name":null},"type":"insert"}',
        '{"data":{"id":1,"name":null},"type":"delete"}',
    ],
    "ogg": [
        '{"before":null,"after":{"id":1,"name":null},"op_type":"I"}',
        '{"before":{"id":1,"name":null},"after":null,"op_type":"D"}',
    ],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_changes_are_written_as_flink_writes_them(tool: str) -> None:
    comes, goes = WRITTEN[tool]
    encoder = encoder_for(f"{tool}-json", row_type(COLUMNS), FormatOptions({}))
    kinds = (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE)
    messages = encoder.encode([(1, None, kind) for kind in kinds])
    assert messages == [comes, goes, comes, goes]
    assert encoder.encode([(1, None)]) == [comes]
    read = decoded(f"{tool}-json", COLUMNS, *messages)
    assert read == [(1, None, kind) for kind in (INSERT, DELETE, INSERT, DELETE)]


@pytest.mark.parametrize("tool", TOOLS)
def test_fields_that_are_null_can_be_left_out(tool: str) -> None:
    options = FormatOptions({"encode.ignore-null-fields": "true"})
    encoder = encoder_for(f"{tool}-json", row_type(COLUMNS), options)
    found = [json.loads(m) for m in encoder.encode([(1, None, INSERT), (1, None, DELETE)])]
    assert found == [_without_null(json.loads(m)) for m in WRITTEN[tool]]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    return [_without_null(v) for v in value] if isinstance(value, list) else value


def table(path: Path, tool: str, columns: str = "k STRING, n BIGINT", more: str = "") -> str:
    return (
        f"CREATE TABLE t ({columns}) {more} WITH ('connector' = 'filesystem', 'path' = '{path}', "
        f"'format' = '{tool}-json')"
    )


@pytest.mark.parametrize("partitioned", [False, True])
def test_files_of_changes_are_written_and_read(tmp_path: Path, partitioned: bool) -> None:
    session = LocalSession()
    session.execute(table(tmp_path, "debezium", more="PARTITIONED BY (k)" if partitioned else ""))
    session.insert(
        "INSERT INTO t SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS v(k) GROUP BY k",
        epoch_records=1,
    )
    assert sorted(session.query("SELECT k, n FROM t").materialized()) == [("a", 2), ("b", 1)]
    kinds = {kind for kind, _ in session.query("SELECT * FROM t").rows}
    assert kinds == {INSERT, DELETE}


def test_changes_cannot_be_read_in_batch_mode(tmp_path: Path) -> None:
    session = LocalSession(batch=True)
    session.execute(table(tmp_path, "canal"))
    with pytest.raises(SqlError, match="only possible for INSERT-only table sources"):
        session.query("SELECT * FROM t")


def test_a_sink_of_rows_refuses_changes(tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(table(tmp_path / "from", "maxwell"))
    session.execute(
        "CREATE TABLE u (k STRING, n BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'json')"
    )
    with pytest.raises(SqlError, match="doesn't support consuming update and delete changes"):
        session.insert("INSERT INTO u SELECT * FROM t")


def test_a_schema_is_not_written(tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(
        table(tmp_path, "debezium").replace(
            "'format'", "'debezium-json.schema-include' = 'true', 'format'"
        )
    )
    with pytest.raises(SqlError, match="serialization doesn't support"):
        session.insert("INSERT INTO t VALUES ('a', 1)")


def test_a_file_with_a_message_that_is_not_a_change_is_named(tmp_path: Path) -> None:
    (tmp_path / "changes").write_text("{}\n")
    session = LocalSession()
    session.execute(table(tmp_path, "ogg"))
    with pytest.raises(HeadraceError, match=r"changes: Corrupt Ogg JSON message '\{\}'"):
        session.query("SELECT * FROM t")


def test_changes_that_come_twice(tmp_path: Path) -> None:
    came, went = (WRITTEN["debezium"][i].replace("null}", '"a"}') for i in (0, 1))
    update = '{"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},"op":"u"}'
    (tmp_path / "changes").write_text("\n".join([came, came, update, update, came, went, went]))
    keyed = f"{COLUMNS}, PRIMARY KEY (id) NOT ENFORCED"
    duplicates = {"table.exec.source.cdc-events-duplicate": "true"}
    options = {**duplicates, "table.exec.mini-batch.enabled": "false"}
    session = LocalSession(options=options)
    session.execute(table(tmp_path, "debezium", keyed))
    rows = [(kind, *row) for kind, row in session.query("SELECT * FROM t").rows]
    a, b = (1, "a"), (1, "b")
    assert rows == [(0, *a), (1, *a), (2, *b), (1, *b), (2, *a), (3, *a)]
    session = LocalSession(options=duplicates)
    session.execute(table(tmp_path, "debezium"))
    with pytest.raises(SqlError, match="requires the changelog sources to define a PRIMARY KEY"):
        session.query("SELECT * FROM t")
