"""The final rows of a stream are those of the same query of Spark SQL on all of its input.

However the input is cut into epochs and divided between subtasks, and with a restore in between.
Spark computes what is expected, our operators run in this process. HEADRACE_SQL_EXAMPLES says how
many inputs are drawn.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.sessions import HERE, LocalSession

pytestmark = pytest.mark.spark

# The same two inputs every time, unless somebody wants to look for more.
EXAMPLES = int(os.environ.get("HEADRACE_SQL_EXAMPLES", "2"))

# Rows come in any order, but none is ever late: the watermark waits longer than all times span.
TABLE = """
CREATE TABLE t (id INT, item STRING, price INT, qty INT, ts STRING,
  et AS TO_TIMESTAMP(ts), WATERMARK FOR et AS et - INTERVAL '1' HOUR)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = 'null')
"""


def queries() -> list[tuple[str, str]]:
    """Our queries, and Spark's, which are written in another way here and there."""
    found: list[tuple[str, str]] = []
    for line in (HERE / "spark_queries.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- spark: "):
            found[-1] = (found[-1][0], line.removeprefix("-- spark: "))
        elif not line.startswith("--"):
            found.append((line.rstrip(";"), line.rstrip(";")))
    return found


ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["a", "b", "c"]),
        st.none() | st.integers(0, 6),
        st.none() | st.integers(0, 4),
    ),
    min_size=1,
    max_size=14,
).flatmap(lambda rows: st.permutations([(i, *row) for i, row in enumerate(rows)]))
CUTS = st.tuples(st.integers(1, 5), st.sets(st.integers(1, 6), max_size=2), st.integers(1, 3))


def stamp(number: int) -> str:
    """Two seconds between rows, so that each has a time of its own."""
    return f"2020-01-01 00:{number * 2 // 60:02d}:{number * 2 % 60:02d}"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Spark's SQL, apart from the sessions of jobs in this process."""
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate().newSession()
    for key, value in (("sql.shuffle.partitions", "1"), ("sql.session.timeZone", "UTC")):
        session.conf.set(f"spark.{key}", value)
    yield session
    session.catalog.dropTempView("t")


def load(spark: Any, rows: list[tuple[Any, ...]]) -> None:
    """The rows as Spark's view."""
    values = ", ".join(
        f"({n}, {text(item)}, {text(price)}, {text(qty)}, TIMESTAMP '{stamp(n)}')"
        for n, item, price, qty in rows
    )
    columns = "CAST(id AS INT), CAST(item AS STRING), CAST(price AS INT), CAST(qty AS INT), et"
    query = f"SELECT {columns} FROM VALUES {values} AS v(id, item, price, qty, et)"
    spark.sql(query).toDF("id", "item", "price", "qty", "et").createOrReplaceTempView("t")


def text(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def write(folder: Path, rows: list[tuple[Any, ...]]) -> None:
    """The rows in two files, so that there is more than one split."""
    for number in range(2):
        with (folder / f"part-{number}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for n, *cells in rows[number::2]:
                writer.writerow([n, *("null" if c is None else c for c in cells), stamp(n)])


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(plain, r)) for r in rows), key=repr)


def plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) else value


@given(rows=ROWS, cuts=CUTS)
@settings(
    max_examples=EXAMPLES,
    derandomize="HEADRACE_SQL_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_streams_end_with_what_spark_computes(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, rows: Any, cuts: Any
) -> None:
    epoch_records, restores, parallelism = cuts
    folder = tmp_path_factory.mktemp("rows")
    write(folder, rows)
    load(spark, rows)
    session = LocalSession(parallelism=parallelism)
    session.execute(TABLE.format(path=folder))
    for ours, theirs in queries():
        expected = ordered(spark.sql(theirs).collect())
        result = session.query(
            ours, epoch_records=epoch_records, restore_after=tuple(sorted(restores))
        )
        assert ordered(result.materialized()) == expected, ours
