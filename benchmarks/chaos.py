"""Run a job for a while, kill parts of it at random moments, and count what arrives.

    python -m benchmarks chaos --seconds 60 --kills slot,slots,worker,driver,two
    python -m benchmarks chaos --master "local-cluster[2,1,1024]" --kills executor,slot,driver,two

`slots` are all of the job, and `two` is one of each of two other kinds, both at once. Records are
counted by key, and the counts are written to files that are committed with checkpoints. Afterwards
every row must be there once. The exit code is 1 if one is lost or doubled.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.jobs.chaos_job import KEYS
from benchmarks.measure import descendants

KILLS = ("slot", "slots", "worker", "zygote", "executor", "driver", "two")
# After these a new attempt follows for certain.
_NOTICED = {"slot", "slots", "executor"}
_START_S = 300.0
_PAUSE_S = (0.2, 4.0)


@dataclass
class Tally:
    """What happened."""

    records: int
    kills: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    drivers: int = 0
    rows: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    @property
    def clean(self) -> bool:
        return self.lost == self.doubled == self.wrong == 0

    def __str__(self) -> str:
        """All of it on a few lines."""
        kills = ", ".join(f"{n} {what}" for what, n in sorted(self.kills.items()))
        return (
            f"kills {self.kills.total()} ({kills or 'none'}), restarts {self.restarts}, "
            f"drivers {self.drivers}\n"
            f"records {self.records}, rows {self.rows}, lost {self.lost}, doubled {self.doubled}, "
            f"wrong {self.wrong}"
        )


class Driver:
    """The job's program, as often as it has to be started."""

    def __init__(self, directory: Path, master: str, records: int, per_second: float) -> None:
        self.directory = directory
        self._arguments = [master, str(directory), str(records), str(per_second)]
        self._logs: list[Path] = []
        self.start()

    def start(self) -> None:
        """Start the program from the newest checkpoint there is."""
        log = self.directory / f"driver-{len(self._logs)}.log"
        self._logs.append(log)
        newest = newest_run(self.directory / "checkpoints")
        restore = [str(newest)] if newest is not None else []
        command = [sys.executable, "-m", "benchmarks.jobs.chaos_job", *self._arguments, *restore]
        with log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    @property
    def starts(self) -> int:
        return len(self._logs)

    def lines(self, word: str) -> list[list[str]]:
        """What this program has said, by the first word of the line."""
        lines = self._logs[-1].read_text(errors="replace").splitlines()
        return [line.split()[1:] for line in lines if line.split(" ", 1)[0] == word]

    def wait_for_attempt(self, seen: int) -> list[int] | None:
        """The slots of a further attempt; None if the job has finished instead."""
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            attempts = self.lines("attempt")
            if len(attempts) > seen:
                return [int(pid) for pid in attempts[-1][1:]]
            if self.process.poll() is not None:
                if self.lines("finished"):
                    return None
                raise RuntimeError(f"the driver ended:\n{self._logs[-1].read_text()}")
            time.sleep(0.05)
        raise RuntimeError(f"no attempt runs:\n{self._logs[-1].read_text()}")

    def end(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def newest_run(checkpoints: Path) -> Path | None:
    """The directory of the job that completed a checkpoint last."""
    found = checkpoints.glob("*/chk-*/_metadata")
    newest = max(found, key=lambda m: m.stat().st_mtime_ns, default=None)
    return newest.parent.parent if newest is not None else None


def victims(what: str, driver: int, slots: list[int], chance: random.Random) -> list[int]:
    """The processes to kill; none if there are none of the kind."""
    if what == "slot":
        return [chance.choice(slots)]
    if what == "slots":
        return slots
    if what == "driver":
        return [driver]
    words = {
        "worker": b"pyspark.daemon",
        "zygote": b"headrace.runtime.slot.zygote",
        "executor": b"CoarseGrainedExecutorBackend",
    }
    found = [pid for pid in descendants(driver) if words[what] in _command(pid)]
    return [chance.choice(found)] if found else []


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def check(tally: Tally, rows: Path) -> None:
    """Compare what was committed with what an undisturbed run commits."""
    values: Counter[int] = Counter()
    counts: set[tuple[int, int]] = set()
    for file in rows.rglob("*"):
        if not file.is_file() or file.name.startswith((".", "_")):
            continue
        for row in file.read_text().splitlines():
            key, count, value = map(int, row.split())
            values[value] += 1
            counts.add((key, count))
    tally.rows = values.total()
    tally.lost = tally.records - len(values)
    tally.doubled = tally.rows - len(values)
    # State that lost or doubled a record counts wrongly from there on.
    expected = {
        (key, n) for key in range(KEYS) for n in range(1, len(range(key, tally.records, KEYS)) + 1)
    }
    tally.wrong = len(counts ^ expected)


def disturb(job: Driver, kinds: list[str], seconds: float, chance: random.Random) -> Tally:
    """Kill until the time is over, then let the job come to its end."""
    tally = Tally(0)
    job.wait_for_attempt(0)
    until = time.monotonic() + seconds
    seen = 0
    while (slots := job.wait_for_attempt(seen)) is not None and time.monotonic() < until:
        seen = len(job.lines("attempt"))
        time.sleep(chance.uniform(*_PAUSE_S))
        what = chance.choice(kinds)
        hit = chance.sample([k for k in kinds if k != "two"], 2) if what == "two" else [what]
        killed = [pid for kind in hit for pid in victims(kind, job.process.pid, slots, chance)]
        tally.kills[what] += any([_kill(pid) for pid in killed])
        if "driver" in hit:
            job.process.wait()
            tally.restarts += max(seen - 1, 0)
            seen = 0
            job.start()
        elif not killed or not _NOTICED & set(hit):
            # Where nothing was under way nobody notices, and no new attempt follows.
            seen = min(seen, len(job.lines("attempt")) - 1)
    job.process.wait()
    finished = job.lines("finished")
    if not finished:
        raise RuntimeError(f"the job did not finish; its log is in {job.directory}")
    tally.restarts += int(finished[0][0])
    tally.drivers = job.starts
    return tally


def run(
    seconds: float, kinds: list[str], master: str, per_second: float, seed: int, directory: Path
) -> Tally:
    """One run, from the start of the first driver to the count of the rows."""
    records = int(seconds * per_second)
    job = Driver(directory, master, records, per_second)
    try:
        tally = disturb(job, kinds, seconds, random.Random(seed))
    finally:
        job.end()
    tally.records = records
    check(tally, directory / "rows")
    return tally


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long parts are killed")
    parser.add_argument(
        "--kills", default="slot,slots,worker,driver,two", help=f"any of {', '.join(KILLS)}"
    )
    parser.add_argument("--master", default="local[2]", help="where Spark runs")
    parser.add_argument("--per-second", type=float, default=2000, help="records in a second")
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run")
    options = parser.parse_args(arguments)
    kinds = options.kills.split(",")
    unknown = set(kinds) - set(KILLS)
    if unknown:
        parser.error(f"cannot kill {', '.join(sorted(unknown))}; there are {', '.join(KILLS)}")
    if "two" in kinds and len(kinds) < 3:
        parser.error("two at once need two other kinds")
    seed = options.seed if options.seed is not None else random.randrange(1_000_000)
    with tempfile.TemporaryDirectory(prefix="headrace-chaos-") as directory:
        print(f"chaos for {options.seconds:g} s on {options.master}, seed {seed}", flush=True)
        tally = run(
            options.seconds, kinds, options.master, options.per_second, seed, Path(directory)
        )
    print(tally)
    return 0 if tally.clean else 1
