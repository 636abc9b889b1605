"""Nexmark's queries on headrace and on Flink SQL, in turns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result
from benchmarks.nexmark import queries
from benchmarks.nexmark.generator import Events, write_tables
from benchmarks.peers import environments as peers
from benchmarks.peers.settled import settled_bytes
from benchmarks.sql import FlinkSession, compared, flink_jars, headrace_session

EVENTS = 3_000_000


@contextmanager
def _both_sides(settings: Settings) -> Iterator[tuple[Any, FlinkSession, dict[str, int]]]:
    """headrace and Flink with the same tables, and how many rows these have."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_tables(folder, Events(settings.records(EVENTS)))
        t_env = headrace_session(queries.declarations(folder, 0, 0))
        python = peers.peer_python("pyflink", settings.pyflink_python)
        arguments = [queries.__file__, folder, "0", "0", flink_jars()]
        with FlinkSession(python, arguments) as flink:
            yield t_env, flink, rows


def nexmark(settings: Settings) -> Iterator[Result]:
    """All queries of Nexmark against Flink SQL; a Markdown table of them at the end."""
    began = time.monotonic()
    lines = list(_HEAD)
    with _both_sides(settings) as (t_env, flink, rows):
        print(f"  {', '.join(f'{count:,} rows of {table}' for table, count in rows.items())}")
        for name in settings.queries or queries.QUERIES:
            query = queries.QUERIES[name]
            if name in queries.LEFT_OUT:
                print(f"  {name} is left out: {queries.LEFT_OUT[name]}", flush=True)
                lines.append(f"| {name} | | | | {queries.LEFT_OUT[name]} | |")
                continue
            read = sum(rows[table] for table in queries.READS.get(name, ("bid",)))
            both = (f"INSERT INTO {name} {query}", read)
            try:
                found = list(compared(t_env, flink, f"Nexmark {name}", both, None, settings, 1.0))
            except Exception as error:
                # One that fails, or takes for ever, must not take the others with it.
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                print(f"  {name} was not measured: {reason}", flush=True)
                lines.append(f"| {name} | | | | not measured: {reason} | |")
                flink.restart()
                continue
            lines.append(_line(name, *found))
            yield from found
    minutes = (time.monotonic() - began) / 60
    events = settings.records(EVENTS)
    print(f"\n{events:,} events, {settings.rounds} rounds, {minutes:.0f} minutes:\n")
    print("\n".join(lines), flush=True)


_HEAD = (
    "| query | headrace | its job alone | Flink SQL 2.3 | ratio | of the jobs |",
    "|---|---|---|---|---|---|",
)


def _line(name: str, whole: Result, job: Result) -> str:
    figures = f"{whole.ours:,.0f} rows/s | {job.ours:,.0f} | {whole.theirs:,.0f}"
    return f"| {name} | {figures} | {whole.ratio:.2f} | {job.ratio:.2f} |"


def nexmark_state(settings: Settings) -> Iterator[Result]:
    """State of Nexmark's q4, q9 and q20 when all events have come, beside that of Flink SQL."""
    with _both_sides(settings) as (t_env, flink, _):
        for name in settings.queries or queries.STATE:
            statement = f"INSERT INTO {name} {queries.endless(queries.QUERIES[name])}"
            ours, theirs = _state_bytes(t_env, statement), flink.state_bytes(statement)
            yield Result(
                name=f"Nexmark {name}, state",
                peer="Flink SQL 2.3",
                unit="bytes",
                ours=ours,
                theirs=theirs,
                ratio=ours / theirs,
                at_least=False,
            )


def _state_bytes(t_env: Any, statement: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        config = t_env.get_config()
        config.set("execution.checkpointing.dir", folder)
        config.set("execution.checkpointing.interval", "1 s")
        client = t_env.execute_sql(statement).get_job_client()
        try:
            return settled_bytes(folder)
        finally:
            client.cancel().result()
            config.set("execution.checkpointing.interval", "0 s")


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "nexmark": nexmark,
    "nexmark-state": nexmark_state,
}
