"""The benchmarks by name. Each yields the lines of the table that it is responsible for."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import programs
from benchmarks.measure import (
    Result,
    alternate,
    middle_ratio,
    python_memory_kib,
    seconds_to_first_line,
    timed,
)
from benchmarks.peers import environments as peers

JOBS = Path(__file__).parent / "jobs"


@dataclass(frozen=True)
class Settings:
    """What the command line chose.

    Attributes:
        scale: A factor on the numbers of records; 1 is what the goals are about.
        rounds: How often each side runs after the warm-up.
        queries: Those of a benchmark with many of them; all if there are none.
    """

    yardstick: ModuleType
    scale: float = 1.0
    rounds: int = 5
    pyflink_python: str | None = None
    bytewax_python: str | None = None
    pathway_python: str | None = None
    queries: tuple[str, ...] = ()

    def records(self, at_full_scale: int) -> int:
        return max(int(at_full_scale * self.scale) // 2 * 2, 1000)


def spark_context(settings: Settings) -> Any:
    """The one Spark of the run, found by headrace and used by the bare loops."""
    from headrace.spark.session import get_or_create_context

    programs.keyed_count(1000, 10)
    context = get_or_create_context({})
    context.addPyFile(str(settings.yardstick.__file__))
    return context


def keyed_count(settings: Settings) -> Iterator[Result]:
    """Keyed count against the bare loop."""
    sc = spark_context(settings)
    records = settings.records(3_000_000)
    for keys in (1_000, 1_000_000):
        expected = settings.yardstick.keyed_count(sc, records, keys)

        def ours(keys: int = keys, expected: int = expected) -> float:
            outputs = 0

            def run() -> None:
                nonlocal outputs
                outputs = programs.keyed_count(records, keys)

            took = timed(run)
            assert outputs == expected, f"{outputs} outputs instead of {expected}"
            return records / took

        def bare(keys: int = keys) -> float:
            return records / timed(lambda: settings.yardstick.keyed_count(sc, records, keys))

        mine, other = alternate(ours, bare, settings.rounds)
        yield Result(
            name=f"keyed count, {keys:,} keys",
            peer="bare loop",
            unit="records/s",
            ours=statistics.median(mine),
            theirs=statistics.median(other),
            ratio=middle_ratio(mine, other),
            goal=0.45,
            samples={"headrace": mine, "bare": other, "records": records},
        )


def against_pyflink(settings: Settings) -> Iterator[Result]:
    """Keyed count against PyFlink in process mode; its rate leaves out the start, ours does not."""
    python = peers.peer_python("pyflink", settings.pyflink_python)
    print(f"  apache-flink {peers.version(python, 'apache-flink')}", flush=True)
    # So few records that a run ends within a minute; its rate is steady long before.
    for keys, records in {1_000: 80_000, 500_000: 40_000}.items():
        few = settings.records(records)
        yield _against(
            settings,
            keys,
            lambda keys=keys, few=few: peers.pyflink_keyed_count(python, few, keys)["rate"],
            peer="PyFlink 2.3",
            goal=50.0,
            rounds=1,
        )


def against_bytewax(settings: Settings) -> Iterator[Result]:
    """Keyed count against Bytewax, the better of one worker and two processes; no side's start."""
    python = peers.peer_python("bytewax", settings.bytewax_python)
    print(f"  bytewax {peers.version(python, 'bytewax')}", flush=True)
    records = settings.records(1_000_000)
    for keys in (1_000, 500_000):

        def rate(keys: int = keys) -> float:
            found = {
                processes: peers.bytewax_keyed_count(python, records, keys, processes)["rate"]
                for processes in (1, 2)
            }
            print("  " + ", ".join(f"{n} process(es) {r:,.0f}/s" for n, r in found.items()))
            return max(found.values())

        yield _against(
            settings,
            keys,
            rate,
            peer="Bytewax 0.21",
            goal=3.0,
            rounds=settings.rounds,
            start_left_out=True,
        )


def _against(
    settings: Settings,
    keys: int,
    theirs: Callable[[], float],
    peer: str,
    goal: float,
    rounds: int,
    start_left_out: bool = False,
) -> Result:
    records = settings.records(3_000_000)

    def seconds() -> float:
        once = timed(lambda: programs.keyed_count(records, keys))
        if not start_left_out:
            return once
        # What a job costs besides its records is in both and so drops out.
        return timed(lambda: programs.keyed_count(2 * records, keys)) - once

    programs.keyed_count(records, keys)
    mine, other = [], []
    for _ in range(rounds):
        # Around theirs, so that a machine that gets busier or quieter counts for both.
        before = seconds()
        other.append(theirs())
        mine.append(2 * records / (before + seconds()))
    return Result(
        name=f"keyed count, {keys:,} keys",
        peer=peer,
        unit="records/s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=goal,
        samples={"headrace": mine, peer: other, "records": records},
    )


def stateless_chain(settings: Settings) -> Iterator[Result]:
    """map, filter and flat_map against the bare loop."""
    sc = spark_context(settings)
    records = settings.records(3_000_000)
    mine, other = alternate(
        lambda: records / timed(lambda: programs.stateless_chain(records)),
        lambda: records / timed(lambda: settings.yardstick.stateless_chain(sc, records)),
        settings.rounds,
    )
    yield Result(
        name="map, filter, flat_map",
        peer="bare loop",
        unit="records/s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=0.4,
        samples={"headrace": mine, "bare": other, "records": records},
    )


def small_epoch(settings: Settings) -> Iterator[Result]:
    """An epoch of ten records through one keyed exchange against a bare job of two stages."""
    sc = spark_context(settings)
    few, many = 5, 25

    def ours() -> float:
        # What a job costs besides its epochs is in both and so drops out.
        short = timed(lambda: programs.small_epochs(few))
        long = timed(lambda: programs.small_epochs(many))
        return (long - short) / (many - few) * 1000

    def bare() -> float:
        runs = [timed(lambda: settings.yardstick.small_epoch(sc)) for _ in range(many - few)]
        return statistics.mean(runs) * 1000

    for _ in range(10):
        settings.yardstick.small_epoch(sc)
    mine, other = alternate(ours, bare, settings.rounds)
    yield Result(
        name="epoch of ten records",
        peer="bare job",
        unit="ms",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=1.4,
        at_least=False,
        samples={"headrace": mine, "bare": other},
    )


def memory(settings: Settings) -> Iterator[Result]:
    """Resident memory of slots and Spark's Python workers, early and late in 240 epochs."""
    spark_context(settings)
    samples: list[tuple[float, int, int]] = []
    done = threading.Event()

    def watch() -> None:
        began = time.perf_counter()
        while not done.wait(0.25):
            sizes = python_memory_kib(os.getpid())
            samples.append((time.perf_counter() - began, len(sizes), sum(sizes.values())))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        programs.keyed_count(240 * 4_000, 1_000, {"execution.epoch.max-records": "2000"})
    finally:
        done.set()
        watcher.join()
    # The first sixth fills the state and the caches.
    settled = samples[len(samples) // 6 :]
    third = max(len(settled) // 3, 1)
    early = statistics.median(size for _, _, size in settled[:third]) / 1024
    late = statistics.median(size for _, _, size in settled[-third:]) / 1024
    yield Result(
        name="Python memory over 240 epochs",
        peer="its first third",
        unit="MiB",
        ours=late,
        theirs=early,
        ratio=late / early,
        goal=1.03,
        at_least=False,
        samples={"seconds, processes, KiB": samples[:: max(len(samples) // 100, 1)]},
    )


def start(settings: Settings) -> Iterator[Result]:
    """From `python job.py` to the first result of ten records."""
    commands = {
        name: [sys.executable, str(JOBS / f"start_{name}.py")] for name in ("headrace", "bare")
    }
    for command in commands.values():
        peers.show(command)
    mine, other = alternate(
        lambda: seconds_to_first_line(commands["headrace"]),
        lambda: seconds_to_first_line(commands["bare"]),
        settings.rounds,
    )
    yield Result(
        name="start to first result",
        peer="bare script",
        unit="s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=0.6,
        at_least=False,
        samples={"headrace": mine, "bare": other},
    )


def start_idle(settings: Settings) -> Iterator[Result]:
    """The same with a Spark that `headrace up` keeps ready, which is not waited for."""
    headrace, bare = (
        [sys.executable, str(JOBS / f"start_{name}.py")] for name in ("headrace", "bare")
    )
    with idle_spark() as ready:

        def ours() -> float:
            ready()
            return seconds_to_first_line(headrace)

        mine, other = alternate(ours, lambda: seconds_to_first_line(bare), settings.rounds)
    yield Result(
        name="start to first result, with an idle Spark",
        peer="bare script",
        unit="s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=0.6,
        at_least=False,
        samples={"headrace": mine, "bare": other},
    )


@contextlib.contextmanager
def idle_spark() -> Iterator[Callable[[], None]]:
    """`headrace up` for this benchmark alone; gives what waits until the next one is ready."""
    command = [sys.executable, "-m", "headrace.cluster.cli"]

    def ready() -> None:
        for _ in range(600):
            shown = subprocess.run([*command, "up", "--json"], stdout=subprocess.PIPE, check=True)
            if json.loads(shown.stdout)["spare"] == "ready":
                return
            time.sleep(0.2)
        raise RuntimeError("no Spark gets ready")

    before = os.environ.get("HEADRACE_RUN_DIR")
    with tempfile.TemporaryDirectory() as directory:
        os.environ["HEADRACE_RUN_DIR"] = directory
        try:
            yield ready
        finally:
            subprocess.run([*command, "down"], stdout=subprocess.DEVNULL, check=True)
            del os.environ["HEADRACE_RUN_DIR"]
            if before is not None:
                os.environ["HEADRACE_RUN_DIR"] = before


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "keyed-count": keyed_count,
    "stateless-chain": stateless_chain,
    "small-epoch": small_epoch,
    "memory": memory,
    "start": start,
    "start-idle": start_idle,
    "pyflink": against_pyflink,
    "bytewax": against_bytewax,
}
