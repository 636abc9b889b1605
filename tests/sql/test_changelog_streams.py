"""Tables of streams of changes; the changes that come out are those of Flink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.table import ChangelogMode, Schema, StreamTableEnvironment, Table
from headrace.testing import run_in_process

ROW = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
UPSERTS = ["+I a 1", "+U b 5", "+U a 7", "-D a", "-D q", "+I a 2", "+U a 2", "+I b 9"]
KINDS = {"+I": RowKind.INSERT, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}

SHORT = dict(zip(RowKind, ("+I", "-U", "+U", "-D"), strict=True))


def read(t_env: StreamTableEnvironment, changes: list[str], mode: ChangelogMode, key: bool) -> Any:
    rows = []
    for kind, k, *n in map(str.split, changes):
        row = Row(k, int(n[0]) if n else None)
        row.set_row_kind(KINDS[kind])
        rows.append(row)
    # Changes of a key come in their order, as from one partition of a topic.
    t_env._session.env.set_parallelism(1)
    stream = t_env._session.env.from_collection(rows, ROW)
    schema = Schema.new_builder().column("k", "STRING NOT NULL").column("n", "INT")
    if key:
        schema = schema.primary_key("k")
    return t_env.from_changelog_stream(stream, schema.build(), mode)


def changes_of(t_env: StreamTableEnvironment, table: Table) -> list[str]:
    stream = t_env.to_changelog_stream(table)
    rows = run_in_process(t_env._session.env, {"rows": stream})["rows"]
    return [f"{SHORT[row.get_row_kind()]}[{row[0]}, {row[1]}]" for row in rows]


def test_upserts_become_all_changes(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set("table.exec.mini-batch.enabled", "false")
    table = read(t_env, UPSERTS, ChangelogMode.upsert(), key=True)
    found = changes_of(t_env, table)
    assert [c for c in found if "b" in c] == ["+I[b, 5]", "-U[b, 5]", "+U[b, 9]"]
    assert [c for c in found if "a" in c] == [
        "+I[a, 1]",
        "-U[a, 1]",
        "+U[a, 7]",
        "-D[a, 7]",
        "+I[a, 2]",
    ]
    assert len(found) == 8


def test_only_the_net_change_of_an_epoch_comes_out(t_env: StreamTableEnvironment) -> None:
    table = read(t_env, UPSERTS, ChangelogMode.upsert(), key=True)
    assert sorted(changes_of(t_env, table)) == ["+I[a, 2]", "+I[b, 9]"]


def test_updates_by_key_need_a_key(t_env: StreamTableEnvironment) -> None:
    with pytest.raises(SqlError, match="requires defining a primary key"):
        read(t_env, UPSERTS, ChangelogMode.upsert(), key=False)


def test_a_stream_of_inserts_can_go_where_updates_cannot(t_env: StreamTableEnvironment) -> None:
    table = read(t_env, ["+I a 1", "+I a 2"], ChangelogMode.insert_only(), key=False)
    stream = t_env.to_data_stream(table)
    assert len(run_in_process(t_env._session.env, {"rows": stream})["rows"]) == 2
