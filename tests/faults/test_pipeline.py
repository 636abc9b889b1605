"""From end to end exactly once: Kafka to state to Kafka, files and PostgreSQL, under kills.

The long form is a command: `python -m tests.faults.chaos --kills 200`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.examples import ALL
from tests.faults.chaos import running
from tests.faults.chaos_job import Database
from tests.jdbc.test_tables import Table
from tests.kafka.broker import Kafka
from tools.database_server import PostgreSqlServer

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.slow]

SELECT = "SELECT number, key, count FROM {}"
MASTERS = {"live": "local-cluster[2,3,1024]", "epochs": "local-cluster[2,1,1024]"}
# Each kind once; in `make test-all` all of them with each backend over each carrier.
EVERY_KIND = [("slot",), ("executor",), ("driver",), ("child",), ("slot", "executor")]
RUNS = [
    ("hashmap", "live", [("slot",), ("driver",)]),
    ("rocksdb", "epochs", [("child",), ("slot", "executor")]),
]
if ALL:
    RUNS = [(b, c, EVERY_KIND) for b in ("hashmap", "rocksdb") for c in MASTERS]


@pytest.mark.parametrize(("backend", "carrier", "kills"), RUNS)
def test_every_output_has_each_record_once_whatever_is_killed(
    backend: str,
    carrier: str,
    kills: list[tuple[str, ...]],
    kafka: Kafka,
    postgresql: PostgreSqlServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_EXECUTION_CARRIER", carrier)
    table = Table(postgresql, "number INT, key INT, count INT")
    server = table.server
    database = Database(server.url, server.user, server.password, table.name)
    chance = random.Random(17)
    with running(kafka, tmp_path, backend, len(kills), chance, MASTERS[carrier], database) as chaos:
        for kinds in kills:
            chaos.kill(*kinds)
        tally = chaos.finish()
        rows = table.execute(SELECT.format(table.name))
        tally.compare(",".join(map(str, row)) for row in rows)
        assert tally.clean, f"{tally}\n{chaos.log()}"
