"""How long a job is without results after a part of it was killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, executors
from benchmarks.peers import environments as peers
from headrace.common.configuration import Configuration
from headrace.common.errors import JobCancelledError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_KEYS = 100
_PER_SECOND = 2000
_LIMIT_S = 120.0
_PAUSE_S = 10.0


class _Counting(KeyedProcessFunction[int, int, str]):
    """The running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()} {count} {value}"


def _environment(directory: Path, carrier: str, master: str) -> StreamExecutionEnvironment:
    """An environment with checkpoints in a directory, and as many restarts as it takes."""
    settings = {
        "spark.master": master,
        "execution.carrier": carrier,
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "execution.epoch.target": "300 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000000",
        "restart-strategy.fixed-delay.delay": "0 ms",
        # Spark gives up an application that loses too many executors.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    created = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(settings)
    )
    return created.set_parallelism(2)


class _Watched:
    """A job whose results are counted as they come."""

    def __init__(self, directory: Path, carrier: str, master: str) -> None:
        env = _environment(directory, carrier, master)
        source = DataGeneratorSource(
            lambda index: index, 10**9, RateLimiterStrategy.per_second(_PER_SECOND)
        )
        collect_id = env.new_collect_id()
        counts = (
            env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
            .key_by(lambda value: value % _KEYS)
            .process(_Counting())
        )
        counts.sink_to(CollectSink(collect_id))
        self._collector = env.collectors[collect_id]
        self._arrived = threading.Condition()
        self._last: float | None = None
        self.job: Any = env.submit("recovery")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(JobCancelledError):
            for _ in self._collector:
                with self._arrived:
                    self._last = time.perf_counter()
                    self._arrived.notify_all()

    @property
    def slots(self) -> list[int]:
        """The processes of its slots."""
        found: list[int] = self.job.attempt.slot_pids
        return found

    def first_result_after(self, moment: float) -> float:
        """Seconds from a moment to the next result."""
        with self._arrived:
            if not self._arrived.wait_for(
                lambda: self._last is not None and self._last > moment, _LIMIT_S
            ):
                raise RuntimeError(f"no result for {_LIMIT_S:.0f} s; {self.job.history.failures}")
        assert self._last is not None
        return self._last - moment

    def recover(self, candidates: Callable[[], list[int]], chance: random.Random) -> float:
        """Kill one of some processes; seconds until results of the next attempt come."""
        restarts = self.job.restarts
        time.sleep(chance.uniform(0.5, 1.5))
        victim, killed = chance.choice(candidates()), time.perf_counter()
        os.kill(victim, signal.SIGKILL)
        # Results of a checkpoint that was complete already may still arrive after the kill.
        while self.job.restarts == restarts:
            time.sleep(0.002)
        restarted = time.perf_counter()
        return self.first_result_after(restarted) + restarted - killed


def _measured(
    rounds: int, carrier: str = "epochs", master: str = "local[2]"
) -> tuple[float, list[float]]:
    """Seconds from the start to the first result, and from each kill to the first one after it.

    Where there are executors, one of them is killed, otherwise a slot.
    """
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="headrace-recovery-") as directory:
        began = time.perf_counter()
        watched = _Watched(Path(directory), carrier, master)
        started = watched.first_result_after(began)
        try:
            took = []
            for _ in range(rounds):
                # One that has just replaced another has no slots yet.
                took.append(watched.recover(lambda: executors()[:1] or watched.slots, chance))
                time.sleep(_PAUSE_S if executors() else 0)
        finally:
            watched.job.cancel().result(_LIMIT_S)
    return started, took


def recovery(settings: Settings) -> Iterator[Result]:
    """From the kill of a slot to the first new result, against the start of the same job."""
    started, took = _measured(settings.rounds)
    ours = statistics.median(took)
    yield Result(
        "recovery from a killed slot",
        "its first result after a start",
        "s",
        ours,
        started,
        ours / started,
        samples={"recovery_s": took, "start_s": started},
    )


def against_pyflink(settings: Settings) -> Iterator[Result]:
    """The same kill of a Python process in PyFlink, which has the same interval of checkpoints."""
    python = peers.peer_python("pyflink", settings.pyflink_python)
    rounds = min(settings.rounds, 3)
    theirs = peers.pyflink_recovery(python, rounds)["recovery_s"]
    _, mine = _measured(rounds)
    yield Result(
        "recovery from a killed Python process",
        "PyFlink 2.3",
        "s",
        statistics.median(mine),
        statistics.median(theirs),
        statistics.median(mine) / statistics.median(theirs),
        samples={"headrace": mine, "PyFlink 2.3": theirs},
    )


def live(settings: Settings) -> Iterator[Result]:
    """From the kill of a slot of a live job to the first new result."""
    started, took = _measured(settings.rounds, "live")
    ours = statistics.median(took)
    samples = {"recovery_s": took, "start_s": started}
    name = "live, recovery from a killed slot"
    yield Result(name, "the goal", "s", ours, 2.0, ours / 2.0, 1.0, False, samples=samples)


def lost_executor(settings: Settings) -> Iterator[Result]:
    """From the kill of one of two executors of a live job to the first new result."""
    started, took = _measured(settings.rounds, "live", "local-cluster[2,3,1024]")
    ours = statistics.median(took)
    samples = {"recovery_s": took, "start_s": started}
    name = "live, recovery from a killed executor"
    peer = "its first result after a start"
    yield Result(name, peer, "s", ours, started, ours / started, samples=samples)


CASES = {
    "recovery": recovery,
    "recovery-pyflink": against_pyflink,
    "recovery-live": live,
    "recovery-executor": lost_executor,
}
