"""Lookup joins on Spark's slots, with a real PostgreSQL and with Python code."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.table import DataTypes, EnvironmentSettings, Schema, TableEnvironment
from tools.database_server import PostgreSqlServer

pytestmark = pytest.mark.timeout(300)

ORDERS = (
    "CREATE TABLE orders (id INT, k AS id - id / 7 * 7, pt AS PROCTIME()) WITH "
    "('connector' = 'datagen', 'number-of-rows' = '500', 'fields.id.kind' = 'sequence', "
    "'fields.id.start' = '1', 'fields.id.end' = '500')"
)


def found(t_env: TableEnvironment, table: str) -> list[tuple[Any, ...]]:
    query = (
        f"SELECT o.id, d.name FROM orders AS o LEFT JOIN {table} FOR SYSTEM_TIME AS OF o.pt AS d "
        "ON o.k = d.k"
    )
    with t_env.execute_sql(query).collect() as rows:
        return sorted((row[0], row[1]) for row in rows)


def test_tables_are_asked_from_slots(postgresql: PostgreSqlServer) -> None:
    connection = postgresql.connect()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS names_of_sevens")
        cursor.execute("CREATE TABLE names_of_sevens (k INT PRIMARY KEY, name TEXT)")
        cursor.execute(
            "INSERT INTO names_of_sevens SELECT i, 'rest ' || i FROM generate_series(0, 4) AS i"
        )
    connection.close()
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(ORDERS)
    t_env.execute_sql(
        f"CREATE TABLE dim (k INT, name STRING) WITH ('connector' = 'jdbc', "
        f"'url' = '{postgresql.url}', 'table-name' = 'names_of_sevens', "
        f"'username' = '{postgresql.user}', 'password' = '{postgresql.password}', "
        "'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '3')"
    )

    async def names(keys: list[Any]) -> list[Any]:
        return [{"k": key.k, "name": f"rest {key.k}"} for key in keys if key.k < 5]

    columns = Schema.new_builder().column("k", DataTypes.INT()).column("name", DataTypes.STRING())
    t_env.create_temporary_lookup_table("coded", columns.build(), names)
    expected = [(i, f"rest {i % 7}" if i % 7 < 5 else None) for i in range(1, 501)]
    assert found(t_env, "dim") == expected
    assert found(t_env, "coded") == expected
