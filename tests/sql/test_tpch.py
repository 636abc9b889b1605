"""TPC-H's queries in batch mode give what Spark SQL gives, on Spark and in this process."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tpch import queries
from benchmarks.tpch.generator import generator, write_tables
from tests.sql.sessions import ONCE, LocalSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(generator() is None, reason="tpchgen-cli makes the tables"),
]
SCALE = 0.01
# A quotient of sums has to be rounded to 38 digits first, as Flink does it.
ABOVE_SPARK = {"q14", "q17"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    write_tables(str(folder), SCALE)
    return folder


@pytest.fixture(scope="module")
def spark(tables: Path) -> Iterator[Any]:
    """Spark's own SQL over the same files."""
    from headrace.spark.session import get_or_create_session

    session = get_or_create_session({}).newSession()
    for key, value in ONCE.items():
        session.conf.set(f"spark.sql.{key}", value)
    for name in queries.TABLES:
        session.read.parquet(str(tables / f"{name}.parquet")).createTempView(name)
    yield session
    for name in queries.TABLES:
        session.catalog.dropTempView(name)


def plain(value: Any) -> Any:
    """Spark gives quotients and means fewer digits than Flink."""
    if isinstance(value, Decimal):
        return round(float(value), 4)
    return value.toordinal() - 719_163 if hasattr(value, "toordinal") else value


@pytest.mark.parametrize("name", queries.QUERIES)
def test_a_query_gives_what_spark_sql_gives(name: str, tables: Path, spark: Any) -> None:
    session = LocalSession(batch=True, parallelism=2)
    for statement in queries.declarations(str(tables), 0, 0):
        session.execute(statement)
    query = queries.QUERIES[name]
    found = session.query_on_spark(query)
    assert (found is None) == (name in ABOVE_SPARK)
    if found is None:
        found = session.query(query)
    expected = [tuple(map(plain, row)) for row in spark.sql(query).collect()]
    assert [tuple(map(plain, row)) for _, row in found.rows] == expected
