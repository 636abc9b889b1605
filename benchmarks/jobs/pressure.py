"""A source that never runs dry and a function that is slow: how far apart checkpoints are, in JSON.

    python -m benchmarks.jobs.pressure CARRIER SECONDS MS_PER_RECORD [RECORDS [unaligned]]

A checkpoint is asked for every second. With back pressure it has to wait for what is on its way to
the function, unless little is. With RECORDS each record of the source becomes so many in front of
the function, so there is much even if the source reads one; an unaligned checkpoint overtakes it.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.jobs.paced import Paced, Record
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.functions import (
    CheckpointListener,
    KeyedProcessFunction,
    RuntimeContext,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class _Slow(KeyedProcessFunction[int, Record, Record], CheckpointListener):
    """Takes its time for each record, and notes when checkpoints are complete."""

    def __init__(self, directory: str, seconds: float) -> None:
        self._directory = directory
        self._seconds = seconds

    def open(self, runtime_context: RuntimeContext) -> None:
        self._file = Path(self._directory, str(runtime_context.get_index_of_this_subtask()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        time.sleep(self._seconds)
        yield from ()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        with self._file.open("a") as file:
            file.write(f"{time.time()}\n")


def measure(
    carrier: str, seconds: float, ms_per_record: float, records: int = 1, unaligned: str = ""
) -> dict[str, Any]:
    """Run the job."""
    settings = {
        "execution.carrier": carrier,
        "spark.master": "local[2]",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.unaligned.enabled": str(unaligned == "unaligned"),
    }
    if records > 1:
        # Otherwise the first epoch takes minutes.
        settings["execution.epoch.max-records"] = "1"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).print()
    env.execute("get warm")
    start_ns = time.time_ns()
    with tempfile.TemporaryDirectory() as directory:
        source = Paced(0, start_ns, start_ns + int(seconds * 1e9))
        stream: Any = env.from_source(source, WatermarkStrategy.no_watermarks(), "endless")
        if records > 1:
            stream = stream.flat_map(lambda r: [(r[0] + n, *r[1:]) for n in range(records)])
        stream = stream.key_by(lambda r: r[0]).process(_Slow(directory, ms_per_record / 1000))
        stream.print()
        env.execute("pressure")
        times = [float(line) for line in Path(directory, "0").read_text().split()]
    # The first epochs find their pace, and the last one has nothing left to do.
    # Where so few are left that none is between two others, they were the run apart at the least.
    gaps = [b - a for a, b in pairwise(times)][1:-1] or [seconds]
    return {"checkpoints": len(times), "median_s": statistics.median(gaps), "most_s": max(gaps)}


if __name__ == "__main__":
    given = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:5])
    print(json.dumps(measure(*given, *sys.argv[5:])))
