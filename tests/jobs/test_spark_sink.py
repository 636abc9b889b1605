"""DataFrames as sinks: every row in one batch, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.spark_sink import SparkSink
from headrace.datastream.connectors.spark_table import CatalogTable
from headrace.datastream.connectors.staging import Staging, batch_name
from headrace.datastream.functions import MapFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.spark.batches import BatchCommitter

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
RECORDS, PER_SECOND = 1_200, 1_000


def environment(checkpoints: str | None = "300 ms") -> StreamExecutionEnvironment:
    configuration = Configuration()
    # However slow the machine is, the records do not fit into fewer than three epochs.
    configuration.set_string("execution.epoch.max-records", "200")
    if checkpoints is not None:
        configuration.set_string("execution.checkpointing.interval", checkpoints)
        configuration.set_string("restart-strategy.type", "fixed-delay")
        configuration.set_string("restart-strategy.fixed-delay.attempts", "1")
        configuration.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2)


class ToRow(MapFunction):
    """Makes rows; the first attempt may fail at a record."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.fail_at = fail_at

    def open(self, runtime_context: Any) -> None:
        if runtime_context.get_attempt_number() > 0:
            self.fail_at = None

    def map(self, value: int) -> Row:
        if value == self.fail_at:
            raise ValueError("the first attempt ends here")
        return Row(value, f"n{value}")


def numbers(env: StreamExecutionEnvironment, fail_at: int | None = None) -> Any:
    rate = RateLimiterStrategy.per_second(PER_SECOND)
    source = DataGeneratorSource(lambda i: i, RECORDS, rate, Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return stream.map(ToRow(fail_at), ROW)


def staged(path: Path) -> list[Path]:
    """Rows that still wait."""
    return [p for name in ("files", "ready", "whole") for p in (path / name).rglob("*.parquet*")]


def test_a_table_has_every_row_once_although_the_job_failed(tmp_path: Path) -> None:
    env = environment()
    numbers(env, fail_at=RECORDS // 2 - 1).sink_to(SparkSink.for_path(str(tmp_path)))
    env.execute("to a table")
    table = env.get_spark_session().read.parquet(str(tmp_path))
    assert sorted(r.id for r in table.select("id").collect()) == list(range(RECORDS))
    assert table.where("name = concat('n', id)").count() == RECORDS
    assert table.select("epoch").distinct().count() > 1
    assert staged(tmp_path / "_headrace") == []


def test_a_job_without_checkpoints_writes_its_epochs(tmp_path: Path) -> None:
    env = environment(checkpoints=None)
    env.from_collection([Row(i, "x") for i in range(10)], ROW).sink_to(
        SparkSink.for_path(str(tmp_path), "json")
    )
    env.execute("to a table")
    table = env.get_spark_session().read.json(str(tmp_path))
    assert sorted(r.id for r in table.collect()) == list(range(10))


def test_a_function_gets_each_batch_again_until_it_returns(tmp_path: Path) -> None:
    seen: list[tuple[int, list[int]]] = []

    def write(frame: Any, number: int) -> None:
        seen.append((number, sorted(r.id for r in frame.collect())))
        if len(seen) == 1:
            raise OSError("the database is away")

    env = environment()
    numbers(env).sink_to(SparkSink.foreach_batch(write, str(tmp_path)))
    env.execute("to a function")
    assert seen[0] == seen[1]
    batches = dict(seen)
    assert len(batches) == len(seen) - 1 > 1
    assert [number for number, _ in seen[1:]] == sorted(batches)
    assert sorted(i for ids in batches.values() for i in ids) == list(range(RECORDS))
    assert staged(tmp_path) == []


def test_batches_of_another_job_count_only_after_a_restore(tmp_path: Path) -> None:
    spark = environment().get_spark_session()
    staging = Staging(str(tmp_path))
    seen: list[tuple[str, int]] = []
    jobs = {"a" * 32: (1, 2, 3), "b" * 32: (4,), "c" * 32: (1,)}
    for job_id, checkpoints in jobs.items():
        for checkpoint in checkpoints:
            directory = Path(staging.ready, batch_name(checkpoint, job_id))
            spark.range(checkpoint).write.parquet(str(directory))
    staging.mark_done(batch_name(1, "a" * 32))
    committer = BatchCommitter(staging, lambda df, name: seen.append((name, df.count())), "b" * 32)
    committer.commit(3)
    assert seen == []
    committer.commit(2, restored="a" * 32)
    assert seen == [("0000000002-aaaaaaaa", 2)]
    committer.commit(4)
    committer.commit(4)
    assert seen[1:] == [("0000000004-bbbbbbbb", 4)]
    left = sorted(p.name for p in Path(staging.ready).iterdir())
    assert left == ["0000000001-cccccccc", "0000000003-aaaaaaaa"]


def test_sinks_of_two_targets_do_not_share_a_staging_path(tmp_path: Path) -> None:
    env = environment()
    stream = env.from_collection([Row(1)], Types.ROW_NAMED(["id"], [Types.LONG()]))
    for target in ("a", "a", "b"):
        stream.sink_to(SparkSink.for_table(target, str(tmp_path)))
    with pytest.raises(GraphError, match="give each its own"):
        env.execute("two targets")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    """A database of the catalog that a test may fill."""
    spark = environment().get_spark_session()
    spark.sql(f"CREATE DATABASE sink_tests LOCATION 'file:{tmp_path}/tables'")
    yield "sink_tests"
    spark.sql("DROP DATABASE sink_tests CASCADE")


def test_a_table_of_the_catalog_has_every_row_once_although_the_job_failed(
    tmp_path: Path, database: str
) -> None:
    env = environment()
    sink = SparkSink.for_table(f"{database}.numbers", str(tmp_path / "staging"))
    numbers(env, fail_at=RECORDS // 2 - 1).sink_to(sink)
    env.execute("to a table of the catalog")
    table = env.get_spark_session().table(f"{database}.numbers")
    assert table.columns == ["id", "name", "epoch"]
    assert sorted(r.id for r in table.select("id").collect()) == list(range(RECORDS))
    assert table.select("epoch").distinct().count() > 1
    assert staged(tmp_path / "staging") == []


def test_a_batch_that_is_written_again_takes_its_own_place(database: str) -> None:
    spark = environment().get_spark_session()
    spark.sql(
        f"CREATE TABLE {database}.t (n STRING, id LONG, at STRING) USING orc PARTITIONED BY (at)"
    )
    table = CatalogTable(f"{database}.t", "parquet", "at")
    one = spark.createDataFrame([(1, "a"), (2, "b")], "id LONG, n STRING")
    two = spark.createDataFrame([(3, "c")], "id LONG, n STRING")
    for frame, batch in ((one, "0000000001-x"), (two, "0000000002-x"), (one, "0000000001-x")):
        table(frame, batch)
    found = sorted(tuple(row) for row in spark.table(f"{database}.t").collect())
    assert found == [
        ("a", 1, "0000000001-x"),
        ("b", 2, "0000000001-x"),
        ("c", 3, "0000000002-x"),
    ]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id LONG, epoch STRING", r"lacks columns of the stream: \['name'\].*ADD COLUMNS"),
        ("id LONG, name STRING", "no column 'epoch'"),
        ("id LONG, name STRING, x INT, epoch STRING", r"that the stream does not have: \['x'\]"),
    ],
)
def test_a_table_with_other_columns_is_refused_with_advice(
    tmp_path: Path, database: str, columns: str, says: str
) -> None:
    env = environment(checkpoints=None)
    env.get_spark_session().sql(f"CREATE TABLE {database}.t ({columns}) USING parquet")
    env.from_collection([Row(1, "x")], ROW).sink_to(
        SparkSink.for_table(f"{database}.t", str(tmp_path / "staging"))
    )
    with pytest.raises(JobExecutionError, match=says):
        env.execute("to a table of another form")


def test_a_batch_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    env = environment(checkpoints=None)
    env.from_collection([Row(1, "x")], ROW).sink_to(
        SparkSink.for_path(str(tmp_path), "no-such-format")
    )
    with pytest.raises(JobExecutionError, match=r"batch 0000000001-\w+ .*no-such-format"):
        env.execute("to nowhere")
    assert len(staged(tmp_path / "_headrace")) == 1


def test_errors_while_building(tmp_path: Path) -> None:
    env = environment()
    with pytest.raises(GraphError, match="rows with a declared type"):
        env.from_collection([1]).sink_to(SparkSink.for_path(str(tmp_path)))
    with pytest.raises(FunctionTypeError, match="takes a function"):
        SparkSink.foreach_batch("save", str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="name of a table"):
        SparkSink.for_table("", str(tmp_path))
