"""Every single change, without mini-batches: in the end it is what merged changes give, too."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from headrace.common.types import RowKind
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from headrace.testing import run_in_process
from tests.sql.sessions import LocalSession

Tables = dict[str, tuple[str, list[tuple[Any, ...]]]]

NULL_FIRST: Tables = {"t": ("k STRING, v INT", [("a", None), ("b", 5), ("a", 9)])}
MANY: Tables = {"t": ("k STRING, v INT", [("a", 1)] * 9 + [("b", 1)] * 8 + [("a", 1)])}
LEAVING: Tables = {
    "t": ("k STRING, v INT", [("a", 1), ("b", 1), ("a", 1)]),
    "u": ("id BIGINT, v INT", [(1, 7)]),
}
COUNTS = "(SELECT COALESCE(k, '') AS k, COUNT(*) AS n FROM t GROUP BY COALESCE(k, ''))"


def declared(place: Path, tables: Tables) -> list[str]:
    statements = []
    for name, (columns, rows) in tables.items():
        with (place / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["null" if v is None else v for v in r] for r in rows])
        statements.append(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{place / name}.csv', 'format' = 'csv', 'csv.null-literal' = 'null')"
        )
    return statements


@pytest.mark.parametrize(
    ("tables", "query", "expected"),
    [
        (NULL_FIRST, "SELECT k, MIN(v) AS m FROM t GROUP BY k ORDER BY m LIMIT 1", ("b", 5)),
        (
            NULL_FIRST,
            "SELECT k, MAX(v) AS m FROM t GROUP BY k ORDER BY m DESC NULLS FIRST LIMIT 1",
            ("a", 9),
        ),
        (
            MANY,
            "SELECT k, CAST(COUNT(*) AS STRING) AS m FROM t GROUP BY k ORDER BY m DESC LIMIT 1",
            ("b", "8"),
        ),
    ],
)
def test_only_what_rises_is_ranked_as_rising(
    tmp_path: Path, tables: Tables, query: str, expected: tuple[Any, ...]
) -> None:
    session = LocalSession(options={"table.exec.mini-batch.enabled": "false"})
    for statement in declared(tmp_path, tables):
        session.execute(statement)
    assert session.query(query, epoch_records=1).materialized() == [expected]


@pytest.mark.parametrize("merged", ["false", "true"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            f"SELECT c.k, c.n FROM {COUNTS} AS c "
            "JOIN (SELECT id, MAX(v) AS m FROM u GROUP BY id) AS y ON c.n = y.id",
            {"b": 1},
        ),
        (f"SELECT k, n FROM {COUNTS} WHERE n IN (SELECT id FROM u)", {"b": 1}),
        (f"SELECT k, n FROM {COUNTS} WHERE n < 2", {"b": 1}),
        (f"SELECT k, n FROM {COUNTS} ORDER BY n DESC, k DESC LIMIT 1", {"a": 2}),
    ],
)
def test_a_key_that_does_not_come_back_is_deleted_from_upserts(
    tmp_path: Path, query: str, expected: dict[str, int], merged: str
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.exec.mini-batch.enabled", merged)
    t_env.get_config().set("table.exec.spark-segments", "false")
    for statement in declared(tmp_path, LEAVING):
        t_env.execute_sql(statement)
    schema = Schema.new_builder().column("k", DataTypes.STRING().not_null())
    keyed = schema.column("n", DataTypes.BIGINT().not_null()).primary_key("k").build()
    stream = t_env.to_changelog_stream(t_env.sql_query(query), keyed, ChangelogMode.upsert())
    left: dict[str, int] = {}
    for row in run_in_process(env, {"rows": stream}, epoch_records=1)["rows"]:
        assert row.get_row_kind() is not RowKind.UPDATE_BEFORE
        if row.get_row_kind() is RowKind.DELETE:
            left.pop(row[0], None)
        else:
            left[row[0]] = row[1]
    assert left == expected


@pytest.mark.parametrize("ttl", ["0 s", "25 s"])
def test_a_row_whose_equal_comes_again_keeps_its_partners(tmp_path: Path, ttl: str) -> None:
    options = {"table.exec.mini-batch.enabled": "false", "table.exec.state.ttl": ttl}
    session = LocalSession(options=options)
    tables: Tables = {
        "t": ("k STRING, v INT", [("a", 1), ("x", 1), ("a", 1), ("y", 1), ("z", 1)]),
        "u": ("k STRING, w INT", [("a", 0), ("p", 0), ("q", 0), ("a", -1)]),
    }
    for statement in declared(tmp_path, tables):
        session.execute(statement)
    query = "SELECT x.k, x.v, y.w FROM t AS x LEFT JOIN u AS y ON x.k = y.k AND x.v > y.w"
    found = session.query(query, epoch_records=1, epoch_ms=10_000)
    assert [w for kind, (k, _, w) in found.rows if k == "a" and kind == 3] == [None]
