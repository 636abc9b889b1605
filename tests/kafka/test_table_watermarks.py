"""Watermarks of kafka tables follow each partition by itself, against a real broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.runtime.batch import MIN_TIMESTAMP
from tests.kafka.broker import Kafka
from tests.kafka.running import Running, now_ms
from tests.sql.sessions import LocalSession

_COLUMNS = {
    "stored": "n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "computed": (
        "n INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    ),
    "with metadata": (
        "n INT, part INT METADATA FROM 'partition' VIRTUAL, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    ),
}


def session_with(kafka: Kafka, topic: str, columns: str, **options: str) -> LocalSession:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.servers,
        "format": "json",
        "scan.startup.mode": "earliest-offset",
        **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    }
    session = LocalSession()
    text = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
    session.execute(f"CREATE TABLE t ({columns}) WITH ({text})")
    return session


def running(session: LocalSession, query: str = "SELECT n FROM t") -> Running:
    return Running(session.env, session.session.translator().stream(session.plan(query)))


def write(kafka: Kafka, topic: str, partition: int, first: int, last: int) -> None:
    """A message for each second, whose time is that of day one."""
    messages = [
        {"n": s, "ts": f"1970-01-01 00:{s // 60:02}:{s % 60:02}", "ms": s * 1000}
        for s in range(first, last + 1)
    ]
    kafka.write(topic, [json.dumps(m) for m in messages], partition=partition)


@pytest.mark.parametrize("columns", _COLUMNS.values(), ids=list(_COLUMNS))
def test_the_slowest_partition_holds_the_watermark_back(kafka: Kafka, columns: str) -> None:
    topic = kafka.topic(2)
    session = session_with(kafka, topic, columns)
    write(kafka, topic, 0, 1, 100)
    with running(session) as job:
        job.run_until(lambda: len(job.rows) == 100)
        job.run(1)
        assert job.watermark == MIN_TIMESTAMP
        write(kafka, topic, 1, 1, 50)
        job.run_until(lambda: job.watermark == 49_000)
        write(kafka, topic, 1, 51, 120)
        job.run_until(lambda: job.watermark == 99_000 and len(job.rows) == 220)


@pytest.mark.parametrize(
    ("of_table", "of_session"),
    [({"scan__watermark__idle_timeout": "200 ms"}, "0 ms"), ({}, "200 ms")],
)
def test_an_idle_partition_is_not_waited_for(
    kafka: Kafka, of_table: dict[str, str], of_session: str
) -> None:
    topic = kafka.topic(2)
    session = session_with(kafka, topic, _COLUMNS["stored"], **of_table)
    session.execute(f"SET 'table.exec.source.idle-timeout' = '{of_session}'")
    write(kafka, topic, 0, 1, 30)
    with running(session) as job:
        job.run_until(lambda: job.watermark == 29_000)
        assert len(job.rows) == 30


def test_no_row_of_a_window_is_late_because_another_partition_is_ahead(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    for partition in range(3):
        write(kafka, topic, partition, 1 + 40 * partition, 40 + 40 * partition)
    session = session_with(
        kafka,
        topic,
        _COLUMNS["stored"],
        scan__bounded__mode="latest-offset",
        scan__watermark__emit__strategy="on-event",
    )
    query = (
        "SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY window_start, window_end"
    )
    rows = [tuple(row) for _, row in session.query(query, clock=now_ms).rows]
    assert [count for _, count in sorted(rows)] == [59, 60, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan__watermark__emit__strategy": "often"}, "on-periodic or on-event"),
        ({"scan__watermark__alignment__group": "g"}, "go together"),
        ({"scan__watermark__emit__on_event__gap": "-1"}, "positive"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    class Nowhere:
        servers = "localhost:1"

    nowhere: Any = Nowhere()
    session = session_with(nowhere, "x", _COLUMNS["stored"], **options)
    with pytest.raises(SqlError, match=message):
        session.plan("SELECT * FROM t")
