"""TPC-H's queries on headrace, on Spark SQL and on Flink SQL in batch mode, in turns."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, timed
from benchmarks.peers import environments as peers
from benchmarks.sql import FlinkSession, done, flink_jars, headrace_session
from benchmarks.tpch import queries
from benchmarks.tpch.generator import generator, write_tables

SPARK_GOAL = 1.25
FLINK_GOAL = 0.5


def tpch(settings: Settings) -> Iterator[Result]:
    """All queries of TPC-H against Spark SQL."""
    with _tables(settings) as folder:
        sides = {"headrace": _headrace(folder), "Spark SQL": _spark(folder)}
        yield from _compared(sides, "Spark SQL", settings, SPARK_GOAL)


def tpch_flink(settings: Settings) -> Iterator[Result]:
    """The same against Flink SQL in batch mode."""
    python = peers.peer_python("pyflink", settings.pyflink_python)
    with _tables(settings) as folder:
        arguments = [queries.__file__, folder, "0", "0", flink_jars()]
        with FlinkSession(python, arguments) as flink:
            sides: dict[str, Callable[[str], float]] = {
                "headrace": _headrace(folder),
                "Flink SQL 2.3": lambda name: flink.seconds(_insert(name)),
            }
            yield from _compared(sides, "Flink SQL 2.3", settings, FLINK_GOAL)


@contextlib.contextmanager
def _tables(settings: Settings) -> Iterator[str]:
    if generator() is None:
        raise peers.PeerUnavailableError("tpchgen-cli is not installed: pip install tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        write_tables(folder, settings.scale)
        yield folder


def _insert(name: str) -> str:
    return f"INSERT INTO {name} {' '.join(queries.QUERIES[name].split())}"


def _headrace(folder: str) -> Callable[[str], float]:
    t_env = headrace_session(queries.declarations(folder, 0, 0), batch=True)
    return lambda name: timed(lambda: done(t_env.execute_sql(_insert(name))))


def _spark(folder: str) -> Callable[[str], float]:
    """Spark's own SQL in the same session, over the same files, into nothing."""
    from headrace.spark.session import get_or_create_session

    session = get_or_create_session({}).newSession()
    for name in queries.TABLES:
        session.read.parquet(f"{folder}/{name}.parquet").createTempView(name)

    def run(name: str) -> float:
        frame: Any = session.sql(queries.QUERIES[name])
        return timed(lambda: frame.write.format("noop").mode("overwrite").save())

    return run


def _compared(
    sides: dict[str, Callable[[str], float]], peer: str, settings: Settings, goal: float
) -> Iterator[Result]:
    """Seconds of each query, and of all together, after a warm-up."""
    taken: dict[str, dict[str, list[float]]] = {side: {} for side in sides}
    for name in settings.queries or queries.QUERIES:
        for turn in range(settings.rounds + 1):
            for side in list(sides)[:: -1 if turn % 2 else 1]:
                seconds = sides[side](name)
                if turn:
                    taken[side].setdefault(name, []).append(seconds)
        yield _result(f"TPC-H {name}", peer, *(statistics.median(taken[s][name]) for s in sides))
    totals = [sum(map(statistics.median, taken[side].values())) for side in sides]
    yield _result("TPC-H, all of these queries", peer, *totals, goal=goal)


def _result(name: str, peer: str, ours: float, theirs: float, goal: float | None = None) -> Result:
    return Result(name, peer, "s", ours, theirs, ours / theirs, goal, at_least=False)


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "tpch": tpch,
    "tpch-flink": tpch_flink,
}
