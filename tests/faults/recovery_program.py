"""A job that counts, for tests that kill parts of it.

`python recovery_program.py MASTER CHECKPOINT_DIR RESTORE_PATH`: prints the processes of every
attempt as `attempt DRIVER SLOT SLOT ...`, and at the end `result` with what the job committed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

RECORDS = 20_000
KEYS = 10
PER_SECOND = 2_500


class Counting(KeyedProcessFunction[int, int, tuple[int, int]]):
    """The running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def settings(master: str, directory: str, restore: str) -> Configuration:
    given = {
        "spark.master": master,
        "execution.checkpointing.interval": "400 ms",
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.epoch.target": "300 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "50",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }
    if restore != "-":
        given["execution.state-recovery.path"] = restore
    return Configuration.from_dict(given)


def announce(job: Any) -> None:
    """Say who is who, whenever there are new slots."""
    told: list[int] = []
    while not job.status().is_terminal_state():
        attempt = job.attempt
        pids = attempt.slot_pids if attempt is not None else []
        if len(pids) == 2 and pids != told and job.status().name == "RUNNING":
            told = pids
            print("attempt", os.getpid(), *pids, flush=True)
        time.sleep(0.05)


def main() -> None:
    master, directory, restore = sys.argv[1:]
    environment = StreamExecutionEnvironment.get_execution_environment(
        settings(master, directory, restore)
    )
    environment.set_parallelism(2)
    source = DataGeneratorSource(
        lambda index: index, RECORDS, RateLimiterStrategy.per_second(PER_SECOND)
    )
    counts = (
        environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .uid("numbers")
        .key_by(lambda value: value % KEYS)
        .process(Counting())
        .uid("counting")
    )
    collect_id = environment.new_collect_id()
    from headrace.datastream.connectors.print_sink import CollectSink

    counts.sink_to(CollectSink(collect_id))
    collector = environment._collectors[collect_id]
    job = environment._submit("counting")
    threading.Thread(target=announce, args=(job,), daemon=True).start()
    rows = Counter(collector)
    finals = {key: max(n for k, n in rows if k == key) for key in {k for k, _ in rows}}
    result = {
        "rows": sum(rows.values()),
        "doubled": sum(n - 1 for n in rows.values()),
        "finals": sorted(finals.items()),
        "restarts": job.restarts,
    }
    print("result", json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
