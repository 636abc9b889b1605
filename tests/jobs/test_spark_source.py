"""DataFrames, and files that Spark reads, as sources."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, JobExecutionError
from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.spark_source import FedSplit, SparkSource
from headrace.datastream.functions import MapFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import collect

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2)


@pytest.fixture(scope="module")
def spark() -> Any:
    return environment().get_spark_session()


def test_rows_of_a_data_frame_arrive(spark: Any) -> None:
    env = environment()
    frame = spark.range(0, 100, 1, 5).selectExpr(
        "id",
        "cast(id as string) name",
        "if(id % 2 = 0, null, array(id)) list",
        "named_struct('x', map('k', id)) inner",
        "timestamp_millis(id) instant",
        "timestamp_ntz'2024-02-29 13:05:09' stamp",
        "cast(1.5 as decimal(10, 2)) decimal",
    )
    stream = env.from_data_frame(frame)
    assert str(stream.get_type()).startswith("RowTypeInfo(id: Long, name: String, list: List")
    rows = sorted(collect(stream, on="spark"), key=lambda row: row.id)
    assert [row.id for row in rows] == list(range(100))
    row = rows[3]
    assert (row.name, row.list, row.inner) == ("3", [3], Row(x={"k": 3}))
    assert row.instant == Instant.of_epoch_milli(3)
    assert row.stamp == dt.datetime(2024, 2, 29, 13, 5, 9)
    assert rows[4].list is None


def test_spark_and_other_sources_share_a_job_and_records_have_any_form(spark: Any) -> None:
    env = environment()
    pairs = SparkSource.of(
        spark.range(50).where("id % 2 = 0"), records=lambda batch: batch.column(0).to_pylist()
    )
    numbers = env.from_source(pairs, NO_WATERMARKS, "numbers")
    both = numbers.union(env.from_collection([1001, 1003]))
    keyed = both.key_by(lambda x: x % 2).reduce(lambda a, b: a + b)
    assert max(collect(keyed, on="spark")) == max(sum(range(0, 50, 2)), 2004)


class FailOnce(MapFunction):
    """Fails at a record the first time, once there is a checkpoint, and notes what it saw."""

    def __init__(self, log: Path, at: int, checkpoints: Path) -> None:
        self.log, self.at, self.checkpoints = str(log), at, checkpoints

    def open(self, runtime_context: Any) -> None:
        self.attempt = runtime_context.get_attempt_number()
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        with open(f"{self.log}/{self.attempt}-{self.subtask}", "a") as log:
            log.write(f"{value.id}\n")
        time.sleep(0.01)
        if value.id >= self.at and self.attempt == 0:
            while not list(self.checkpoints.glob("*/chk-*/_metadata")):
                time.sleep(0.01)
            raise ValueError("the first attempt ends here")
        return value.id


def test_a_restart_reads_only_what_no_checkpoint_has(spark: Any, tmp_path: Path) -> None:
    env = environment(
        **{
            "execution.checkpointing.interval": "10 ms",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1",
            "restart-strategy.fixed-delay.delay": "0 ms",
        }
    )
    frame = spark.range(0, 120, 1, 24)
    seen = tmp_path / "seen"
    seen.mkdir()
    stream = env.from_data_frame(frame).map(FailOnce(seen, 90, tmp_path / "checkpoints"))
    assert sorted(collect(stream, on="spark")) == list(range(120))
    second = [int(x) for file in seen.glob("1-*") for x in file.read_text().split()]
    assert 90 in second
    assert 0 not in second


def test_files_are_read_once_also_those_that_come_later(spark: Any, tmp_path: Path) -> None:
    data, seen = tmp_path / "in", tmp_path / "out"
    data.mkdir()

    def put(name: str, *ids: int) -> None:
        hidden = data / f".{name}"
        hidden.write_text("".join(json.dumps({"id": i, "x": "y"}) + "\n" for i in ids))
        hidden.rename(data / name)

    put("a.json", 1, 2)
    put("b.json", 3)
    source = SparkSource.of_files(
        lambda files: spark.read.schema("id long, x string").json(files).select("id"), str(data)
    )
    env = environment()
    assert sorted(
        r.id for r in collect(env.from_source(source, NO_WATERMARKS, "files"), on="spark")
    ) == [1, 2, 3]
    env = environment()
    monitored = source.monitor_continuously(dt.timedelta(milliseconds=50))
    assert not monitored.bounded
    found = []
    with env.from_source(monitored, NO_WATERMARKS, "files").execute_and_collect() as rows:
        for row in rows:
            found.append(row.id)
            if len(found) == 3:
                put("c.json", 4, 5)
            if len(found) == 5:
                break
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert not seen.exists()


def test_a_file_that_spark_cannot_read_ends_the_job_with_its_name(
    spark: Any, tmp_path: Path
) -> None:
    spark.range(5).write.parquet(str(tmp_path / "good"))
    (tmp_path / "bad.parquet").write_bytes(b"nothing that anybody reads" * 10)
    env = environment()
    source = SparkSource.of_files(
        lambda files: spark.read.schema("id long").parquet(*files), str(tmp_path)
    )
    with pytest.raises(JobExecutionError, match=r"bad\.parquet"):
        collect(env.from_source(source, NO_WATERMARKS, "files"), on="spark")


def test_files_with_other_columns_are_refused(spark: Any, tmp_path: Path) -> None:
    spark.range(5).coalesce(1).write.parquet(str(tmp_path / "a"))
    spark.range(5).selectExpr("'x' as id").coalesce(1).write.parquet(str(tmp_path / "b"))
    source = SparkSource.of_files(lambda files: spark.read.parquet(*files), str(tmp_path))
    env = environment().set_parallelism(1)
    with pytest.raises(JobExecutionError, match="different columns"):
        collect(env.from_source(source, NO_WATERMARKS, "files"), on="spark")


def test_a_savepoint_of_another_data_frame_is_refused(spark: Any) -> None:
    enumerator = SparkSource.of(spark.range(0, 10, 1, 4)).create_enumerator(2)
    given = enumerator.discover(0)
    assert {s: [x.part for x in splits] for s, splits in given.items()} == {0: [0], 1: [1]}
    saved = enumerator.snapshot()
    same = SparkSource.of(spark.range(0, 10, 1, 4)).create_enumerator(1)
    same.restore(saved)
    rest: list[FedSplit] = [s for now in (0, 1) for s in same.discover(now).get(0, [])]
    assert [split.part for split in rest] == [2, 3]
    assert same.finished
    other = SparkSource.of(spark.range(0, 10, 1, 3)).create_enumerator(2)
    with pytest.raises(HeadraceError, match="has 3 partitions, but it had 4"):
        other.restore(saved)


def test_errors_while_building(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(FunctionTypeError, match="classic Spark"):
        environment().from_data_frame([1, 2])
    with pytest.raises(GraphError, match="no file in"):
        SparkSource.of_files(lambda files: spark.read.json(files), str(tmp_path))
    with pytest.raises(GraphError, match="at least one path"):
        SparkSource.of_files(lambda files: spark.read.json(files))
    with pytest.raises(GraphError, match="is bounded"):
        SparkSource.of(spark.range(1)).monitor_continuously(5)
    with pytest.raises(FunctionTypeError, match="function of a list"):
        SparkSource.of_files("json", str(tmp_path))  # type: ignore[arg-type]


def test_a_shuffle_inside_the_data_frame_serves_all_epochs(spark: Any) -> None:
    env = environment()
    counts = spark.range(0, 1000, 1, 4).selectExpr("id % 10 as k").groupBy("k").count()
    stream = env.from_data_frame(counts.repartition(10)).key_by(lambda row: row.k % 2)
    rows = collect(stream.map(lambda row: (row.k, row["count"])), on="spark")
    assert sorted(rows) == [(k, 100) for k in range(10)]
