"""SQL: filter, aggregates and a Python function over 3 million rows, against Flink SQL."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks import sql_queries
from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.peers import environments as peers

FILES = 8
PARQUET_JAR = "org.apache.flink:flink-sql-parquet:2.3.0"
# PyFlink runs a function in Python on so few rows that a run takes some seconds.
FEWER = 10
MOST_SECONDS = 300
"""What takes longer than that is not waited for."""


class FlinkSession:
    """A Flink program that runs one statement after the other, so that it stays warm."""

    def __init__(self, python: Path, arguments: list[str]) -> None:
        program = peers.PROGRAMS / "flink_sql.py"
        self._command = [str(python), str(program), *arguments]
        self._environment = {**os.environ}
        self._environment["PATH"] = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        hadoop = arguments[-1].replace("file://", "").replace(";", ":")
        self._environment["HADOOP_CLASSPATH"] = hadoop
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        peers.show(self._command)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=self._environment,
        )
        self._answer("ready")
        return self._process

    def restart(self) -> None:
        """Another program in place of one that may be in the middle of something."""
        self._end()
        self._started()

    def seconds(self, statement: str) -> float:
        """How long the job of an INSERT ran."""
        assert self._process.stdin is not None
        self._process.stdin.write(statement + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._answer("{"))["seconds"])

    def state_bytes(self, statement: str) -> int:
        """How large the state of an INSERT is when it has read all; its tables have no end."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"STATE {statement}\n")
        self._process.stdin.flush()
        return int(json.loads(self._answer("{"))["bytes"])

    def _answer(self, start: str) -> str:
        assert self._process.stdout is not None
        end = threading.Timer(MOST_SECONDS, self._process.kill)
        end.start()
        try:
            for line in self._process.stdout:
                if line.startswith(start):
                    return line
        finally:
            end.cancel()
        self._log.seek(0)
        raise peers.PeerUnavailableError(f"flink: {self._log.read().strip()[-800:]}")

    def __enter__(self) -> FlinkSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        self._log.close()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait()


def write_tables(folder: str, rows: int, fewer: int) -> None:
    """The Parquet files that both sides read."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    for suffix, count in (("", rows), ("_few", fewer)):
        Path(f"{folder}/table{suffix}").mkdir()
        for number, ids in enumerate(np.array_split(np.arange(count), FILES)):
            table = pa.table(
                {
                    "id": ids,
                    "k": random.integers(0, sql_queries.KEYS, len(ids)),
                    "price": random.integers(1, 10_001, len(ids)),
                    "amount": random.random(len(ids)),
                    "item": pa.array([f"item {i % 500}" for i in ids.tolist()]),
                    "ts": pa.array(ids, pa.timestamp("ms")),
                }
            )
            pq.write_table(table, f"{folder}/table{suffix}/part-{number}.parquet")


def headrace_session(declarations: list[str], batch: bool = False) -> Any:
    """A table environment with the same tables."""
    from headrace.table import EnvironmentSettings, TableEnvironment

    settings = EnvironmentSettings.in_batch_mode() if batch else None
    t_env = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set_local_timezone("UTC")
    for statement in declarations:
        t_env.execute_sql(statement)
    return t_env


def flink_jars() -> str:
    """Flink's Parquet format, and Hadoop's classes, which it needs and PySpark has."""
    import pyspark

    from tools.kafka_broker import fetch_jar

    folder = Path(pyspark.__file__).parent / "jars"
    hadoop = sorted(folder.glob("hadoop-client-*.jar"))
    return ";".join(f"file://{jar}" for jar in (fetch_jar(PARQUET_JAR), *hadoop))


def sql(settings: Settings) -> Iterator[Result]:
    """SQL statements against Flink SQL, and a Python function against PyFlink."""
    from headrace.table import DataTypes
    from headrace.table.udf import udf

    rows = settings.records(3_000_000)
    fewer = max(rows // FEWER, 1000)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(folder, rows, fewer)
        t_env = headrace_session(sql_queries.declarations(folder, rows, fewer))
        function = udf(sql_queries.plus_one, result_type=DataTypes.BIGINT())
        t_env.create_temporary_function("plus_one", function)
        python = peers.peer_python("pyflink", settings.pyflink_python)
        arguments = [sql_queries.__file__, folder, str(rows), str(fewer), flink_jars()]
        with FlinkSession(python, arguments) as flink:
            for source, table in (("Parquet", "files"), ("datagen", "generated")):
                for name, query in sql_queries.QUERIES.items():
                    statement = query.format(table=table)
                    label = f"SQL, {source}: {name}"
                    both = (statement, rows)
                    yield from compared(t_env, flink, label, both, None, settings, 1.0)
            mine, theirs = (
                (sql_queries.UDF_QUERY.format(table=f"files{suffix}"), count)
                for suffix, count in (("", rows), ("_few", fewer))
            )
            label = "SQL, Parquet: Python scalar function"
            yield from compared(t_env, flink, label, mine, theirs, settings, 10.0)


def compared(
    t_env: Any,
    flink: FlinkSession,
    name: str,
    mine: tuple[str, int],
    other: tuple[str, int] | None,
    settings: Settings,
    goal: float | None,
) -> Iterator[Result]:
    """Rates of two statements with their numbers of rows; the same one unless said otherwise.

    Flink's is that of its job, as it reports it. Ours is that of the whole statement first, and
    then that of the job as we report it: without reading and planning the statement.
    """
    theirs = other or mine
    jobs: list[float] = []

    def ours() -> float:
        results: list[Any] = []
        took = timed(lambda: results.append(done(t_env.execute_sql(mine[0]))))
        jobs.append(mine[1] / (results[0].get_net_runtime() / 1000))
        return mine[1] / took

    def flinks() -> float:
        return theirs[1] / flink.seconds(theirs[0])

    whole, slow = alternate(ours, flinks, settings.rounds)
    for label, fast, bound in ((name, whole, goal), (f"{name}, the job", jobs[1:], None)):
        yield Result(
            name=label,
            peer="Flink SQL 2.3" if other is None else "PyFlink 2.3",
            unit="rows/s",
            ours=statistics.median(fast),
            theirs=statistics.median(slow),
            ratio=middle_ratio(fast, slow),
            goal=bound,
            samples={"headrace": fast, "flink": slow, "rows": mine[1]},
        )


def done(result: Any) -> Any:
    try:
        result.wait(MOST_SECONDS * 1000)
    except TimeoutError:
        result.get_job_client().cancel().result()
        raise
    return result.get_job_client().get_job_execution_result().result()


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {"sql": sql}
