"""The final rows of a stream are those of the same query of Spark SQL on all of its input.

Hypothesis draws the input, how it is cut into epochs and divided between subtasks, and where the
job fails and goes on from its state. Spark computes what is expected, our operators run in this
process. The same inputs are drawn every time; HEADRACE_SQL_EXAMPLES draws so many others.
"""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.examples import scaled
from tests.sql.sessions import HERE, ONCE, LocalSession, Result

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

DRAWN = "HEADRACE_SQL_EXAMPLES"
EXAMPLES = int(os.environ.get(DRAWN, scaled(2)))
COURSES_OF_EACH = 2
# Making a failure smaller takes minutes with Spark: only where somebody looks for failures.
PHASES = [Phase.generate, Phase.shrink] if DRAWN in os.environ else [Phase.generate]

# Rows come in any order, but none is ever late: the watermark waits longer than all times span.
TABLE = """
CREATE TABLE t (id INT, item STRING, price INT, qty INT, weight DOUBLE, ts STRING,
  et AS TO_TIMESTAMP(ts), WATERMARK FOR et AS et - INTERVAL '1' HOUR)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = 'null')
"""
FILES = """
CREATE TABLE t (id INT, item STRING, price INT, qty INT, weight DOUBLE, et TIMESTAMP(3),
  WATERMARK FOR et AS et - INTERVAL '1' HOUR)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet')
"""
COLUMNS = "id INT, item STRING, price INT, qty INT, weight DOUBLE, et TIMESTAMP"

# Classes of queries that look at rows one by one in the order of their times.
ORDERED = frozenset({"rankings", "over"})

Rows = list[tuple[Any, ...]]


def queries() -> dict[str, list[tuple[str, str]]]:
    """Our queries by class, and Spark's, which are written in another way here and there."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for line in (HERE / "spark_queries.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- class: "):
            name = line.removeprefix("-- class: ")
            found[name] = []
        elif line.startswith("-- spark: "):
            found[name][-1] = (found[name][-1][0], line.removeprefix("-- spark: "))
        elif not line.startswith("--"):
            found[name].append((line.rstrip(";"), line.rstrip(";")))
    return found


QUERIES = queries()


def cells(seconds: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[Any, ...]]:
    """A row without its number. Sums of quarters are exact in any order."""
    return st.tuples(
        st.none() | st.sampled_from(["a", "b", "ab"]),
        st.none() | st.integers(0, 6),
        st.none() | st.integers(0, 4),
        st.none() | st.integers(-8, 8).map(lambda n: n / 4),
        seconds,
    )


def rows(times_differ: bool) -> st.SearchStrategy[Rows]:
    """Rows in any order, whose times may be equal or not."""
    drawn = st.lists(
        cells(st.integers(0, 45)),
        min_size=1,
        max_size=16,
        unique_by=(lambda row: row[-1]) if times_differ else None,
    )
    return drawn.map(lambda found: [(number, *row) for number, row in enumerate(found)])


@dataclass(frozen=True)
class Course:
    """How a job runs: what must not change its result."""

    epoch_records: int
    restores: tuple[int, ...]
    parallelism: int
    shuffle_seed: int
    every_change: bool

    def run(self, query: str, folder: Path) -> Result:
        options = {"table.exec.mini-batch.enabled": str(not self.every_change).lower()}
        session = LocalSession(parallelism=self.parallelism, options=options)
        session.execute(TABLE.format(path=folder))
        return session.query(
            query,
            epoch_records=self.epoch_records,
            restore_after=self.restores,
            shuffle_seed=self.shuffle_seed,
        )


COURSES = st.builds(
    Course,
    st.integers(1, 5),
    st.sets(st.integers(1, 6), min_size=1, max_size=2).map(lambda found: tuple(sorted(found))),
    st.integers(1, 4),
    st.integers(0, 99),
    st.booleans(),
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Spark's SQL, apart from the sessions of jobs in this process."""
    pytest.importorskip("pyspark")
    from headrace.spark.session import get_or_create_session

    # One that jobs of later tests can run in: a bare one has workers that do not find headrace.
    session = get_or_create_session({}).newSession()
    for key, value in ONCE.items():
        session.conf.set(f"spark.sql.{key}", value)
    yield session
    session.catalog.dropTempView("t")


def moment(second: int) -> datetime.datetime:
    return datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=second)


def load(spark: Any, found: Rows) -> None:
    """The rows as Spark's view, in one partition."""
    data = [(*row[:-1], moment(row[-1])) for row in found]
    spark.createDataFrame(data, COLUMNS).coalesce(1).createOrReplaceTempView("t")


def write(folder: Path, found: Rows) -> None:
    """The rows in two files, so that there is more than one split."""
    for number in range(2):
        with (folder / f"part-{number}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in found[number::2]:
                known = ["null" if c is None else c for c in row[:-1]]
                writer.writerow([*known, f"{moment(row[-1]):%F %T}"])


def write_parquet(folder: Path, found: Rows) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = (pa.int32(), pa.string(), pa.int32(), pa.int32(), pa.float64(), pa.timestamp("us"))
    names = ("id", "item", "price", "qty", "weight", "et")
    times = [(*row[:-1], moment(row[-1]).replace(tzinfo=None)) for row in found]
    columns = zip(*times, strict=True)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    pq.write_table(pa.table(arrays, names), folder / "part.parquet")


def ordered(found: Any) -> Rows:
    return sorted((tuple(map(plain, r)) for r in found), key=repr)


def plain(value: Any) -> Any:
    """A value as both sides write it: times in microseconds, numbers without a type."""
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1_000_000)
    if isinstance(value, float | Decimal) and value == int(value):
        return int(value)
    if isinstance(value, Decimal):
        return value.normalize()
    return value


@pytest.mark.parametrize("kind", QUERIES)
def test_streams_end_with_what_spark_computes(
    kind: str, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @given(
        found=rows(times_differ=kind in ORDERED),
        courses=st.lists(COURSES, min_size=COURSES_OF_EACH, max_size=COURSES_OF_EACH),
    )
    @settings(
        max_examples=EXAMPLES,
        derandomize=DRAWN not in os.environ,
        database=None,
        phases=PHASES,
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    def same_rows(found: Rows, courses: list[Course]) -> None:
        folder = tmp_path_factory.mktemp("rows")
        write(folder, found)
        load(spark, found)
        for ours, theirs in QUERIES[kind]:
            expected = ordered(spark.sql(theirs).collect())
            for course in courses:
                assert ordered(course.run(ours, folder).materialized()) == expected, (ours, course)

    same_rows()


@pytest.mark.parametrize("kind", QUERIES)
def test_batches_are_what_spark_computes(
    kind: str, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By headrace's operators, and as a query of Spark that has Flink's meaning."""

    @given(found=rows(times_differ=kind in ORDERED))
    @settings(
        max_examples=max(1, EXAMPLES // 2),
        derandomize=DRAWN not in os.environ,
        database=None,
        phases=PHASES,
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    def same_rows(found: Rows) -> None:
        folder = tmp_path_factory.mktemp("rows")
        write_parquet(folder, found)
        load(spark, found)
        session = LocalSession(batch=True, parallelism=2)
        session.execute(FILES.format(path=folder))
        for ours, theirs in QUERIES[kind]:
            expected = ordered(spark.sql(theirs).collect())
            assert ordered(session.query(ours).materialized()) == expected, ours
            on_spark = session.query_on_spark(ours)
            if on_spark is not None:
                assert ordered(on_spark.materialized()) == expected, ours

    same_rows()
