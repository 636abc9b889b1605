"""Materialized tables on Spark: refreshed by a stream, by the clock, and on demand."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from headrace.cluster.sql_gateway.sessions import Sessions, UnknownSessionError
from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.timeout(300)


def environment() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    return t_env


def put(folder: Path, name: str, *records: dict[str, Any]) -> None:
    """A file that is seen as a whole or not at all."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(r) + "\n" for r in records))
    os.rename(hidden, folder / name)


def written(folder: Path) -> list[tuple[Any, ...]]:
    files = [f for f in folder.rglob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    found = [record for f in files for record in pq.ParquetFile(f).read().to_pylist()]
    return sorted(tuple(record.values()) for record in found)


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        # A file may be replaced while it is read.
        with contextlib.suppress(FileNotFoundError):
            if condition():
                return
        time.sleep(0.1)
    raise AssertionError("this never came true")


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in t_env.execute_sql(statement).collect()]


def test_a_stream_refreshes_a_table_and_goes_on_from_a_savepoint(tmp_path: Path) -> None:
    t_env, src, out = environment(), tmp_path / "src", tmp_path / "out"
    put(src, "1", {"k": "a", "v": 1})
    t_env.execute_sql(
        "CREATE TABLE src (k STRING, v INT, `at` AS PROCTIME()) WITH ('connector' = 'filesystem', "
        f"'path' = '{src}', 'format' = 'json', 'source.monitor-interval' = '100 ms')"
    )
    t_env.execute_sql(
        f"CREATE MATERIALIZED TABLE sums WITH ('connector' = 'filesystem', 'path' = '{out}', "
        "'format' = 'parquet') FRESHNESS = INTERVAL '1' SECOND "
        "AS SELECT v, SUM(v) OVER (PARTITION BY k ORDER BY `at`) AS total FROM src"
    )
    until(lambda: written(out) == [(1, 1)])
    with pytest.raises(SqlError, match="Savepoint directory is not configured"):
        t_env.execute_sql("ALTER MATERIALIZED TABLE sums SUSPEND")
    with pytest.raises(SqlError, match="continuous refresh job has been resumed"):
        t_env.execute_sql("ALTER MATERIALIZED TABLE sums RESUME")
    t_env.get_config().set("execution.checkpointing.savepoint-dir", str(tmp_path / "savepoints"))
    t_env.execute_sql("ALTER MATERIALIZED TABLE sums SUSPEND")
    with pytest.raises(SqlError, match="continuous refresh job has been suspended"):
        t_env.execute_sql("ALTER MATERIALIZED TABLE sums SUSPEND")

    put(src, "2", {"k": "a", "v": 2})
    t_env.execute_sql("ALTER MATERIALIZED TABLE sums RESUME WITH ('sink.parallelism' = '1')")
    until(lambda: written(out) == [(1, 1), (2, 3)])

    # Another query begins with the first row.
    t_env.execute_sql(
        "ALTER MATERIALIZED TABLE sums AS SELECT v, SUM(v) OVER (PARTITION BY k ORDER BY `at`) "
        "AS total, k FROM src"
    )
    until(lambda: written(out) == [(1, 1), (1, 1, "a"), (2, 3), (2, 3, "a")])
    t_env.execute_sql("DROP MATERIALIZED TABLE sums")
    assert t_env.list_materialized_tables() == []
    assert [job[2] for job in rows(t_env, "SHOW JOBS")] == ["FINISHED", "FINISHED", "CANCELED"]


def test_a_table_outlives_the_gateway_and_the_session_that_made_it(tmp_path: Path) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, "1", {"v": 1})
    settings = {
        "parallelism.default": "1",
        "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
        "table.catalog-store.kind": "file",
        "table.catalog-store.file.path": str(tmp_path / "catalogs"),
    }
    gateways = [Sessions(Configuration.from_dict(settings)) for _ in range(2)]
    first = gateways[0].open(None, {})
    for statement in (
        f"CREATE CATALOG shop WITH ('type' = 'file', 'path' = '{tmp_path}/shop')",
        "USE CATALOG shop",
        "CREATE TABLE src (v INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{src}', 'format' = 'json', 'source.monitor-interval' = '100 ms')",
        f"CREATE MATERIALIZED TABLE copied WITH ('connector' = 'filesystem', 'path' = '{out}', "
        "'format' = 'parquet') FRESHNESS = INTERVAL '1' SECOND AS SELECT v FROM src",
    ):
        first.execute(statement).wait()
    gateways[0].close_idle(time.monotonic() + 3600)
    assert gateways[0].get(first.handle) is first
    gateways[0].close(first.handle)
    until(lambda: written(out) == [(1,)])

    # As after a restart, nothing is known of the job but its id.
    later = gateways[1].open(None, {})
    later.execute("USE CATALOG shop").wait()
    with pytest.raises(SqlError, match="continuous refresh job has been resumed"):
        later.execute("ALTER MATERIALIZED TABLE copied RESUME").wait()
    later.execute("ALTER MATERIALIZED TABLE copied SUSPEND").wait()
    assert [job.client.get_job_status().result().name for job in gateways[0].jobs()] == ["FINISHED"]
    put(src, "2", {"v": 2})
    later.execute("ALTER MATERIALIZED TABLE copied RESUME").wait()
    until(lambda: written(out) == [(1,), (2,)])
    other = gateways[0].open(None, {})
    other.execute("DROP MATERIALIZED TABLE shop.`default`.copied").wait()
    assert [job.client.get_job_status().result().name for job in gateways[1].jobs()] == ["CANCELED"]
    gateways[1].close_idle(time.monotonic() + 3600)
    with pytest.raises(UnknownSessionError):
        gateways[1].get(later.handle)
    for gateway in gateways:
        gateway.close_all()


def test_the_clock_refreshes_the_partition_of_its_time(tmp_path: Path) -> None:
    t_env, src, out = environment(), tmp_path / "src", tmp_path / "out"
    year = str(datetime.datetime.now().year)
    put(src, "1", {"id": 1, "ds": "1999"}, {"id": 2, "ds": year})
    t_env.execute_sql(
        "CREATE TABLE src (id INT, ds STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{src}', 'format' = 'json')"
    )
    t_env.execute_sql(
        "CREATE MATERIALIZED TABLE years PARTITIONED BY (ds) WITH ('connector' = 'filesystem', "
        f"'path' = '{out}', 'format' = 'parquet', 'partition.fields.ds.date-formatter' = 'yyyy') "
        "FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = FULL AS SELECT id, ds FROM src"
    )
    until(lambda: written(out) == [(2,)])
    put(src, "2", {"id": 3, "ds": year})
    until(lambda: written(out) == [(2,), (3,)])
    t_env.execute_sql("ALTER MATERIALIZED TABLE years SUSPEND")
    until(lambda: not any(t.name.startswith("refresh-") for t in threading.enumerate()))
    jobs = rows(t_env, "SHOW JOBS")

    put(src, "3", {"id": 4, "ds": "1999"}, {"id": 5, "ds": year})
    t_env.execute_sql("ALTER MATERIALIZED TABLE years REFRESH PARTITION (ds = '1999')").wait()
    assert written(out) == [(1,), (2,), (3,), (4,)]
    t_env.execute_sql("ALTER MATERIALIZED TABLE years REFRESH").wait()
    assert written(out) == [(1,), (2,), (3,), (4,), (5,)]
    assert len(rows(t_env, "SHOW JOBS")) == len(jobs) + 2


def test_a_table_begins_with_rows_from_now_on(tmp_path: Path) -> None:
    t_env, out = environment(), tmp_path / "out"
    t_env.get_config().set("execution.checkpointing.savepoint-dir", str(tmp_path / "savepoints"))
    lake = str(tmp_path / "lake")
    write_deltalake(lake, pa.table({"id": pa.array([0], pa.int32())}))
    t_env.execute_sql(
        f"CREATE TABLE lake (id INT) WITH ('connector' = 'delta', 'path' = '{lake}', "
        "'source.monitor-interval' = '100 ms')"
    )
    new = (
        f"MATERIALIZED TABLE new WITH ('connector' = 'filesystem', 'path' = '{out}', "
        "'format' = 'parquet') START_MODE = {mode} FRESHNESS = INTERVAL '1' SECOND "
        "AS SELECT id FROM lake"
    )
    t_env.execute_sql("CREATE " + new.format(mode="FROM_NOW"))
    added = count(1)

    def comes() -> bool:
        # The job sees what is added after it has begun, which only its result shows.
        rows = pa.table({"id": pa.array([next(added)], pa.int32())})
        write_deltalake(lake, rows, mode="append")
        return bool(written(out))

    until(comes)
    assert (0,) not in written(out)
    with pytest.raises(SqlError, match="cannot go on where the job before it was"):
        t_env.execute_sql("CREATE OR ALTER " + new.format(mode="RESUME_OR_FROM_NOW"))
    t_env.execute_sql("CREATE OR ALTER " + new.format(mode="FROM_BEGINNING"))
    until(lambda: (0,) in written(out))
    [(text,)] = rows(t_env, "SHOW CREATE MATERIALIZED TABLE new")
    assert "START_MODE = FROM_BEGINNING" in text
    t_env.execute_sql("DROP MATERIALIZED TABLE new")
