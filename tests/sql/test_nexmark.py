"""Nexmark's queries give what Flink gives, for the same few events.

`tools/nexmark_golden.py` ran them on a real Flink and stored digests of the rows that are left.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nexmark import queries
from benchmarks.nexmark.generator import write_tables
from headrace.common.errors import SqlError
from headrace.sql.types import TimestampType
from tests.sql.sessions import HERE, LocalSession, Result
from tools.nexmark_golden import EVENTS, summary

GOLDEN: dict[str, Any] = json.loads((HERE / "nexmark.json").read_text(encoding="utf-8"))
BEGIN = datetime(1970, 1, 1)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write_tables(str(folder), EVENTS)
    return folder


def plain_rows(result: Result) -> list[list[Any]]:
    """Rows as they are stored."""
    is_time = [isinstance(f.type, TimestampType) for f in result.schema]

    def plain(value: Any, time: bool) -> Any:
        if time and value is not None:
            return str(BEGIN + timedelta(microseconds=value))
        return str(value) if isinstance(value, Decimal) else value

    return [
        [plain(value, time) for value, time in zip(row, is_time, strict=True)]
        for row in result.materialized()
    ]


@pytest.mark.parametrize("name", [q for q in queries.QUERIES if q not in queries.LEFT_OUT])
def test_results_are_those_of_flink(name: str, events: Path) -> None:
    session = LocalSession(parallelism=2)
    for statement in queries.tables(str(events)):
        session.execute(statement)
    rows = plain_rows(session.query(queries.QUERIES[name], epoch_records=500, epoch_ms=1))
    found = summary(rows)
    assert found["first"] == GOLDEN[name]["first"]
    assert found == GOLDEN[name]


def test_windows_of_processing_time_count_what_sessions_count(events: Path) -> None:
    """Of the query above nothing comes out: it ends before its windows do."""
    session = LocalSession(parallelism=2)
    for statement in queries.tables(str(events)):
        session.execute(statement)
    sessions = session.query(queries.QUERIES["q11"])
    session.execute("ALTER TABLE bid SET ('source.monitor-interval' = '1 s')")
    windows = session.query(
        queries.QUERIES["q12"], epoch_records=500, epoch_ms=3_000, max_epochs=20
    )
    assert bids_by_bidder(windows) == bids_by_bidder(sessions)


def bids_by_bidder(result: Result) -> Counter[int]:
    found: Counter[int] = Counter()
    for bidder, count, *_ in result.materialized():
        found[bidder] += count
    return found


def test_sinks_fit_the_queries(events: Path) -> None:
    session = LocalSession()
    for statement in queries.declarations(str(events), 0, 0):
        session.execute(statement)
    for name, query in queries.QUERIES.items():
        if name not in queries.LEFT_OUT:
            session.execute(f"EXPLAIN INSERT INTO {name} {query}")


@pytest.mark.parametrize("name", queries.LEFT_OUT)
def test_what_flink_cannot_run_is_refused(name: str, events: Path) -> None:
    session = LocalSession()
    for statement in queries.tables(str(events)):
        session.execute(statement)
    with pytest.raises(SqlError):
        session.query(queries.QUERIES[name])
