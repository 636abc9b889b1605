"""A job on a cluster, for tests: `python cluster_program.py MASTER MODULE`.

It counts with a module that only the driver has, and prints as JSON where the slots were, where the
tasks of each stage ran, where the logs of executors are, and the result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from headrace.common import Types, WatermarkStrategy
from headrace.common.configuration import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.spark.carrier import SparkCarrier
from headrace.spark.executor_report import executors_of
from headrace.spark.jvm import spark_of
from headrace.spark.session import get_or_create_context

RECORDS = 4_000
KEYS = 10

locations: list[Any] = []


class WatchedCarrier(SparkCarrier):
    """Remembers where slots are."""

    def start_slots(self, launches: list[Any]) -> dict[int, int]:
        started = super().start_slots(launches)
        locations[:] = self._locations
        return started


class Count(KeyedProcessFunction[Any, Any, Any]):
    """Counts, and tells from where the dependency came."""

    def open(self, runtime_context: RuntimeContext) -> None:
        import only_here

        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.source = only_here.__file__
        self.last = RECORDS // KEYS * only_here.FACTOR

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == self.last:
            yield ctx.get_current_key(), count, self.source


def stages() -> list[dict[int, str]]:
    """The executor of each task, by partition, of all stages but the one that started slots."""
    spark = spark_of(get_or_create_context({}))
    spark.listenerBus().waitUntilEmpty()
    found = []
    for stage in range(1, 100):
        tasks = spark.statusStore().taskList(stage, 0, 100)
        if tasks.isEmpty():
            break
        each = [tasks.apply(i) for i in range(tasks.size())]
        found.append({task.index(): task.executorId() for task in each})
    return found


def main() -> None:
    master, module = sys.argv[1:3]
    configuration = Configuration.from_dict(
        {
            "spark.master": master,
            "spark.locality.wait": "60s",
            # An executor on each host, with room for one slot.
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "execution.epoch.max-records": str(RECORDS // 4),
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.add_python_file(module)
    numbers = NumberSequenceSource(0, RECORDS - 1)
    counts = (
        env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .key_by(lambda x: x % KEYS, Types.LONG())
        .process(Count())
    )
    from headrace.spark.live import choice

    choice.SparkCarrier = WatchedCarrier  # type: ignore[misc]
    with counts.execute_and_collect("on a cluster") as results:
        rows = sorted(results)
    logs = [e.log_urls for e in executors_of(get_or_create_context({}))]
    print("logs", json.dumps(logs), flush=True)
    print("placed", json.dumps({"slots": locations, "stages": stages()}), flush=True)
    print("result", json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
