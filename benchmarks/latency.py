"""How old a record is when it comes out, live, epoch by epoch, and with PyFlink."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio
from benchmarks.peers import environments as peers

_RATE = 20_000
_SLOW_RATE = 1_000
_SECONDS = 20


def _run(settings: Settings, carrier: str, rate: float, *more: int) -> dict[str, Any]:
    seconds = max(_SECONDS * settings.scale, 4)
    arguments = [carrier, str(rate), str(seconds), *map(str, more)]
    command = [sys.executable, "-m", "benchmarks.jobs.latency", *arguments]
    peers.show(command)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def latency(settings: Settings) -> Iterator[Result]:
    """Age of a record at 20,000 records a second: live, in epochs, and with PyFlink."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for carrier in ("live", "epochs"):
        runs[carrier] = [_run(settings, carrier, _RATE) for _ in range(settings.rounds)]
    python = peers.peer_python("pyflink", settings.pyflink_python)
    runs["PyFlink"] = [peers.pyflink_latency(python, _RATE, _SECONDS)]
    for figure, goal in (("p50_ms", 8.0), ("p99_ms", 40.0)):
        ours = statistics.median(run[figure] for run in runs["live"])
        for peer in ("epochs", "PyFlink"):
            theirs = statistics.median(run[figure] for run in runs[peer])
            name, share = f"live, {figure.removesuffix('_ms')}", ours / theirs
            yield Result(name, peer, "ms", ours, theirs, share, samples=runs)
        yield Result(f"live, {figure}", "the goal", "ms", ours, goal, ours / goal, 1.0, False)


def live_throughput(settings: Settings) -> Iterator[Result]:
    """Records per second of a backlog, live and in epochs."""
    live, epochs = alternate(
        lambda: float(_run(settings, "live", 0)["records_per_s"]),
        lambda: float(_run(settings, "epochs", 0)["records_per_s"]),
        settings.rounds,
    )
    yield Result(
        "backlog, live",
        "epochs",
        "records/s",
        statistics.median(live),
        statistics.median(epochs),
        middle_ratio(live, epochs),
        0.9,
        samples={"live": live, "epochs": epochs},
    )


def live_cost(settings: Settings) -> Iterator[Result]:
    """Processor time at 1,000 records a second, live and in epochs."""
    live, epochs = alternate(
        lambda: float(_run(settings, "live", _SLOW_RATE)["cores"]),
        lambda: float(_run(settings, "epochs", _SLOW_RATE)["cores"]),
        settings.rounds,
    )
    ours, theirs = statistics.median(live), statistics.median(epochs)
    ratio = middle_ratio(live, epochs)
    samples = {"live": live, "epochs": epochs}
    yield Result("1,000 records/s, live", "epochs", "cores", ours, theirs, ratio, samples=samples)
    yield Result("1,000 records/s, live", "the goal", "cores", ours, 0.35, ours / 0.35, 1.0, False)


CASES = {"latency": latency, "live-throughput": live_throughput, "live-cost": live_cost}
