"""Jobs that one long Spark job carries."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.faults.row_files import RowFiles, committed_rows

pytestmark = pytest.mark.usefixtures("room_for_live_jobs")

_WAIT_S = 300.0


def environment(**settings: str) -> StreamExecutionEnvironment:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    configuration = Configuration.from_dict({"execution.carrier": "live"} | given)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def numbers(env: StreamExecutionEnvironment, count: int = 1 << 40, per_second: int = 500) -> Any:
    source = DataGeneratorSource(
        lambda index: index, count, RateLimiterStrategy.per_second(per_second)
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def live_jobs() -> list[int]:
    """The Spark jobs that run now."""
    from headrace.spark.session import get_or_create_context

    return list(get_or_create_context({}).statusTracker().getActiveJobsIds())


def wait_until(condition: Callable[[], Any], *jobs: Any) -> None:
    """Wait for something; the jobs must not end before."""
    deadline = time.monotonic() + _WAIT_S
    while not condition():
        for job in jobs:
            if job.status().is_terminal_state():
                job.result_future().result()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_records_take_every_way_through_a_graph_with_branches() -> None:
    """Levels that are skipped, a union, a broadcast, and an exchange after an exchange."""
    env = environment()
    stream = numbers(env, 400, 4000)
    counted = stream.key_by(lambda n: n % 7).map(lambda n: ("key", n))
    spread = stream.rebalance().map(lambda n: ("even", n)).filter(lambda r: r[1] % 2 == 0)
    everywhere = stream.broadcast().map(lambda n: ("all", n))
    united = counted.union(spread, everywhere).key_by(lambda r: r[1]).map(lambda r: r)
    found = Counter(united.execute_and_collect())
    assert found == Counter(
        {("key", n): 1 for n in range(400)}
        | {("even", n): 1 for n in range(0, 400, 2)}
        | {("all", n): 2 for n in range(400)}
    )


def test_one_spark_job_carries_all_epochs_and_ends_with_the_job() -> None:
    env = environment()
    numbers(env).key_by(lambda n: n % 7).map(lambda n: n).filter(lambda n: False).print()
    epochs: list[int] = []
    job = env.submit("live", on_epoch=lambda summary: epochs.append(summary.epoch))
    wait_until(lambda: len(epochs) > 5, job)
    (long_job,) = live_jobs()
    seen = len(epochs)
    wait_until(lambda: len(epochs) > seen + 50, job)
    assert live_jobs() == [long_job]
    job.cancel().result(_WAIT_S)
    wait_until(lambda: not live_jobs())
    assert not [t for t in threading.enumerate() if t.name == "headrace-live"]


def test_several_live_jobs_run_beside_each_other_and_beside_epochs() -> None:
    jobs = []
    epochs: Counter[str] = Counter()
    for name, carrier in (("a", "live"), ("b", "live"), ("c", "epochs")):
        env = environment(execution_carrier=carrier)
        numbers(env).key_by(lambda n: n % 7).map(lambda n: n).filter(lambda n: False).print()
        jobs.append(env.submit(name, on_epoch=lambda summary, n=name: epochs.update([n])))
    wait_until(lambda: all(epochs[name] > 10 for name in "abc"), *jobs)
    for job in jobs:
        job.cancel().result(_WAIT_S)
    wait_until(lambda: not live_jobs())


def test_a_failing_function_fails_the_job_and_ends_the_spark_job() -> None:
    env = environment()
    numbers(env).key_by(lambda n: n % 7).map(lambda n: 1 // (n - 300)).print()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        env.execute("fails")
    wait_until(lambda: not live_jobs())


def test_an_unaligned_checkpoint_overtakes_what_waits_and_restores_it(tmp_path: Path) -> None:
    """One record becomes many in front of a slow function, and a slot is killed."""
    env = environment(
        **{
            "execution.checkpointing.interval": "200 ms",
            "execution.checkpointing.unaligned.enabled": "true",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "execution.live.buffer-memory": "10kb",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "0 ms",
        }
    )

    def slow(row: tuple[int, int]) -> tuple[int, int]:
        time.sleep(0.002)
        return row

    many = numbers(env, 10, 1000).flat_map(lambda n: [(n, i) for i in range(300)])
    many.key_by(lambda row: row[1]).map(slow).sink_to(RowFiles(tmp_path / "rows"))
    job = env.submit("unaligned")
    checkpoints = job.checkpoints.history
    wait_until(lambda: checkpoints and checkpoints[-1].persisted_data > 0, job)
    os.kill(job.attempt.slot_pids[0], signal.SIGKILL)
    job.result_future().result(_WAIT_S)
    assert job.restarts == 1
    rows = Counter(map(tuple, committed_rows(tmp_path / "rows")))
    assert rows == Counter((n, i) for n in range(10) for i in range(300))


def test_what_waits_for_a_slow_function_is_not_in_the_memory_of_spark(tmp_path: Path) -> None:
    """One record becomes 400 MB, half of which go to the other slot."""
    go_on = tmp_path / "go-on"

    def slow(row: tuple[int, str]) -> tuple[str, int]:
        while not go_on.exists():
            time.sleep(0.01)
        return "bytes", len(row[1])

    env = environment(**{"execution.live.buffer-memory": "16mb"})
    large = numbers(env, 1).flat_map(lambda n: ((i, f"{i:10000}") for i in range(40_000)))
    sizes = large.key_by(lambda row: row[0]).map(slow).key_by(lambda size: size[0])
    sizes.reduce(lambda a, b: (a[0], a[1] + b[1])).sink_to(RowFiles(tmp_path / "rows"))
    job = env.submit("large")
    # Memory of slots and what is on its way take a part, and the rest is in files.
    wait_until(lambda: spilled(job) > 340_000_000, job)
    go_on.touch()
    job.result_future().result(_WAIT_S)
    assert max(committed_rows(tmp_path / "rows")) == ("bytes", 400_000_000)


def spilled(job: Any) -> int:
    """The bytes in temporary files of the slots, which have no name."""
    if job.attempt is None:
        return 0
    sizes = []
    for pid in job.attempt.slot_pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if "/#" in str(descriptor.readlink()):
                    sizes.append(descriptor.stat().st_size)
    return sum(sizes)
