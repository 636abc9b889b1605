"""Functions of two connected streams: shared fields and state, watermarks of both inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Types
from headrace.common.errors import FunctionTypeError, HeadraceError, StateError
from headrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.testing import two_input_harness

UNKNOWN = OutputTag("unknown")


class CoMap(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "first", value

    def map2(self, value: Any) -> Any:
        return "second", 10 // value


def test_co_map_calls_the_method_of_the_input() -> None:
    with two_input_harness(CoMap()) as h:
        h.process_many1([1, 2], ts=[10, 20])
        h.process2(5)
        assert h.timestamped_output() == [
            (("first", 1), 10),
            (("first", 2), 20),
            (("second", 2), None),
        ]


def test_an_error_names_method_and_record() -> None:
    with two_input_harness(CoMap()) as h:
        with pytest.raises(ZeroDivisionError) as caught:
            h.process_many2([5, 0])
        assert "map2, record 0" in caught.value.__notes__[0]


class CoFlatMap(CoFlatMapFunction):
    def flat_map1(self, value: str) -> Iterator[str]:
        yield from value.split()

    def flat_map2(self, value: Any) -> None:
        return None


def test_co_flat_map_gives_any_number() -> None:
    with two_input_harness(CoFlatMap()) as h:
        h.process1("a b", ts=1)
        h.process2("c", ts=2)
        assert h.timestamped_output() == [("a", 1), ("b", 1)]


class Enrich(KeyedCoProcessFunction):
    """Joins clicks with the newest name of their user; a click without one waits for a while."""

    def open(self, runtime_context: Any) -> None:
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))

    def process_element1(self, click: tuple[int, int], ctx: Any) -> Iterator[Any]:
        if self.name.value() is None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        else:
            yield self.name.value(), click[1]

    def process_element2(self, user: tuple[int, str], ctx: Any) -> None:
        self.name.update(user[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.name.value() is None:
            yield UNKNOWN, (ctx.get_current_key(), timestamp)


def enrich() -> Any:
    return two_input_harness(Enrich(), key1=lambda c: c[0], key2=lambda u: u[0], parallelism=2)


def test_both_inputs_see_the_state_of_their_key() -> None:
    with enrich() as h:
        h.process2((7, "ada"), ts=1)
        h.process1((7, 100), ts=2)
        h.process1((8, 200), ts=3)
        assert h.output() == [("ada", 100)]
        assert h.state("name") == {7: "ada"}


def test_event_time_is_the_minimum_of_both_inputs() -> None:
    with enrich() as h:
        h.process1((8, 200), ts=3)
        h.watermark1(100)
        assert h.side_output(UNKNOWN) == []
        assert h.watermarks() == []
        h.watermark2(12)
        assert h.side_output(UNKNOWN) == []
        assert h.watermarks() == [12]
        h.watermark2(13)
        assert h.side_output(UNKNOWN) == [(8, 13)]
        h.watermark2(500)
        assert h.watermarks() == [13, 100]


def test_state_and_watermarks_of_both_inputs_survive_a_recovery() -> None:
    with enrich() as h:
        h.process1((8, 200), ts=3)
        h.process2((7, "ada"), ts=3)
        h.watermark1(100)
        h.snapshot_and_restore(parallelism=3)
        h.process1((7, 1), ts=50)
        h.watermark2(13)
        assert h.output() == [("ada", 1)]
        assert h.side_output(UNKNOWN) == [(8, 13)]


def test_the_input_ends_when_both_have_ended() -> None:
    with enrich() as h:
        h.process1((8, 200), ts=3)
        h.end_input()
        assert h.side_output(UNKNOWN) == [(8, 13)]
        assert h._recording.ended == 2


def test_unkeyed_streams_have_no_keyed_state() -> None:
    class Wants(CoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("x", Types.INT()))

        def process_element1(self, value: Any, ctx: Any) -> None: ...

        def process_element2(self, value: Any, ctx: Any) -> None: ...

    with pytest.raises(StateError, match=r"key_by\(\)"):
        two_input_harness(Wants())


def test_wrong_uses_say_what_to_do() -> None:
    with pytest.raises(FunctionTypeError, match="key1 and key2"):
        two_input_harness(Enrich())
    with pytest.raises(FunctionTypeError, match="key1 and key2"):
        two_input_harness(Enrich(), key1=lambda c: c)
    with two_input_harness(CoMap()) as h:
        with pytest.raises(HeadraceError, match=r"process1\(\)"):
            h.process(1)
        with pytest.raises(HeadraceError, match=r"process_many1\(\)"):
            h.process_many([1])
