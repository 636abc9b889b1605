"""A job that counts into files, for programs that kill parts of it.

    python -m benchmarks.jobs.chaos_job MASTER DIRECTORY RECORDS PER_SECOND [RESTORE]

Prints `attempt DRIVER SLOT ...` whenever there are new slots, and `finished RESTARTS` at the end.
A row is a key, how many records it had, and the record: none of the last two comes twice for a key.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

KEYS = 100
PARALLELISM = 2


class Counting(KeyedProcessFunction[int, int, str]):
    """The running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()} {count} {value}"


def environment(master: str, directory: Path, restore: str | None) -> StreamExecutionEnvironment:
    """An environment with checkpoints in a directory, and as many restarts as it takes."""
    settings = {
        "spark.master": master,
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "execution.checkpointing.num-retained": "3",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.epoch.target": "300 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000000",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    if restore is not None:
        settings["execution.state-recovery.path"] = restore
    created = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(settings)
    )
    created.set_parallelism(PARALLELISM)
    return created


def announce(job: Any) -> None:
    """Say who is who, whenever there are new slots."""
    told: list[int] = []
    while not job.status().is_terminal_state():
        attempt = job.attempt
        pids = attempt.slot_pids if attempt is not None else []
        if len(pids) == PARALLELISM and pids != told and job.status().name == "RUNNING":
            told = pids
            print("attempt", os.getpid(), *pids, flush=True)
        time.sleep(0.02)


def main() -> None:
    """Run the job to its end."""
    master, where, records, per_second, *restore = sys.argv[1:]
    directory = Path(where)
    env = environment(master, directory, restore[0] if restore else None)
    source = DataGeneratorSource(
        lambda index: index, int(records), RateLimiterStrategy.per_second(float(per_second))
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .uid("numbers")
        .key_by(lambda value: value % KEYS)
        .process(Counting())
        .uid("counting")
        .sink_to(
            FileSink.for_row_format(str(directory / "rows"), Encoder.simple_string_encoder())
            .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            .build()
        )
        .uid("rows")
    )
    job: Any = env.execute_async("chaos")._handle
    threading.Thread(target=announce, args=(job,), daemon=True).start()
    job.result_future().result()
    print("finished", job.restarts, flush=True)


if __name__ == "__main__":
    main()
