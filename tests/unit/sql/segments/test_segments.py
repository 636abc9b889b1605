"""Which parts of a plan Spark's JVM runs, their text, and what slots make of the result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.runtime.batch import MAX_TIMESTAMP, Batch, ColumnBatch
from headrace.sql import statements as s
from headrace.sql.operators.groups.aggregate import ColumnsAggregateOperator
from headrace.sql.operators.groups.segment_aggregate import SegmentAggregateOperator
from headrace.sql.operators.groups.specs import ColumnsAggregateSpec, SegmentAggregateSpec
from headrace.sql.operators.ranking.local_rank import SegmentRankOperator
from headrace.sql.operators.ranking.specs import LocalRankSpec, SegmentRankSpec
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.nodes import LocalAggregate, SparkSegment
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan import nodes as n
from headrace.sql.rules import optimize
from headrace.sql.segments.columns import RowsOfColumns, arrow_type, values_of
from headrace.sql.segments.segment import LocalPhase, LocalRanking, Segment, Select, Where
from headrace.sql.session.explain import explain_statement
from headrace.sql.session.session import Session
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.sql.session.user_functions import register_function
from headrace.sql.translation.aggregates import OPERATORS
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import new_session
from headrace.table.udf import as_wrapper
from tests.sql.process_functions import Kinds

EXECUTION = "== Optimized Execution Plan =="
COLUMNS = "id BIGINT, k INT, d DOUBLE, s STRING, ts TIMESTAMP(3), dec DECIMAL(10, 2)"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A table `t` of Parquet files, `timed` with a watermark, and sinks."""
    table = pa.table(
        {
            "id": pa.array([1], pa.int64()),
            "k": pa.array([1], pa.int32()),
            "d": pa.array([1.5]),
            "s": pa.array(["a"]),
            "ts": pa.array([0], pa.timestamp("us")),
            "dec": pa.array([None], pa.decimal128(10, 2)),
        }
    )
    pq.write_table(table, tmp_path / "part.parquet")
    env = StreamExecutionEnvironment.get_execution_environment()
    made = new_session(env, EnvironmentSettings.in_streaming_mode())
    made.config.set("table.local-time-zone", "UTC")
    execute = StatementExecutor(made).execute
    files = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'parquet')"
    execute(f"CREATE TABLE t ({COLUMNS}) {files}")
    execute(f"CREATE TABLE timed ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {files}")
    execute("CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'blackhole')")
    execute(
        "CREATE TABLE gen (id BIGINT, x INT, y DOUBLE) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '10', 'fields.id.kind' = 'sequence', 'fields.id.start' = '5', "
        "'fields.id.end' = '100', 'fields.x.min' = '0', 'fields.x.max' = '9')"
    )
    return made


def physical(session: Session, text: str) -> n.Node:
    statement = parse_statement(text)
    if isinstance(statement, s.Insert):
        plan: n.Node = session.insert_plan(statement, text)
    else:
        assert isinstance(statement, s.Query)
        plan = session.query_plan(statement.tree, text)
    (found,) = physical_plans([optimize(plan)], session.settings())
    return found


def segments(session: Session, text: str) -> list[Segment]:
    return list(_segments(physical(session, text)))


def _segments(node: n.Node) -> Iterator[Segment]:
    if isinstance(node, SparkSegment):
        yield node.segment
    for child in node.inputs:
        yield from _segments(child)


def only(session: Session, text: str) -> Segment:
    (found,) = segments(session, text)
    return found


def selected(segment: Segment) -> dict[str, str]:
    last = segment.steps[-1]
    assert isinstance(last, Select)
    return dict(last.texts)


def test_a_filter_and_a_projection_are_one_segment(session: Session) -> None:
    found = only(session, "SELECT id + 1, s FROM t WHERE k > 3")
    assert found.steps[0] == Where("(c1 > CAST('3' AS INT))")
    assert selected(found) == {"c0": "(c0 + CAST(CAST('1' AS INT) AS BIGINT))", "c1": "c3"}
    assert found.columns == (0, 1)


def test_only_columns_that_are_needed_are_read(session: Session) -> None:
    found = only(session, "SELECT id FROM t WHERE s = 'a'")
    assert [name for name, _ in found.scan.columns] == ["id", "s"]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("k / 2", "CAST((CAST(c1 AS BIGINT) div CAST(CAST('2' AS INT) AS BIGINT)) AS INT)"),
        (
            "id / id",  # Spark says NULL where Flink fails.
            "(CASE WHEN CAST(c0 AS BIGINT) = 0 AND CAST(c0 AS BIGINT) IS NOT NULL THEN "
            "raise_error(concat('/ by zero: id is 0 where id is ', CAST(CAST(c0 AS BIGINT) AS "
            "STRING))) ELSE "
            "CAST((CAST(c0 AS BIGINT) div CAST(c0 AS BIGINT)) AS BIGINT) END)",
        ),
        ("ts - INTERVAL '1' SECOND", "(c4 - CAST('1000' AS BIGINT) * 1000L)"),
        ("COALESCE(s, 'it''s')", "COALESCE(c3, 'it\\'s')"),
        ("s LIKE 'a%'", "(c3 LIKE 'a%')"),
    ],
)
def test_expressions_in_sparks_sql(session: Session, expression: str, text: str) -> None:
    assert selected(only(session, f"SELECT {expression} FROM t"))["c0"] == text


@pytest.mark.parametrize(
    "expression",
    [
        "dec / CAST(dec AS DECIMAL(38, 2))",  # Flink rounds to 38 digits first.
        "CAST(id AS INT)",
        "CAST(s AS INT)",
        "s LIKE s",
        "REVERSE(s)",
        "id > d",
    ],
)
def test_what_differs_between_flink_and_spark_stays_here(session: Session, expression: str) -> None:
    found = only(session, f"SELECT {expression} FROM t")
    assert not [step for step in found.steps if isinstance(step, Select)]


@pytest.mark.parametrize(
    "pattern",
    [r"\U0001F600", r"\0", r"[\U0001F600]", r"[\0]", r"[a\b]", r"[\1]", "[a&&&]"],
)
def test_patterns_that_only_python_takes_stay_here(session: Session, pattern: str) -> None:
    """Spark would fail where Flink says NULL."""
    assert selected(only(session, "SELECT REGEXP_EXTRACT(s, '(a\\\\U)[\\\\0]\\d', 1) FROM t"))
    assert only(session, f"SELECT REGEXP_EXTRACT(s, '{pattern}') FROM t").steps == ()


def test_the_local_phase_has_the_places_of_an_accumulator(session: Session) -> None:
    text = "SELECT k, COUNT(*), SUM(id), AVG(d), MAX(ts) FILTER (WHERE k > 1) FROM t GROUP BY k"
    found = only(session, text)
    assert isinstance(found.local, LocalPhase)
    texts = [place.text for place in found.local.places]
    assert texts == [
        *("count(1)", "count(1)", "sum(c1)", "count(c1)", "sum(c2)", "count(c2)"),
        "max(c3) FILTER (WHERE c4)",
    ]


def test_sums_of_decimals_are_longer_in_spark(session: Session) -> None:
    found = only(session, "SELECT k, AVG(dec), MIN(s) FROM t GROUP BY k")
    assert isinstance(found.local, LocalPhase)
    places = [(place.text, place.type.sql_text()) for place in found.local.places[1:]]
    assert places == [
        ("sum(c1)", "DECIMAL(20, 2)"),
        ("count(c1)", "BIGINT"),
        ("min(c2)", "STRING"),
    ]


def test_rows_that_are_only_counted_have_one_column(session: Session) -> None:
    found = only(session, "SELECT COUNT(*) FROM t")
    assert found.local is not None
    assert [name for name, _ in found.scan.columns] == ["id"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k",
        "SELECT k, LISTAGG(s) FROM t GROUP BY k",
        "SELECT k, MAX(d) FROM t GROUP BY k",
        "SELECT k, SUM(CAST(dec AS DECIMAL(30, 2))) FROM t GROUP BY k",
        "SELECT d, COUNT(*) FROM t GROUP BY d",
        "SELECT REVERSE(s), COUNT(*) FROM t GROUP BY REVERSE(s)",
    ],
)
def test_other_aggregates_have_rows_from_spark_alone(session: Session, query: str) -> None:
    assert only(session, query).local is None


WINDOW = "TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '10' SECOND))"


def test_windows_are_sliced_in_spark_with_their_watermark(session: Session) -> None:
    text = f"SELECT window_start, k, COUNT(*) FROM {WINDOW} GROUP BY window_start, window_end, k"
    found = only(session, text)
    assert isinstance(found.local, LocalPhase)
    assert found.local.watermark == "watermark"
    assert "pmod" in str(found.local.slice_end)
    assert any(isinstance(x, Where) and "assert_true" in x.text for x in found.steps)


def test_sessions_are_sliced_by_their_gap_with_the_times_of_a_part(session: Session) -> None:
    found = only(
        session, "SELECT k, COUNT(*) FROM timed GROUP BY k, SESSION(ts, INTERVAL '5' SECOND)"
    )
    assert isinstance(found.local, LocalPhase)
    assert found.local.gap == 5000
    assert "5000L" in str(found.local.slice_end)
    assert [place.text[:4] for place in found.local.places[-2:]] == ["min(", "max("]


def test_windows_of_processing_time_need_no_column_of_it(session: Session) -> None:
    StatementExecutor(session).execute("CREATE TABLE now (p AS PROCTIME()) LIKE t")
    found = only(session, "SELECT k, COUNT(*) FROM now GROUP BY k, TUMBLE(p, INTERVAL '5' SECOND)")
    assert isinstance(found.local, LocalPhase)
    assert found.local.slice_end is None
    assert [name for name, _ in found.scan.columns] == ["k"]


BEST = (
    "SELECT id, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {0} ORDER BY {1}) AS n "
    "FROM {2}) WHERE n <= 2"
)


def test_windows_are_ranked_before_there_are_rows(session: Session) -> None:
    best = BEST.format("window_start, window_end, k", "id DESC", WINDOW)
    found = only(session, best)
    assert isinstance(found.local, LocalRanking)
    assert [name for name, _ in found.scan.columns] == ["id", "k", "s", "ts"]
    assert found.columns == (0, 1, 2, 3, 4)
    assert selected(found)["watermark"] == "watermark"


@pytest.mark.parametrize(
    ("keys", "order", "rows"),
    [
        ("window_start, window_end", "d", WINDOW),  # NaN has no place.
        ("window_start, window_end", "id", WINDOW.replace("TUMBLE", "HOP").replace("10", "5")),
        ("k", "id", WINDOW),
    ],
)
def test_other_rankings_get_rows(session: Session, keys: str, order: str, rows: str) -> None:
    if "HOP" in rows:
        rows = rows.replace("SECOND)", "SECOND, INTERVAL '10' SECOND)")
    assert only(session, BEST.format(keys, order, rows)).local is None


def test_rows_that_need_watermarks_get_them_from_headrace(session: Session) -> None:
    over = "SELECT id, SUM(id) OVER (PARTITION BY k ORDER BY ts) FROM timed"
    assert not only(session, over).steps
    insert = "INSERT INTO numbers SELECT id FROM timed WHERE k > 1"
    assert len(only(session, insert).nodes) == 4


PARTS = (
    "CREATE TABLE parts (id BIGINT, `day` STRING) PARTITIONED BY (`day`) WITH ("
    "'connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'parquet', "
    "'sink.partition-commit.trigger' = '{}', 'sink.partition-commit.policy.kind' = 'success-file')"
)
KEYED = (
    "CREATE TABLE keyed (n BIGINT, s STRING NOT NULL, PRIMARY KEY (s) NOT ENFORCED) WITH ("
    "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://nowhere/d', 'table-name' = 't')"
)
PAIRS = "SELECT a.id, b.s FROM timed AS a JOIN timed AS b ON a.k = b.k"
COUNTS = "SELECT COUNT(*), s FROM timed GROUP BY s"
NEWEST = (
    "SELECT id, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS n "
    "FROM timed) WHERE n <= 2"
)


def assigns_in_spark(session: Session, text: str) -> bool:
    """Whether watermarks belong to a segment, which does not pass them on."""
    nodes = [node for found in segments(session, text) for node in found.nodes]
    return any(isinstance(node, n.WatermarkAssigner) for node in nodes)


@pytest.mark.parametrize(
    "insert",
    [
        "INTO numbers SELECT id FROM timed WHERE CURRENT_WATERMARK(ts) < ts",
        "INTO numbers SELECT COUNT(*) FROM timed GROUP BY CURRENT_WATERMARK(ts)",
        "INTO numbers SELECT COUNT(*) FROM Kinds(TABLE timed PARTITION BY k)",
        f"INTO numbers SELECT COUNT(*) FROM Kinds(({PAIRS}) PARTITION BY s)",
        f"INTO numbers SELECT COUNT(*) FROM Kinds(({COUNTS}) PARTITION BY s)",
        "INTO keyed SELECT id, s FROM timed ON CONFLICT DO NOTHING",
        f"INTO keyed {PAIRS} ON CONFLICT DO ERROR",
        "INTO keyed SELECT n, t FROM (SELECT COUNT(*) AS n, MAX(s) AS t FROM timed GROUP BY k) "
        "ON CONFLICT DO NOTHING",
        f"INTO keyed {NEWEST} ON CONFLICT DO NOTHING",
        "INTO parts SELECT id, s FROM timed",
        f"INTO parts {PAIRS}",
    ],
)
def test_watermarks_reach_whatever_looks_at_them(session: Session, insert: str) -> None:
    """Also behind joins and aggregates, where rows have no time of their own any more."""
    register_function(session, ("Kinds",), as_wrapper(Kinds), system=True)
    for statement in (KEYED, PARTS.format("partition-time")):
        StatementExecutor(session).execute(statement)
    assert not assigns_in_spark(session, f"INSERT {insert}")


@pytest.mark.parametrize("query", ["SELECT id, s FROM timed", PAIRS])
def test_watermarks_that_nobody_looks_at_stay_in_spark(session: Session, query: str) -> None:
    StatementExecutor(session).execute(PARTS.format("process-time"))
    assert assigns_in_spark(session, f"INSERT INTO parts {query}")


def test_files_that_are_watched_are_read_by_headrace(session: Session) -> None:
    query = "SELECT id FROM t /*+ OPTIONS('source.monitor-interval' = '1 s') */"
    assert segments(session, query) == []


def test_datagen_is_made_in_spark(session: Session) -> None:
    scan = only(session, "SELECT id, x FROM gen").scan
    assert scan.count == 10
    assert dict(scan.texts)["c0"] == "CAST(id + 5L AS BIGINT)"


def test_it_can_be_switched_off(session: Session) -> None:
    session.config.set("table.exec.spark-segments", "false")
    assert segments(session, "SELECT id FROM t") == []


@pytest.mark.parametrize(
    ("condition", "place"), [("(id > 3)", "Arrow"), ("((id + k) > 3)", "Spark's JVM")]
)
def test_explain_says_where_parts_run(session: Session, condition: str, place: str) -> None:
    text = f"EXPLAIN SELECT k, SUM(id) FROM t WHERE {condition} GROUP BY k"
    statement = parse_statement(text.removeprefix("EXPLAIN "))
    lines = explain_statement(session, statement, text).splitlines()
    assert [line.strip().removeprefix("+- ") for line in lines[lines.index(EXECUTION) + 1 :]] == [
        "GlobalAggregate(groupBy=[k], select=[SUM(id) AS EXPR$0])",
        "Exchange(distribution=[hash[k]])",
        f"SparkAggregate(groupBy=[k], select=[SUM(id) AS EXPR$0])  [{place}]",
        f"Project(select=[k, id])  [{place}]",
        f"Filter(where=[{condition}])  [{place}]",
        "Scan(table=[default_catalog.default_database.t], fields=[id, k, d, s, ts, dec])"
        f"  [{place}]",
    ]


# In a slot.


def test_rows_have_none_where_nothing_is_needed() -> None:
    batch = pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    rows = RowsOfColumns(4, (2, 0))(batch)
    assert rows == [("x", None, 1, None), ("y", None, None, None)]


def test_slices_of_columns_become_lists() -> None:
    for kind in (pa.int8(), pa.int64(), pa.float32(), pa.float64()):
        column = pa.array([1, 2, 3, 4], pa.int8()).cast(kind)
        assert values_of(column.slice(1, 2)) == [2, 3]
        assert values_of(column.slice(4)) == []


def test_columns_become_lists_without_pandas() -> None:
    """It takes longer to import than many queries take."""
    program = (
        "import sys, pyarrow as pa\n"
        "from headrace.sql.segments import columns, ranking\n"
        "column = columns.column_of_numbers(memoryview(b'abcdefgh').cast('q'))\n"
        "batch = pa.RecordBatch.from_arrays([column], ['a'])\n"
        "assert ranking.first_of_groups(batch, [0], [(0, True, True)], 1).to_pylist() == [0]\n"
        "assert len(columns.values_of(column)) == 1\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class Collected:
    """An output that keeps what it gets."""

    def __init__(self) -> None:
        self.rows: list[object] = []
        self.marks: list[int] = []

    def emit(self, batch: Batch) -> None:
        self.rows += batch.values

    def watermark(self, timestamp: int) -> None:
        self.marks.append(timestamp)


def operator(spec: SegmentAggregateSpec) -> tuple[SegmentAggregateOperator, Collected]:
    made, out = SegmentAggregateOperator(spec), Collected()
    made.output = out  # type: ignore[assignment]
    return made, out


def test_columns_become_keys_and_accumulators() -> None:
    made, out = operator(SegmentAggregateSpec(1, (0, 0, None)))
    batch = pa.record_batch({"k": ["a", "b"], "n": [2, 1], "s": [None, 5], "m": [None, 7]})
    made.process_batch(Batch([batch]))
    assert out.rows == [("a", [2, 0, None]), ("b", [1, 5, 7])]


def test_a_group_of_no_rows_is_none() -> None:
    made, out = operator(SegmentAggregateSpec(0, (0,)))
    made.process_batch(Batch([pa.record_batch({"n": [0]}), pa.record_batch({"n": [3]})]))
    assert out.rows == [((), [3])]


def test_the_watermark_moves_when_the_epoch_ends() -> None:
    made, out = operator(SegmentAggregateSpec(1, (0,), windows=True))
    columns = {"k": [1, 2], "end": [10, 20], "n": [1, 1], "w": [5_000_000, None]}
    made.process_batch(Batch([pa.record_batch(columns)]))
    later = {"k": [1], "end": [10], "n": [1], "w": [4_000_000]}
    made.process_batch(Batch([pa.record_batch(later)]))
    assert out.rows == [(1, 10, [1]), (2, 20, [1]), (1, 10, [1])]
    assert out.marks == []
    made.end_epoch()
    assert out.marks == [5000]
    made.process_watermark(MAX_TIMESTAMP)
    assert out.marks == [5000, MAX_TIMESTAMP]


def test_parts_of_sessions_have_a_start_and_an_end() -> None:
    made, out = operator(SegmentAggregateSpec(1, (0,), windows=True, gap=5))
    columns = {"k": [1], "slice": [10], "n": [3], "from": [6], "to": [9], "w": [7_000]}
    made.process_batch(Batch([pa.record_batch(columns)]))
    made.end_epoch()
    assert out.rows == [(1, 6, 14, [3])]
    assert out.marks == [7]


def test_the_latest_of_equal_rows_comes_first_if_wanted() -> None:
    rank = LocalRankSpec((0,), ((1, True, True),), 1, latest=True)
    spec = SegmentRankSpec(rank, 3, (0, 1, 2), (0,), ((1, True, True),), watermark=False)
    made = SegmentRankOperator(spec)
    out = Collected()
    made.output = out  # type: ignore[assignment]
    for keys, times, ids in (("aab", (5, 5, 3), (1, 2, 3)), ("bba", (3, 1, 4), (4, 5, 6))):
        columns = {"k": list(keys), "t": list(times), "id": list(ids)}
        made.process_batch(Batch([pa.record_batch(columns)]))
    assert out.rows == []
    made.end_epoch()
    (columns,) = out.rows
    assert sorted(RowsOfColumns(3, (0, 1, 2))(columns)) == [("a", 5, 2), ("b", 3, 4)]


def test_the_first_of_all_rows_are_sent_as_rows() -> None:
    rank = LocalRankSpec((), ((0, False, True),), 2)
    made = SegmentRankOperator(SegmentRankSpec(rank, 2, (1,), (), ((0, False, True),), False))
    out = Collected()
    made.output = out  # type: ignore[assignment]
    for values in ([3, 1, 2], [5, 0]):
        made.process_batch(Batch([pa.record_batch({"v": values})]))
    made.end_epoch()
    assert out.rows == [(None, 1), (None, 0)]


def test_only_the_first_rows_of_columns_are_sent() -> None:
    rank = LocalRankSpec((3,), ((1, True, False),), 1, window_end=3)
    spec = SegmentRankSpec(rank, 4, (0, 1, 3), (2,), ((1, True, False),), watermark=True)
    made = SegmentRankOperator(spec)
    out = Collected()
    made.output = out  # type: ignore[assignment]
    for ids, values in (([1, 2, 3], [5, 7, 9]), ([4, 5, 6], [7, 7, 10])):
        ends = [10_000, 10_000, 20_000]
        columns = {"id": ids, "v": values, "end": ends, "watermark": [3_000, 4_000, None]}
        made.process_batch(Batch([pa.record_batch(columns)]))
    assert out.rows == []
    made.process_watermark(MAX_TIMESTAMP)
    (columns,) = out.rows
    rows = RowsOfColumns(4, (0, 1, 3))(columns)
    assert rows == [(2, 7, None, 10_000), (6, 10, None, 20_000)]
    assert out.marks == [4, MAX_TIMESTAMP]


def test_a_function_in_python_gets_its_rows_from_spark(session: Session) -> None:
    text = "SELECT REVERSE(s) FROM t WHERE k > 3"
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    translator = session.translator()
    stream = translator.stream(optimize(session.query_plan(statement.tree, text)))
    calc = stream._transformation
    assert calc.name == "Calc"
    assert [x.name for x in calc.inputs] == ["Source: Spark"]


DISTINCT_CALLS = (
    "COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT s), MAX(s), MIN(DISTINCT id), SUM(id), "
    "COUNT(*) FILTER (WHERE k > 1), COUNT(DISTINCT s) FILTER (WHERE k > 1), "
    "SUM(id) FILTER (WHERE k > 1), COUNT(id) FILTER (WHERE k > 1)"
)


@pytest.mark.parametrize("group", ["k", "s, k", ""])
@pytest.mark.parametrize("large", [0, 1 << 62])
def test_distinct_aggregates_of_columns_are_those_of_rows(
    session: Session, group: str, large: int
) -> None:
    """Also where a sum has to be made row by row."""
    by = f" GROUP BY {group}" if group else ""
    head = f"{group}, " if group else ""
    plan = physical(session, f"SELECT {head}{DISTINCT_CALLS} FROM t{by}")
    while not isinstance(plan, LocalAggregate):
        (plan,) = plan.inputs
    spec = OPERATORS[LocalAggregate](plan, session.settings()).spec
    assert isinstance(spec, ColumnsAggregateSpec)
    kinds = [plan.input.schema[i].type for i in spec.positions]
    numbers = [[None if i % 5 == 4 else i * 7 % 11 for i in range(start, 90)] for start in (0, 3)]
    texts = [[None if i % 7 == 3 else f"t{i % 4}" for i in range(start, 90)] for start in (0, 3)]
    batches = []
    for number, text in zip(numbers, texts, strict=True):
        made = {
            pa.int64(): [None if x is None else x + large for x in number],
            pa.int32(): [None if x is None else x % 4 for x in number],
            pa.bool_(): [None if x is None else x % 4 > 1 for x in number],
            pa.string(): text,
        }
        arrays = [pa.array(made[arrow_type(kind)], arrow_type(kind)) for kind in kinds]
        batches.append(pa.RecordBatch.from_arrays(arrays, list(map(str, spec.positions))))
    operator = ColumnsAggregateOperator(spec)
    found = Collected()
    operator.output = found  # type: ignore[assignment]
    for batch in batches:
        operator.process_batch(ColumnBatch(batch))
    operator.flush()
    rows = [row for b in batches for row in RowsOfColumns(spec.width, spec.positions)(b)]
    keys = list(map(itemgetter(*spec.key), rows)) if spec.key else [()] * len(rows)
    wanted: dict[Any, Any] = {}
    create = spec.code.create.load()
    spec.code.add.load()(keys, rows, wanted, lambda key: create())
    assert dict(found.rows) == wanted  # type: ignore[call-overload]
