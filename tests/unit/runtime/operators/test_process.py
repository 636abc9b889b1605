"""Process functions: context, side outputs, timers of both kinds, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Types
from headrace.common.errors import StateError
from headrace.datastream.functions import KeyedProcessFunction, ProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.time_domain import TimeDomain
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.testing import harness, keyed_harness

SIDE = OutputTag("side")
OTHER = OutputTag("other", Types.INT())


class Echo(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_a_context_tells_timestamp_and_watermark() -> None:
    with harness(Echo()) as h:
        h.process("a", ts=5)
        h.watermark(7)
        h.process("b", ts=9)
        h.process("c")
        assert h.timestamped_output() == [
            (("a", 5, MIN_TIMESTAMP), 5),
            (("b", 9, 7), 9),
            (("c", MIN_TIMESTAMP, 7), None),
        ]


class Splitting(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield SIDE, f"yielded {value}"
        ctx.output(SIDE, f"output {value}")
        ctx.output(OTHER, value + 0.5)
        yield value
        yield (value, "pair")


@pytest.mark.parametrize("ts", [None, lambda v: v * 10])
def test_side_outputs_keep_their_order(ts: Any) -> None:
    with harness(Splitting()) as h:
        h.process_many([1, 2], ts=ts)
        assert h.output() == [1, (1, "pair"), 2, (2, "pair")]
        assert h.side_output(SIDE) == ["yielded 1", "output 1", "yielded 2", "output 2"]
        assert h.side_output(OTHER) == [1, 2]
        assert h.side_output(OTHER) == []


def test_side_outputs_have_the_timestamp_of_the_record() -> None:
    with harness(Splitting()) as h:
        h.process_many([1, 2], ts=[10, 20])
        assert h.timestamped_output() == [(1, 10), ((1, "pair"), 10), (2, 20), ((2, "pair"), 20)]
        assert [ts for _, ts in h._recording.side["side"]] == [10, 10, 20, 20]


class Returning(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.output(SIDE, value)
        return {"list": [1, 2], "none": None, "tagged": [(SIDE, "x"), 3], "number": 7}[value]


def test_a_function_may_return_a_list_or_none() -> None:
    with harness(Returning()) as h:
        h.process_many(["list", "none", "tagged"])
        assert h.output() == [1, 2, 3]
        assert h.side_output(SIDE) == ["list", "none", "tagged", "x"]


def test_a_function_that_returns_no_iterable_is_named() -> None:
    with harness(Returning()) as h:
        with pytest.raises(TypeError, match="instead of results") as caught:
            h.process_many(["list", "number"])
        assert "process_element, record 'number'" in caught.value.__notes__[0]


def test_timers_need_a_key() -> None:
    class Timer(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(5)

    with harness(Timer()) as h, pytest.raises(StateError, match=r"key_by\(\)"):
        h.process(1)


class Timing(KeyedProcessFunction):
    """Follows commands: pairs of a method of the timer service and its argument."""

    def process_element(self, value: Any, ctx: Any) -> None:
        _, method, *arguments = value
        getattr(ctx.timer_service(), method)(*arguments)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        kind = "event" if ctx.time_domain() is TimeDomain.EVENT_TIME else "processing"
        yield ctx.get_current_key(), timestamp, kind
        ctx.output(SIDE, timestamp)


def timing(**settings: Any) -> Any:
    return keyed_harness(Timing(), key=lambda command: command[0], **settings)


def test_event_timers_fire_when_the_watermark_reaches_them() -> None:
    with timing() as h:
        h.process(("a", "register_event_time_timer", 10))
        h.process(("b", "register_event_time_timer", 5))
        h.watermark(4)
        assert h.output() == []
        h.watermark(5)
        assert h.timestamped_output() == [(("b", 5, "event"), 5)]
        h.watermark(100)
        assert h.timestamped_output() == [(("a", 10, "event"), 10)]
        assert h.side_output(SIDE) == [5, 10]
        h.watermark(200)
        assert h.output() == []


def test_results_of_timers_go_before_the_watermark_that_fired_them() -> None:
    with timing() as h:
        h.process(("a", "register_event_time_timer", 10))
        seen: list[Any] = []
        h._recording.watermark = lambda subtask, ts: seen.append((ts, len(h._recording.main)))
        h.watermark(20)
        assert seen == [(20, 1)]


def test_processing_timers_fire_by_the_clock_and_have_no_timestamp() -> None:
    with timing(time=1_000) as h:
        h.process(("a", "register_processing_time_timer", 1_500), ts=7)
        h.watermark(MAX_TIMESTAMP)
        h.advance_time(499)
        assert h.output() == []
        h.advance_time(1)
        assert h.timestamped_output() == [(("a", 1500, "processing"), None)]


def test_deleted_timers_do_not_fire() -> None:
    with timing() as h:
        h.process(("a", "register_event_time_timer", 10))
        h.process(("b", "register_event_time_timer", 10))
        h.process(("a", "delete_event_time_timer", 10))
        h.process(("b", "delete_event_time_timer", 11))
        h.process(("a", "register_processing_time_timer", 10))
        h.process(("a", "delete_processing_time_timer", 10))
        h.watermark(20)
        h.advance_time(100)
        assert h.output() == [("b", 10, "event")]


def test_a_timer_behind_the_watermark_fires_with_the_next_one() -> None:
    with timing() as h:
        h.watermark(50)
        h.process(("a", "register_event_time_timer", 10))
        assert h.output() == []
        h.watermark(51)
        assert h.output() == [("a", 10, "event")]


def test_a_timer_at_the_end_of_time_fires_at_the_end_of_the_input() -> None:
    with timing() as h:
        h.process(("a", "register_event_time_timer", MAX_TIMESTAMP))
        h.process(("a", "register_processing_time_timer", 99))
        h.watermark(1 << 50)
        assert h.output() == []
        h.end_input()
        assert h.output() == [("a", MAX_TIMESTAMP, "event")]


def test_numbers_that_are_not_quite_ints_are_cut() -> None:
    with timing() as h:
        h.process(("a", "register_event_time_timer", 10.7))
        assert [t.timestamp for t in h.timers()] == [10]
        with pytest.raises(StateError, match="milliseconds"):
            h.process(("a", "register_event_time_timer", "soon"))


class Chained(KeyedProcessFunction):
    """Each timer sets the next one, three times, and counts in state."""

    def open(self, runtime_context: Any) -> None:
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.left.update(3)
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        left = self.left.value() - 1
        yield timestamp, left
        if left:
            self.left.update(left)
            ctx.timer_service().register_event_time_timer(timestamp + 10)
        else:
            self.left.clear()


def test_timers_set_by_timers_fire_within_the_same_watermark() -> None:
    with keyed_harness(Chained(), key=lambda _: "k") as h:
        h.process(10)
        h.watermark(25)
        assert h.timestamped_output() == [((10, 2), 10), ((20, 1), 20)]
        h.watermark(30)
        assert h.output() == [(30, 0)]
        assert h.state("left") == {}
        assert h.timers() == []


def test_an_error_in_on_timer_names_the_timer_and_its_key() -> None:
    class Failing(Timing):
        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            raise KeyError("in the timer")

    with keyed_harness(Failing(), key=lambda c: c[0]) as h:
        h.process(("north", "register_event_time_timer", 10))
        with pytest.raises(KeyError) as caught:
            h.watermark(10)
        assert "on_timer(10) of key 'north'" in caught.value.__notes__[0]


def test_an_unhashable_key_is_given_back_as_it_was() -> None:
    class Keys(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.n = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            self.n.update((self.n.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(5)
            yield ctx.get_current_key(), self.n.value()

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield ctx.get_current_key()

    with keyed_harness(Keys(), key=lambda v: [v, {"x": v}], parallelism=3) as h:
        h.process_many([1, 2, 1])
        h.snapshot_and_restore(parallelism=2)
        h.process(1)
        assert sorted(h.output()) == [
            ([1, {"x": 1}], 1),
            ([1, {"x": 1}], 2),
            ([1, {"x": 1}], 3),
            ([2, {"x": 2}], 1),
        ]
        h.watermark(5)
        assert sorted(h.output()) == [[1, {"x": 1}], [2, {"x": 2}]]


def test_a_function_without_on_timer_lets_timers_pass() -> None:
    class NoTimer(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(1)

    with keyed_harness(NoTimer(), key=lambda v: v) as h:
        h.process(1)
        h.watermark(10)
        assert h.output() == []
        assert h.timers() == []
