"""What Spark's JVM runs of a query gives what headrace's own operators give."""

from __future__ import annotations

import json
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.nexmark import queries as nexmark
from benchmarks.nexmark.generator import write_tables
from headrace.common.types import RowKind
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import spark_query
from headrace.sql.types.values import row_to_external
from headrace.table import DataTypes, StreamTableEnvironment
from headrace.table.udf import udf
from tests.sql.sessions import LocalSession
from tools import nexmark_golden

ROWS = 600
FILES = 5
# The same two inputs every time, unless somebody wants to look for more.
EXAMPLES = int(os.environ.get("HEADRACE_SQL_EXAMPLES", "2"))

GEN = (
    "CREATE TABLE gen (id BIGINT, x INT, y DOUBLE, b BIGINT) WITH ('connector' = 'datagen', "
    "'number-of-rows' = '9000', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', "
    "'fields.id.end' = '9000', 'fields.x.min' = '-3', 'fields.x.max' = '9', "
    "'fields.y.min' = '-1.5', 'fields.y.max' = '2')"
)
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '12' SECOND))"

QUERIES = [
    "SELECT id, k * 3 - 1, v / 7, MOD(v, 7), -id, d * 2, ts, born, flag, COALESCE(k, -1), "
    "CASE WHEN k > 2 THEN 'big' WHEN k IS NULL THEN NULL ELSE s END, NULLIF(k, 3), "
    "k IN (1, 2, 3), k NOT BETWEEN 2 AND 4 FROM t WHERE v > -100",
    "SELECT id, s || '-' || s, CHAR_LENGTH(s), SUBSTRING(s, 2, 3), s LIKE '%e%' FROM t "
    "WHERE s <> 'item 3' AND (flag OR k IS NULL)",
    "SELECT id, price * k, price + 1, price > 3, 0.908 * v, d >= 20.0, d <> d, d < 3, "
    "born > DATE '2024-01-03' FROM t WHERE d > 10.5 OR k > 2",
    "SELECT id, UPPER(s), LOWER(s), REPLACE(s, 'te', '<>'), SPLIT_INDEX(s, ' ', 1), "
    "SPLIT_INDEX(s, '.', 0), SPLIT_INDEX(s, 'e', 2), REGEXP_EXTRACT(s, '(it|x)em ([0-9]+)', 2), "
    "REGEXP_EXTRACT(s, '1(3?)', 1), REGEXP_EXTRACT(s, '1(3)?', 1), REGEXP_EXTRACT(s, 'm .') "
    "FROM t WHERE REGEXP_EXTRACT(s, '1([^3])', 1) IS NOT NULL OR LOWER(s) LIKE 'item 2%'",
    "SELECT id, DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss'), DATE_FORMAT(ts, 'dd/MM'), YEAR(ts), "
    "EXTRACT(MONTH FROM ts), DAYOFMONTH(ts), HOUR(ts), MINUTE(ts), SECOND(ts), "
    "CAST(price * price AS DECIMAL(6, 1)), CAST(price / 7 AS DECIMAL(8, 3)) FROM t",
    "SELECT k, COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(v), MAX(ts) FROM t GROUP BY k",
    "SELECT s, k, SUM(v) FILTER (WHERE v > 0), COUNT(*) FILTER (WHERE flag) FROM t GROUP BY s, k",
    "SELECT k, SUM(price), AVG(price) FILTER (WHERE flag), MIN(price), MAX(price), MIN(s), MAX(s) "
    "FROM t GROUP BY k",
    "SELECT COUNT(*), SUM(id), COUNT(id) FROM t WHERE id IS NOT NULL",
    "SELECT k, COUNT(DISTINCT s), SUM(price) FROM t WHERE v > 0 GROUP BY k HAVING COUNT(*) > 2",
    "SELECT s, flag, COUNT(DISTINCT k), COUNT(DISTINCT k) FILTER (WHERE v > 0), "
    "COUNT(DISTINCT ts), COUNT(*) FILTER (WHERE v > 0), MAX(s) FILTER (WHERE v > 0), "
    "SUM(v) FILTER (WHERE k > 2) FROM t GROUP BY s, flag",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT v) FILTER (WHERE flag) FROM t",
    f"SELECT window_start, window_end, k, COUNT(*), SUM(v) FROM {TUMBLE} "
    "GROUP BY window_start, window_end, k",
    f"SELECT window_start, COUNT(*), MIN(v), MAX(v) FROM {HOP} WHERE v > 0 "
    "GROUP BY window_start, window_end",
    "SELECT k, SESSION_START(ts, INTERVAL '2' SECOND), SUM(v) FROM t "
    "GROUP BY k, SESSION(ts, INTERVAL '2' SECOND)",
    f"SELECT id, s, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
    f"window_end, flag ORDER BY v DESC, s, id) AS n FROM {TUMBLE} WHERE k > 1) WHERE n <= 3",
    "SELECT id, x, y, b FROM gen WHERE x <> 4",
    "SELECT x, COUNT(*), MIN(b), MAX(id) FROM gen GROUP BY x",
    "SELECT x, n, id, b FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY b DESC, id) "
    "AS n FROM gen) WHERE n <= 3",
    "SELECT l.id, r.id, l.x, r.y FROM gen AS l JOIN gen AS r ON l.x = r.x AND l.id = r.id + 1",
    "SELECT l.id, r.id FROM gen AS l LEFT JOIN (SELECT * FROM gen WHERE x > 0) AS r "
    "ON l.id = r.id * 2",
    "SELECT id, k, s FROM t WHERE k IN (SELECT x FROM gen WHERE b > 0)",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files in which nearly every column has NULLs, and times are late by less than 5 seconds."""
    folder = tmp_path_factory.mktemp("segments")
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        shuffled = [i * 100 + (i * 7919) % 4000 for i in ids]
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "k": pa.array([None if i % 11 == 0 else i % 7 for i in ids], pa.int32()),
                "v": pa.array([None if i % 13 == 0 else i * 37 % 501 - 250 for i in ids]),
                "d": pa.array([float("nan") if i % 17 == 0 else i / 8 for i in ids]),
                "s": pa.array([None if i % 19 == 0 else f"item {i % 23}é" for i in ids]),
                "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in ids]),
                "price": pa.array([Decimal(i % 900) for i in ids], pa.decimal128(10, 2)),
                "born": pa.array([19_720 + i % 9 for i in ids], pa.int32()).cast(pa.date32()),
                "ts": pa.array([x * 1000 for x in shuffled], pa.timestamp("us")),
            }
        )
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=200)
    return declared(folder)


def declared(folder: Path) -> str:
    """The table `t` of files in a folder."""
    return (
        "CREATE TABLE t (id BIGINT, k INT, v BIGINT, d DOUBLE, s STRING, flag BOOLEAN, "
        "price DECIMAL(10, 2), born DATE, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'filesystem', "
        f"'path' = '{folder}', 'format' = 'parquet')"
    )


def environment(tables: str, parallelism: int = 2, segments: bool = True) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    t_env.get_config().set("table.exec.spark-segments", str(segments).lower())
    t_env.execute_sql(tables)
    t_env.execute_sql(GEN)
    return t_env


@pytest.fixture
def small_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few partitions in an epoch, so that there are several epochs."""
    monkeypatch.setattr(spark_query, "_FIRST_BYTES", 1)
    monkeypatch.setattr(spark_query, "_FIRST_ROWS", 1)
    monkeypatch.setattr(spark_query, "_ROWS", 1000)
    monkeypatch.setattr(spark_query, "_MIB", 4096)


def materialized(t_env: Any, query: str) -> Counter[str]:
    """Rows that are left after all changes; NaN is equal to itself as text."""
    left: Counter[str] = Counter()
    with t_env.execute_sql(query).collect() as rows:
        for row in rows:
            kind = row.get_row_kind()
            sign = -1 if kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE) else 1
            left[str(list(row))] += sign
    return +left


def expected(session: LocalSession, query: str) -> Counter[str]:
    """What headrace's own operators make of it, in this process."""
    result = session.query(query)
    convert = row_to_external(result.schema.types, ZoneInfo("UTC"))
    return Counter(str(list(convert(row))) for row in result.materialized())


@pytest.mark.timeout(900)
def test_queries_give_the_same_either_way(tables: str, small_epochs: None) -> None:
    local = LocalSession(parallelism=2)
    local.execute(tables)
    local.execute(GEN)
    for number, query in enumerate(QUERIES):
        wanted = expected(local, query)
        assert materialized(environment(tables, 1 + number % 3), query) == wanted, query


def test_joins_and_distinct_values_of_nexmark_are_those_of_flink(tmp_path: Path) -> None:
    """Rows with texts cross the exchange as columns, and values are grouped before it."""
    write_tables(str(tmp_path), nexmark_golden.EVENTS)
    wanted = json.loads(nexmark_golden.TARGET.read_text(encoding="utf-8"))
    t_env = environment(nexmark.tables(str(tmp_path))[0])
    for table in nexmark.tables(str(tmp_path))[1:]:
        t_env.execute_sql(table)
    for name in ("q9", "q16", "q20"):
        with t_env.execute_sql(nexmark.QUERIES[name]).collect() as rows:
            left = nexmark_golden.materialized(rows, None)
        assert nexmark_golden.summary(left) == wanted[name], name


ROW = st.tuples(
    st.none() | st.integers(0, 3),
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-5, 5),
    st.none() | st.floats() | st.integers(-3, 3).map(float),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.none() | st.booleans(),
    st.none() | st.decimals(-99_999_999, 99_999_999, places=2),
    st.none() | st.integers(-800_000, 2_000_000),
    st.integers(0, 3_999),
)
TYPES = (
    ("k", pa.int32()),
    ("v", pa.int64()),
    ("d", pa.float64()),
    ("s", pa.string()),
    ("flag", pa.bool_()),
    ("price", pa.decimal128(10, 2)),
    ("born", pa.int32()),
)
DRAWN_QUERIES = [
    "SELECT id, v + 1, v - k, v / 7, MOD(v, -7), -v, d * 2, d + k, d > 1, d = d, d <= 0, "
    "price * k, price > 3, price - k, born, s || '-', CHAR_LENGTH(s), SUBSTRING(s, 2, 2), "
    "s LIKE '_a%', s > 'b', COALESCE(s, '?'), NULLIF(k, 3), ts, REPLACE(s, 'a', '.'), "
    "SPLIT_INDEX(s, '.', 0), SPLIT_INDEX(s, 'a', 1), REGEXP_EXTRACT(s, '[a-z](0*)', 1), "
    "CAST(price * 7 AS DECIMAL(6, 1)), DATE_FORMAT(ts, 'HH:mm'), SECOND(ts) FROM t "
    "WHERE flag IS NOT FALSE OR v > 0 OR d < 2",
    "SELECT k, s, COUNT(*), COUNT(v), SUM(v), AVG(k), MIN(v), MAX(v), MIN(born), MAX(ts), "
    "SUM(price), AVG(price), MIN(price), MIN(s), MAX(s), SUM(k) FILTER (WHERE flag) FROM t "
    "GROUP BY k, s",
    f"SELECT window_start, k, COUNT(*), SUM(v), MAX(price), MIN(s) FROM {HOP} "
    "GROUP BY window_start, window_end, k",
]


@pytest.mark.timeout(900)
@given(rows=st.lists(ROW, min_size=1, max_size=40), parallelism=st.integers(1, 3))
@settings(
    max_examples=EXAMPLES,
    derandomize="HEADRACE_SQL_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_drawn_rows_give_the_same_either_way(
    tmp_path_factory: pytest.TempPathFactory,
    small_epochs: None,
    rows: list[tuple[Any, ...]],
    parallelism: int,
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    numbered = [(number, *row) for number, row in enumerate(rows)]
    half = (len(rows) + 1) // 2
    for part, some in enumerate((numbered[:half], numbered[half:])):
        ids, *columns, late = zip(*some, strict=True) if some else [()] * (len(TYPES) + 2)
        times = [(i * 500 + x) * 1000 for i, x in zip(ids, late, strict=True)]
        arrays = {name: pa.array(c, kind) for c, (name, kind) in zip(columns, TYPES, strict=True)}
        arrays["born"] = arrays["born"].cast(pa.date32())
        arrays |= {"id": pa.array(ids, pa.int64()), "ts": pa.array(times, pa.timestamp("us"))}
        pq.write_table(pa.table(arrays), folder / f"part-{part}.parquet", row_group_size=7)
    table = declared(folder)
    local = LocalSession(parallelism=parallelism)
    local.execute(table)
    for query in DRAWN_QUERIES:
        assert materialized(environment(table, parallelism), query) == expected(local, query), query


def test_sums_of_small_decimals_are_decimals(tmp_path: Path) -> None:
    amounts = [Decimal(i) / 10 for i in range(9)]
    table = pa.table({"amount": pa.array(amounts, pa.decimal128(4, 1))})
    pq.write_table(table, tmp_path / "part-0.parquet")
    t_env = environment(
        "CREATE TABLE t (amount DECIMAL(4, 1)) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'parquet')"
    )
    found = materialized(t_env, "SELECT SUM(amount), MAX(amount) FROM t")
    assert found == Counter({str([Decimal("3.6"), Decimal("0.8")]): 1})


def test_columns_go_into_files_without_rows(tables: str, tmp_path: Path) -> None:
    written = {}
    for segments in (True, False):
        t_env = environment(tables, segments=segments)
        path = tmp_path / str(segments)
        t_env.execute_sql(
            "CREATE TABLE out (id BIGINT, k INT, s STRING, price DECIMAL(10, 2), born DATE, "
            f"ts TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{path}', "
            "'format' = 'parquet')"
        )
        insert = "INSERT INTO out SELECT id, k, s, price, born, ts FROM t WHERE k > 2"
        t_env.execute_sql(insert).wait()
        written[segments] = pq.read_table(path).sort_by("id")
    assert written[True].num_rows
    assert written[True].equals(written[False])


class FailsOnce:
    """Raises at one row unless a file is there, and makes the file."""

    def __init__(self, marker: Path, at: int) -> None:
        self.marker = str(marker)
        self.at = at

    def __call__(self, number: int) -> int:
        if number == self.at and not Path(self.marker).exists():
            Path(self.marker).touch()
            raise RuntimeError("once")
        return number


def test_a_failed_job_goes_on_from_its_checkpoint(
    tables: str, small_epochs: None, tmp_path: Path
) -> None:
    t_env = environment(tables)
    for key, value in {
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": f"file://{tmp_path}/checkpoints",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }.items():
        t_env.get_config().set(key, value)
    marker = tmp_path / "failed"
    last = ROWS * FILES - 1
    t_env.create_temporary_function(
        "fails_once", udf(FailsOnce(marker, last), result_type=DataTypes.BIGINT())
    )
    t_env.execute_sql(
        "CREATE TABLE out (id BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/out', 'format' = 'json')"
    )
    t_env.execute_sql("INSERT INTO out SELECT fails_once(id) FROM t WHERE id >= 0").wait()
    assert marker.exists()
    files = [f for f in (tmp_path / "out").rglob("*") if f.is_file() and f.name[0] != "."]
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert sorted(json.loads(x)["id"] for x in lines) == list(range(last + 1))
