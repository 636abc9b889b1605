"""A live job for a long time, with executors killed: does anything grow, get slow, or get lost?

    python -m benchmarks.soak                      an hour at 20,000 records/s, a kill in 5 minutes
    python -m benchmarks.soak --minutes 15 --rate 5000 --kill-every 120

A paced source, a keyed count and a sink that commits with checkpoints, on executors of their own.
Every few seconds memory, open files and threads of all its processes are noted, and the ages of
records. In the end what was committed is compared with what was due. Prints a JSON object for each
sample, and one with what came of it at last.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.jobs.paced import Paced, Record
from benchmarks.measure import descendants, executors
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

PARALLELISM = 2
_STEP_NS = 1_000_000
_AGES_EVERY_S = 5.0
_MODULUS = (1 << 61) - 1


class _Count(KeyedProcessFunction[int, Record, Record]):
    """Gives each record the number that it has for its key, in place of the key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count, value[1]


@dataclass(frozen=True)
class _Tally(Sink):
    """Commits, with each checkpoint, how many records there were, and sums over them."""

    directory: Path

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _TallyWriter(self.directory, context)

    def create_committer(self, context: WriterContext) -> Committer:
        return _TallyCommitter(self.directory)


class _TallyWriter(SinkWriter):
    def __init__(self, directory: Path, context: WriterContext) -> None:
        self._name = f"{context.attempt}-{context.subtask}"
        self._sums = [0, 0, 0]
        self._ages: Counter[int] = Counter()
        self._ages_file = directory / f"{self._name}.ages"
        self._next = time.monotonic() + _AGES_EVERY_S

    def write(self, values: list[Record], timestamps: Sequence[int | None] | None) -> None:
        now = time.time_ns()
        sums = self._sums
        for count, due in values:
            sums[0] += 1
            sums[1] += count
            sums[2] += due % _MODULUS
            self._ages[(now - due) // _STEP_NS] += 1

    def flush(self, end_of_input: bool) -> None:
        if time.monotonic() >= self._next and self._ages:
            self._next = time.monotonic() + _AGES_EVERY_S
            with self._ages_file.open("a") as file:
                file.write(json.dumps([time.time(), self._ages]) + "\n")
            self._ages.clear()

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[tuple[str, list[int]]]:
        sums, self._sums = self._sums, [0, 0, 0]
        return [(f"{self._name}-{checkpoint}", sums)] if sums[0] else []


class _TallyCommitter(Committer):
    """A second commit of the same writes the same file again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def commit(self, committables: list[tuple[str, list[int]]]) -> None:
        for name, sums in committables:
            pending = self._directory / f"{name}.pending"
            pending.write_text(json.dumps(sums))
            pending.rename(self._directory / f"{name}.tally")


@dataclass(frozen=True)
class _Due:
    """What should be committed."""

    records: int
    count_sum: int
    due_sum: int

    @staticmethod
    def of(source: Paced) -> _Due:
        each = source.records(PARALLELISM)
        counts: Counter[int] = Counter(n * 7919 % 1000 for n in range(each))
        # Every reader has the same keys.
        count_sum = sum(n * PARALLELISM * (n * PARALLELISM + 1) // 2 for n in counts.values())
        due = sum(source.due(n, PARALLELISM) % _MODULUS for n in range(each))
        return _Due(each * PARALLELISM, count_sum, due * PARALLELISM)


def _committed(directory: Path) -> _Due:
    tallies = [json.loads(path.read_text()) for path in directory.glob("*.tally")]
    return _Due(*(sum(t[i] for t in tallies) for i in range(3)))


def _usage() -> dict[str, int]:
    """Of this process and all below it."""
    used: Counter[str] = Counter()
    for pid in (os.getpid(), *descendants(os.getpid())):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            kind = "java" if fields["Name"].strip() == "java" else "python"
            used[f"{kind}_kib"] += int(fields.get("VmRSS", "0 kB").split()[0])
            used["threads"] += int(fields["Threads"])
            used["files"] += len(os.listdir(f"/proc/{pid}/fd"))
            used["processes"] += 1
    return dict(used)


def _ages_since(directory: Path, since: float) -> dict[str, float | None]:
    ages: Counter[int] = Counter()
    for path in directory.glob("*.ages"):
        for line in path.read_text().splitlines()[-8:]:
            at, found = json.loads(line)
            if at >= since:
                ages.update({int(step): n for step, n in found.items()})
    return {"p50_ms": _percentile(ages, 0.5), "p99_ms": _percentile(ages, 0.99)}


def _percentile(ages: Counter[int], share: float) -> float | None:
    left = share * sum(ages.values())
    for step in sorted(ages):
        left -= ages[step]
        if left <= 0:
            return (step + 1) * _STEP_NS / 1e6
    return None


class _Watch:
    """Samples the job and kills executors, on a thread of its own."""

    def __init__(self, job: Any, directory: Path, every_s: float, kill_every_s: float) -> None:
        self._job = job
        self._directory = directory
        self._every_s = every_s
        self._kill_every_s = kill_every_s
        self._over = threading.Event()
        self.samples: list[dict[str, Any]] = []
        self.kills = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        chance, began = random.Random(1), time.monotonic()
        next_kill = began + self._kill_every_s
        while not self._over.wait(self._every_s):
            now = time.monotonic()
            ages = _ages_since(self._directory, time.time() - 2 * self._every_s)
            sample = {"s": round(now - began), **ages, **_usage()}
            sample |= {"restarts": self._job.restarts, "kills": self.kills}
            self.samples.append(sample)
            print(json.dumps(sample), flush=True)
            if self._kill_every_s and now >= next_kill and (found := executors()):
                next_kill += self._kill_every_s
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
                    self.kills += 1


def _settings(master: str, checkpoints: Path) -> dict[str, str]:
    return {
        "spark.master": master,
        "execution.carrier": "live",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": str(checkpoints),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000000",
        "restart-strategy.fixed-delay.delay": "100 ms",
        # Spark gives up an application that loses too many executors, and a host likewise.
        "spark.deploy.maxExecutorRetries": "-1",
    }


def soak(
    minutes: float, rate: float, kill_every_s: float, sample_s: float, master: str
) -> dict[str, Any]:
    """Run the job to its end."""
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as temporary:
        tallies, checkpoints = Path(temporary, "tallies"), Path(temporary, "checkpoints")
        tallies.mkdir()
        configuration = Configuration.from_dict(_settings(master, checkpoints))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(PARALLELISM)
        env.get_spark_session()
        start_ns = time.time_ns() + 5_000_000_000
        source = Paced(rate, start_ns, start_ns + int(minutes * 60e9))
        stream: Any = env.from_source(source, WatermarkStrategy.no_watermarks(), "paced")
        stream.key_by(lambda record: record[0]).process(_Count()).sink_to(_Tally(tallies))
        job: Any = env.submit("soak")
        watch = _Watch(job, tallies, sample_s, kill_every_s)
        try:
            job.result_future().result()
        finally:
            watch.end()
        due, committed = _Due.of(source), _committed(tallies)
    return {
        "minutes": minutes,
        "rate": rate,
        "master": master,
        "kills": watch.kills,
        "restarts": job.restarts,
        "records": due.records,
        "committed": committed.records,
        "exactly_once": committed == due,
        **_growth(watch.samples),
    }


def _growth(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of the second quarter of the time, when all is warm, and of the last one."""
    quarter = max(len(samples) // 4, 1)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    found = {}
    for name in ("java_kib", "python_kib", "threads", "files", "processes", "p50_ms", "p99_ms"):
        medians = [
            statistics.median([s[name] for s in part if s.get(name) is not None] or [0])
            for part in (early, late)
        ]
        found[name] = {"early": medians[0], "late": medians[1]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=20_000, help="records per second")
    parser.add_argument("--kill-every", type=float, default=300, metavar="S", help="0: never")
    parser.add_argument("--sample-every", type=float, default=10, metavar="S")
    parser.add_argument("--master", default="local-cluster[2,3,1024]")
    given = parser.parse_args()
    came_of_it = soak(given.minutes, given.rate, given.kill_every, given.sample_every, given.master)
    print(json.dumps(came_of_it))
    sys.exit(0 if came_of_it["exactly_once"] else 1)


if __name__ == "__main__":
    main()
