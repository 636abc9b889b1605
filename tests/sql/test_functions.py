"""User-defined functions of all kinds, in SQL and in the Table API, in this process."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest

from headrace.common.errors import ConfigurationError, JobExecutionError, SqlError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.table.data_view import ListView, MapView
from headrace.table.expressions import col, lit, row_interval
from headrace.table.schema import Schema
from headrace.table.table import Table
from headrace.table.table_environment import StreamTableEnvironment
from headrace.table.types import DataTypes
from headrace.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)
from headrace.table.window import Session, Slide, Tumble
from tests.sql.sessions import rows_of


@udf(result_type="BIGINT", func_type="pandas")
def plus_pandas(left: Any, right: Any) -> Any:
    return left + right


def test_pandas_functions_get_series(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udf(result_type=DataTypes.STRING(), func_type="pandas")
    def shout(text: Any) -> Any:
        assert type(text).__name__ == "Series"
        return text.str.upper()

    table = orders.filter(col("n") > 2).select(
        shout(col("item")), plus_pandas(col("n"), plus_pandas(col("n"), lit(1))) * 2
    )
    assert rows_of(t_env, table) == [["APPLE", 14], ["APPLE", 22]]
    t_env.create_temporary_view("o", orders)
    t_env.create_temporary_function("shout", shout)
    filtered = t_env.sql_query("SELECT n FROM o WHERE shout(item) = 'PEAR'")
    assert rows_of(t_env, filtered) == [[2]]


def test_pandas_functions_see_null_times_and_rows(t_env: StreamTableEnvironment) -> None:
    row = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )

    @udf(result_type=row, func_type="pandas")
    def both(values: Any, at: Any) -> Any:
        import pandas as pd

        return pd.DataFrame({"a": values.fillna(0), "b": at.dt.strftime("%Y")})

    elements = [(1, datetime.datetime(2020, 1, 1)), (None, datetime.datetime(2021, 1, 1))]
    kinds = DataTypes.ROW(
        [DataTypes.FIELD("v", DataTypes.INT()), DataTypes.FIELD("t", DataTypes.TIMESTAMP(3))]
    )
    table = t_env.from_elements(elements, kinds).select(both(col("v"), col("t")).alias("r"))
    found = rows_of(t_env, table.select(col("r").get("a"), col("r").get("b")))
    assert found == [[0, "2021"], [1, "2020"]]


def test_arrow_functions_get_arrays(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udf(result_type="DOUBLE", func_type="arrow")
    def doubled(prices: Any) -> Any:
        import pyarrow.compute as pc

        return pc.multiply(prices, 2.0)

    assert rows_of(t_env, orders.select(doubled(col("price")))) == [[1.0], [2.0], [3.0], [4.0]]


def test_a_vectorized_function_gives_as_many_results(
    t_env: StreamTableEnvironment,
) -> None:
    @udf(result_type="BIGINT", func_type="pandas")
    def first(values: Any) -> Any:
        return values[:1]

    t_env._session.env.set_parallelism(1)
    orders = t_env.from_elements([(1, "a"), (2, "b")], ["n", "k"])
    with pytest.raises(JobExecutionError, match="result length '1' of Pandas UDF 'first'"):
        rows_of(t_env, orders.select(first(col("n"))))


def test_asynchronous_functions_are_awaited_together(
    t_env: StreamTableEnvironment, orders: Table
) -> None:
    class Lookup(AsyncScalarFunction):
        def open(self, function_context: Any) -> None:
            self.begun = 0

        async def eval(self, *args: Any) -> Any:
            self.begun += 1
            # Goes on only when a second call has begun as well.
            while self.begun < 2:
                await asyncio.sleep(0)
            return f"{args[0]}!"

    t_env._session.env.set_parallelism(1)
    lookup = udf(Lookup(), result_type="STRING")
    assert rows_of(t_env, orders.select(lookup(col("item")))) == [
        ["apple!"],
        ["apple!"],
        ["pear!"],
        ["plum!"],
    ]


def test_asynchronous_functions_are_tried_again(t_env: StreamTableEnvironment) -> None:
    class Flaky(AsyncScalarFunction):
        failures = 2

        async def eval(self, *args: Any) -> Any:
            if self.failures:
                self.failures -= 1
                raise ConnectionError("not now")
            return args[0] + 1

    flaky = udf(Flaky(), result_type="BIGINT")

    t_env.get_config().set("table.exec.async-scalar.retry-delay", "1 ms")
    table = t_env.from_elements([(1,)], ["a"]).select(flaky(col("a")))
    assert rows_of(t_env, table) == [[2]]
    with pytest.raises(ConfigurationError, match="Async scalar functions"):
        udf(Flaky(), result_type="INT", func_type="pandas")


class Top2(TableAggregateFunction):
    """The two largest values, with their rank."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator.remove(args[0])

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator.extend(other)

    def emit_value(self, accumulator: Any) -> Any:
        for rank, value in enumerate(sorted(accumulator, reverse=True)[:2], 1):
            yield Row(value, rank)

    def get_result_type(self) -> Any:
        return "ROW<v INT, r BIGINT>"

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.INT())


def test_table_aggregates_give_several_rows(t_env: StreamTableEnvironment) -> None:
    top2 = udtaf(Top2())
    kinds = DataTypes.ROW(
        [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.INT())]
    )
    table = t_env.from_elements([("a", 1), ("a", 5), ("b", 2), ("a", 3)], kinds)
    grouped = table.group_by(col("k")).flat_aggregate(top2(col("n")).alias("v", "r"))
    found = rows_of(t_env, grouped.select(col("k"), col("v"), col("r")))
    assert found == [["a", 3, 2], ["a", 5, 1], ["b", 2, 1]]
    assert rows_of(t_env, table.flat_aggregate(top2(col("n"))).select(col("v"))) == [[3], [5]]
    counts = table.group_by(col("k")).select(
        col("k"), col("n").count.cast(DataTypes.INT()).alias("c")
    )
    assert rows_of(t_env, counts.flat_aggregate(top2(col("c"))).select(col("v"))) == [[1], [3]]
    with pytest.raises(SqlError, match="table aggregate function"):
        table.flat_aggregate(plus_pandas(col("n"), col("n"))).select(col("v"))


def test_table_aggregates_of_windows(t_env: StreamTableEnvironment, events: Table) -> None:
    window = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    table = (
        events.window(window)
        .group_by(col("w"), col("k"))
        .flat_aggregate(udtaf(Top2())(col("v")).alias("x", "r"))
        .select(col("k"), col("x"), col("r"))
    )
    assert rows_of(t_env, table) == [["a", 1, 1], ["a", 3, 2], ["a", 4, 1], ["b", 2, 1]]


def test_pandas_aggregates(t_env: StreamTableEnvironment, events: Table) -> None:
    @udaf(result_type="DOUBLE", func_type="pandas")
    def mean(values: Any) -> Any:
        return values.mean()

    window = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    table = events.window(window).group_by(col("w")).select(mean(col("v")))
    assert rows_of(t_env, table) == [[1.5], [3.5]]
    grouped = events.group_by(col("k")).select(col("k"), mean(col("v")))
    assert rows_of(t_env, grouped) == [["a", 8 / 3], ["b", 2.0]]


class Distinct(AggregateFunction):
    """Different values, in data views."""

    def create_accumulator(self) -> Any:
        return Row(MapView(), ListView())

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        seen, order = accumulator
        if args[0] not in seen:
            order.add(args[0])
        seen[args[0]] = (seen.get(args[0]) or 0) + 1

    def retract(self, accumulator: Any, *args: Any) -> None:
        seen, order = accumulator
        seen[args[0]] -= 1
        if not seen[args[0]]:
            seen.remove(args[0])
            kept = [v for v in order if v != args[0]]
            order.clear()
            order.add_all(kept)

    def get_value(self, accumulator: Any) -> Any:
        return ",".join(map(str, sorted(accumulator[1])))

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW(
            [
                DataTypes.FIELD("m", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.INT())),
                DataTypes.FIELD("l", DataTypes.LIST_VIEW(DataTypes.STRING())),
            ]
        )

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


def test_aggregates_keep_data_views_and_take_back_rows(
    t_env: StreamTableEnvironment, orders: Table
) -> None:
    different = udaf(Distinct())
    assert rows_of(t_env, orders.select(different(col("item")))) == [["apple,pear,plum"]]
    counts = orders.group_by(col("item")).select(col("n").count.alias("c"))
    assert rows_of(t_env, counts.select(different(col("c").cast(DataTypes.STRING())))) == [
        ["0,1,2"]
    ]


def test_aggregates_of_sessions_need_no_merge(t_env: StreamTableEnvironment, events: Table) -> None:
    window = Session.with_gap(lit(5).seconds).on(col("ts")).alias("w")
    table = events.window(window).group_by(col("w")).select(udaf(Distinct())(col("k")))
    built_in = events.window(window).group_by(col("w")).select(col("k").count.distinct)
    found = [len(texts.split(",")) for (texts,) in rows_of(t_env, table)]
    assert found == [count for (count,) in rows_of(t_env, built_in)]


def test_functions_know_their_surroundings(t_env: StreamTableEnvironment, orders: Table) -> None:
    class Prefix(ScalarFunction):
        def open(self, function_context: Any) -> None:
            self.prefix = function_context.get_job_parameter("prefix", "none")
            self.calls = function_context.get_metric_group().counter("calls")
            assert function_context.get_index_of_this_subtask() >= 0

        def eval(self, *args: Any) -> Any:
            self.calls.inc()
            return self.prefix + args[0]

        def is_deterministic(self) -> bool:
            return False

    prefix = udf(Prefix(), result_type="STRING")
    assert not prefix.deterministic
    t_env.get_config().set("pipeline.global-job-parameters", "prefix:<")
    table = orders.filter(col("n") == 2).select(prefix(col("item")))
    assert rows_of(t_env, table) == [["<pear"]]


@pytest.mark.parametrize(
    "types",
    [
        [DataTypes.STRING(), DataTypes.INT()],
        ["STRING", "INT"],
        "ROW<w STRING, n INT>",
        DataTypes.ROW(
            [DataTypes.FIELD("w", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.INT())]
        ),
    ],
)
def test_result_types_have_many_forms(
    t_env: StreamTableEnvironment, orders: Table, types: Any
) -> None:
    class Words(TableFunction):
        def eval(self, *args: Any) -> Any:
            if args[0] != "plum":
                yield args[0][:1], len(args[0])

    words = udtf(Words(), result_types=types)
    inner = orders.join_lateral(words(col("item")).alias("w", "l")).select(col("w"), col("l"))
    assert rows_of(t_env, inner) == [["a", 5], ["a", 5], ["p", 4]]
    left = orders.left_outer_join_lateral(words(col("item")).alias("w", "l")).select(col("w"))
    assert rows_of(t_env, left) == [["a"], ["a"], ["p"], [None]]
    t_env.create_temporary_view("o", orders)
    t_env.create_temporary_function("words", words)
    table = t_env.sql_query(
        "SELECT item, w FROM o LEFT JOIN LATERAL TABLE(words(item)) AS t(w, l) ON TRUE"
    )
    assert ["plum", None] in rows_of(t_env, table)


def test_a_table_function_needs_no_arguments(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udtf(result_types=["INT"])
    def two() -> Any:
        yield from (1, 2)

    t_env.create_temporary_view("o", orders.filter(col("item") == "pear"))
    t_env.create_temporary_function("two", two)
    table = t_env.sql_query("SELECT item, k FROM o, LATERAL TABLE(two()) AS t(k)")
    assert rows_of(t_env, table) == [["pear", 1], ["pear", 2]]


def _numbers(t_env: StreamTableEnvironment) -> Table:
    """Numbers with processing time, in one order."""
    env = t_env._session.env
    env.set_parallelism(1)
    stream = env.from_collection(
        [("a", i) for i in range(1, 8)], Types.TUPLE([Types.STRING(), Types.INT()])
    )
    schema = (
        Schema.new_builder()
        .column("f0", "STRING")
        .column("f1", "INT")
        .column_by_expression("pt", "PROCTIME()")
        .build()
    )
    return t_env.from_data_stream(stream, schema).alias("k", "v", "pt")


def test_windows_of_a_number_of_rows(t_env: StreamTableEnvironment) -> None:
    numbers = _numbers(t_env)
    tumble = Tumble.over(row_interval(3)).on(col("pt")).alias("w")
    table = numbers.window(tumble).group_by(col("w"), col("k")).select(col("k"), col("v").sum)
    assert rows_of(t_env, table) == [["a", 15], ["a", 6]]
    slide = Slide.over(row_interval(4)).every(row_interval(2)).on(col("pt")).alias("w")
    table = numbers.window(slide).group_by(col("w")).select(col("v").min, col("v").max)
    assert rows_of(t_env, table) == [[1, 4], [3, 6]]


def test_windows_of_rows_have_processing_time(t_env: StreamTableEnvironment, events: Table) -> None:
    window = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
    with pytest.raises(SqlError, match="Event-time grouping windows on row intervals"):
        events.window(window).group_by(col("w")).select(col("v").sum)


PAIR = DataTypes.ROW(
    [DataTypes.FIELD("item", DataTypes.STRING()), DataTypes.FIELD("m", DataTypes.INT())]
)


def test_rows_are_mapped(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udf(result_type=PAIR)
    def twice(row: Any) -> Any:
        return Row(row.item, row.n * 2)

    @udf(result_type=PAIR)
    def of_columns(item: Any, n: Any) -> Any:
        return Row(item, n + 1)

    @udf(result_type=PAIR, func_type="pandas")
    def frame(rows: Any) -> Any:
        return rows[["item", "n"]]

    few = orders.filter(col("n") == 2)
    assert rows_of(t_env, few.map(twice)) == [["pear", 4]]
    assert few.map(twice).get_schema().get_field_names() == ["item", "m"]
    assert rows_of(t_env, few.map(frame)) == [["pear", 2]]
    named = few.map(of_columns(col("item"), col("n"))).alias("a", "b")
    assert rows_of(t_env, named.select(col("b"), col("a"))) == [[3, "pear"]]


def test_rows_are_mapped_to_several(t_env: StreamTableEnvironment, orders: Table) -> None:
    @udtf(result_types=["STRING", "INT"])
    def letters(row: Any) -> Any:
        for letter in row.item[:2]:
            yield letter, row.n

    few = orders.filter(col("n") == 2)
    assert rows_of(t_env, few.flat_map(letters).alias("item", "n")) == [["e", 2], ["p", 2]]


def test_vectorized_functions_are_arguments_of_others(
    t_env: StreamTableEnvironment, orders: Table
) -> None:
    @udtf(result_types=["BIGINT"])
    def upto(n: int) -> Any:
        yield from range(n)

    more = plus_pandas(col("n"), lit(-1))
    few = orders.filter(col("n") < 4)
    joined = few.join_lateral(upto(more).alias("i"), col("i") > 0).select(col("item"), col("i"))
    assert rows_of(t_env, joined) == [["apple", 1]]
    assert rows_of(t_env, few.select(more.sum)) == [[3]]


def test_rows_are_aggregated(t_env: StreamTableEnvironment, orders: Table) -> None:
    kinds = DataTypes.ROW(
        [DataTypes.FIELD("mean", DataTypes.DOUBLE()), DataTypes.FIELD("most", DataTypes.INT())]
    )
    both = udaf(
        lambda rows: (rows.price.mean(), rows.n.max()), result_type=kinds, func_type="pandas"
    )
    few = orders.filter(col("n") > 0)
    table = few.group_by(col("item")).aggregate(both.alias("a", "b"))
    found = rows_of(t_env, table.select(col("item"), col("a"), col("b")))
    assert found == [["apple", 1.25, 5], ["pear", 2.0, 2]]
    assert rows_of(t_env, few.aggregate(both.alias("a", "b")).select(col("a"))) == [[1.5]]


def test_a_function_with_the_name_of_an_operator_is_not_the_operator(
    t_env: StreamTableEnvironment,
) -> None:
    t_env.create_temporary_function(
        "plus", udf(lambda a, b: a * 100 + b, result_type=DataTypes.INT())
    )
    assert rows_of(t_env, t_env.sql_query("SELECT 1 + 2, plus(1, 2)")) == [[3, 102]]
