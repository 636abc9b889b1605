"""A live job in which there is nothing to do most of the time, in JSON.

    python -m benchmarks.jobs.idle RECORDS

Each source subtask has a record every few seconds, so that the Spark job that carries records has
ended in between. Measured is how old a record is when it comes out, and the processor time of all
processes while nothing runs.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks.jobs.latency import Ages, Count, cpu_s, percentile
from benchmarks.jobs.paced import Paced
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_PARALLELISM = 2
_STEP_S = 12.0
_IDLE_S = 2.0
_REST_FROM_S, _REST_TO_S = 5.0, 11.0


def _rest(start_ns: int, spent: list[float]) -> None:
    """Note the processor time of the rest before each record but the first."""
    while True:
        since_s = (time.time_ns() - start_ns) / 1e9 % _STEP_S
        time.sleep((_REST_FROM_S - since_s) % _STEP_S)
        before = cpu_s().total()
        time.sleep(_REST_TO_S - _REST_FROM_S)
        spent.append(cpu_s().total() - before)


def main(records: int) -> None:
    """Run the job."""
    settings = {
        "execution.carrier": "live",
        "spark.master": "local[2]",
        "execution.live.idle-timeout": f"{int(_IDLE_S * 1000)} ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(_PARALLELISM)
    env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).print()
    env.execute("get warm")
    start_ns = time.time_ns() + 1_000_000_000
    # The first record finds the Spark job that came up with the slots.
    since_ns = start_ns + int(_STEP_S * 0.5e9)
    source = Paced(_PARALLELISM / _STEP_S, start_ns, start_ns + int((records + 1) * _STEP_S * 1e9))
    spent: list[float] = []
    threading.Thread(target=_rest, args=(start_ns, spent), daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "seldom")
        counted = stream.key_by(lambda record: record[0]).process(Count())
        counted.flat_map(Ages(directory, since_ns)).print()
        env.execute("idle")
        ages: Counter[int] = Counter()
        for file in Path(directory).iterdir():
            ages.update({int(step): n for step, n in json.loads(file.read_text()).items()})
    cores = sum(spent) / len(spent) / (_REST_TO_S - _REST_FROM_S)
    print(
        json.dumps(
            {
                "records": ages.total(),
                "p50_ms": percentile(ages, 0.5),
                "most_ms": percentile(ages, 1.0),
                "idle_cores": cores,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
