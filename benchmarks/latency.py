"""Live jobs: how old a record is when it comes out, and what that costs."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio
from benchmarks.peers import environments as peers

_RATE = 20_000
_SLOW_RATE = 1_000
_SECONDS = 20
_WARM_SECONDS = 60
"""Java takes so long to have compiled what runs seldom."""
_P50_MS, _P99_MS = 8.0, 40.0
_LEVELS = 3
_SLOW_MS = (1, 50)
_BECOMES = 5_000

Measured = dict[str, Any]


def _run(
    settings: Settings, carrier: str, rate: float, *more: str, length_s: float = _SECONDS
) -> Measured:
    seconds = max(length_s * settings.scale, 4)
    return _measured("benchmarks.jobs.latency", carrier, str(rate), str(seconds), *more)


def _measured(program: str, *arguments: str) -> Measured:
    command = [sys.executable, "-m", program, *arguments]
    peers.show(command)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def _rounds(settings: Settings, run: Callable[[], Measured]) -> list[Measured]:
    return [run() for _ in range(settings.rounds)]


def _median(runs: list[Measured], figure: str) -> float:
    return statistics.median(float(run[figure]) for run in runs)


def latency(settings: Settings) -> Iterator[Result]:
    """Age of a record at 20,000 records a second: live, and in the same run in other ways."""
    live = _rounds(settings, partial(_run, settings, "live", _RATE))
    yield from _ages_and_goals("live", live, 1)
    for peer, measured in _others(settings):
        yield from _against(live, peer, measured)


def _others(settings: Settings) -> Iterator[tuple[str, list[Measured]]]:
    yield "epochs", _rounds(settings, partial(_run, settings, "epochs", _RATE))
    seconds = max(_SECONDS * settings.scale, 4)
    bytewax = peers.peer_python("bytewax", settings.bytewax_python)
    yield "Bytewax 0.21", [peers.bytewax_latency(bytewax, _RATE, seconds)]
    flink = peers.peer_python("pyflink", settings.pyflink_python)
    for mode in ("process", "thread"):
        # It does not take the rate of the others.
        found = peers.pyflink_latency(flink, _SLOW_RATE, seconds, mode)
        yield f"PyFlink 2.3, {mode} mode, {_SLOW_RATE:,} records/s", [found]


def _ages_and_goals(name: str, runs: list[Measured], factor: float) -> Iterator[Result]:
    for figure, goal in (("p50_ms", _P50_MS * factor), ("p99_ms", _P99_MS * factor)):
        ours = _median(runs, figure)
        title = f"{name}, {figure.removesuffix('_ms')}"
        yield Result(
            title, "the goal", "ms", ours, goal, ours / goal, 1.0, False, samples={"runs": runs}
        )


def _against(live: list[Measured], peer: str, measured: list[Measured]) -> Iterator[Result]:
    for figure in ("p50_ms", "p99_ms"):
        ours, theirs = _median(live, figure), _median(measured, figure)
        if not theirs:
            print(f"{peer}: no record came out while ages were taken")
            return
        title = f"live, {figure.removesuffix('_ms')}"
        yield Result(
            title, peer, "ms", ours, theirs, ours / theirs, samples={"live": live, peer: measured}
        )


def live_levels(settings: Settings) -> Iterator[Result]:
    """Age of a record at 20,000 records a second after three exchanges: at most twice the goals."""
    run = partial(_run, settings, "live", _RATE, "--levels", str(_LEVELS))
    yield from _ages_and_goals(f"live, {_LEVELS} levels", _rounds(settings, run), 2)


def live_throughput(settings: Settings) -> Iterator[Result]:
    """Records per second of a backlog, live and in epochs."""

    def rate(carrier: str) -> float:
        return float(_run(settings, carrier, 0)["records_per_s"])

    rates = alternate(partial(rate, "live"), partial(rate, "epochs"), settings.rounds)
    yield _compared_rates("backlog, live", "epochs", *rates, 0.9)


def live_checkpoints(settings: Settings) -> Iterator[Result]:
    """Records per second of a live backlog with a checkpoint every second, and without."""
    seconds = max(_SECONDS * settings.scale / 2, 4)
    found = _measured("benchmarks.jobs.checkpoint_cost", str(seconds), str(settings.rounds))
    rates = found["checkpointed"], found["bare"]
    yield _compared_rates("live, a checkpoint every second", "without checkpoints", *rates, 0.95)


def live_pressure(settings: Settings) -> Iterator[Result]:
    """Time between checkpoints, one of which is due each second, where a function is slow."""
    for ms_per_record in _SLOW_MS:
        seconds = max(_SECONDS * settings.scale, 10)
        found = _measured("benchmarks.jobs.pressure", "live", str(seconds), str(ms_per_record))
        name = f"live, checkpoints, {ms_per_record} ms a record"
        ours = found["median_s"]
        yield Result(name, "asked for", "s", ours, 1.0, ours, 1.5, False, samples={"run": found})
    yield from _overtaking(settings)


def _overtaking(settings: Settings) -> Iterator[Result]:
    """The same where one record becomes so many that an epoch takes seconds."""
    seconds = str(max(_SECONDS * settings.scale, 20))
    given = ("benchmarks.jobs.pressure", "live", seconds, "1", str(_BECOMES))
    unaligned, aligned = _measured(*given, "unaligned"), _measured(*given)
    ours, theirs = unaligned["median_s"], aligned["median_s"]
    samples = {"unaligned": unaligned, "aligned": aligned}
    name = f"live, unaligned checkpoints, a record becomes {_BECOMES:,} of 1 ms"
    yield Result(name, "asked for", "s", ours, 1.0, ours, 1.5, False, samples=samples)
    yield Result(name, "aligned", "s", ours, theirs, ours / theirs, samples=samples)


def _compared_rates(
    name: str, peer: str, ours: list[float], theirs: list[float], goal: float
) -> Result:
    ratio = middle_ratio(ours, theirs)
    samples = {name: ours, peer: theirs}
    figures = statistics.median(ours), statistics.median(theirs)
    return Result(name, peer, "records/s", *figures, ratio, goal, samples=samples)


def live_cost(settings: Settings) -> Iterator[Result]:
    """Processor time at 1,000 records a second, live and in epochs, in the second half of a run."""
    run = partial(_run, settings, "live", _SLOW_RATE, length_s=_WARM_SECONDS)
    live = _rounds(settings, run)
    epochs = _rounds(settings, partial(_run, settings, "epochs", _SLOW_RATE))
    ours, theirs = _median(live, "cores"), _median(epochs, "cores")
    samples = {"live": live, "epochs": epochs}
    name = "1,000 records/s, live"
    yield Result(name, "epochs", "cores", ours, theirs, ours / theirs, samples=samples)
    yield Result(name, "the goal", "cores", ours, 0.35, ours / 0.35, 1.0, False)
    yield from _against(live, "epochs, 1,000 records/s", epochs)


def live_idle(settings: Settings) -> Iterator[Result]:
    """A record that comes alone to a job without a Spark job, and what that job costs meanwhile."""
    found = _measured("benchmarks.jobs.idle", str(settings.rounds))
    for figure, unit, goal in (("p50_ms", "ms", 300.0), ("idle_cores", "cores", 0.01)):
        ours = found[figure]
        name = f"live, idle, {figure.removesuffix('_ms')}"
        yield Result(name, "the goal", unit, ours, goal, ours / goal, 1.0, False, samples=found)


CASES = {
    "latency": latency,
    "live-levels": live_levels,
    "live-throughput": live_throughput,
    "live-checkpoints": live_checkpoints,
    "live-pressure": live_pressure,
    "live-cost": live_cost,
    "live-idle": live_idle,
}
