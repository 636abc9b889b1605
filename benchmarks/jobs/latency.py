"""A paced source, a keyed count and a sink: how old a record is when it comes out, in JSON.

    python -m benchmarks.jobs.latency CARRIER RATE SECONDS [--checkpoint MS] [--levels N]

A record's timestamp is the time at which it was due, so waiting anywhere counts. RATE 0 means as
many as the job takes. The first half of the time is for warming up. Each level is one more exchange
and one more keyed count.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.jobs.paced import KEYS, Paced, Record
from benchmarks.measure import descendants
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.functions import FlatMapFunction, KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_PARALLELISM = 2
_STEP_NS = 100_000


class Count(KeyedProcessFunction[int, Record, Record]):
    """Counts the records of a key, and passes them on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Ages(FlatMapFunction[Record, Record]):
    """How old records are, in steps of 0.1 ms, from a time on."""

    def __init__(self, directory: str, since_ns: int) -> None:
        self._directory = directory
        self._since_ns = since_ns

    def open(self, runtime_context: RuntimeContext) -> None:
        self._ages: Counter[int] = Counter()

    def flat_map(self, value: Record) -> list[Record]:
        if value[1] >= self._since_ns:
            self._ages[(time.time_ns() - value[1]) // _STEP_NS] += 1
        return []

    def close(self) -> None:
        Path(self._directory, f"{os.getpid()}.json").write_text(json.dumps(self._ages))


def percentile(ages: Counter[int], share: float) -> float:
    """The age that this share of records does not exceed, in milliseconds."""
    left = share * sum(ages.values())
    for step in sorted(ages):
        left -= ages[step]
        if left <= 0:
            return (step + 1) * _STEP_NS / 1e6
    return 0.0


def cpu_s() -> Counter[str]:
    """Processor time of this process, of Java, and of all other processes below."""
    ticks: Counter[str] = Counter()
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        except OSError:
            continue
        kind = "java" if name.endswith("(java") else "driver" if pid == os.getpid() else "slots"
        ticks[kind] += sum(map(int, rest.split()[11:13]))
    return Counter({kind: n / os.sysconf("SC_CLK_TCK") for kind, n in ticks.items()})


def measure(
    carrier: str, rate: float, seconds: float, checkpoint_ms: int | None = None, levels: int = 1
) -> dict[str, Any]:
    """Run the job."""
    settings = {"execution.carrier": carrier, "spark.master": "local[2]"}
    if rate:
        settings["execution.epoch.target"] = "50 ms"
    if checkpoint_ms:
        settings["execution.checkpointing.interval"] = f"{checkpoint_ms} ms"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(_PARALLELISM)
    env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).print()
    env.execute("get warm")
    start_ns = time.time_ns() + 1_000_000_000
    middle_ns, end_ns = (start_ns + int(part * seconds * 1e9) for part in (0.5, 1))
    with tempfile.TemporaryDirectory() as directory:
        source = Paced(rate, start_ns, end_ns)
        stream: Any = env.from_source(source, WatermarkStrategy.no_watermarks(), "paced")
        for level in range(levels):
            # Another key each time, so that records change their slot.
            stream = stream.key_by(lambda r, n=level: (r[0] + n) % KEYS).process(Count())
        stream.flat_map(Ages(directory, middle_ns)).print()
        spent: list[Counter[str]] = []
        for moment in (middle_ns, end_ns):
            wait_s = (moment - time.time_ns()) / 1e9
            threading.Timer(wait_s, lambda: spent.append(cpu_s())).start()
        env.execute("latency")
        ages: Counter[int] = Counter()
        for file in Path(directory).iterdir():
            ages.update({int(step): n for step, n in json.loads(file.read_text()).items()})
    spent[1].subtract(spent[0])
    cores = {kind: s / (seconds / 2) for kind, s in spent[1].items()}
    return {
        "carrier": carrier,
        "records_per_s": sum(ages.values()) / (seconds / 2),
        "p50_ms": percentile(ages, 0.5),
        "p99_ms": percentile(ages, 0.99),
        "cores": sum(cores.values()),
        "cores_by_process": cores,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("carrier")
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--checkpoint", type=int, metavar="MS")
    parser.add_argument("--levels", type=int, default=1)
    given = parser.parse_args()
    measured = measure(given.carrier, given.rate, given.seconds, given.checkpoint, given.levels)
    print(json.dumps(measured))
