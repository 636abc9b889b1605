"""An INSERT from Kafka into Kafka, exactly once, though one of its slots is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment
from tests.kafka.broker import Kafka

LIMIT_S = 240.0
SHARE = 1_000
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "300 ms",
    "execution.epoch.target": "200 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "100 ms",
}

pytestmark = pytest.mark.timeout(1200)


def kafka_table(kafka: Kafka, name: str, columns: str, topic: str, **options: str) -> str:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.servers,
        "format": "csv",
        **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    }
    text = ", ".join(f"'{k}' = '{v}'" for k, v in given.items())
    return f"CREATE TABLE {name} ({columns}) WITH ({text})"


def wait_for(kafka: Kafka, topic: str, count: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while (found := len(kafka.values(topic))) < count:
        assert time.monotonic() < deadline, f"{found} of {count} messages have come"
        time.sleep(0.2)


def test_each_row_is_written_once_though_a_slot_is_killed(kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.topic(2), kafka.topic(2)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = SETTINGS | {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    earliest = {"scan__startup__mode": "earliest-offset"}
    t_env.execute_sql(kafka_table(kafka, "a", "n INT", source, **earliest))
    t_env.execute_sql(
        kafka_table(
            kafka,
            "b",
            "n INT, twice INT",
            target,
            sink__delivery_guarantee="exactly-once",
            sink__transactional_id_prefix=f"sql-{target}",
        )
    )
    client = t_env.execute_sql("INSERT INTO b SELECT n, n * 2 FROM a").get_job_client()
    assert client is not None
    job: Any = client._handle
    try:
        kafka.fill(source, 0, SHARE)
        # Something is committed, so that a repetition would be seen.
        wait_for(kafka, target, 1)
        kafka.fill(source, SHARE, 2 * SHARE)
        os.kill(job.attempt.slot_pids[1], signal.SIGKILL)
        kafka.fill(source, 2 * SHARE, 3 * SHARE)
        wait_for(kafka, target, 3 * SHARE)
    finally:
        client.cancel().result()
    kafka.wait_until_settled(target)
    rows = [tuple(map(int, line.split(","))) for line in kafka.values(target)]
    assert sorted(rows) == [(n, 2 * n) for n in range(3 * SHARE)]
    assert job.restarts >= 1
