"""The Table API: the same plans as SQL, Flink's text of expressions, functions in Python."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.common import Row, WatermarkStrategy
from headrace.common.errors import FunctionTypeError, JobExecutionError, SqlError
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import ProcessFunction
from headrace.table import DataTypes, Schema, StreamTableEnvironment, Table, TableDescriptor
from headrace.table.expression import JsonOnNull
from headrace.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    call,
    call_sql,
    col,
    concat,
    if_then_else,
    json_array,
    json_array_agg,
    json_object,
    json_object_agg,
    lit,
    null_of,
    range_,
    row_interval,
    with_columns,
    without_columns,
)
from headrace.table.udf import AggregateFunction, ScalarFunction, udaf, udf, udtf
from headrace.table.window import Over, Session, Slide, Tumble
from headrace.testing import run_in_process
from tests.sql.sessions import rows_of


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (col("a") + 1, "plus(a, 1)"),
        (1 - col("a"), "minus(1, a)"),
        (col("a") * 2 / 3 % 4, "mod(divide(times(a, 2), 3), 4)"),
        ((col("a") > 1) & (col("b") == "x"), "and(greaterThan(a, 1), equals(b, 'x'))"),
        (~col("a"), "isNotTrue(a)"),
        (-col("a"), "minusPrefix(a)"),
        (col("a").alias("b"), "as(a, 'b')"),
        (col("a").cast(DataTypes.INT()), "cast(a, INT)"),
        (col("a").in_(1, 2), "in(a, 1, 2)"),
        (col("a").substring(1, 2).upper_case, "upper(substring(a, 1, 2))"),
        (col("a").trim(), "trim(true, true, ' ', a)"),
        (lit(5).minutes, "300000"),
        (lit(1.5), "1.5"),
        (lit(True), "true"),
        (row_interval(5), "5"),
        (call("f", col("a")), "f(a)"),
        (call_sql("a + 1"), "[a + 1]"),
        (if_then_else(col("a"), 1, 2), "ifThenElse(a, 1, 2)"),
        (concat(col("a"), "x"), "concat(a, 'x')"),
        (with_columns(range_("a", "c")), "withColumns(rangeTo(a, c))"),
        (col("a").sum.over(col("w")), "over(sum(a), w)"),
        (col("a").desc, "desc(a)"),
        (col("a").regexp_replace("x", "y"), "regexpReplace(a, 'x', 'y')"),
    ],
)
def test_expressions_show_flinks_form(expression: Any, text: str) -> None:
    assert str(expression) == text


def test_an_expression_is_neither_true_nor_false() -> None:
    with pytest.raises(FunctionTypeError, match="write & for and"):
        bool(col("a") > 1)


def test_columns_are_selected_filtered_renamed_added_and_dropped(
    t_env: StreamTableEnvironment, orders: Table
) -> None:
    table = orders.filter(col("n") > 2).select(col("item").upper_case.alias("i"), col("n") * 2)
    assert table.get_schema().get_field_names() == ["i", "_c1"]
    assert rows_of(t_env, table) == [["APPLE", 10], ["APPLE", 6]]
    changed = (
        orders.rename_columns(col("n").alias("m"))
        .add_columns((col("m") + 1).alias("p"))
        .drop_columns(col("price"))
    )
    assert changed.get_schema().get_field_names() == ["item", "m", "p"]
    assert orders.select(without_columns(col("n"))).get_schema().get_field_count() == 2


def test_groups_have_aggregates(t_env: StreamTableEnvironment, orders: Table) -> None:
    table = orders.group_by(col("item")).select(
        col("item"), col("n").sum.alias("s"), col("n").count.distinct.alias("c")
    )
    assert rows_of(t_env, table) == [["apple", 8, 2], ["pear", 2, 1], ["plum", None, 0]]
    assert rows_of(t_env, orders.select(col("n").max, col("price").avg)) == [[5, 1.25]]


def test_tables_are_joined_by_set_operations(t_env: StreamTableEnvironment, orders: Table) -> None:
    items = orders.select(col("item"))
    assert rows_of(t_env, items.union(items)) == [["apple"], ["pear"], ["plum"]]
    assert len(rows_of(t_env, items.union_all(items))) == 8
    fruit = t_env.from_elements([("apple",), ("kiwi",)], ["item"])
    assert rows_of(t_env, items.intersect(fruit)) == [["apple"]]
    assert rows_of(t_env, items.minus_all(fruit)) == [["apple"], ["pear"], ["plum"]]


def test_tables_are_joined(t_env: StreamTableEnvironment, orders: Table) -> None:
    items = orders.select(col("item")).distinct()
    with pytest.raises(SqlError, match="ambiguous names"):
        items.join(items)
    fruit = t_env.from_elements([("apple", 1), ("kiwi", 2)], ["name", "n"])
    same = col("item") == col("name")
    assert rows_of(t_env, items.join(fruit, same)) == [["apple", "apple", 1]]
    assert rows_of(t_env, items.join(fruit).where(same)) == [["apple", "apple", 1]]
    assert rows_of(t_env, items.left_outer_join(fruit, same)) == [
        ["apple", "apple", 1],
        ["pear", None, None],
        ["plum", None, None],
    ]
    assert rows_of(t_env, items.right_outer_join(fruit, same)) == [
        ["apple", "apple", 1],
        [None, "kiwi", 2],
    ]
    assert len(rows_of(t_env, items.full_outer_join(fruit, same))) == 4


def test_windows_of_time(t_env: StreamTableEnvironment, events: Table) -> None:
    w = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    table = (
        events.window(w)
        .group_by(col("w"), col("k"))
        .select(col("k"), col("w").start.alias("at"), col("v").sum.alias("s"))
    )
    start, later = datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 10)
    assert rows_of(t_env, table) == [["a", start, 1], ["a", later, 7], ["b", start, 2]]


def test_windows_that_slide_and_sessions(t_env: StreamTableEnvironment, events: Table) -> None:
    slide = Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
    table = events.window(slide).group_by(col("w")).select(col("w").end.alias("e"), col("v").count)
    assert [r[1] for r in rows_of(t_env, table)] == [2, 2, 2, 2]
    session = Session.with_gap(lit(5).seconds).on(col("ts")).alias("w")
    table = events.window(session).group_by(col("w")).select(col("v").sum)
    assert rows_of(t_env, table) == [[3], [7]]


def test_rows_around_a_row(t_env: StreamTableEnvironment, events: Table) -> None:
    over = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    table = events.over_window(over).select(col("k"), col("v"), col("v").sum.over(col("w")))
    assert rows_of(t_env, table) == [["a", 1, 1], ["a", 3, 4], ["a", 4, 8], ["b", 2, 2]]


def test_some_rows_before_a_row(t_env: StreamTableEnvironment, events: Table) -> None:
    start = Over.partition_by(col("k")).order_by(col("ts")).preceding(row_interval(1))
    over = start.following(CURRENT_ROW).alias("w")
    table = events.over_window(over).select(col("v"), col("v").sum.over(col("w")))
    assert rows_of(t_env, table) == [[1, 1], [2, 2], [3, 4], [4, 7]]


def test_scalar_functions_in_python(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udf(result_type=DataTypes.STRING())
    def shout(text: str) -> str:
        return text + "!"

    class Add(ScalarFunction):
        def open(self, function_context: Any) -> None:
            self.amount = 10

        def eval(self, value: int | None) -> int | None:
            return None if value is None else value + self.amount

    add = udf(Add(), result_type="INT")
    t_env.create_temporary_system_function("shout", shout)
    t_env.create_temporary_view("o", orders)
    table = t_env.sql_query("SELECT shout(item) FROM o WHERE n > 2")
    assert rows_of(t_env, table) == [["apple!"], ["apple!"]]
    assert rows_of(t_env, orders.select(add(col("n")))) == [[12], [13], [15], [None]]


def test_table_and_aggregate_functions_in_python(
    t_env: StreamTableEnvironment, orders: Table
) -> None:
    @udtf(result_types=["STRING", "INT"])
    def letters(text: str) -> Any:
        for letter in text[:2]:
            yield letter, len(text)

    class Longest(AggregateFunction):
        def create_accumulator(self) -> list[Any]:
            return [""]

        def accumulate(self, accumulator: Any, *args: Any) -> None:
            if len(args[0]) > len(accumulator[0]):
                accumulator[0] = args[0]

        def get_value(self, accumulator: Any) -> Any:
            return accumulator[0]

    longest = udaf(Longest(), result_type="STRING", func_type="general")
    t_env.create_temporary_function("letters", letters)
    t_env.create_temporary_function("longest", longest)
    t_env.create_temporary_view("o", orders)
    joined = t_env.sql_query(
        "SELECT item, l, n2 FROM o, LATERAL TABLE(letters(item)) AS t(l, n2) WHERE n = 2"
    )
    assert rows_of(t_env, joined) == [["pear", "e", 4], ["pear", "p", 4]]
    lateral = orders.join_lateral(letters(col("item")).alias("l", "m")).filter(col("n") == 2)
    assert rows_of(t_env, lateral.select(col("l"))) == [["e"], ["p"]]
    assert rows_of(t_env, t_env.sql_query("SELECT longest(item) FROM o")) == [["apple"]]


def test_streams_become_tables_and_tables_streams(t_env: StreamTableEnvironment) -> None:
    env = t_env._session.env
    numbers = env.from_collection([1, 2, 3], Types.LONG())
    table = t_env.from_data_stream(numbers, col("x")).select((col("x") * 2).alias("y"))
    stream = t_env.to_data_stream(table).map(lambda row: row.y)
    assert sorted(run_in_process(env, {"rows": stream})["rows"]) == [2, 4, 6]
    grouped = t_env.from_elements([("a", 1)], ["k", "v"]).group_by(col("k")).select(col("v").sum)
    with pytest.raises(SqlError, match="to_changelog_stream"):
        t_env.to_data_stream(grouped)


class SecondsOfRecord(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 1000


def timed(key: str = "rowtime", type_: str = "TIMESTAMP_LTZ(3)") -> Schema:
    """A schema with the timestamps of a stream's records."""
    columns = Schema.new_builder().column_by_metadata("at", type_, key)
    return columns.watermark("at", "SOURCE_WATERMARK()").build()


def test_timestamps_of_records_are_a_column_with_the_streams_watermarks(
    t_env: StreamTableEnvironment,
) -> None:
    env = t_env._session.env
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        SecondsOfRecord()
    )
    types = Types.ROW_NAMED(["name", "second"], [Types.STRING(), Types.LONG()])
    records = [Row("a", 1), Row("b", 4), Row("a", 9), Row("a", 12)]
    stream = env.from_collection(records, types).assign_timestamps_and_watermarks(strategy)
    t_env.create_temporary_view("visits", stream, timed())
    fives = t_env.sql_query(
        "SELECT name, COUNT(*) AS n, MAX(`at`) AS latest, window_time FROM TABLE(TUMBLE(TABLE "
        "visits, DESCRIPTOR(`at`), INTERVAL '5' SECOND)) "
        "GROUP BY window_start, window_end, window_time, name"
    )
    result = t_env.to_data_stream(fives).process(WithTimestamp())
    rows = run_in_process(env, {"rows": result}, epoch_records=1)["rows"]
    assert sorted((name, n, latest.seconds, time) for name, n, latest, time in rows) == [
        ("a", 1, 1, 4999),
        ("a", 1, 9, 9999),
        ("a", 1, 12, 14999),
        ("b", 1, 4, 4999),
    ]


class WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value.name, value.n, value.latest, ctx.timestamp()


def test_expressions_make_time_attributes_of_a_stream(
    t_env: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.get_config().set_local_timezone("Asia/Tokyo")
    env = t_env._session.env
    pairs = env.from_collection(
        [("a", 1), ("b", 5), ("a", 12)], Types.TUPLE([Types.STRING(), Types.INT()])
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = pairs.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondsOfRecord())
    )
    table = t_env.from_data_stream(
        stream, col("k"), col("n"), col("at").rowtime, col("now").proctime.alias("p")
    )
    assert table.get_schema().get_field_names() == ["k", "n", "at", "p"]
    table.print_schema()
    printed = capsys.readouterr().out
    assert "`at` TIMESTAMP(3) *ROWTIME*" in printed
    assert "`p` TIMESTAMP_LTZ(3) *PROCTIME*" in printed
    window = Tumble.over(lit(10).seconds).on(col("at")).alias("w")
    sums = table.window(window).group_by(col("w")).select(col("n").sum, col("w").start)
    first, second = (datetime.datetime(1970, 1, 1, 0, 0, s) for s in (0, 10))
    assert sorted(rows_of(t_env, sums)) == [[6, first], [12, second]]
    with pytest.raises(SqlError, match="the stream has 2 fields"):
        t_env.from_data_stream(stream, col("k"), col("at").rowtime, col("n"))


def test_only_timestamps_are_metadata_of_a_stream(t_env: StreamTableEnvironment) -> None:
    stream = t_env._session.env.from_collection([1], Types.LONG())
    with pytest.raises(SqlError, match="The only key is 'rowtime'"):
        t_env.from_data_stream(stream, timed("offset"))
    with pytest.raises(SqlError, match="'rowtime' is TIMESTAMP_LTZ"):
        t_env.from_data_stream(stream, timed(type_="INT"))
    rows = t_env.to_data_stream(t_env.from_data_stream(stream, timed()))
    with pytest.raises(JobExecutionError, match="the record has no timestamp"):
        run_in_process(t_env._session.env, {"rows": rows})


def test_a_descriptor_makes_a_table(t_env: StreamTableEnvironment) -> None:
    schema = Schema.new_builder().column("n", DataTypes.BIGINT()).build()
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .schema(schema)
        .option("fields.n.kind", "sequence")
        .option("fields.n.start", "1")
        .option("fields.n.end", "4")
        .build()
    )
    t_env.create_temporary_table("numbers", descriptor)
    t_env.from_descriptor(descriptor)
    assert t_env.list_tables() == t_env.list_temporary_tables() == ["numbers"]
    assert rows_of(t_env, t_env.from_path("numbers")) == [[1], [2], [3], [4]]


def test_columns_are_attributes(t_env: StreamTableEnvironment, events: Table) -> None:
    table = events.where(events.v > 2).select(events.k, events.v + 1)
    assert rows_of(t_env, table) == [["a", 4], ["a", 5]]
    with pytest.raises(AttributeError, match="no column named 'w'"):
        _ = events.w


def test_a_schema_may_leave_fields_of_a_stream_out(t_env: StreamTableEnvironment) -> None:
    env = t_env._session.env
    row = Types.ROW_NAMED(["at", "name", "n"], [Types.LONG(), Types.STRING(), Types.INT()])
    stream = env.from_collection([Row(1000, "a", 1), Row(2000, "b", 2)], row)
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
        .column("n", DataTypes.BIGINT())
        .build()
    )
    table = t_env.from_data_stream(stream, schema)
    assert table.get_schema().get_field_names() == ["ts", "n"]
    assert [r[1] for r in rows_of(t_env, table)] == [1, 2]
    unknown = Schema.new_builder().column("nn", DataTypes.INT()).build()
    with pytest.raises(SqlError, match="did you mean 'n'"):
        t_env.from_data_stream(stream, unknown)


def test_a_name_like_the_wrong_one_is_proposed(t_env: StreamTableEnvironment) -> None:
    t_env.create_temporary_view("orders", t_env.from_elements([(1,)], ["n"]))
    with pytest.raises(SqlError, match=r"`order` was not found\. Did you mean 'orders'\?"):
        t_env.from_path("order")


def test_bitmaps(t_env: StreamTableEnvironment, orders: Table) -> None:
    built = orders.group_by(col("item")).select(
        col("item"), col("n").bitmap_build_agg().alias("numbers")
    )
    texts = built.select(col("item"), col("numbers").bitmap_to_string())
    assert rows_of(t_env, texts) == [["apple", "{3,5}"], ["pear", "{2}"], ["plum", None]]


def test_json_is_made_of_values(t_env: StreamTableEnvironment) -> None:
    one = t_env.from_elements([(1, "a")], ["n", "s"])
    nothing = null_of(DataTypes.STRING())
    made = one.select(
        json_object(JsonOnNull.NULL, "k", col("n"), "o", json_object(JsonOnNull.NULL, "s", "x")),
        json_object(JsonOnNull.ABSENT, "k", nothing),
        json_array(JsonOnNull.NULL, 1, "a", nothing),
        json_array(JsonOnNull.ABSENT, 1, nothing),
    )
    assert rows_of(t_env, made) == [['{"k":1,"o":{"s":"x"}}', "{}", '[1,"a",null]', "[1]"]]
    keys = one.group_by(col("s")).select(json_object_agg(JsonOnNull.NULL, col("s"), col("n")))
    assert rows_of(t_env, keys) == [['{"a":1}']]
    assert str(json_array_agg(JsonOnNull.ABSENT, col("n"))) == "JSON_ARRAYAGG_ABSENT_ON_NULL(n)"


def test_a_text_that_was_an_expression_in_pyflink_1_is_said_to_be_a_name() -> None:
    table_env = StreamTableEnvironment.create(
        StreamExecutionEnvironment.get_execution_environment()
    )
    table = table_env.from_elements([(1, "x")], ["a", "b"])
    with pytest.raises(SqlError, match=r"\[a, b.count\].* expressions begin with col\('name'\)"):
        table.group_by("a").select("a, b.count")
    with pytest.raises(SqlError, match=r"input field list:\[a, b\]\.$"):
        table.select("c")
