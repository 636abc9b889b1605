"""Segments that Arrow reads in the slots give what headrace's own operators give."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors import spark_query
from tests.sql.sessions import LocalSession

ROWS = 700
FILES = 3
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND))"
HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '12' SECOND))"
SESSION = "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND))"

QUERIES = [
    "SELECT id, k, v, d, s, flag, price, born, ts FROM t",
    "SELECT id, MOD(v, 7), MOD(k, 3), flag, k > 3, v BETWEEN -9 AND 9 FROM t WHERE MOD(v, 5) = -2",
    "SELECT id FROM t WHERE s = 'item 3' OR s = 'item 4' OR flag",
    "SELECT id FROM t WHERE NOT (k = 2 OR s < 'item 5') AND v IS NOT NULL",
    "SELECT id FROM t WHERE k IN (1, 2, 5) AND 3 < v AND d >= 4.5 AND born > DATE '2024-01-03'",
    "SELECT id, CAST(0.908 * v AS DECIMAL(23, 3)), price * k, CAST(price AS DECIMAL(14, 4)) FROM t "
    "WHERE s IS NULL",
    "SELECT COUNT(*), SUM(v), AVG(k), MIN(ts), MAX(s) FROM t WHERE v > 0",
    "SELECT COUNT(*) FROM t WHERE v > 1000",
    "SELECT k, s, COUNT(*), COUNT(v), SUM(v) FILTER (WHERE flag), MIN(born), MAX(v) FROM t "
    "GROUP BY k, s",
    f"SELECT window_start, window_end, k, COUNT(*), SUM(v) FROM {TUMBLE} "
    "GROUP BY window_start, window_end, k",
    f"SELECT window_start, window_end, s FROM {TUMBLE} GROUP BY window_start, window_end, s",
    f"SELECT window_start, COUNT(*), MAX(id) FROM {HOP} WHERE v > 0 "
    "GROUP BY window_start, window_end",
    f"SELECT k, window_start, window_end, COUNT(*) FROM {SESSION} "
    "GROUP BY k, window_start, window_end",
    "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS n "
    "FROM t) WHERE n <= 2",
    "SELECT id, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
    f"window_end, flag ORDER BY v DESC, id) AS n FROM {TUMBLE} WHERE k > 1) WHERE n <= 3",
    "SELECT a.id, b.s FROM t AS a JOIN t AS b ON a.id = b.v WHERE a.k = 1",
]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Files with groups of rows, NULLs, times around 1970, and several partitions in each."""
    monkeypatch.setattr(spark_query, "_FIRST_BYTES", 1)
    monkeypatch.setattr(spark_query, "_MIB", 4096)
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        times = [(i * 100 + (i * 7919) % 4000 - 60_000) * 1000 for i in ids]
        columns = {
            "id": pa.array(ids, pa.int64()),
            "k": pa.array([None if i % 11 == 0 else i % 7 for i in ids], pa.int32()),
            "v": pa.array([None if i % 13 == 0 else i * 37 % 501 - 250 for i in ids]),
            "d": pa.array([float("nan") if i % 17 == 0 else i / 8 for i in ids]),
            "s": pa.array([None if i % 19 == 0 else f"item {i % 23}" for i in ids]),
            "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in ids]),
            "price": pa.array([Decimal(i % 900) for i in ids], pa.decimal128(10, 2)),
            "born": pa.array([19_720 + i % 9 for i in ids], pa.int32()).cast(pa.date32()),
            "ts": pa.array(times, pa.timestamp("us")),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet", row_group_size=150)
    return declared(tmp_path)


def declared(folder: Path) -> str:
    return (
        "CREATE TABLE t (id BIGINT, k INT, v BIGINT, d DOUBLE, s STRING, flag BOOLEAN, "
        "price DECIMAL(10, 2), born DATE, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'filesystem', "
        f"'path' = '{folder}', 'format' = 'parquet')"
    )


def session(table: str, segments: bool, parallelism: int = 1) -> LocalSession:
    options = {"table.exec.spark-segments": str(segments).lower()}
    found = LocalSession(parallelism=parallelism, options=options)
    found.execute(table)
    return found


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_queries_give_the_same_either_way(table: str, query: str, parallelism: int) -> None:
    # In this process nothing can be read by Spark.
    found = session(table, True, parallelism).query(query).materialized()
    assert Counter(map(str, found)) == Counter(
        map(str, session(table, False).query(query).materialized())
    )


def test_a_row_without_a_time_is_an_error(tmp_path: Path) -> None:
    columns = {"id": [1, 2], "ts": pa.array([0, None], pa.timestamp("ms"))}
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    with pytest.raises(HeadraceError, match="RowTime field should not be null"):
        session(declared(tmp_path), True).query("SELECT id FROM t")


def test_a_column_that_a_later_file_does_not_have_is_null(tmp_path: Path) -> None:
    times = pa.array([0], pa.timestamp("ms"))
    pq.write_table(pa.table({"id": [1], "k": [5], "ts": times}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2], "ts": times}), tmp_path / "1.parquet")
    found = session(declared(tmp_path).replace("k INT", "k BIGINT"), True).query(
        "SELECT id, k FROM t"
    )
    assert sorted(found.materialized()) == [(1, 5), (2, None)]


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    times = pa.array([0], pa.timestamp("ms"))
    pq.write_table(pa.table({"id": [1], "ts": times}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": ["one"], "ts": times}), tmp_path / "1.parquet")
    with pytest.raises(HeadraceError, match=r"1\.parquet cannot be read: .*one"):
        session(declared(tmp_path), True).query("SELECT id FROM t")


def test_each_row_is_read_once_after_a_restore(table: str) -> None:
    query = "SELECT id FROM t WHERE k IS NOT NULL"
    found = session(table, True, 2).query(query, restore_after=[1, 2])
    assert sorted(found.materialized()) == sorted(session(table, False).query(query).materialized())
