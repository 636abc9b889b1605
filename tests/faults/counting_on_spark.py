"""The counting program on Spark, for tests that kill parts of it.

`python -m tests.faults.counting_on_spark MASTER DIRECTORY [elsewhere]`: goes on from the newest
checkpoint of the run before it, if there was one. It prints `attempt DRIVER SLOT ...` whenever
there are new slots, `carried live` or `carried epochs` when that is known of an attempt, and
`finished RESTARTS` at the end, which a file named `end` brings. With `elsewhere` no task finds its
slot's unix socket, as on another host, and all records go over the network.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.coordination.carrier import EpochRun
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.runtime.slot.protocol import Carriage
from headrace.spark.carrier import SparkCarrier
from headrace.spark.live import choice
from headrace.spark.live.carrier import LiveSparkCarrier
from tests.faults.counting import PARALLELISM, counts
from tests.faults.counting_driver import KEEP, newest_run
from tests.faults.row_files import RowFiles

SETTINGS = KEEP | {
    "execution.checkpointing.interval": "400 ms",
    "execution.epoch.target": "300 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


ELSEWHERE = "/on/another/host"


class NetworkCarrier(SparkCarrier):
    """Hides the unix sockets of slots from the tasks."""

    def run_epoch(self, run: EpochRun) -> None:
        levels = tuple(
            tuple(replace(p, data_address=ELSEWHERE) for p in level) for level in run.levels
        )
        super().run_epoch(replace(run, levels=levels))


class LiveNetworkCarrier(NetworkCarrier, LiveSparkCarrier):
    """The same for live jobs."""

    def carry(self, carriage: Carriage) -> None:
        slots = tuple(replace(slot, data_address=ELSEWHERE) for slot in carriage.slots)
        super().carry(replace(carriage, slots=slots))


def announce(job: Any) -> None:
    """Say who is who, whenever there are new slots."""
    told: list[int] = []
    epochs: int | None = None
    while not job.status().is_terminal_state():
        attempt = job.attempt
        pids = attempt.slot_pids if attempt is not None else []
        if len(pids) == 2 and pids != told and job.status().name == "RUNNING":
            told, epochs = pids, job.figures.epochs_run
            print("attempt", os.getpid(), *pids, flush=True)
        if epochs is not None and job.figures.epochs_run > epochs:
            epochs = None
            print("carried", "live" if job.live else "epochs", flush=True)
        time.sleep(0.05)


def main() -> None:
    master, where, *elsewhere = sys.argv[1:]
    if elsewhere:
        choice.SparkCarrier = NetworkCarrier  # type: ignore[misc]
        choice.LiveSparkCarrier = LiveNetworkCarrier  # type: ignore[misc]
    directory = Path(where)
    checkpoints = directory / "checkpoints"
    settings = {"spark.master": master, "execution.checkpointing.dir": str(checkpoints)}
    before = newest_run(checkpoints)
    if before is not None:
        settings["execution.state-recovery.path"] = str(before)
    environment = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(SETTINGS | settings)
    )
    environment.set_parallelism(PARALLELISM)
    counts(environment, directory / "end").sink_to(RowFiles(directory / "rows")).uid("rows")
    job: Any = environment.execute_async("counting")._handle
    threading.Thread(target=announce, args=(job,), daemon=True).start()
    job.result_future().result()
    print("finished", job.restarts, flush=True)


if __name__ == "__main__":
    main()
