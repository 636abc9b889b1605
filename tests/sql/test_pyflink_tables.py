"""What programs of PyFlink do with tables that no recorded probe can show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError, StateError
from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from headrace.datastream import ProcessFunction
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import (
    DataTypes,
    ExplainDetail,
    MapView,
    PlanReference,
    Schema,
    SqlDialect,
    StreamTableEnvironment,
    TableDescriptor,
)
from headrace.table.expression import Expression
from headrace.table.expressions import col, descriptor, map_, to_timestamp_ltz
from headrace.table.udf import AggregateFunction, udaf, udf
from headrace.testing import run_in_process
from tests.sql.sessions import rows_of

DAY = 86_400_000_000


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    found = StreamTableEnvironment.create(env)
    found.get_config().set("table.exec.spark-segments", "false")
    return found


@pytest.mark.parametrize(("ignored", "first"), [("true", 2), ("false", 1)])
def test_older_csv_tables_may_begin_with_names(
    t_env: StreamTableEnvironment, tmp_path: Path, ignored: str, first: int
) -> None:
    (tmp_path / "numbers.csv").write_text("1;a\n2;b\n3;c\n")
    t_env.execute_sql(f"""CREATE TABLE numbers (n INT, s STRING) WITH (
        'connector.type' = 'filesystem', 'connector.path' = '{tmp_path}', 'format.type' = 'csv',
        'format.ignore-first-line' = '{ignored}', 'format.field-delimiter' = ';')""")
    rows = rows_of(t_env, t_env.from_path("numbers"))
    assert [n for n, _ in rows] == list(range(first, 4))


def test_the_mode_of_an_environment_is_that_of_its_tables() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert StreamTableEnvironment.create(env)._session.batch


def test_plans_of_the_table_api_can_be_kept(t_env: StreamTableEnvironment, tmp_path: Path) -> None:
    schema = Schema.new_builder().column("a", DataTypes.BIGINT()).build()
    t_env.create_temporary_table(
        "sink", TableDescriptor.for_connector("print").schema(schema).build()
    )
    table = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    plan = table.filter(col("a") > 1).select(col("a") * 10).insert_into("sink").compile_plan()
    plan.write_to_file(str(tmp_path / "plan.json"))
    again = t_env.load_plan(PlanReference.from_file(str(tmp_path / "plan.json")))
    assert again.as_json_string() == plan.as_json_string()
    assert "Sink" in again.explain()
    other = PlanReference.from_json_string(
        plan.as_json_string().replace('version": "', 'version": "9')
    )
    with pytest.raises(HeadraceError, match=r"compiled by release 9.* compile it again"):
        t_env.load_plan(other).explain()


def test_statements_are_read_in_the_default_dialect_alone(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set_sql_dialect(SqlDialect.HIVE)
    with pytest.raises(SqlError, match="no parser for the SQL dialect 'hive'"):
        t_env.execute_sql("SHOW TABLES")
    t_env.execute_sql("SET 'table.sql-dialect' = 'default'")
    t_env.execute_sql("SHOW TABLES")


def test_streams_of_tables_have_the_type_that_is_asked_for(t_env: StreamTableEnvironment) -> None:
    table = t_env.from_elements([(1, "a")], ["i", "s"])
    row = Types.ROW([Types.LONG(), Types.STRING()])
    appended = t_env.to_append_stream(table, row)
    assert appended.get_type() == row
    assert _records(t_env, appended) == ["Row(f0=1, f1='a')"]
    pairs = Types.TUPLE([Types.LONG(), Types.STRING()])
    assert _records(t_env, t_env.to_append_stream(table, pairs)) == ["(1, 'a')"]
    assert _records(t_env, t_env.to_retract_stream(table, row)) == ["(True, Row(f0=1, f1='a'))"]


def test_a_schema_names_the_fields_of_a_changelog_and_its_timestamps(
    t_env: StreamTableEnvironment,
) -> None:
    stream = t_env._session.env.from_collection(
        [("a", 1000)], Types.TUPLE([Types.STRING(), Types.LONG()])
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Second())
    )
    source = (
        Schema.new_builder()
        .column("f0", DataTypes.STRING())
        .column("f1", DataTypes.BIGINT())
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    target = (
        Schema.new_builder()
        .column("name", DataTypes.STRING())
        .column("number", DataTypes.DOUBLE())
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .column_by_expression("left_out", "UPPER(name)")
        .build()
    )
    table = t_env.from_data_stream(stream, source)
    changes = t_env.to_changelog_stream(table, target).process(_WithTime())
    assert _records(t_env, changes) == ["Row(name='a', number=1000.0) at 1000"]
    short = Schema.new_builder().column("name", DataTypes.STRING()).build()
    with pytest.raises(SqlError, match=r"Different number of columns\.\n\nQuery schema: \[f0"):
        t_env.to_changelog_stream(table, short)


class _Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class _WithTime(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value} at {ctx.timestamp()}"


def _records(t_env: StreamTableEnvironment, stream: Any) -> list[str]:
    return [str(r) for r in run_in_process(t_env._session.env, {"out": stream})["out"]]


def test_a_plan_has_the_job_as_json(t_env: StreamTableEnvironment) -> None:
    table = t_env.from_elements([(1, "a")], ["n", "s"])
    text = table.group_by(col("s")).select(col("n").sum).explain(ExplainDetail.JSON_EXECUTION_PLAN)
    _, job = text.split("== Physical Execution Plan ==")
    assert "GroupAggregate" in [node["type"] for node in json.loads(job)["nodes"]]
    with pytest.raises(HeadraceError, match="No operators"):
        t_env._session.env.get_stream_graph()  # Nothing of it stays in the program.


def test_values_are_not_in_a_table_that_lacks_them(t_env: StreamTableEnvironment) -> None:
    numbers = t_env.from_elements([(1, "a"), (2, "b"), (3, None)], ["n", "s"])
    some = t_env.from_elements([(1,), (3,)], ["k"])
    rest = numbers.where(~col("n").in_(some))
    assert rest._plan.schema.names == ["n", "s"]
    with pytest.raises(SqlError, match="OVER"):
        numbers.select(col("n").over(col("w")))


class Total(AggregateFunction):
    """The sum of all numbers, kept by number: twos leave through the iterator that finds them."""

    def create_accumulator(self) -> Row:
        return Row(MapView())

    def accumulate(self, accumulator: Row, number: int) -> None:
        seen = accumulator[0]
        seen[number] = (seen[number] or 0) + number
        found = seen.keys()
        for key in found:
            if key == 2:
                found.remove()

    def get_value(self, accumulator: Row) -> int:
        return sum(accumulator[0].values())

    def get_accumulator_type(self) -> Any:
        view = DataTypes.MAP_VIEW(DataTypes.BIGINT(), DataTypes.BIGINT())
        return DataTypes.ROW([DataTypes.FIELD("seen", view)])

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()


def test_rows_without_a_time_are_in_no_window_of_batch_mode(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.exec.spark-segments", "false")
    (tmp_path / "events.json").write_text('{"n": 1, "ts": "2020-01-01 00:00:07"}\n{"n": 2}\n')
    t_env.execute_sql(f"""CREATE TABLE events (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH
        ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')""")
    assert len(rows_of(t_env, t_env.from_path("events"))) == 2
    five = "INTERVAL '5' SECOND"
    for query in (
        f"SELECT SUM(n) FROM events GROUP BY TUMBLE(ts, {five})",
        f"SELECT SUM(n) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), {five})) "
        "GROUP BY window_start, window_end",
    ):
        assert rows_of(t_env, t_env.sql_query(query)) == [[1]]


@pytest.mark.parametrize(("size", "totals"), [("1", [1, 4, 8]), ("2", [1, 8]), ("1000", [8])])
def test_a_function_emits_the_changes_of_a_bundle(
    t_env: StreamTableEnvironment, size: str, totals: list[int]
) -> None:
    t_env.get_config().set("table.exec.mini-batch.enabled", "false")
    t_env.get_config().set("python.fn-execution.bundle.size", size)
    numbers = t_env.from_elements([(1,), (2,), (3,), (4,)], ["n"])
    stream = t_env.to_changelog_stream(numbers.select(udaf(Total())(col("n"))))
    rows = run_in_process(t_env._session.env, {"rows": stream})["rows"]
    new = [row[0] for row in rows if row.get_row_kind() is not RowKind.UPDATE_BEFORE]
    assert new == totals


def test_an_iterator_of_a_map_removes_only_what_it_gave() -> None:
    view: MapView[str, int] = MapView()
    view.put_all({"a": 1, "b": 2})
    items = view.items()
    with pytest.raises(StateError, match="next"):
        items.remove()
    assert next(items) == ("a", 1)
    items.remove()
    with pytest.raises(StateError, match="next"):
        items.remove()
    assert list(items) == [("b", 2)]
    assert view["a"] is None
    assert list(view.values()) == [2]


def test_changes_become_rows_and_rows_changes(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set("table.exec.mini-batch.enabled", "false")
    stock = t_env.from_elements([("ink", 3), ("pen", 1), ("ink", 4)], ["item", "n"])
    sums = stock.group_by(col("item")).select(col("item"), col("n").sum.alias("total"))
    changes = sums.to_changelog()
    assert changes.get_schema().get_field_names() == ["op", "item", "total"]
    assert rows_of(t_env, changes) == [
        ["INSERT", "ink", 3],
        ["INSERT", "pen", 1],
        ["UPDATE_AFTER", "ink", 7],
        ["UPDATE_BEFORE", "ink", 3],
    ]
    assert rows_of(t_env, changes.from_changelog()) == [["ink", 7], ["pen", 1]]


def test_changes_have_the_codes_that_a_program_gives_them(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set("table.exec.mini-batch.enabled", "false")
    sums = t_env.from_elements([(1,), (2,)], ["n"]).select(col("n").sum.alias("total"))
    codes = map_("INSERT, UPDATE_AFTER", "put").as_argument("op_mapping")
    coded = sums.to_changelog(codes, descriptor("code").as_argument("op"))
    assert rows_of(t_env, coded) == [["put", 1], ["put", 3]]
    back = map_("put", "INSERT").as_argument("op_mapping")
    again = coded.from_changelog(descriptor("code").as_argument("op"), back)
    assert rows_of(t_env, again) == [[1], [3]]


@pytest.mark.parametrize("arguments", [[col("n")], [descriptor("x").as_argument("codes")]])
def test_changes_as_rows_take_arguments_by_name(
    t_env: StreamTableEnvironment, arguments: list[Any]
) -> None:
    numbers = t_env.from_elements([(1,)], ["n"])
    with pytest.raises(SqlError, match=r"descriptor\(\.\.\.\)\.as_argument\('op'\)"):
        numbers.to_changelog(*arguments)


def test_a_function_can_be_tested_by_itself() -> None:
    assert udf(lambda a, b: a * b, result_type=DataTypes.BIGINT())._func(6, 7) == 42


@pytest.mark.parametrize(
    ("arguments", "digits", "micros"),
    [
        ((1234567890123, 3), 3, 1234567890123000),
        ((12345, 1), 3, 1234500000),
        ((1234567, 6), 6, 1234567),
        ((-1234567890, 9), 9, -1234568),
        (("1970-01-01 00:00:01.5",), 3, 1500000),
        (("01.02.1970 00:00:00.123456", "dd.MM.yyyy HH:mm:ss.SSSSSS"), 6, 31 * DAY + 123456),
        (("1970-01-02 01:00", "yyyy-MM-dd HH:mm", "Europe/Paris"), 3, DAY),
    ],
)
def test_instants_have_digits_and_a_zone(
    t_env: StreamTableEnvironment, arguments: tuple[Any, ...], digits: int, micros: int
) -> None:
    t_env.get_config().set_local_timezone("UTC")
    found = t_env.from_elements([(1,)], ["n"]).select(to_timestamp_ltz(*arguments).alias("at"))
    assert str(found.get_resolved_schema()) == f"(\n  `at` TIMESTAMP_LTZ({digits})\n)"
    ((at,),) = rows_of(t_env, found)
    assert at == Instant(micros // 1_000_000, micros % 1_000_000 * 1000)


def test_expressions_of_a_resolved_schema_can_be_used_in_others(
    t_env: StreamTableEnvironment,
) -> None:
    t_env.execute_sql(
        "CREATE TABLE doubled (n INT, d AS n * 2) WITH ('connector'='datagen', "
        "'fields.n.kind'='sequence', 'fields.n.start'='4', 'fields.n.end'='4')"
    )
    table = t_env.from_path("doubled")
    expression = table.get_resolved_schema().get_columns()[1].get_expression()
    assert isinstance(expression, Expression)
    assert str(expression + 1) == "plus(`n` * 2, 1)"
    found = table.select(expression + 1, expression.cast(DataTypes.STRING()).alias("s"))
    assert rows_of(t_env, found) == [[9, "8"]]
