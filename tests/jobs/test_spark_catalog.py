"""The spark catalog: tables that the Spark session knows, without declaring them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.sql.catalog import CatalogStore
from headrace.sql.catalog.spark import spark_catalog
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.testing.connectors import check_catalog
from headrace.util.exceptions import CatalogException

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableEnvironment]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    spark = spark_session()
    spark.sql(f"CREATE DATABASE lake LOCATION '{tmp_path_factory.mktemp('lake')}'")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW source AS SELECT id, id % 3 AS shop, "
        "CAST(id AS DECIMAL(8, 2)) AS amount, timestamp'2024-02-29 01:02:03' AS at, "
        "array(id, NULL) AS numbers, named_struct('a', 1, 'b', 'x') AS inner FROM range(100)"
    )
    spark.sql("CREATE TABLE lake.orders USING parquet AS SELECT * FROM source")
    t_env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark', 'default-database' = 'lake')")
    t_env.execute_sql("USE CATALOG lake")
    yield t_env
    spark.sql("DROP DATABASE lake CASCADE")
    spark.catalog.dropTempView("source")


def spark_session() -> Any:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

    return StreamExecutionEnvironment.get_execution_environment().get_spark_session()


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


def test_tables_are_listed_and_described(t_env: TableEnvironment) -> None:
    assert ("lake",) in rows(t_env, "SHOW DATABASES")
    assert rows(t_env, "SHOW TABLES") == [("orders",)]
    assert [row[:2] for row in rows(t_env, "DESCRIBE orders")] == [
        ("id", "BIGINT"),
        ("shop", "BIGINT"),
        ("amount", "DECIMAL(8, 2)"),
        ("at", "TIMESTAMP_LTZ(6)"),
        ("numbers", "ARRAY<BIGINT>"),
        ("inner", "ROW<`a` INT, `b` STRING>"),
    ]


def test_the_catalog_keeps_the_contract(t_env: TableEnvironment) -> None:
    def made() -> CatalogStore:
        return spark_catalog("lake", {"default-database": "lake"})

    catalog = made()
    check_catalog(made, {d: catalog.list_tables(d) for d in catalog.list_databases()})


def test_rows_are_read_by_spark(t_env: TableEnvironment) -> None:
    query = "SELECT `inner`.b, numbers[1], amount, CAST(`at` AS STRING) FROM orders WHERE id = 7"
    [(text, number, amount, at)] = rows(t_env, query)
    assert (text, number, str(amount)) == ("x", 7, "7.00")
    assert at.startswith("2024-02-29")
    t_env.get_config().set("execution.runtime-mode", "batch")
    counts = rows(t_env, "SELECT COUNT(*), SUM(id) FROM lake.lake.orders")
    assert counts == [(100, 4950)]


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_spark_is_asked_for_an_earlier_version(t_env: TableEnvironment, mode: str) -> None:
    """No format that keeps versions runs with this Spark, so its refusal has to do."""
    t_env.get_config().set("execution.runtime-mode", mode)
    for option in ("'versionAsOf' = '1'", "'timestampAsOf' = '2024-01-01'"):
        with pytest.raises(SqlError, match=rf"{option}: .*[Tt]ime travel"):
            rows(t_env, f"SELECT COUNT(*) FROM orders /*+ OPTIONS({option}) */")


def test_what_is_not_there_is_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(SqlError, match="nothing"):
        t_env.execute_sql("SELECT * FROM nothing")
    with pytest.raises(SqlError, match="can only be used as a source"):
        t_env.execute_sql("INSERT INTO orders SELECT * FROM orders")
    with pytest.raises(CatalogException, match="has no CREATE TABLE"):
        t_env.execute_sql("CREATE TABLE mine (id INT) WITH ('connector' = 'datagen')")
    with pytest.raises(SqlError, match="Unsupported options found for 'spark': colour"):
        t_env.execute_sql("CREATE CATALOG other WITH ('type' = 'spark', 'colour' = 'red')")
