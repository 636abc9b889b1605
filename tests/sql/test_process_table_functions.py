"""Process table functions: rows, keys, time and changes, in SQL and in the Table API."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import FunctionTypeError, JobExecutionError, SqlError
from headrace.graph.transformation import OperatorTransformation
from headrace.sql.operators.process.specs import ProcessTableSpec
from headrace.sql.plan.text import plan_text
from headrace.sql.session.user_functions import register_function
from headrace.table import ArgumentHint, ArgumentTrait, ProcessTableFunction, Row, StateHint
from headrace.table.expressions import col, descriptor, lit
from headrace.table.table_environment import StreamTableEnvironment
from headrace.table.udf import as_wrapper
from headrace.testing import keyed_harness, run_in_process
from tests.examples import examples
from tests.sql import process_functions as f
from tests.sql.sessions import LocalSession, place_of

VALUES = "CREATE VIEW t(k, v) AS VALUES ('a', 1), ('b', 2), ('a', 3), ('a', 3), ('b', 5)"
TIMED = (
    "CREATE TABLE {name} (k STRING, v INT, s BIGINT, orders STRING, "
    "ts AS TO_TIMESTAMP_LTZ(s, 3), WATERMARK FOR ts AS ts - INTERVAL '0.002' SECOND) WITH "
    "('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
)


def session(parallelism: int = 1) -> LocalSession:
    made = LocalSession(parallelism=parallelism)
    made.execute(VALUES)
    for function in vars(f).values():
        if getattr(function, "__module__", "") == f.__name__ and hasattr(function, "collect"):
            register_function(made.session, (function.__name__,), as_wrapper(function))
    return made


def timed(folder: Path, lines: str, parallelism: int = 1, name: str = "e") -> LocalSession:
    made = session(parallelism)
    add_table(made, folder, lines, name)
    return made


def add_table(made: LocalSession, folder: Path, lines: str, name: str) -> None:
    (folder / name).write_text(lines.replace(" ", "\n").replace("_", " "), encoding="utf-8")
    made.execute(TIMED.format(name=name, path=folder / name))


def rows(made: LocalSession, query: str, **settings: Any) -> list[Any]:
    result = made.query(query, **settings)
    assert {kind for kind, _ in result.rows} <= {0}
    return [tuple(row) for _, row in result.rows]


# Rows and keys.


@pytest.mark.parametrize(
    "call",
    [
        "Filter(TABLE t, 2)",
        "Filter(TABLE t, 2, DEFAULT, DEFAULT, 'my-filter')",
        "Filter(threshold => 1 + 1, input => (SELECT * FROM t), uid => 'x')",
        "TABLE(Filter(input => TABLE t, factor => 1, threshold => CAST(2 AS SMALLINT)))",
    ],
)
def test_rows_by_themselves(call: str) -> None:
    result = session().query(f"SELECT * FROM {call}")
    assert result.schema.names == ["threshold", "v"]
    assert [tuple(row) for _, row in result.rows] == [(2, 3), (2, 3), (2, 5)]


def test_columns_pass_through() -> None:
    made = session()
    assert rows(made, "SELECT * FROM InCapitals(TABLE t) WHERE v = 3") == [("a", 3, "A")] * 2
    result = made.query("SELECT * FROM Passing(TABLE t PARTITION BY v)")
    assert result.schema.names == ["k", "v", "EXPR$0"]
    assert [tuple(row) for _, row in result.rows][:2] == [("a", 1, 2), ("b", 2, 3)]


def test_a_function_of_no_table_is_called_once() -> None:
    assert rows(session(parallelism=3), "SELECT * FROM Generate(3)") == [(0,), (1,), (2,)]


def test_each_key_has_its_state() -> None:
    made = session()
    query = "SELECT * FROM Tally(TABLE t PARTITION BY k)"
    expected = [
        ("a", "1 None 1"),
        ("b", "1 None 1"),
        ("a", "2 1 1"),
        ("a", "3 3 2"),
        ("b", "2 2 1"),
    ]
    assert rows(made, query) == expected
    assert rows(made, query, epoch_records=1, restore_after={1, 2, 3, 4}) == expected
    assert rows(made, "SELECT * FROM Tally(TABLE t)")[-1] == ("5 3 2",)


def test_state_of_a_row_can_be_cleared() -> None:
    made = session()
    query = "SELECT * FROM Pairs(TABLE t PARTITION BY k)"
    for epoch_records in (1, 100):
        assert rows(made, query, epoch_records=epoch_records) == [("a", 4), ("b", 7)]


def test_lists_and_maps_are_views_of_state() -> None:
    made = session()
    values = "('a', 1), ('b', 2), ('a', 3), ('a', 3), ('b', 5), ('a', 0), ('a', 7)"
    made.execute(f"CREATE VIEW z(k, v) AS VALUES {values}")
    found = rows(made, "SELECT * FROM History(TABLE z PARTITION BY k)", epoch_records=2)
    assert found == [
        ("a", (1,), {1: 1}),
        ("b", (2,), {2: 1}),
        ("a", (1, 3), {1: 1, 3: 1}),
        ("a", (1, 3, 3), {1: 1, 3: 2}),
        ("b", (2, 5), {2: 1, 5: 1}),
        ("a", (7,), {7: 1}),
    ]


def test_a_table_has_the_declared_columns() -> None:
    query = "SELECT * FROM Typed(TABLE t, ARRAY['x', 'y'])"
    assert rows(session(), query)[0] == ("a is 1: x/y",)


def test_names_that_are_there_already_get_a_number() -> None:
    result = session().query("SELECT * FROM Filter(TABLE t, 2) AS a")
    assert result.schema.names == ["threshold", "v"]
    made = session()
    made.execute("CREATE VIEW purchases(name, item) AS VALUES ('a', 'milk')")
    made.execute("CREATE VIEW visits(name) AS VALUES ('a'), ('b')")
    query = (
        "SELECT * FROM LastPurchase(TABLE visits PARTITION BY name, "
        "TABLE purchases PARTITION BY name)"
    )
    result = made.query(query)
    assert result.schema.names == ["name", "name0", "EXPR$0"]
    assert sorted(tuple(row) for _, row in result.rows)[1] == ("b", "b", "b None")


# Time.


def test_a_timer_fires_when_the_watermark_has_passed_it(tmp_path: Path) -> None:
    made = timed(tmp_path, """a,1,1,"x_7,9" b,2,5, a,3,8, a,4,12, b,5,20,""")
    query = "SELECT * FROM Timers(input => TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))"
    result = made.query(query, epoch_records=1)
    assert result.schema.names == ["k", "EXPR$0", "rowtime"]
    shown = [(row[0], row[1], row[2] // 1000) for _, row in result.rows]
    assert shown == [
        ("a", "row at 1 of None None", 1),
        ("b", "row at 5 of -1 -1", 5),
        ("a", "row at 8 of 3 3", 8),
        ("a", "row at 12 of 6 6", 12),
        ("a", "x at 7", 7),
        ("a", "None at 9", 9),
        ("b", "row at 20 of 10 10", 20),
    ]


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ("x_5,x_9,9", ["x at 9", "None at 9"]),
        ("x_5,-x", []),
        ("4,4,5", ["None at 4", "None at 5"]),
        ("4,5,-4", ["None at 5"]),
        ("4,x_5,--", []),
        ("again_6", ["again at 6", "after at 5"]),
        ("99999", ["None at 99999"]),
        ("-x,-7", []),
    ],
)
@pytest.mark.parametrize("restores", [(), (1, 2)])
def test_timers_are_replaced_and_cleared(
    tmp_path: Path, orders: str, expected: list[str], restores: tuple[int, ...]
) -> None:
    made = session()
    lines = f'a,1,1,"{orders}" a,2,15, a,3,30,'
    add_table(made, tmp_path, lines, "e")
    query = "SELECT * FROM Timers(input => TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))"
    found = rows(made, query, epoch_records=1, restore_after=restores)
    fired = [text for _, text, _ in found if not text.startswith("row")]
    assert fired == expected


def test_late_rows_count_and_keep_their_time(tmp_path: Path) -> None:
    made = timed(tmp_path, "a,1,100, a,2,50,60 a,3,200,")
    query = "SELECT * FROM Timers(input => TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))"
    found = [(row[1], row[2] // 1000) for row in rows(made, query, epoch_records=1)]
    assert ("row at 50 of 98 98", 50) in found
    # The watermark had passed the timer already: it comes with the next one.
    assert found.index(("None at 60", 60)) > found.index(("row at 50 of 98 98", 50))


def test_windows_follow_the_time_of_rows_and_timers(tmp_path: Path) -> None:
    made = timed(tmp_path, "a,1,1000, b,1,2000, a,1,4000, c,1,20000, a,1,30000,")
    made.execute(
        "CREATE VIEW w AS SELECT * FROM Sessions(input => TABLE e PARTITION BY k, "
        "gap => INTERVAL '5' SECOND, on_time => DESCRIPTOR(ts))"
    )
    query = (
        "SELECT window_start, SUM(n) FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(rowtime), "
        "INTERVAL '8' SECOND)) GROUP BY window_start, window_end"
    )
    found = [(row[0] // 1_000_000, row[1]) for row in rows(made, query, epoch_records=1)]
    assert found == [(0, 1), (8, 2), (24, 1), (32, 1)]


def test_rows_come_in_order(tmp_path: Path) -> None:
    made = timed(tmp_path, "a,1,5, a,2,4, b,3,5, a,4,5, a,5,20, a,6,3, b,7,21,")
    query = (
        "SELECT k, EXPR$0 FROM Ordered(input => TABLE e PARTITION BY k "
        "ORDER BY (ts ASC, v DESC NULLS LAST))"
    )
    by = " by ['ts', 'v'] ['ASC_NULLS_FIRST', 'DESC_NULLS_LAST']"
    expected = [("a", f"2{by}"), ("a", f"24{by}"), ("a", f"241{by}"), ("a", f"2415{by}")]
    for restores in ((), (1, 3, 6)):
        found = rows(made, query, epoch_records=1, restore_after=restores)
        assert [row for row in found if row[0] == "a"] == expected
        assert [row for row in found if row[0] == "b"] == [("b", f"3{by}"), ("b", f"37{by}")]


def test_the_watermark_of_a_table_does_not_wait_for_others(tmp_path: Path) -> None:
    made = timed(tmp_path, "a,1,100, a,2,200, a,3,300,")
    add_table(made, tmp_path, "a,1,1, a,2,2,", "slow")

    class Marks(ProcessTableFunction):
        def eval(self, ctx: f.Context, one: f.SetTable, two: f.SetTable) -> f.Iterator[str]:
            time = ctx.time_context(int)
            yield f"{'two' if one is None else 'one'} {time.table_watermark()}"

    register_function(made.session, ("Marks",), as_wrapper(Marks))
    query = (
        "SELECT * FROM Marks(TABLE e PARTITION BY k, TABLE slow PARTITION BY k, "
        "on_time => DESCRIPTOR(ts))"
    )
    seen = [row[2] for row in rows(made, query, epoch_records=1)]
    assert "one 98" in seen
    assert "two -1" in seen


@examples(20, derandomize=True)
@given(
    events=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20)), min_size=1, max_size=25),
    records=st.integers(1, 7),
    parallelism=st.integers(1, 3),
    restores=st.sets(st.integers(1, 5), max_size=3),
)
def test_rows_and_timers_are_those_of_the_whole_input(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[tuple[str, int]],
    records: int,
    parallelism: int,
    restores: set[int],
) -> None:
    """Any cut, any parallelism and any restore give the same, late rows included."""
    lines = " ".join(f"{k},1,{s * 1000}," for k, s in events)
    made = timed(tmp_path_factory.mktemp("events"), lines, parallelism)
    query = "SELECT * FROM Remind(input => TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))"
    found = rows(made, query, epoch_records=records, restore_after=restores)
    numbers = [(k, n) for k, n, _ in found if n > 0]
    assert sorted(numbers) == sorted(
        (key, n + 1) for key in "abc" for n in range(sum(k == key for k, _ in events))
    )
    fired = {(k, time // 1_000_000) for k, n, time in found if n == 0}
    assert fired == {(k, s + 10) for k, s in events}


def test_state_and_timers_move_to_other_subtasks(tmp_path: Path) -> None:
    made = timed(tmp_path, "a,1,1,")
    query = "SELECT * FROM Remind(input => TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))"
    made.session.translator().stream(made.plan(query))
    (spec,) = (
        x.spec
        for x in made.env._transformations
        if isinstance(x, OperatorTransformation) and isinstance(x.spec, ProcessTableSpec)
    )
    keys = [f"k{i}" for i in range(20)]
    rows = [(k, 1, 1000, None, 1_000_000) for k in keys]
    with keyed_harness(spec, key=itemgetter(0), parallelism=2) as h:
        h.process_many(rows)
        h.snapshot_and_restore(parallelism=3)
        h.process_many(rows)
        assert sorted(h.output()) == sorted((k, n, 1_000_000) for k in keys for n in (1, 2))
        h.snapshot_and_restore(parallelism=1)
        h.watermark(11_000)
        assert sorted(h.output()) == sorted((k, 0, 11_000_000) for k in keys)


# Changes.


def test_updates_come_by_key_without_the_rows_before_them() -> None:
    made = session()
    made.session.config.set("table.exec.mini-batch.enabled", "false")
    made.execute("CREATE VIEW c AS SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    found = rows(made, "SELECT * FROM Kinds(TABLE c PARTITION BY k) WHERE k = 'b'")
    assert found == [("b", "INSERT", 1), ("b", "UPDATE_AFTER", 2)]
    found = rows(made, "SELECT * FROM AllKinds(TABLE c PARTITION BY k) WHERE k = 'b'")
    assert found == [("b", "INSERT", 1), ("b", "UPDATE_BEFORE", 1), ("b", "UPDATE_AFTER", 2)]
    found = rows(made, "SELECT kind FROM Kinds(TABLE c PARTITION BY n)")
    assert ("UPDATE_BEFORE",) in found


@pytest.mark.parametrize("function", ["Sums", "UpsertSums"])
def test_a_function_may_make_changes(function: str) -> None:
    made = session()
    made.execute("CREATE VIEW m(k, v) AS VALUES ('a', 1), ('b', 2), ('a', 6), ('b', 5), ('b', -1)")
    result = made.query(f"SELECT * FROM {function}(TABLE m PARTITION BY k)", epoch_records=1)
    assert result.materialized() == [("a", 7)]
    assert {kind for kind, _ in result.rows} == {0, 1, 2, 3}
    total = made.query(f"SELECT SUM(s) FROM {function}(TABLE m PARTITION BY k)")
    assert total.materialized() == [(7,)]


# Names and uids.


def test_the_same_call_with_the_same_uid_runs_once() -> None:
    made = session()
    made.execute("CREATE TABLE p (k STRING, x STRING) WITH ('connector' = 'print')")
    call = "SELECT * FROM Tally(TABLE t PARTITION BY k, uid => 'same') WHERE k = '{}'"
    plans = [made.session.sink_plan(("p",), made.plan(call.format(k))) for k in ("a", "b")]
    made.session.translator().translate(*plans)
    calls = [x for x in made.env._transformations if "ProcessTable" in x.name]
    assert [x.uid for x in calls] == ["same"]
    made.env._transformations = []
    both = call.format("a") + " UNION ALL " + call.format("b").replace("TABLE t", "TABLE u")
    made.execute("CREATE VIEW u AS SELECT k, v + 1 AS v FROM t")
    with pytest.raises(SqlError, match="Duplicate unique identifier 'same' detected"):
        made.query(both)


def test_a_plan_shows_the_call() -> None:
    made = session()
    text = plan_text(made.plan("SELECT * FROM Tally(TABLE t PARTITION BY k)"))
    assert "invocation=[Tally(input => TABLE(#0) PARTITION BY(k))], uid=[Tally]" in text


def test_functions_are_created_by_their_place() -> None:
    made = LocalSession()
    made.execute(VALUES)
    made.execute(f"CREATE FUNCTION above AS '{f.__name__}.Filter' LANGUAGE PYTHON")
    assert rows(made, "SELECT * FROM above(TABLE t, 4)") == [(4, 5)]


def test_calls_in_the_table_api(t_env: StreamTableEnvironment) -> None:
    table = t_env.from_elements([("a", 1), ("a", 3), ("b", 2)], ["k", "v"])
    t_env.create_temporary_function("keep", f.Filter())
    t_env.create_temporary_system_function("tally", f.Tally)
    calls = [
        table.process("keep", 1),
        table.process(f.Filter, lit(1).as_argument("threshold")),
        table.process(f.Filter(), threshold=1, uid="filtered"),
        t_env.from_call("keep", table.as_argument("input"), threshold=lit(1)),
        t_env.from_call(f.Filter, table, 1, None, None, None),
    ]
    for call in calls:
        assert collected(t_env, call) == [[1, 2], [1, 3]]
    for call in (
        table.partition_by(col("k")).process("tally"),
        table.partition_by("k").process(f.Tally, uid="x"),
        t_env.from_call("tally", table.partition_by(col("k")).as_argument("input")),
    ):
        assert collected(t_env, call) == [["a", "1 None 1"], ["a", "2 1 1"], ["b", "1 None 1"]]
    with pytest.raises(SqlError, match="'nothing' is not a process table function"):
        table.process("nothing")


def test_time_and_order_in_the_table_api(t_env: StreamTableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "e").write_text("a,1,5,\na,2,3,\n", encoding="utf-8")
    t_env.execute_sql(TIMED.format(name="e", path=tmp_path / "e"))
    parts = t_env.from_path("e").partition_by(col("k"))
    ordered = parts.order_by(col("ts").asc, col("v").desc).process(
        f.Ordered, on_time=descriptor("ts")
    )
    assert ordered.get_schema().get_field_names() == ["k", "EXPR$0", "rowtime"]
    assert [row[1][:2] for row in collected(t_env, ordered)] == ["2 ", "21"]
    fired = parts.process(f.Sessions, descriptor("ts").as_argument("on_time"))
    assert [row[:2] for row in collected(t_env, fired)] == [["a", 2]]


def collected(t_env: StreamTableEnvironment, table: Any) -> list[Any]:
    stream = t_env.to_data_stream(table)
    found = run_in_process(t_env._session.env, {"rows": stream})["rows"]
    return sorted((list(row) for row in found), key=str)


# Mistakes.


@pytest.mark.parametrize(
    ("call", "place", "message"),
    [
        (
            "Tally(TABLE t PARTITION BY nothing)",
            "nothing",
            "Invalid column 'nothing' for PARTITION",
        ),
        ("Tally(input => ROW(1))", "ROW(1)", "Argument 'input' expects a table to be passed"),
        ("Pairs(TABLE t)", "t", "requires a PARTITION BY clause"),
        ("Filter(TABLE t PARTITION BY k, 1)", "k", "Only tables with set semantics may be part"),
        ("Filter(TABLE t ORDER BY v, 1)", "v", "Only tables with set semantics may be ordered"),
        ("Filter(TABLE t)", "Filter", "needs the argument 'threshold'"),
        ("Filter(TABLE t, 'x')", "'x'", "'threshold' of Filter is BIGINT, not CHAR(1) NOT NULL"),
        ("Filter(TABLE t, treshold => 1)", "1", "did you mean 'threshold'?"),
        ("Filter(TABLE t, 1, threshold => 1)", "1", "is given twice"),
        ("Filter(TABLE t, 1, 1, DEFAULT, 'x', 1)", "1", "takes 5 arguments at most"),
        ("Filter(TABLE t, 1, uid => '%')", "'%'", "Invalid unique identifier"),
        ("Typed(TABLE e, ARRAY['x'])", "e", "is a table of ROW<`name` STRING, `age` BIGINT>"),
        ("Sessions(TABLE e PARTITION BY k)", "Sessions", "requires a time attribute"),
        (
            "Timers(TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts, x))",
            "x",
            "Unknown references: [x]",
        ),
        (
            "Timers(TABLE e PARTITION BY k, on_time => DESCRIPTOR(v))",
            "v",
            "Unsupported data type for time attribute",
        ),
        (
            "Timers(TABLE e2 PARTITION BY k, on_time => DESCRIPTOR(ts, t2))",
            "ts, t2",
            "point to both 'ts' and 't2'",
        ),
        (
            "Timers(TABLE e3 PARTITION BY k, on_time => DESCRIPTOR(ts))",
            "Timers",
            "Column 'ts' is not a valid time attribute",
        ),
        ("Ordered(TABLE e PARTITION BY k ORDER BY v)", "v", "must be a TIMESTAMP"),
        ("Ordered(TABLE e PARTITION BY k ORDER BY ts DESC)", "ts", "in ascending order"),
        ("Ordered(TABLE e PARTITION BY k ORDER BY (ts, v, ts))", "ts", "more than once"),
        ("Ordered(TABLE e3 PARTITION BY k ORDER BY ts)", "Ordered", "is not a valid time attrib"),
        (
            "Ordered(TABLE e2 PARTITION BY k ORDER BY t2, on_time => DESCRIPTOR(ts))",
            "t2",
            "the referenced timestamp columns must match",
        ),
        (
            "LastPurchase(TABLE t PARTITION BY k, TABLE e PARTITION BY k, "
            "on_time => DESCRIPTOR(ts))",
            "ts",
            "Missing time attributes for: [visit]",
        ),
        (
            "LastPurchase(TABLE t PARTITION BY k, TABLE e PARTITION BY v)",
            "LastPurchase",
            "Invalid PARTITION BY columns",
        ),
        ("Tally(TABLE c PARTITION BY k)", "Tally", "doesn't support consuming update changes"),
        (
            "Sums(TABLE e PARTITION BY k, on_time => DESCRIPTOR(ts))",
            "Sums",
            "Time operations using the `on_time` argument are currently not supported",
        ),
    ],
)
def test_a_wrong_call_shows_its_place(tmp_path: Path, call: str, place: str, message: str) -> None:
    made = timed(tmp_path, "a,1,1,")
    made.execute("CREATE VIEW c AS SELECT k, COUNT(*) AS v FROM t GROUP BY k")
    made.execute("CREATE VIEW e2 AS SELECT *, ts AS t2 FROM e")
    made.execute("CREATE VIEW e3 AS SELECT k, v, ts + INTERVAL '1' SECOND AS ts FROM e")
    with pytest.raises(SqlError) as refused:
        made.query(f"SELECT * FROM {call}")
    assert message in str(refused.value)
    assert place in place_of(refused.value)


def test_batch_mode_is_refused() -> None:
    made = LocalSession(batch=True)
    register_function(made.session, ("Generate",), as_wrapper(f.Generate))
    with pytest.raises(SqlError, match="cannot run in batch mode"):
        made.query("SELECT * FROM Generate(1)")


def test_a_function_of_tables_is_no_value() -> None:
    with pytest.raises(SqlError, match="is a process table function") as refused:
        session().query("SELECT Generate(v) FROM t")
    assert place_of(refused.value) == "Generate(v)"


def test_lateral_joins_are_refused() -> None:
    with pytest.raises(SqlError, match="cannot be joined with LATERAL"):
        session().query("SELECT * FROM t, LATERAL TABLE(Generate(v))")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("kind", "Invalid row kind received: DELETE. Expected produced changelog mode: .INSERT."),
        ("type", "'x' .str. is not of type INT"),
        ("returned", "rows are yielded or collected, not returned: 5"),
        ("timer", "Timers are not supported in the current PTF declaration"),
        ("table", "Unknown table argument: other"),
        ("else", "broken"),
    ],
)
def test_a_failure_names_the_function_and_the_row(row: str, message: str) -> None:
    made = session()
    made.execute(f"CREATE VIEW w(k) AS VALUES ('{row}')")
    with pytest.raises(JobExecutionError, match=message) as failed:
        made.query("SELECT * FROM Wrong(TABLE w)")
    assert "ProcessTableFunction[Wrong]" in str(failed.value)
    assert f"('{row}',)" in str(failed.value)


def test_timers_need_keys_of_which_no_column_passes_through() -> None:
    made = session()
    made.execute("CREATE VIEW n(k, v) AS VALUES ('a', -1)")
    with pytest.raises(JobExecutionError, match="Timers are not supported"):
        made.query("SELECT * FROM Passing(TABLE n PARTITION BY k)")


class _Base(ProcessTableFunction):
    def get_result_type(self) -> str:
        return "INT"


class _NoType(_Base):
    def eval(self, value) -> None: ...  # type: ignore[no-untyped-def]


class _Variable(_Base):
    def eval(self, *values: int) -> None: ...


class _Reserved(_Base):
    def eval(self, uid: str) -> None: ...


class _TwoRowTables(_Base):
    def eval(self, a: f.RowTable, b: f.SetTable) -> None: ...


class _StateOfRows(_Base):
    def eval(self, s: Annotated[f.Seen, StateHint()], a: f.RowTable) -> None: ...


class _PlainState(_Base):
    def eval(self, s: Annotated[int, StateHint()], a: f.SetTable) -> None: ...


class _StateLast(_Base):
    def eval(self, a: f.SetTable, s: Annotated[f.Seen, StateHint()]) -> None: ...


class _OptionalTable(_Base):
    def eval(self, a: f.SetTable = None) -> None: ...  # type: ignore[assignment]


class _ForeignState(_Base):
    def eval(self, a: f.SetTable) -> None: ...

    def on_timer(self, other: Any) -> None: ...


class _NoResult(ProcessTableFunction):
    def eval(self, a: f.SetTable) -> None: ...


_UPDATES_THROUGH = ArgumentHint(
    ArgumentTrait.SET_SEMANTIC_TABLE,
    ArgumentTrait.SUPPORT_UPDATES,
    ArgumentTrait.PASS_COLUMNS_THROUGH,
)


class _UpdatesThrough(_Base):
    def eval(self, a: Annotated[Row, _UPDATES_THROUGH]) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_NoType, "argument 'value' of function _NoType has no SQL type"),
        (_Variable, "its parameters have names and positions"),
        (_Reserved, r"Reserved argument names are: \[on_time, uid\]"),
        (_TwoRowTables, "All table arguments must use set semantics"),
        (_StateOfRows, "only functions of tables with set semantics have state"),
        (_PlainState, "state 's' is BIGINT: state is a dataclass"),
        (_StateLast, "state must come before the arguments"),
        (_OptionalTable, "Table arguments must not be optional"),
        (_ForeignState, "on_timer.. has the parameter 'other'"),
        (_NoResult, "the type of its rows is not known"),
        (_UpdatesThrough, "Signatures with updating inputs must not pass columns through"),
    ],
)
def test_a_wrong_signature_is_refused_when_it_is_registered(
    t_env: StreamTableEnvironment, function: Any, message: str
) -> None:
    with pytest.raises(FunctionTypeError, match=message):
        t_env.create_temporary_function("wrong", function())
