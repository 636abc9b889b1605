"""Files that are watched, and partitions that are committed, in a job on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyarrow import parquet

from headrace.table import EnvironmentSettings, TableEnvironment

LIMIT_S = 200.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def marked(target: Path, *hours: str) -> bool:
    return all((target / f"hour={hour}" / "_SUCCESS").exists() for hour in hours)


def put(folder: Path, name: str, hours: range) -> None:
    """A file that is there at once."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{h},1970-01-01 {h:02}:30:00\n" for h in hours))
    hidden.rename(folder / name)


def test_files_that_come_later_complete_the_partitions_of_earlier_ones(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("execution.checkpointing.interval", "500 ms")
    t_env.get_config().set("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    t_env.get_config().set("table.exec.source.idle-timeout", "1 s")
    t_env.execute_sql(
        "CREATE TABLE s (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ("
        f"'connector' = 'filesystem', 'path' = '{source}', 'format' = 'csv', "
        "'source.monitor-interval' = '200 ms')"
    )
    t_env.execute_sql(
        "CREATE TABLE t (n INT, `hour` STRING) PARTITIONED BY (`hour`) WITH ('connector' = "
        f"'filesystem', 'path' = '{target}', 'format' = 'parquet', "
        "'partition.time-extractor.timestamp-pattern' = '1970-01-01 $hour:00:00', "
        "'sink.partition-commit.trigger' = 'partition-time', "
        "'sink.partition-commit.delay' = '1 h', "
        "'sink.partition-commit.policy.kind' = 'success-file')"
    )
    put(source, "first.csv", range(0, 3))
    job = t_env.execute_sql("INSERT INTO t SELECT n, DATE_FORMAT(ts, 'HH') FROM s").get_job_client()
    assert job is not None
    try:
        # At half past two the hours zero and one are over.
        wait_until(lambda: marked(target, "00", "01"))
        wait_until(lambda: any((target / "hour=02").glob("part-*")))
        assert not marked(target, "02")
        put(source, "second.csv", range(3, 5))
        wait_until(lambda: marked(target, "02", "03"))
        assert not marked(target, "04")
    finally:
        job.cancel().result()
    files = sorted(target.glob("hour=0[0-3]/part-*"))
    assert [row["n"] for f in files for row in parquet.read_table(f).to_pylist()] == [0, 1, 2, 3]
