"""map, filter and flat_map: results, timestamps, keys, and errors that name the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.testing import harness, keyed_harness


class Stop(Exception):
    pass


def raise_stop_iteration(value: Any) -> Any:
    if value == "stop":
        raise StopIteration
    return value


def notes(error: BaseException) -> str:
    return "\n".join(error.__notes__)


def test_map_keeps_order_and_timestamps() -> None:
    with harness(lambda x: x * 2, "map") as h:
        h.process_many([1, 2, 3], ts=[10, 20, None])
        assert h.timestamped_output() == [(2, 10), (4, 20), (6, None)]


def test_records_without_timestamps_have_none_afterwards() -> None:
    with harness(str, "map") as h:
        h.process_many([1, 2])
        assert h.timestamped_output() == [("1", None), ("2", None)]


def test_filter_keeps_the_timestamps_of_what_it_keeps() -> None:
    with harness(lambda x: x % 2, "filter") as h:
        h.process_many([1, 2, 3, 4, 5], ts=lambda x: x * 10)
        assert h.timestamped_output() == [(1, 10), (3, 30), (5, 50)]


@pytest.mark.parametrize("ts", [None, lambda line: len(line)])
def test_flat_map_repeats_the_timestamp(ts: Any) -> None:
    with harness(str.split, "flat_map") as h:
        h.process_many(["a b", "", "c"], ts=ts)
        expected = [("a", 3), ("b", 3), ("c", 1)] if ts else [("a", None), ("b", None), ("c", None)]
        assert h.timestamped_output() == expected


@pytest.mark.parametrize("ts", [None, lambda _: 5])
@pytest.mark.parametrize("keyed", [False, True])
def test_flat_map_takes_lists_tuples_generators_and_none(ts: Any, keyed: bool) -> None:
    results = {
        "list": [1],
        "tuple": (2, 3),
        "set": {4},
        "generator": (n for n in "56"),
        "none": None,
    }

    class Function(FlatMapFunction):
        def flat_map(self, value: str) -> Any:
            return (n for n in "56") if value == "generator" else results[value]

    results.pop("generator")
    names = ["list", "tuple", "set", "generator", "none"]
    made = keyed_harness(Function(), key=lambda x: x) if keyed else harness(Function())
    with made as h:
        h.process_many(names, ts=ts)
        assert h.output() == [1, 2, 3, 4, "5", "6"]


class Failing(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield value
        if value == "bad":
            raise Stop("in a generator")


@pytest.mark.parametrize("ts", [None, lambda _: 5])
@pytest.mark.parametrize("batch", [["bad"], ["ok", "bad", "fine"], ["ok", "fine", "bad"]])
@pytest.mark.parametrize("keyed", [False, True])
def test_an_error_in_a_generator_names_its_record(ts: Any, batch: list[str], keyed: bool) -> None:
    made = keyed_harness(Failing(), key=lambda x: x) if keyed else harness(Failing())
    with made as h:
        with pytest.raises(Stop) as caught:
            h.process_many(batch, ts=ts)
        assert "record 'bad'" in notes(caught.value)
        assert "flat_map" in notes(caught.value)


@pytest.mark.parametrize("operation", ["map", "filter"])
@pytest.mark.parametrize("batch", [[0], [1, 0, 2], [1, 2, 0]])
def test_an_error_names_the_record(operation: str, batch: list[int]) -> None:
    with harness(lambda x: 1 // x, operation) as h:
        with pytest.raises(ZeroDivisionError) as caught:
            h.process_many(batch)
        assert f"raised in {operation}, record 0" in notes(caught.value)


@pytest.mark.parametrize("operation", ["map", "filter", "flat_map"])
@pytest.mark.parametrize("ts", [None, lambda _: 5])
@pytest.mark.parametrize("batch", [["stop"], ["a", "stop", "b"], ["a", "b", "stop"]])
def test_a_stop_iteration_loses_no_records(operation: str, ts: Any, batch: list[str]) -> None:
    with harness(raise_stop_iteration, operation) as h:
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            h.process_many(batch, ts=ts)
        assert "record 'stop'" in notes(caught.value)


def test_a_key_selector_that_stops_is_an_error() -> None:
    with keyed_harness(lambda x: x, key=raise_stop_iteration, operation="map") as h:
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            h.process_many(["a", "stop"])
        assert "key_by, record 'stop'" in notes(caught.value)


def test_an_error_in_the_key_selector_names_the_record() -> None:
    with keyed_harness(lambda x: x, key=lambda x: x["k"], operation="map") as h:
        with pytest.raises(KeyError) as caught:
            h.process_many([{"k": 1}, {"x": 2}])
        assert "record {'x': 2}" in notes(caught.value)


class Counting:
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def count(self) -> int:
        n: int = (self.state.value() or 0) + 1
        self.state.update(n)
        return n


class CountingMap(Counting, MapFunction):
    def map(self, value: str) -> Any:
        return value, self.count()


class CountingFilter(Counting, FilterFunction):
    def filter(self, value: str) -> bool:
        return self.count() == 2


class CountingFlatMap(Counting, FlatMapFunction):
    def flat_map(self, value: str) -> Iterator[Any]:
        yield value, self.count()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (CountingMap(), [("a", 1), ("b", 1), ("a", 2)]),
        (CountingFilter(), ["a"]),
        (CountingFlatMap(), [("a", 1), ("b", 1), ("a", 2)]),
    ],
)
def test_state_of_the_key_is_there_after_key_by(function: Any, expected: list[Any]) -> None:
    with keyed_harness(function, key=lambda x: x) as h:
        h.process_many(["a", "b", "a"])
        assert h.output() == expected
        assert h.state("n") == {"a": 2, "b": 1}


def test_records_have_no_key_left_after_the_operator() -> None:
    with keyed_harness(CountingMap(), key=lambda x: x) as h:
        h.process("a")
        with pytest.raises(Exception, match="no current key"):
            h.function.count()


def test_a_declared_type_converts() -> None:
    with harness(lambda x: x + 0.9, "map", output_type=Types.INT()) as h:
        h.process_many([1, 2])
        assert h.output() == [1, 2]


def test_open_and_close_are_called_once_in_order() -> None:
    calls: list[str] = []

    class Function(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.calls = ["open"]

        def map(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            self.calls.append("close")

    with harness(Function()) as h:
        function = h.function
    assert function.calls == ["open", "close"]
    assert calls == []


def test_an_error_in_open_says_so() -> None:
    class Function(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise Stop("no connection")

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(Stop) as caught:
        harness(Function())
    assert "raised in open" in notes(caught.value)
