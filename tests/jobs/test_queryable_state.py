"""Keyed state of a running job is read from outside, with both backends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import (
    HeadraceError,
    StateError,
    UnknownJobError,
    UnknownKeyError,
    UnknownStateError,
)
from headrace.common.job_client import JobClient
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.queryablestate import QueryableStateClient

RECORDS = 100


def queryable(descriptor: StateDescriptor) -> Any:
    descriptor.set_queryable(f"the {descriptor.get_name()}")
    return descriptor


class Keeping(KeyedProcessFunction[str, int, int]):
    """Keeps the records of a key in each kind of state."""

    def open(self, context: RuntimeContext) -> None:
        self.value = context.get_state(queryable(ValueStateDescriptor("value")))
        self.list = context.get_list_state(queryable(ListStateDescriptor("list")))
        self.map = context.get_map_state(queryable(MapStateDescriptor("map")))
        self.hidden = context.get_state(ValueStateDescriptor("hidden"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.value.update(value)
        self.list.add(value)
        self.map.put(value, ctx.get_current_key())


@pytest.fixture(scope="module", params=[("hashmap", "epochs"), ("rocksdb", "live")])
def job(request: pytest.FixtureRequest) -> Iterator[JobClient]:
    backend, carrier = request.param
    settings = {
        "spark.master": "local[2]",
        "state.backend.type": backend,
        "execution.carrier": carrier,
        "execution.epoch.target": "200 ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    # The source never ends: after the numbers it goes on with records of a key of its own.
    source = DataGeneratorSource(
        lambda i: i if i < RECORDS else -1, 10**9, RateLimiterStrategy.per_second(400)
    )
    keyed = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").key_by(
        lambda number: f"rest {number % 4}" if number >= 0 else "end"
    )
    keyed.process(Keeping())
    keyed.as_queryable_state("last")
    keyed.as_queryable_state("total", ReducingStateDescriptor("sum", lambda a, b: a + b))
    client = env.execute_async("queryable")
    wait_until_read(client)
    yield client
    client.cancel().result()


def wait_until_read(job: JobClient) -> None:
    """Until every operator has seen all numbers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            states = [ask(job, n, f"rest {r}") for n in ("total", "last") for r in range(4)]
            lists = [len(list(ask(job, "the list", f"rest {r}"))) for r in range(4)]
            if sum(s.get() for s in states[:4]) == sum(range(RECORDS)) and sum(lists) == RECORDS:
                return
        except HeadraceError:
            pass
        time.sleep(0.1)
    raise AssertionError("the numbers were not read")


def ask(job: JobClient, name: str, key: Any) -> Any:
    return QueryableStateClient().get_kv_state(job.get_job_id(), name, key).result()


@pytest.mark.parametrize("rest", range(4))
def test_every_kind_of_state_and_every_subtask_answers(job: JobClient, rest: int) -> None:
    key, numbers = f"rest {rest}", list(range(rest, RECORDS, 4))
    assert ask(job, "last", key).value() in numbers
    assert ask(job, "total", key).get() == sum(numbers)
    assert sorted(ask(job, "the list", key)) == numbers
    assert dict(ask(job, "the map", key).items()) == dict.fromkeys(numbers, key)
    assert ask(job, "the value", key).value() in numbers


def test_what_is_not_there_is_said(job: JobClient) -> None:
    with pytest.raises(UnknownStateError, match=r"no queryable state 'hidden'; it has 'last', "):
        ask(job, "hidden", "rest 0")
    with pytest.raises(UnknownKeyError, match="nothing for the key 'rest 9'"):
        ask(job, "last", "rest 9")
    with pytest.raises(UnknownJobError, match="no running job"):
        QueryableStateClient().get_kv_state("no such job", "last", "rest 0").result()


def test_the_copy_cannot_be_changed(job: JobClient) -> None:
    with pytest.raises(StateError, match="only the job itself changes it"):
        ask(job, "last", "rest 0").update(1)
    with pytest.raises(StateError, match="only the job itself changes it"):
        ask(job, "the map", "rest 0").clear()
