"""Table functions and subqueries beside each row, over tables that grow and tables that change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.session.user_functions import register_function
from headrace.table import DataTypes, StreamTableEnvironment
from headrace.table.expressions import call, col
from headrace.table.udf import AggregateFunction, udaf, udtf
from tests.sql.sessions import rows_of, with_tables


@udtf(result_types=["INT"])
def up_to(number: Any) -> Iterator[int]:
    yield from range(number or 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT item, x FROM (SELECT item, CAST(COUNT(*) AS INT) AS n FROM orders "
            "GROUP BY item) AS g, LATERAL TABLE(up_to(n)) AS t(x) WHERE item > 'b'",
            [("pear", 0), ("pear", 1), ("pear", 2), ("plum", 0), ("plum", 1)],
        ),
        (
            "SELECT a.id, p.name, x FROM orders AS a JOIN people AS p ON a.qty = p.age - 35 "
            "LEFT JOIN LATERAL TABLE(up_to(a.qty - 1)) AS t(x) ON TRUE WHERE a.id = 2",
            [(2, "Ada", None), (2, "Cid", None)],
        ),
        (
            "SELECT a.id, x FROM orders AS a LEFT JOIN LATERAL TABLE(up_to(a.qty)) AS t(x) "
            "ON x > 1 WHERE a.id IN (5, 6)",
            [(5, 2), (5, 3), (6, None)],
        ),
        (
            "SELECT a.id, x, y FROM orders AS a, LATERAL TABLE(up_to(a.qty)) AS t(x), "
            "LATERAL TABLE(up_to(x)) AS u(y) WHERE a.id < 3",
            [(1, 1, 0)],
        ),
    ],
)
@pytest.mark.parametrize("batch", [False, True])
def test_a_table_function_beside_each_row(query: str, expected: list[Any], batch: bool) -> None:
    session = with_tables(batch=batch)
    register_function(session.session, ("up_to",), up_to, system=True)
    assert sorted(session.query(query, epoch_records=2).materialized(), key=str) == expected


ITEMS = "FROM (SELECT DISTINCT item FROM orders WHERE item <> 'pear') AS i "


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            f"SELECT i.item, t.id {ITEMS}, LATERAL (SELECT id FROM orders WHERE item = i.item "
            "ORDER BY price DESC, id LIMIT 2) AS t",
            [("apple", 1), ("apple", 3), ("plum", 4), ("plum", 7)],
        ),
        (
            f"SELECT i.item, t.n {ITEMS}, LATERAL (SELECT COUNT(*) AS n FROM orders "
            "WHERE item = i.item AND price > 5) AS t",
            [("apple", 3), ("plum", 0)],
        ),
        (
            f"SELECT i.item, t.total {ITEMS} LEFT JOIN LATERAL (SELECT SUM(price) AS total "
            "FROM orders WHERE item = i.item AND price > 5) AS t ON TRUE",
            [("apple", 32), ("plum", None)],
        ),
        (
            f"SELECT i.item, t.x {ITEMS} LEFT JOIN LATERAL (SELECT id FROM orders "
            "WHERE item = i.item AND price > 5) AS t(x) ON TRUE",
            [("apple", 1), ("apple", 3), ("apple", 6), ("plum", None)],
        ),
        (
            f"SELECT i.item, t.id {ITEMS} JOIN LATERAL (SELECT id FROM orders "
            "WHERE item = i.item) AS t ON t.id > 3",
            [("apple", 6), ("plum", 4), ("plum", 7)],
        ),
        (
            "SELECT o.id, t.x FROM orders AS o, LATERAL (SELECT o.price + 1 AS x) AS t "
            "WHERE o.id < 3",
            [(1, 11), (2, 8)],
        ),
        (
            "SELECT o.id, t.x FROM orders AS o CROSS JOIN LATERAL (SELECT x FROM "
            "UNNEST(ARRAY[o.price, o.qty]) AS v(x) WHERE x > 5) AS t WHERE o.id < 5",
            [(1, 10), (2, 7), (3, 12), (4, 10)],
        ),
    ],
)
@pytest.mark.parametrize("batch", [False, True])
def test_a_subquery_beside_each_row(query: str, expected: list[Any], batch: bool) -> None:
    session = with_tables(batch=batch, parallelism=2)
    assert sorted(session.query(query, epoch_records=2).materialized(), key=str) == expected


def test_in_the_table_api() -> None:
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    table = t_env.from_elements([(1, 2), (2, 0), (1, 1)], ["k", "n"])
    function = call(up_to, col("n").cast(DataTypes.INT())).alias("x")
    sums = table.group_by(col("k")).select(col("k"), col("n").sum.alias("n"))
    found = sums.left_outer_join_lateral(function).select(col("k"), col("x"))
    assert rows_of(t_env, found) == [[1, 0], [1, 1], [1, 2], [2, None]]
    names = t_env.from_elements([(1, "a"), (2, "b")], ["kk", "name"])
    joined = table.join(names, col("k") == col("kk")).join_lateral(function)
    assert rows_of(t_env, joined.select(col("name"), col("x"))) == [["a", 0], ["a", 0], ["a", 1]]


class Largest(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] = max(accumulator[0], *args)

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def test_functions_of_another_kind_are_refused_while_the_program_is_built() -> None:
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    table = t_env.from_elements([(1, 2)], ["k", "n"])
    t_env.create_temporary_view("t", table)
    t_env.create_temporary_function("up_to", up_to)
    largest = udaf(Largest(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>")
    a_table, an_aggregate = call(up_to, col("n")), call(largest, col("n"))
    for wrong, words in (
        (lambda: table.select(a_table), r"table function here: 'up_to'. Join its rows"),
        (lambda: table.aggregate(a_table).select(col("*")), "Only an aggregate function"),
        (lambda: t_env.sql_query("SELECT up_to(n) FROM t"), r"column 8: Cannot call table"),
        (lambda: table.filter(an_aggregate == 1), "function Largest is not allowed here"),
        (lambda: table.join_lateral(an_aggregate), "Largest is not a table function"),
    ):
        with pytest.raises(SqlError, match=words):
            wrong()
