"""Batch mode as queries of Spark: results are those of headrace's own operators, and of Flink."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.connectors.spark_query import Relation, SparkQuery
from headrace.spark.progress import stages_text
from headrace.spark.relation_feed import RelationFeed
from headrace.spark.session import get_or_create_session
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.nodes import SparkSegment
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan import nodes as n
from headrace.sql.plan.text import plan_text
from headrace.sql.session.user_functions import register_function
from headrace.sql.statements import Query
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import FunctionContext, ScalarFunction, as_wrapper, udf, udtf
from tests.jobs.test_spark_segments import declared
from tests.sql.sessions import LocalSession, case_files, case_options, golden, in_parquet
from tests.sql.test_golden import parts

ROWS = 300
# Of Flink's statements every so many, unless somebody wants all of them.
EVERY = 1 if "HEADRACE_SQL_EXAMPLES" in os.environ else 12

OTHER = (
    "CREATE TABLE u (k INT, n BIGINT, name STRING, d DECIMAL(20, 4), w DOUBLE) "
    "WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'parquet')"
)
TIMED = (
    "CREATE TABLE timed (k INT, `at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`) "
    "WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'parquet')"
)
LARGE = f"CAST('{'9' * 38}' AS DECIMAL(38, 0))"
# All of these run in Spark from top to bottom.
QUERIES = [
    "SELECT k, s, COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(v), MAX(ts), SUM(price), AVG(price), "
    "MIN(s), MAX(born), SUM(k), AVG(k) FROM t WHERE v > -200 GROUP BY k, s",
    "SELECT k, COUNT(DISTINCT s), SUM(DISTINCT v) FILTER (WHERE flag), COUNT(*) FILTER "
    "(WHERE v > 0), AVG(DISTINCT price) FROM t GROUP BY k HAVING COUNT(*) > 2",
    "SELECT price, flag, COUNT(*) FROM t GROUP BY price, flag",
    # Sums of decimals with few digits, with many, and with both.
    "SELECT k, SUM(-d), SUM(d) FILTER (WHERE n > 20), SUM(CASE WHEN n > 60 THEN "
    "-98765432109876543210987654321.1234 ELSE d END), SUM(98765432109876543210987654321.1234 + d), "
    "SUM(CAST(n AS DECIMAL(18, 0)) - 999999999999999999) FROM u GROUP BY k",
    "SELECT COUNT(*), SUM(v), MAX(s), AVG(price) FROM t WHERE id < 0",
    "SELECT k, flag, GROUPING(k), GROUPING_ID(k, flag), SUM(v) FROM t GROUP BY CUBE (k, flag)",
    "SELECT k, s, COUNT(*) FROM t GROUP BY GROUPING SETS ((k), (s), ())",
    "SELECT DISTINCT k, flag FROM t",
    "SELECT t.id, u.name, u.d FROM t JOIN u ON t.k = u.k AND t.v > u.n",
    "SELECT t.id, u.name FROM t LEFT JOIN u ON t.k = u.k AND u.n < 100",
    "SELECT t.id, u.name FROM t RIGHT JOIN u ON t.v = u.n",
    "SELECT t.id, u.name FROM t FULL JOIN u ON t.v = u.n AND t.s <> u.name",
    "SELECT a.id, b.id FROM t AS a JOIN t AS b ON a.price = b.price AND a.id < b.id",
    "SELECT a.k, b.k FROM u AS a JOIN u AS b ON a.k IS NOT DISTINCT FROM b.k",
    "SELECT COUNT(*) FROM u AS a, u AS b, u AS c WHERE a.k < b.k AND b.n = c.n",
    "SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE n > 50)",
    "SELECT id FROM t WHERE k NOT IN (SELECT k FROM u WHERE n > 100 AND k IS NOT NULL)",
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k AND u.n > t.v)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.k = t.k AND u.n > t.v)",
    "SELECT id, v FROM t WHERE v > (SELECT AVG(n) FROM u)",
    "SELECT k, n, (SELECT MAX(v) FROM t WHERE t.k = u.k) FROM u",
    "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 7 OFFSET 2",
    "SELECT id, k FROM t ORDER BY k NULLS LAST, id DESC",
    "SELECT k, id, n FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) "
    "AS n FROM t) WHERE n <= 2",
    "SELECT k, id, n FROM (SELECT k, id, RANK() OVER (PARTITION BY k ORDER BY v) AS n FROM t) "
    "WHERE n <= 3",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id), COUNT(*) OVER (PARTITION BY k ORDER BY "
    "id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), DENSE_RANK() OVER (PARTITION BY k ORDER BY id) "
    "FROM t",
    "SELECT id, MAX(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND "
    "PRECEDING AND CURRENT ROW) FROM t",
    "SELECT id, AVG(v) OVER (PARTITION BY flag) FROM t",
    "SELECT k FROM t WHERE v > 0 INTERSECT ALL SELECT k FROM u",
    "SELECT k FROM t EXCEPT SELECT k FROM u WHERE n > 30",
    "SELECT k, s FROM t WHERE id < 50 UNION SELECT k, name FROM u",
    "SELECT k, COUNT(*) FROM (SELECT k FROM t UNION ALL SELECT k FROM u) GROUP BY k",
    "SELECT v.x, t.id FROM t JOIN (VALUES (1, 'a'), (2, NULL)) AS v(x, y) ON t.k = v.x "
    "WHERE v.y IS NULL",
    "SELECT /*+ BROADCAST(u) */ t.id FROM t JOIN u ON t.k = u.k",
    "SELECT /*+ SHUFFLE_MERGE(t) */ t.id FROM t JOIN u ON t.k = u.k",
    "SELECT window_start, window_end, k, COUNT(*), SUM(v) FROM "
    "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
    "WHERE v > 0 GROUP BY window_start, window_end, window_time, k",
    "SELECT COUNT(*), COUNT(`at`) FROM timed",
    # No time attribute, and sometimes NULL.
    "SELECT TUMBLE_START(later, INTERVAL '10' SECOND), k, SUM(v) FROM (SELECT k, v, CASE WHEN "
    "v > 0 THEN ts + INTERVAL '3' SECOND END AS later FROM t) GROUP BY k, "
    "TUMBLE(later, INTERVAL '10' SECOND)",
    "SELECT window_start, window_time, COUNT(*), MAX(price) FROM TABLE(HOP(TABLE t, "
    "DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) "
    "GROUP BY window_start, window_end, window_time",
    "SELECT window_start, window_end, SUM(v) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), "
    "INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end",
    "SELECT window_start, window_end, window_time, k, COUNT(*), SUM(price) FROM TABLE(SESSION("
    "TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, "
    "window_end, window_time, k",
    "SELECT id, window_start, window_end FROM TABLE(SESSION(TABLE t PARTITION BY (k, flag), "
    "DESCRIPTOR(ts), INTERVAL '3' SECOND)) WHERE id < 200 ORDER BY id",
    "SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), "
    "INTERVAL '1' SECOND)) GROUP BY window_start, window_end",
    # Of windows that rows have already.
    "SELECT window_start, window_end, window_time, MAX(n), SUM(total) FROM (SELECT window_start, "
    "window_end, window_time, k, COUNT(*) AS n, SUM(price) AS total FROM TABLE(HOP(TABLE t, "
    "DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, "
    "window_end, window_time, k) GROUP BY window_start, window_end, window_time",
    "SELECT k, ROUND(STDDEV_POP(x), 6), ROUND(STDDEV(x), 6), ROUND(VAR_POP(x), 6), "
    "ROUND(VAR_SAMP(x) FILTER (WHERE flag), 6) FROM (SELECT k, flag, CAST(v AS DOUBLE) AS x FROM "
    "t) GROUP BY k ORDER BY k",
    "SELECT id, SUM(v) FILTER (WHERE flag) OVER (PARTITION BY k ORDER BY id), COUNT(*) FILTER "
    "(WHERE v > 0) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) "
    "FROM t",
    "SELECT t.id, v / n, MOD(v, n), price / (t.k + 1), price * u.d, price * price - u.d, "
    "price > u.d, v / w, CAST(t.id AS DOUBLE) / w FROM t JOIN u ON t.k = u.k WHERE n <> 0",
    "SELECT id, '${env:HOME}', '${spark.app.name}\\n' FROM t ORDER BY id LIMIT 1",
    "SELECT t.id FROM t, (SELECT COUNT(*) FROM u) AS c WHERE t.id < 3",
    "WITH x AS (SELECT k, SUM(v) AS total FROM t GROUP BY k) "
    "SELECT k FROM x WHERE total = (SELECT MAX(total) FROM x)",
    # These need Python here and there.
    "SELECT MD5(s) AS h, COUNT(*) FROM t WHERE REVERSE(s) < 'é3' AND k > 1 GROUP BY MD5(s)",
    "SELECT t.id, u.n FROM t JOIN u ON t.k = u.k AND INITCAP(t.s) = INITCAP(u.name) ORDER BY id, n",
    "SELECT k, total, total * 0.0001 < price FROM (SELECT k, SUM(d) AS total FROM u GROUP BY k) "
    "NATURAL JOIN (SELECT k, MAX(price) AS price FROM t GROUP BY k)",
    # Of decimals that no decimal of Spark holds all of.
    "SELECT a, b, c, COUNT(*) FROM (SELECT x NOT IN (12.3, 7) AS a, x IS DISTINCT FROM 12.3 AS b, "
    f"price NOT IN (0.17, {LARGE}) AS c FROM (SELECT price, CASE WHEN k > 3 THEN {LARGE} ELSE 12 "
    "END AS x FROM t)) GROUP BY a, b, c",
    "SELECT EXTRACT(YEAR FROM born), MONTH(born), COUNT(*) FROM t WHERE born < DATE '2024-01-03' + "
    "INTERVAL '3' DAY GROUP BY EXTRACT(YEAR FROM born), MONTH(born)",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """`t` with NULLs in nearly every column, and `u`, which has fewer rows."""
    first, second = (tmp_path_factory.mktemp(name) for name in "tu")
    for number in range(3):
        ids = range(number * ROWS // 3, (number + 1) * ROWS // 3)
        table = {
            "id": pa.array(ids, pa.int64()),
            "k": pa.array([None if i % 11 == 0 else i % 7 for i in ids], pa.int32()),
            "v": pa.array([None if i % 13 == 0 else i * 37 % 501 - 250 for i in ids]),
            "d": pa.array([float("nan") if i % 17 == 0 else i / 8 for i in ids]),
            "s": pa.array([None if i % 19 == 0 else f"item {i % 5}é" for i in ids]),
            "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in ids]),
            "price": pa.array([Decimal(i % 90 * 17) / 100 for i in ids], pa.decimal128(10, 2)),
            "born": pa.array([19_720 + i % 9 for i in ids], pa.int32()).cast(pa.date32()),
            "ts": pa.array([i * 700_000 for i in ids], pa.timestamp("us")),
        }
        pq.write_table(pa.table(table), first / f"part-{number}.parquet")
    some = range(20)
    other = {
        "k": pa.array([None if i % 9 == 0 else i % 8 for i in some], pa.int32()),
        "n": pa.array([i * 13 % 150 - 40 for i in some], pa.int64()),
        "name": pa.array([f"item {i % 4}é" for i in some], pa.string_view()),
        "d": pa.array([Decimal(i * 1_234_567) / 10_000 for i in some], pa.decimal128(20, 4)),
        "w": pa.array([[0.0, -0.0, 1.5][i % 3] for i in some]),
    }
    other["at"] = pa.array([None, *some[1:]], pa.timestamp("us"))
    pq.write_table(pa.table(other), second / "part.parquet")
    return [declared(first), OTHER.format(folder=second), TIMED.format(folder=second)]


class Add(ScalarFunction):
    """Adds a parameter of the job, and counts."""

    def open(self, function_context: FunctionContext) -> None:
        self.number = int(function_context.get_job_parameter("number", "7"))
        self.calls = function_context.get_metric_group().counter("calls")

    def eval(self, value: int | None) -> int | None:
        self.calls.inc()
        return None if value is None else value + self.number


def _pieces(text: str | None) -> Iterator[tuple[str, int]]:
    for number, piece in enumerate((text or "").split()):
        yield piece, number


FUNCTIONS: dict[str, Any] = {
    "add": udf(Add(), result_type=DataTypes.BIGINT()),
    "total": udf(lambda a, b: a.fillna(0) + b, result_type=DataTypes.BIGINT(), func_type="pandas"),
    "second": udf(
        lambda ts: ts.dt.second.astype("int64"), result_type=DataTypes.BIGINT(), func_type="pandas"
    ),
    "day_after": udf(
        lambda day: pc.cast(
            pc.add(pc.cast(day, pa.int32()), pa.scalar(1, pa.int32())), pa.date32()
        ),
        result_type=DataTypes.DATE(),
        func_type="arrow",
    ),
    "pieces": udtf(_pieces, result_types=[DataTypes.STRING(), DataTypes.INT()]),
}
# All of these run in Spark with functions of the program.
CALLS = [
    ("SELECT add(v), COUNT(*) FROM t GROUP BY add(v)", "Project", "add(v)"),
    ("SELECT k, SUM(add(v)) FROM t WHERE add(k) > 9 GROUP BY k", "Filter", "(add(k) > 9)"),
    (
        "SELECT total(id, k + 1) AS n, COUNT(*) FROM t GROUP BY total(id, k + 1)",
        "BatchedCalls",
        "total(id, (k + 1))",
    ),
    (
        "SELECT second(ts) AS n, MAX(total(id, 1)) FROM t GROUP BY second(ts)",
        "BatchedCalls",
        "second(ts), total(id, 1)",
    ),
    (
        "SELECT day_after(born) AS day, COUNT(*) FROM t GROUP BY day_after(born)",
        "BatchedCalls",
        "day_after(born)",
    ),
    (
        "SELECT piece, n, COUNT(*), SUM(v) FROM t, LATERAL TABLE(pieces(s)) AS p(piece, n) "
        "GROUP BY piece, n",
        "Correlate",
        "pieces(s)",
    ),
    (
        "SELECT t.id, piece FROM t LEFT JOIN LATERAL TABLE(pieces(s)) AS p(piece, n) ON "
        "n > 0 AND id > 40 ORDER BY id, piece LIMIT 90",
        "Correlate",
        "pieces(s), ((n > 0) AND (id > 40))",
    ),
]


def local(tables: list[str], **settings: Any) -> LocalSession:
    session = LocalSession(batch=True, parallelism=2, **settings)
    for statement in tables:
        session.execute(statement)
    for name, function in FUNCTIONS.items():
        register_function(session.session, (name,), as_wrapper(function), system=True)
    return session


def on_spark(tables: list[str]) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set_local_timezone("UTC")
    for statement in tables:
        t_env.execute_sql(statement)
    return t_env


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_spark_gives_what_operators_give(tables: list[str], query: str) -> None:
    session = local(tables)
    found = session.query_on_spark(query)
    assert found is not None, "a part of it is not in Spark"
    expected = session.query(query)
    # NaN is equal to itself as text.
    assert Counter(map(str, found.rows)) == Counter(map(str, expected.rows))
    assert found.rows
    if "ORDER BY k NULLS" in query:
        assert found.rows == expected.rows


@pytest.mark.parametrize(("query", "node", "computed"), CALLS)
def test_functions_of_the_program_run_in_spark(
    tables: list[str], query: str, node: str, computed: str
) -> None:
    session = local(tables)
    settings = replace(session.session.settings(), spark_segments=True)
    shown = plan_text(*physical_plans([session.plan(query)], settings))
    marked = [line.strip("+-: ") for line in shown.splitlines() if "[Python in Spark]" in line]
    (line,) = (line for line in marked if line.startswith(node) and "python=[" in line)
    assert f"python=[{computed}]" in line
    found = session.query_on_spark(query)
    assert found is not None, "a part of it is not in Spark"
    assert Counter(map(str, found.rows)) == Counter(map(str, session.query(query).rows))
    assert len(found.rows) > 3


def test_functions_that_need_what_slots_have_stay_in_slots(tables: list[str]) -> None:
    session = local(tables)
    session.env.get_configuration().set_string("python.files", "/some/file.py")
    assert session.query_on_spark("SELECT add(v), COUNT(*) FROM t GROUP BY add(v)") is None


def test_tables_of_all_kinds_are_joined_in_spark(tables: list[str], tmp_path: Path) -> None:
    session = local(tables)
    texts = {"csv": "{0},name {1}\n", "json": '{{"id": {0}, "name": "name {1}", "more": [1]}}\n'}
    for format_, line in texts.items():
        for day in range(2):
            folder = tmp_path / format_ / f"day={day}"
            folder.mkdir(parents=True)
            ids = range(day, ROWS, 2)
            text = "".join(line.format(i, i % 3) for i in ids)
            (folder / "part").write_text(text)
        session.execute(
            f"CREATE TABLE of_{format_} (id BIGINT, name STRING, `day` INT) PARTITIONED BY (`day`) "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path / format_}', "
            f"'format' = '{format_}')"
        )
    spark = get_or_create_session({})
    spark.createDataFrame(
        [(i, Decimal(i), date(2024, 1, 1 + i % 9)) for i in range(50)],
        "id BIGINT, amount DECIMAL(8, 2), `on` DATE",
    ).createOrReplaceTempView("known_to_spark")
    session.execute(
        "CREATE TABLE of_spark (id BIGINT, amount DECIMAL(8, 2), `on` DATE) "
        "WITH ('connector' = 'spark', 'table-name' = 'known_to_spark')"
    )
    query = (
        "SELECT a.name, b.`day`, COUNT(*), SUM(t.v), SUM(amount), MAX(`on`) FROM of_csv AS a "
        "JOIN of_json AS b ON a.id = b.id JOIN t ON t.id = b.id "
        "JOIN of_spark AS s ON s.id = t.id GROUP BY a.name, b.`day`"
    )
    found = session.query_on_spark(query)
    assert found is not None, "a part of it is not in Spark"
    rows = sorted(row for _, row in found.rows)
    assert [row[:3] for row in rows] == [
        (f"name {n}", day, len([i for i in range(50) if i % 3 == n and i % 2 == day]))
        for n in range(3)
        for day in range(2)
    ]
    assert sum(row[4] for row in rows) == sum(range(50))
    assert max(row[5] for row in rows) == date(2024, 1, 9).toordinal() - 719_163
    spark.catalog.dropTempView("known_to_spark")


def test_explain_shows_both_plans(tables: list[str]) -> None:
    shown = on_spark(tables).explain_sql("SELECT MD5(s) AS h, COUNT(*) FROM t GROUP BY MD5(s)")
    ours, _, theirs = shown.partition("== Spark Physical Plan ==")
    assert "[Python in Spark]" in ours
    assert "MapInArrow" in theirs
    assert "HashAggregate" in theirs


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, PERCENT_RANK() OVER (PARTITION BY k ORDER BY id) FROM t",
        "SELECT id, CUME_DIST() OVER (PARTITION BY k ORDER BY id) FROM t",
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY k) FROM t",
        "SELECT id, RANK() OVER (PARTITION BY k) FROM t",
        "SELECT id, LAG(v) OVER (PARTITION BY k) FROM t",
        "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM t) WHERE n < 3",
        "SELECT DISTINCT k FROM t LIMIT 2147483647 OFFSET 1",
        "SELECT id, SUM(v) OVER (PARTITION BY s ORDER BY k RANGE BETWEEN 3 PRECEDING AND CURRENT "
        "ROW) FROM t",
        # As many parts as that are after Spark has put each in the place of its name.
        "WITH x0 AS (SELECT DISTINCT k FROM t), "
        + ", ".join(
            f"x{i + 1} AS (SELECT k FROM x{i} UNION ALL SELECT k FROM x{i})" for i in range(9)
        )
        + " SELECT COUNT(*) FROM x9",
        "SELECT MAX(k) AS k FROM (" * 60 + "SELECT k FROM t" + ") GROUP BY k" * 60,
    ],
)
def test_operators_do_what_spark_would_not(tables: list[str], query: str) -> None:
    assert local(tables).query_on_spark(query) is None


SOME = "(SELECT id, k FROM t LIMIT 40)"


@pytest.mark.parametrize(
    ("queries", "shared"),
    [
        ([f"WITH x AS {SOME} SELECT COUNT(*) FROM x AS a JOIN x AS b ON a.id = b.id"], n.Limit),
        ([f"SELECT COUNT(k) FROM {SOME}", f"SELECT MAX(k) FROM {SOME}"], n.Limit),
        (
            [
                "WITH x AS (SELECT k, SUM(d) AS total FROM t GROUP BY k) "
                "SELECT k FROM x WHERE total = (SELECT MAX(total) FROM x)"
            ],
            n.Aggregate,
        ),
    ],
)
def test_what_may_vary_runs_once_for_all_readers(
    tables: list[str], queries: list[str], shared: type[n.Node]
) -> None:
    session = local(tables)
    settings = replace(session.session.settings(), spark_segments=True)
    plans = physical_plans([session.plan(query) for query in queries], settings)
    sources = [x for x in n.count_readers(plans) if isinstance(x, SparkSegment)]
    assert [type(x.segment.nodes[-1]) for x in sources] == [shared]


@pytest.mark.timeout(900)
def test_statements_give_what_flink_gives(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, compared = tmp_path_factory.mktemp("golden"), 0
    for name in case_files():
        session = in_parquet(folder, case_options(name))
        for query, expected in list(golden(name, "batch").items())[::EVERY]:
            if "error" in expected or not isinstance(parse_statement(query), Query):
                continue
            found = session.query_on_spark(query)
            if found is not None:
                compared += 1
                theirs = parts(expected["tableau"]) if found.rows else None
                assert bool(found.rows) == bool(parts(expected["tableau"])[1]), query
                if theirs is not None:
                    frame, rows = parts(found.tableau())
                    assert (frame, sorted(rows)) == (theirs[0], sorted(theirs[1])), query
    assert compared >= 240 // EVERY


def test_rows_come_in_their_order(tables: list[str]) -> None:
    query = "SELECT v, MD5(s) AS h FROM t WHERE id < 200 ORDER BY v DESC, id LIMIT 50"
    with on_spark(tables).execute_sql(query).collect() as found:
        rows = [tuple(row) for row in found]
    assert rows == [row for _, row in local(tables).query(query).rows]


def test_operators_above_take_what_spark_gives(tables: list[str]) -> None:
    query = (
        "SELECT k, LISTAGG(s) FROM (SELECT DISTINCT k, CAST(n AS STRING) AS s FROM t JOIN u "
        "USING (k) WHERE n = 64) GROUP BY k"
    )
    t_env = on_spark(tables)
    text = t_env.explain_sql(query)
    assert "Aggregate(groupBy=[k, s], select=[])  [Spark's JVM]" in text
    assert "SparkRows" in text
    with t_env.execute_sql(query).collect() as found:
        rows = Counter(str(list(row)) for row in found)
    expected = local(tables).query(query).rows
    assert rows == Counter(str(list(row)) for _, row in expected)
    assert rows


@pytest.mark.parametrize("format_", ["parquet", "json"])
def test_inserts_write_what_spark_computes(tables: list[str], tmp_path: Path, format_: str) -> None:
    t_env = on_spark(tables)
    t_env.execute_sql(
        "CREATE TABLE out (k INT, n BIGINT, total DECIMAL(38, 2), born DATE) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{format_}')"
    )
    query = "SELECT k, COUNT(*), SUM(price), MIN(born) FROM t GROUP BY k"
    t_env.execute_sql(f"INSERT INTO out {query}").wait()
    with t_env.execute_sql("SELECT * FROM out").collect() as found:
        written = Counter(str(list(row)) for row in found)
    with t_env.execute_sql(query).collect() as found:
        assert written == Counter(str(list(row)) for row in found)
    assert sum(written.values()) == 8


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT k, SUM(v / (k - 3)) FROM t GROUP BY k", r"/ by zero: \(k - 3\) is 0 where v is"),
        ("SELECT SUM(price / (k - 3)) FROM t", "Division by zero: .* is 0 where price is"),
        ("SELECT SUM(1 / (k - 3)) FROM t", r"/ by zero: \(k - 3\) is 0\n"),
        ("SELECT MAX(CAST(s AS INT)) FROM t", r"'item .*: CAST\(s AS INT\) where s = 'item .é'"),
        ("SELECT id FROM t WHERE v > (SELECT n FROM u)", "SubQuery returned more than one row"),
    ],
)
def test_what_fails_says_why(tables: list[str], query: str, reason: str) -> None:
    result = on_spark(tables).execute_sql(query)
    with pytest.raises(HeadraceError, match=reason) as failed, result.collect() as rows:
        list(rows)
    assert "java." not in str(failed.value)
    assert "org.apache" not in str(failed.value)


def test_a_line_that_cannot_be_read_is_shown(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("1,2\n2,two\n")
    table = (
        "CREATE TABLE lines (k INT, v INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'csv')"
    )
    result = on_spark([table]).execute_sql("SELECT k, SUM(v) FROM lines GROUP BY k")
    with (
        pytest.raises(HeadraceError, match="row '2,two': field 'v'") as failed,
        result.collect() as x,
    ):
        list(x)
    assert "java." not in str(failed.value)


def test_a_text_that_spark_refuses_names_the_setting() -> None:
    relation = Relation((("q0", "SELECT missing AS c0 FROM range(1)"),), ordered=False)
    with pytest.raises(HeadraceError, match=r"missing.*table.exec.spark-segments set to false"):
        RelationFeed(SparkQuery(relation, (), ("c0",), ("INT",)), {}, 1)


def test_rows_of_the_program_are_joined_in_spark(tables: list[str]) -> None:
    t_env = on_spark(tables)
    users = get_or_create_session({})
    t_env.create_temporary_view(
        "v", t_env.from_elements([(i, f"{i}") for i in range(500)], ["a", "b"])
    )
    joined = t_env.sql_query("SELECT b, COUNT(*) AS n FROM t JOIN v ON t.id = v.a * 2 GROUP BY b")
    assert "Values" in joined.explain().rpartition("SparkRows")[2]
    frame = joined.to_pandas()
    assert sorted(frame["b"], key=int) == [str(i) for i in range(ROWS // 2)]
    assert set(frame["n"]) == {1}
    assert SparkSession.getActiveSession() is users


def test_statistics_are_computed_and_known_to_plans(tables: list[str]) -> None:
    t_env = on_spark(tables)
    t_env.execute_sql("ANALYZE TABLE u COMPUTE STATISTICS FOR COLUMNS k, name")
    store = t_env._session.catalogs.catalog("default_catalog")
    assert store.table_statistics("default_database", "u").row_count == 20
    assert store.column_statistics("default_database", "u").data == {
        "k": {"ndv": 8, "min": 0, "max": 7, "nullCount": 3},
        "name": {"ndv": 4, "maxLength": 7, "avgLength": 7.0, "nullCount": 0},
    }
    scan = t_env._session.find_table(("u",), {})
    assert isinstance(scan, n.Scan)
    assert scan.rows == 20
    with pytest.raises(SqlError, match="Column: colour does not exist"):
        t_env.execute_sql("ANALYZE TABLE u COMPUTE STATISTICS FOR COLUMNS colour")


def test_cancelling_a_statement_ends_its_stages(tables: list[str]) -> None:
    t_env = on_spark(tables)
    # More pairs than anybody waits for.
    long = " ".join(f"CROSS JOIN t AS t{i}" for i in range(6))
    result = t_env.execute_sql(f"SELECT COUNT(*), SUM(t.v + t5.v) FROM t {long}")
    tracker = get_or_create_session({}).sparkContext.statusTracker()
    wait_until(lambda: bool(tracker.getActiveStageIds()))
    client = result.get_job_client()
    assert client is not None
    client.cancel().result()
    wait_until(lambda: not tracker.getActiveStageIds())


# Tasks of a cancelled stage, as of the test before, may go on for a while and take all cores.
PATIENCE_S = 240


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_progress_is_that_of_the_stages(tmp_path: Path) -> None:
    context = get_or_create_session({}).sparkContext
    assert stages_text(context, "nobody's") == "planning"
    seen = tmp_path / "seen"

    def until_seen(number: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def run() -> None:
        context.setJobGroup("somebody's", "")
        context.parallelize(range(2), 2).map(until_seen).count()

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: "stage 1 of 1 [" in stages_text(context, "somebody's"))
    seen.touch()
    thread.join()
    wait_until(lambda: stages_text(context, "somebody's") == "stage 1 of 1")
