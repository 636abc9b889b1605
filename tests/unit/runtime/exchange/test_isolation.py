"""Branches of a stream do not see what functions of another one change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import ProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.runtime.exchange.isolation import own_values
from headrace.testing import run_in_process

SIDE = OutputTag("side", Types.PICKLED_BYTE_ARRAY())


def changed(record: dict[str, Any]) -> dict[str, Any]:
    record["seen"].append("changed")
    return record


def environment() -> tuple[StreamExecutionEnvironment, Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    return env, env.from_collection([0, 1]).map(lambda number: {"n": number, "seen": []})


def run(env: StreamExecutionEnvironment, branches: dict[str, Any]) -> dict[str, list[Any]]:
    result = run_in_process(env, branches)
    return {name: result[name] for name in branches}


UNTOUCHED = [{"n": 0, "seen": []}, {"n": 1, "seen": []}]
CHANGED = [{"n": 0, "seen": ["changed"]}, {"n": 1, "seen": ["changed"]}]


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_chained_branch_has_records_of_its_own(first: bool) -> None:
    env, stream = environment()
    branches = {}
    for name in ("changed", "plain") if first else ("plain", "changed"):
        branches[name] = stream.map(changed if name == "changed" else lambda record: record)
    rows = run(env, branches)
    assert rows == {"changed": CHANGED, "plain": UNTOUCHED}


def test_an_exchange_sends_records_as_they_were() -> None:
    env, stream = environment()
    rows = run(env, {"sent": stream.rebalance().map(lambda r: r), "changed": stream.map(changed)})
    assert rows == {"changed": CHANGED, "sent": UNTOUCHED}


def test_a_side_output_has_records_of_its_own() -> None:
    class Both(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield value
            yield SIDE, value

    env, stream = environment()
    both = stream.process(Both())
    side = both.get_side_output(SIDE)
    rows = run(env, {"changed": both.map(changed), "side": side.map(lambda r: r)})
    assert rows == {"changed": CHANGED, "side": UNTOUCHED}


def test_with_object_reuse_branches_share_records() -> None:
    env, stream = environment()
    env.get_config().enable_object_reuse()
    rows = run(env, {"changed": stream.map(changed), "plain": stream.map(lambda record: record)})
    assert rows == {"changed": CHANGED, "plain": CHANGED}


def test_records_that_nobody_can_change_are_not_copied() -> None:
    for values in ([1, 2.5, "a", None], [("a", 1), ("b", None)], [("a", 1), 7]):
        assert own_values(values) is values


def test_records_of_a_local_class_are_copied() -> None:
    class Point:
        def __init__(self) -> None:
            self.places = [1]

    points = [Point(), (1, [2])]
    copied = own_values(points)
    copied[0].places.append(2)
    copied[1][1].append(3)
    assert points[0].places == [1]  # type: ignore[attr-defined]
    assert points[1] == (1, [2])
