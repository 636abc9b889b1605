"""Kill parts of a job at random moments, as often as is wished, and compare what arrives.

    python -m tests.faults.chaos --kills 200 --seed 1

A job counts by key what it reads from Kafka, and writes each record with its count to Kafka and to
files, exactly once. Its processes are killed one by one, with `kill -9`:

    slot      one of those that hold state and run user code
    child     one that a slot has forked to write a snapshot
    executor  one of Spark's
    worker    a Python worker of Spark
    driver    and with it all others; it is started again from the newest checkpoint
    two       one of each of two of these kinds, at once

The kills are shared out among the backends, one run after the other, and which and when is drawn
from the seed. Records come in shares, one before each kill: however fast the machine is, the job
has work when it is hit, and however slow, it cannot end before the last kill. Afterwards every
record must be there once in each output, and the counts of each key without a gap. The exit code is
1 if not, and the logs stay.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.faults.chaos_job import KEYS, PARTITIONS, Database, Pipeline
from tests.faults.counting_driver import newest_run
from tests.faults.processes import Child, assert_gone, descendants_of
from tests.kafka.broker import Kafka
from tools.kafka_broker import running_broker
from tools.processes import alive

KINDS = {"slot": 12, "child": 12, "executor": 2, "worker": 2, "driver": 1, "two": 1}
"""What can be killed, and how often compared with the others."""
BACKENDS = ("hashmap", "rocksdb")
MASTER = "local-cluster[2,1,1024]"
COMMANDS = {"executor": b"CoarseGrainedExecutorBackend", "worker": b"pyspark.worker"}
SHARE = 1_500
EPOCH_RECORDS = 2_000
PAUSE_S = (0.0, 2.5)
CHILD_PAUSE_S = (0.0, 0.02)
LIMIT_S = 600.0


@dataclass
class Tally:
    """What was done to a job, and what came of it."""

    backend: str
    kills: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    drivers: int = 0
    records: int = 0
    seconds: float = 0.0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    @property
    def clean(self) -> bool:
        return self.lost == self.doubled == self.wrong == 0

    def compare(self, rows: Iterable[str]) -> None:
        """Count what an output has too little, too much, or with a count that was not its own."""
        parsed = [tuple(map(int, row.split(","))) for row in rows]
        numbers = {number for number, _, _ in parsed}
        self.lost += len(set(range(self.records)) - numbers)
        self.doubled += len(parsed) - len(numbers)
        # State that lost or doubled a record counts wrongly from there on.
        counts = {(key, n) for key in range(KEYS) for n in range(1, self.of_key(key) + 1)}
        self.wrong += len(counts ^ {(key, count) for _, key, count in parsed})

    def of_key(self, key: int) -> int:
        return len(range(key, self.records, KEYS))


class Chaos:
    """A job that is killed in part or as a whole, and started again when its driver is gone."""

    def __init__(self, kafka: Kafka, pipeline: Pipeline, chance: random.Random) -> None:
        self.pipeline = pipeline
        self.tally = Tally(pipeline.backend, records=pipeline.records)
        self._kafka = kafka
        self._chance = chance
        self._directory = Path(pipeline.directory)
        self._written = 0
        self._jobs: list[Child] = []
        self._attempts = 0
        self._began = time.monotonic()
        self.start()

    @property
    def job(self) -> Child:
        return self._jobs[-1]

    def start(self) -> None:
        """Start the program from its last checkpoint."""
        newest = newest_run(self._directory / "checkpoints")
        pipeline = replace(self.pipeline, restore=newest and str(newest))
        log = self._directory / f"job-{len(self._jobs)}.log"
        self._jobs.append(Child("tests.faults.chaos_job", [json.dumps(asdict(pipeline))], log))
        self._attempts = 0
        self.tally.drivers += 1

    def kill(self, *kinds: str) -> None:
        """Kill one of each kind, all at once, some time after the job has begun to work."""
        self.write(SHARE * (1 + self.tally.kills.total()))
        while True:
            driver, *slots = self._next_attempt()
            time.sleep(self._chance.uniform(*PAUSE_S))
            below = [*slots, *descendants_of(driver, COMMANDS["executor"])]
            # A child lives for some hundredths of a second, so it is looked for last.
            in_order = sorted(kinds, key=lambda kind: kind == "child")
            victims = {kind: self._victim(kind, driver, slots) for kind in in_order}
            if None not in victims.values():
                break
        for pid in victims.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.tally.kills["two" if len(kinds) > 1 else kinds[0]] += 1
        if "driver" in kinds:
            self.job.process.wait(LIMIT_S)
            assert_gone(below)
            self.tally.restarts += max(self._attempts - 1, 0)
            self.start()

    def _next_attempt(self) -> list[int]:
        """The driver and the slots after the last kill: of a new attempt, or of one that goes on.

        Nobody notices when a process is killed that has nothing to do. A checkpoint that is
        completed afterwards tells that the job goes on.
        """
        killed_at = time.time_ns()
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            lines = self.job.lines("attempt")
            goes_on = lines and self._completed_at() > killed_at
            if len(lines) > self._attempts or goes_on:
                self._attempts = len(lines)
                return [int(word) for word in lines[-1].split()[1:]]
            assert self.job.process.poll() is None, self.log()
            time.sleep(0.02)
        raise AssertionError(f"no attempt runs:\n{self.log()}")

    def _completed_at(self) -> int:
        """When the newest checkpoint was completed."""
        times = [0]
        for metadata in self._directory.glob("checkpoints/*/chk-*/_metadata"):
            with contextlib.suppress(FileNotFoundError):
                times.append(metadata.stat().st_mtime_ns)
        return max(times)

    def _victim(self, kind: str, driver: int, slots: list[int]) -> int | None:
        if kind == "child":
            return self._child_of(slots)
        found = {"slot": slots, "driver": [driver]}.get(kind)
        if found is None:
            found = descendants_of(driver, COMMANDS[kind])
        living = [pid for pid in found if alive(pid)]
        return self._chance.choice(living) if living else None

    def _child_of(self, slots: list[int]) -> int | None:
        """A process that a slot has forked a moment ago; None if the slots end before."""
        seen = set(os.listdir("/proc"))
        deadline = time.monotonic() + LIMIT_S
        while all(map(alive, slots)):
            assert time.monotonic() < deadline, f"no slot forks:\n{self.log()}"
            processes = set(os.listdir("/proc"))
            for pid in filter(str.isdigit, processes - seen):
                if _parent(pid) in slots:
                    time.sleep(self._chance.uniform(*CHILD_PAUSE_S))
                    if alive(int(pid)):
                        return int(pid)
            seen = processes
        return None

    def write(self, until: int) -> None:
        """Write the numbers up to one to the source's topic."""
        self._kafka.fill(self.pipeline.source_topic, self._written, until)
        self._written = until

    def finish(self) -> Tally:
        """Let the job come to its end, and compare what it has written to Kafka and to files."""
        self.write(self.pipeline.records)
        while not self.job.lines("finished"):
            ended = self.job.process.poll() is not None
            assert not ended or self.job.lines("finished"), self.log()
            time.sleep(0.2)
        self.tally.restarts += int(self.job.lines("finished")[0].split()[1])
        self.tally.seconds = time.monotonic() - self._began
        self._kafka.wait_until_settled(self.pipeline.target_topic)
        self.tally.compare(self._kafka.values(self.pipeline.target_topic))
        parts = self._directory.glob("files/*/part-*")
        self.tally.compare(line for part in parts for line in part.read_text().splitlines())
        return self.tally

    def log(self) -> str:
        return "".join(f"--- {job.log.name}\n{job.log.read_text()}" for job in self._jobs)

    def end(self) -> None:
        for job in self._jobs:
            job.end()


def _parent(pid: str) -> int | None:
    try:
        return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


@contextlib.contextmanager
def running(
    kafka: Kafka,
    directory: Path,
    backend: str,
    kills: int,
    chance: random.Random,
    master: str = MASTER,
    database: Database | None = None,
) -> Iterator[Chaos]:
    """A job with topics of its own, for a number of kills."""
    pipeline = Pipeline(
        master=master,
        backend=backend,
        directory=str(directory),
        servers=kafka.servers,
        source_topic=kafka.topic(PARTITIONS),
        target_topic=kafka.topic(3),
        records=SHARE * (kills + 1),
        epoch_records=EPOCH_RECORDS,
        database=database,
    )
    chaos = Chaos(kafka, pipeline, chance)
    try:
        yield chaos
    finally:
        chaos.end()


def drawn(kinds: list[str], kills: int, chance: random.Random) -> list[list[str]]:
    """What to kill, one after the other."""
    single = [kind for kind in kinds if kind != "two"]
    return [
        chance.sample(single, 2) if kind == "two" else [kind]
        for kind in chance.choices(kinds, [KINDS[kind] for kind in kinds], k=kills)
    ]


def table(tallies: list[Tally], kinds: list[str]) -> str:
    """One line for each backend."""
    head = ["backend", *kinds, "kills", "restarts", "drivers", "records", "lost", "doubled"]
    rows = [[*head, "wrong", "seconds"]]
    for t in tallies:
        counts = [*(t.kills[kind] for kind in kinds), t.kills.total(), t.restarts, t.drivers]
        counts += [t.records, t.lost, t.doubled, t.wrong, round(t.seconds)]
        rows.append([t.backend, *map(str, counts)])
    return "\n".join("".join(f"{cell:>10}" for cell in row) for row in rows)


def run(options: argparse.Namespace, kinds: list[str], directory: Path) -> list[Tally]:
    """One run for each backend, from the start of the first driver to the comparison."""
    backends = options.backends.split(",")
    tallies = []
    with running_broker() as broker:
        for number, backend in enumerate(backends):
            kills = len(range(number, options.kills, len(backends)))
            chance = random.Random(f"{options.seed} {backend}")
            place = directory / backend
            place.mkdir()
            with running(Kafka(broker), place, backend, kills, chance, options.master) as chaos:
                for n, kind in enumerate(drawn(kinds, kills, chance), start=1):
                    chaos.kill(*kind)
                    now = time.strftime("%H:%M:%S")
                    print(f"{now} {backend} {n} of {kills}: {' and '.join(kind)}", flush=True)
                tallies.append(chaos.finish())
            print(table(tallies, kinds), flush=True)
    return tallies


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=20, help="how many, of all backends together")
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"any of {', '.join(KINDS)}")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="one run for each")
    parser.add_argument("--master", default=MASTER, help="where Spark runs")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    unknown = set(kinds) - set(KINDS)
    if unknown:
        parser.error(f"cannot kill {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    if "two" in kinds and len(kinds) < 3:
        parser.error("two at once need two other kinds")
    if options.seed is None:
        options.seed = random.randrange(1_000_000)
    print(f"{options.kills} kills on {options.master}, seed {options.seed}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    clean = False
    try:
        clean = all(tally.clean for tally in run(options, kinds, directory))
    finally:
        if clean:
            shutil.rmtree(directory)
        else:
            print(f"the logs are in {directory}", flush=True)
    print("nothing lost, nothing doubled" if clean else "NOT exactly once")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
