"""Tables of streams of changes; the changes that come out are those of Flink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.table import ChangelogMode, ExplainDetail, Schema, StreamTableEnvironment, Table
from headrace.testing import run_in_process

ROW = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
UPSERTS = ["+I a 1", "+U b 5", "+U a 7", "-D a", "-D q", "+I a 2", "+U a 2", "+I b 9"]
ALL = ["+I a 1", "+I b 5", "-U a 1", "+U a 7", "-D a 7", "+I a 2", "-D b 5", "+I c 2"]
INSERTS = ["+I a 1", "+I b 5", "+I a 7", "+I a 2"]
SHORT = dict(zip(RowKind, ("+I", "-U", "+U", "-D"), strict=True))
KINDS = {text: kind for kind, text in SHORT.items()}


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


def changes_of(t_env: StreamTableEnvironment, table: Table, *to: Any) -> list[str]:
    stream = t_env.to_changelog_stream(table, *to)
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


def target(*key: str, number: str = "INT") -> Schema:
    schema = Schema.new_builder().column("k", "STRING NOT NULL").column("n", number)
    return (schema.primary_key(*key) if key else schema).build()


COUNTS = "SELECT k, COUNT(*) AS n FROM src GROUP BY k"
COUNTED = {"number": "BIGINT NOT NULL"}
UPSERT = ChangelogMode.upsert()


def trial(
    t_env: StreamTableEnvironment, changes: list[str], mode: str, query: str, *to: Any
) -> list[str]:
    t_env.get_config().set("table.exec.mini-batch.enabled", "false")
    made = {"u": ChangelogMode.upsert, "a": ChangelogMode.all, "i": ChangelogMode.insert_only}
    t_env.create_temporary_view("src", read(t_env, changes, made[mode](), key=mode != "i"))
    return changes_of(t_env, t_env.sql_query(query), *to)


@pytest.mark.parametrize(
    ("query", "to", "expected"),
    [
        (
            "SELECT * FROM src",
            (target("k"), UPSERT),
            "+I[a, 1] +U[b, 5] +U[a, 7] -D[a, None] -D[q, None] +I[a, 2] +U[a, 2] +I[b, 9]",
        ),
        (
            "SELECT * FROM src",
            (target(), UPSERT),
            "+I[a, 1] +U[b, 5] +U[a, 7] -D[a, None] -D[q, None] +I[a, 2] +U[a, 2] +I[b, 9]",
        ),
        (
            "SELECT * FROM src WHERE k <> 'b'",
            (target("k"), UPSERT),
            "+I[a, 1] +U[a, 7] -D[a, None] -D[q, None] +I[a, 2] +U[a, 2]",
        ),
        (
            "SELECT k, n + 1 AS n FROM src",
            (target("k"), UPSERT),
            "+I[a, 2] +U[b, 6] +U[a, 8] -D[a, None] -D[q, None] +I[a, 3] +U[a, 3] +I[b, 10]",
        ),
        (
            "SELECT * FROM src",
            (target("k"), ChangelogMode.all()),
            "+I[a, 1] +I[b, 5] -U[a, 1] +U[a, 7] -D[a, 7] +I[a, 2] -U[b, 5] +U[b, 9]",
        ),
        (
            "SELECT * FROM src",
            (None, UPSERT),
            "+I[a, 1] +I[b, 5] -U[a, 1] +U[a, 7] -D[a, 7] +I[a, 2] -U[b, 5] +U[b, 9]",
        ),
    ],
)
def test_upserts_go_out_as_they_came_in(
    t_env: StreamTableEnvironment, query: str, to: Any, expected: str
) -> None:
    assert " ".join(trial(t_env, UPSERTS, "u", query, *to)) == expected


def test_all_changes_become_upserts(t_env: StreamTableEnvironment) -> None:
    found = trial(t_env, ALL, "a", "SELECT * FROM src", target("k"), UPSERT)
    expected = "+I[a, 1] +I[b, 5] +U[a, 7] -D[a, 7] +I[a, 2] -D[b, 5] +I[c, 2]"
    assert " ".join(found) == expected


@pytest.mark.parametrize("key", [("k",), ()])
def test_updates_of_groups_become_upserts(
    t_env: StreamTableEnvironment, key: tuple[str, ...]
) -> None:
    found = trial(t_env, INSERTS, "i", COUNTS, target(*key, **COUNTED), UPSERT)
    assert " ".join(found) == "+I[a, 1] +I[b, 1] +U[a, 2] +U[a, 3]"


@pytest.mark.parametrize("key", [("k",), ("n",)])
def test_all_changes_of_groups(t_env: StreamTableEnvironment, key: tuple[str, ...]) -> None:
    to = (target(*key, **COUNTED), ChangelogMode.all())
    expected = "+I[a, 1] +I[b, 1] -U[a, 1] +U[a, 2] -U[a, 2] +U[a, 3]"
    assert " ".join(trial(t_env, INSERTS, "i", COUNTS, *to)) == expected


@pytest.mark.parametrize("mode", [(UPSERT,), ()])
def test_rows_do_not_replace_each_other_by_another_key(
    t_env: StreamTableEnvironment, mode: Any
) -> None:
    with pytest.raises(SqlError, match=r"Primary key: \[n\], upsert key: \[k\]"):
        trial(t_env, INSERTS, "i", COUNTS, target("n", **COUNTED), *mode)


@pytest.mark.parametrize(("changes", "mode"), [(ALL, "a"), (UPSERTS, "u")])
def test_a_stream_of_inserts_takes_no_changes(
    t_env: StreamTableEnvironment, changes: list[str], mode: str
) -> None:
    to = (target("k"), ChangelogMode.insert_only())
    with pytest.raises(SqlError, match="doesn't support consuming update and delete changes"):
        trial(t_env, changes, mode, "SELECT * FROM src", *to)


def test_explain_shows_deletes_that_have_but_a_key(t_env: StreamTableEnvironment) -> None:
    t_env.create_temporary_view("src", read(t_env, UPSERTS, ChangelogMode.upsert(), key=True))
    plan = t_env.explain_sql("SELECT * FROM src", ExplainDetail.CHANGELOG_MODE)
    physical = plan.split("== Optimized")[1]
    assert "changelogMode=[I,UA,PD]" in physical
    assert "ChangelogNormalize(key=[k], changelogMode=[I,UB,UA,D])" in physical
