"""What time does to temporal joins: versions are forgotten, late rows meet what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.common.types import RowKind, row_of
from headrace.sql.operators.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.sql.operators.joins.specs import JoinSide, LatestJoinSpec, TemporalJoinSpec
from headrace.table import ChangelogMode, Schema, StreamTableEnvironment, Table
from headrace.table.expressions import col
from headrace.testing import run_in_process, two_input_harness
from tests.sql.sessions import LocalSession, place_of, with_tables

TABLE = """
CREATE TABLE {} (
  k INT, v INT, s INT, et AS TO_TIMESTAMP_LTZ(s * 1000, 3), WATERMARK FOR et AS et {}
) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')
"""
KEY = ", PRIMARY KEY (k) NOT ENFORCED"
QUERY = "SELECT l.v, r.v AS rv FROM l LEFT JOIN r FOR SYSTEM_TIME AS OF l.et ON l.k = r.k"


def session_with(tmp_path: Path, left: str, right: str) -> LocalSession:
    session = LocalSession()
    for name, rows, key in (("l", left, ""), ("r", right, KEY)):
        (tmp_path / name).write_text(rows.replace(" ", "\n"), encoding="utf-8")
        session.execute(TABLE.format(name, key, tmp_path / name))
    return session


def joined(tmp_path: Path, left: str, right: str, query: str = QUERY) -> list[Any]:
    """An epoch reads a row of each table."""
    result = session_with(tmp_path, left, right).query(query, epoch_records=1)
    assert {kind for kind, _ in result.rows} <= {0}
    return [tuple(row) for _, row in result.rows]


def test_late_rows_meet_the_versions_that_are_left(tmp_path: Path) -> None:
    rows = joined(tmp_path, "1,1,10 1,2,30 1,3,12 1,4,21", "1,5,5 1,6,20 1,7,40 1,8,41")
    # The watermark is 20 when the third row comes: the version of 5 is gone, that of 20 is not.
    assert rows == [(1, 5), (2, 6), (3, None), (4, 6)]


def test_a_row_waits_for_both_watermarks(tmp_path: Path) -> None:
    rows = joined(tmp_path, "1,1,10 1,2,90 1,3,91", "1,5,1 1,6,2 1,7,9 1,8,10 1,9,11")
    assert rows == [(1, 8), (2, 9), (3, 9)]


def test_null_keys_have_no_version(tmp_path: Path) -> None:
    rows = joined(tmp_path, ",1,10 1,2,11", ",5,5 1,6,5")
    assert sorted(rows) == [(1, None), (2, 6)]


def test_windows_follow_the_time_of_the_left_side(tmp_path: Path) -> None:
    session = session_with(tmp_path, "1,1,10 1,2,11 1,3,25 1,4,31", "1,5,5 1,6,11 1,7,30 1,8,50")
    session.execute(
        "CREATE VIEW j AS SELECT l.et, r.et AS since, r.v FROM l "
        "JOIN r FOR SYSTEM_TIME AS OF l.et ON l.k = r.k"
    )
    query = (
        "SELECT SUM(v) FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(et), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end"
    )
    result = session.query(query, epoch_records=1)
    assert [tuple(row) for _, row in result.rows] == [(11,), (6,), (7,)]


def test_a_deleted_row_has_no_version_from_then_on(t_env: StreamTableEnvironment) -> None:
    env = t_env._session.env
    env.set_parallelism(1)
    kinds = [RowKind.INSERT, RowKind.DELETE, RowKind.INSERT]
    names = ["k", "v", "s"]
    types = Types.ROW_NAMED(names, [Types.STRING(), Types.INT(), Types.LONG()])
    schema = (
        Schema.new_builder()
        .column("k", "STRING NOT NULL")
        .column("v", "INT")
        .column("s", "BIGINT")
        .column_by_expression("et", "TO_TIMESTAMP_LTZ(s * 1000, 3)")
        .watermark("et", "et")
    )
    left = [row_of(("a", i, s), names) for i, s in enumerate((1, 3, 5, 9))]
    right = [row_of(("a", s, s), names, kind) for s, kind in zip((1, 4, 8), kinds, strict=True)]
    t_env.create_temporary_view(
        "l", t_env.from_data_stream(env.from_collection(left, types), schema.build())
    )
    t_env.create_temporary_view(
        "r",
        t_env.from_changelog_stream(
            env.from_collection(right, types), schema.primary_key("k").build(), ChangelogMode.all()
        ),
    )
    stream = t_env.to_data_stream(t_env.sql_query(QUERY))
    rows = run_in_process(env, {"rows": stream})["rows"]
    assert [tuple(row) for row in rows] == [(0, 1), (1, 1), (2, None), (3, 8)]


def test_there_are_no_versions_where_the_input_ends() -> None:
    query = "SELECT o.id FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r USING (item)"
    with pytest.raises(SqlError, match="not supported in batch mode") as refused:
        with_tables(batch=True).query(query)
    assert place_of(refused.value).startswith("JOIN rates FOR SYSTEM_TIME AS OF o.et AS r")


def with_history(tmp_path: Path) -> tuple[StreamTableEnvironment, Table, Table]:
    """Orders, and rates without a primary key, which are read one by one in turn."""
    t_env = StreamTableEnvironment.create()
    t_env.get_config().set("table.exec.spark-segments", "false")
    t_env._session.env.set_parallelism(1)
    files = {"o": "a,1,10 b,2,11 a,3,30 b,4,31", "r": "a,5,5 b,6,6 a,7,20 b,8,50"}
    for name, rows in files.items():
        (tmp_path / name).write_text(rows.replace(" ", "\n"), encoding="utf-8")
        columns = f"{name}k STRING, {name}v INT, {name}s INT"
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}, {name}et AS TO_TIMESTAMP_LTZ({name}s * 1000, 3), "
            f"{name}pt AS PROCTIME(), WATERMARK FOR {name}et AS {name}et) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'csv')"
        )
    return t_env, t_env.from_path("o"), t_env.from_path("r")


def rows_of(t_env: StreamTableEnvironment, table: Table) -> list[Any]:
    stream = t_env.to_data_stream(table.select(col("ov"), col("rv")))
    rows = run_in_process(t_env._session.env, {"rows": stream}, epoch_records=1)["rows"]
    return sorted((tuple(row) for row in rows), key=str)


def test_a_temporal_table_function_gives_the_rows_of_a_time(tmp_path: Path) -> None:
    t_env, orders, history = with_history(tmp_path)
    rates = history.create_temporal_table_function(col("ret"), col("rk"))
    joined = orders.join_lateral(rates(col("oet")), col("ok") == col("rk"))
    assert rows_of(t_env, joined) == [(1, 5), (2, 6), (3, 7), (4, 6)]


def test_in_processing_time_it_gives_the_last_row(tmp_path: Path) -> None:
    t_env, orders, history = with_history(tmp_path)
    rates = history.create_temporal_table_function(col("rpt"), col("rk"))
    on = (col("ok") == col("rk")) & (col("rv") > 6)
    # The file could be looked up, but has all versions of a key.
    joined = orders.left_outer_join_lateral(rates(col("opt")), on)
    found = dict(rows_of(t_env, joined))
    # Whether an order or a rate comes first is open.
    assert sorted(found) == [1, 2, 3, 4]
    assert set(found.values()) <= {None, 7, 8}
    assert joined.explain().count("TemporalJoin(") == 3


def test_a_temporal_table_function_needs_a_time_and_a_key(tmp_path: Path) -> None:
    _, orders, history = with_history(tmp_path)
    with pytest.raises(SqlError, match="'rs' is not a time attribute"):
        history.create_temporal_table_function(col("rs"), col("rk"))
    with pytest.raises(SqlError, match="'key' is not a column of the table"):
        history.create_temporal_table_function(col("ret"), col("key"))
    rates = history.create_temporal_table_function(col("ret"), col("rk"))
    with pytest.raises(SqlError, match="takes one time attribute of the other table"):
        orders.join_lateral(rates(col("os")), col("ok") == col("rk"))
    with pytest.raises(SqlError, match=r"primary key \[rk\] must be included in the equivalence"):
        orders.join_lateral(rates(col("oet")), col("ov") == col("rv")).explain()


def first(row: Any) -> Any:
    return row[0]


def test_rows_and_versions_move_to_other_subtasks() -> None:
    side = JoinSide(3, changes=False, outer=True)
    spec = TemporalJoinSpec(side, side, (2, 2), null_safe=(False,))
    keys = range(20)
    with two_input_harness(spec, key1=first, key2=first, parallelism=2) as h:
        h.process_many2([(k, second, second * 1_000_000) for k in keys for second in range(4)])
        h.process_many1([(k, 9, 2_500_000) for k in keys])
        h.watermark(1_000)
        h.snapshot_and_restore(parallelism=3)
        h.process_many1([(k, 8, 1_500_000) for k in keys])
        h.watermark(2_500)
        h.snapshot_and_restore(parallelism=1)
        expected = [(k, 8, 1_500_000, k, 1, 1_000_000) for k in keys]
        expected += [(k, 9, 2_500_000, k, 2, 2_000_000) for k in keys]
        assert sorted(h.output()) == sorted(expected)


def test_a_row_meets_the_last_row_that_came_before_it() -> None:
    spec = LatestJoinSpec(JoinSide(2, False, True), JoinSide(2, True, False), (False,))
    with two_input_harness(spec, key1=first, key2=first) as h:
        steps = [
            (h.process1, ("a", 1), [("a", 1, None, None)]),
            (h.process2, ("a", 5, INSERT), []),
            (h.process2, ("a", 5, UPDATE_BEFORE), []),
            (h.process2, ("a", 6, UPDATE_AFTER), []),
            (h.process1, ("a", 2), [("a", 2, "a", 6)]),
            (h.process2, ("a", 6, DELETE), []),
            (h.process1, ("a", 3), [("a", 3, None, None)]),
            (h.process1, (None, 4), [(None, 4, None, None)]),
        ]
        for process, row, expected in steps:
            process(row)
            h.snapshot_and_restore()
            assert h.output() == expected


def test_of_the_versions_before_the_watermark_the_newest_is_kept() -> None:
    side = JoinSide(3, changes=False, outer=True)
    spec = TemporalJoinSpec(side, side, (2, 2), null_safe=(False,))
    with two_input_harness(spec, key1=first, key2=first) as h:
        for second in range(5):
            h.process2(("a", second, second * 1_000_000))
        h.process1(("a", 9, 3_500_000))
        h.watermark(2_000)
        assert [time for time, _ in h.state("right")["a"]] == [2_000, 3_000, 4_000]
        h.snapshot_and_restore()
        assert h.output() == []
        h.watermark(10_000)
        assert h.output() == [("a", 9, 3_500_000, "a", 3, 3_000_000)]
        assert [time for time, _ in h.state("right")["a"]] == [4_000]
        assert h.state("left") == {}
