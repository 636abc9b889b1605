"""Nexmark's queries on headrace and on Flink SQL, in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

from benchmarks.cases import Settings
from benchmarks.measure import Result
from benchmarks.nexmark import queries
from benchmarks.nexmark.generator import write_bids
from benchmarks.peers import environments as peers
from benchmarks.sql import FlinkSession, compared, flink_jars, headrace_session


def nexmark(settings: Settings) -> Iterator[Result]:
    """Queries of Nexmark that need no join, against Flink SQL."""
    for name, reason in queries.LEFT_OUT.items():
        print(f"  {name} is left out: it {reason}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = write_bids(folder, settings.records(3_000_000))
        t_env = headrace_session(queries.declarations(folder, rows, rows))
        python = peers.peer_python("pyflink", settings.pyflink_python)
        arguments = [queries.__file__, folder, str(rows), str(rows), flink_jars()]
        with FlinkSession(python, arguments) as flink:
            for name, query in queries.QUERIES.items():
                statement = f"INSERT INTO {name} {query}"
                yield from compared(
                    t_env, flink, f"Nexmark {name}", (statement, rows), None, settings, None
                )


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {"nexmark": nexmark}
