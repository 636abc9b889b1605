"""The headrace side of the benchmarks, written with the public API only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor

PARALLELISM = 2
EMIT_EVERY = 1_000


class Count(KeyedProcessFunction):
    """Counts the records of a key and emits every thousandth count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % EMIT_EVERY == 0:
            yield value, count


def environment(settings: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in (settings or {}).items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def sequence(env: StreamExecutionEnvironment, records: int) -> Any:
    source = NumberSequenceSource(0, records - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "sequence")


def keyed_count(records: int, keys: int, settings: dict[str, str] | None = None) -> int:
    """Run the keyed count to its end and return the number of outputs."""
    stream = sequence(environment(settings), records).key_by(lambda x: x % keys, Types.LONG())
    with stream.process(Count()).execute_and_collect("keyed count") as results:
        return sum(1 for _ in results)


def _odd(value: int) -> int:
    return value * 2 + 1


def _not_by_three(value: int) -> int:
    return value % 3


def _both_signs(value: int) -> tuple[int, int]:
    return value, -value


def stateless_chain(records: int) -> None:
    """Run map, filter and flat_map to the end; nothing takes the results, as in the bare loop."""
    env = environment()
    sequence(env, records).map(_odd).filter(_not_by_three).flat_map(_both_signs)
    env.execute("stateless chain")


def small_epochs(epochs: int) -> None:
    """Run that many epochs of ten records through one keyed exchange."""
    per_subtask = str(10 // PARALLELISM)
    env = environment({"execution.epoch.max-records": per_subtask})
    sequence(env, 10 * epochs).key_by(lambda x: x % PARALLELISM, Types.LONG()).process(Count())
    env.execute("small epochs")
