"""From end to end exactly once: Kafka to state to Kafka, PostgreSQL and files, under kills.

The long form, a million records and 21 kills, runs with `HEADRACE_LONG_FAULTS=1`. The records come
in shares, one before each kill: however fast the machine is, the job has work when it is hit, and
however slow, it cannot end before the last kill.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.faults.pipeline_program import KEYS, PARTITIONS, Pipeline
from tests.faults.processes import Child, assert_gone, descendants_of
from tests.faults.test_recovery import latest_checkpoint
from tests.jdbc.test_tables import Table
from tests.kafka.broker import Kafka
from tools.database_server import PostgreSqlServer
from tools.processes import alive

PROGRAM = Path(__file__).with_name("pipeline_program.py")
LONG = bool(os.environ.get("HEADRACE_LONG_FAULTS"))
RECORDS = 1_000_000 if LONG else 20_000
KILLS = 21 if LONG else 3
SHARE = RECORDS // (KILLS + 1)
EACH = ("slot", "executor", "driver")
MORE = (*("slot", "executor", "slot") * 5, "driver")
EPOCH_RECORDS = 10_000 if LONG else 1_000
UNHARMED_S = 20.0
SELECT = "SELECT number, key, count FROM {}"
LIMIT_S = 7_200 if LONG else 1_800

pytestmark = [pytest.mark.timeout(LIMIT_S), pytest.mark.slow]


class Chaos:
    """A job that is killed in part or as a whole, and started again when its driver is gone."""

    def __init__(self, pipeline: Pipeline, kafka: Kafka, directory: Path) -> None:
        self.pipeline = pipeline
        self._kafka = kafka
        self._written = 0
        self._directory = directory
        self._random = random.Random(os.environ.get("HEADRACE_FAULT_SEED", "17"))
        self._jobs: list[Child] = []
        self._attempts = 0
        self.kills: Counter[str] = Counter()
        self.start()

    @property
    def job(self) -> Child:
        return self._jobs[-1]

    def start(self) -> None:
        """Start the program from its last checkpoint."""
        checkpoint = latest_checkpoint(Path(self.pipeline.checkpoints))
        pipeline = replace(self.pipeline, restore=checkpoint and str(checkpoint))
        log = self._directory / f"job-{len(self._jobs)}.log"
        self._jobs.append(Child(PROGRAM, [json.dumps(asdict(pipeline))], log))
        self._attempts = 0

    def kill(self, whom: str) -> None:
        """Kill one of a kind some time after it has begun to work."""
        self.write(SHARE * (1 + sum(self.kills.values())))
        driver, *slots = self._next_attempt()
        time.sleep(self._random.uniform(0.2, 3.0))
        executors = descendants_of(driver, b"CoarseGrainedExecutorBackend")
        of_kind = {"slot": slots, "executor": executors, "driver": [driver]}[whom]
        victims = [pid for pid in of_kind if alive(pid)]
        if not victims:
            return
        os.kill(self._random.choice(victims), signal.SIGKILL)
        self.kills[whom] += 1
        if whom == "driver":
            self.job.process.wait(LIMIT_S)
            assert_gone([*slots, *executors])
            self.start()

    def _next_attempt(self) -> list[int]:
        """The driver and the slots of the attempt that follows the last kill.

        An executor that is killed between two Spark jobs is replaced, and the attempt goes on with
        its slots: then it is hit again after a while.
        """
        unharmed_at = time.monotonic() + UNHARMED_S
        while True:
            lines = self.job.lines("attempt")
            driver, *slots = [int(word) for line in lines[-1:] for word in line.split()[1:]] or [0]
            unharmed = slots and time.monotonic() > unharmed_at and all(map(alive, slots))
            if len(lines) > self._attempts or unharmed:
                self._attempts = len(lines)
                return [driver, *slots]
            assert self.job.process.poll() is None, self.log()
            time.sleep(0.05)

    def write(self, until: int) -> None:
        """Write the numbers up to one to the source's topic."""
        self._kafka.fill(self.pipeline.source_topic, self._written, until)
        self._written = until

    def finish(self) -> None:
        self.write(RECORDS)
        while not self.job.lines("done"):
            ended = self.job.process.poll() is not None
            assert not ended or self.job.lines("done"), self.log()
            time.sleep(0.2)

    def log(self) -> str:
        return "".join(f"--- {job.log.name}\n{job.log.read_text()}" for job in self._jobs)

    def close(self) -> None:
        for job in self._jobs:
            job.end()


@pytest.fixture
def table(postgresql: PostgreSqlServer) -> Table:
    return Table(postgresql, "number INT, key INT, count INT")


@pytest.fixture
def chaos(kafka: Kafka, table: Table, tmp_path: Path) -> Iterator[Chaos]:
    source, target = kafka.topic(PARTITIONS), kafka.topic(3)
    pipeline = Pipeline(
        master="local-cluster[2,1,1024]",
        checkpoints=str(tmp_path / "checkpoints"),
        restore=None,
        servers=kafka.servers,
        source_topic=source,
        target_topic=target,
        files=str(tmp_path / "files"),
        database=table.server.url,
        user=table.server.user,
        password=table.server.password,
        table=table.name,
        records=RECORDS,
        epoch_records=EPOCH_RECORDS,
    )
    started = Chaos(pipeline, kafka, tmp_path)
    yield started
    started.close()


def test_every_output_has_each_record_once_whatever_is_killed(
    chaos: Chaos, kafka: Kafka, table: Table, tmp_path: Path
) -> None:
    began = time.monotonic()
    for whom in itertools.chain(EACH, itertools.cycle(MORE)):
        if sum(chaos.kills.values()) == KILLS:
            break
        chaos.kill(whom)
    chaos.finish()
    print(f"killed {dict(chaos.kills)} in {time.monotonic() - began:.0f} s")
    kafka.wait_until_settled(chaos.pipeline.target_topic)
    outputs = {
        "kafka": kafka.values(chaos.pipeline.target_topic),
        "table": [",".join(map(str, row)) for row in table.execute(SELECT.format(table.name))],
        "files": [line for part in tmp_path.glob("files/*/part-*") for line in lines(part)],
    }
    for name, rows in outputs.items():
        assert_each_once(name, rows)


def lines(part: Path) -> list[str]:
    return part.read_text().splitlines()


def assert_each_once(name: str, rows: list[str]) -> None:
    """All records, and the counts of each key without a gap: the state was exact too."""
    parsed = [tuple(map(int, row.split(","))) for row in rows]
    numbers = Counter(number for number, _, _ in parsed)
    doubled = {n: times for n, times in numbers.items() if times > 1}
    missing = set(range(RECORDS)) - set(numbers)
    assert (len(doubled), len(missing)) == (0, 0), (name, list(doubled)[:10], list(missing)[:10])
    counts: dict[int, list[int]] = {}
    for _, key, count in parsed:
        counts.setdefault(key, []).append(count)
    assert all(sorted(found) == list(range(1, RECORDS // KEYS + 1)) for found in counts.values())
