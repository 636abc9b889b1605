"""The harness itself: what users of `headrace.testing` rely upon."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.errors import FunctionTypeError, HeadraceError, StateError
from headrace.datastream import KeyedProcessFunction, MapFunction
from headrace.datastream.functions import AggregateFunction, CoMapFunction, ReduceFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.testing import ManualClock, harness, keyed_harness, two_input_harness


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]


class Everything(KeyedProcessFunction):
    """Keeps its records in all five kinds of state."""

    def open(self, runtime_context: Any) -> None:
        long = Types.LONG()
        context = runtime_context
        self.value = context.get_state(ValueStateDescriptor("value", long))
        self.list = context.get_list_state(ListStateDescriptor("list", long))
        self.map = context.get_map_state(MapStateDescriptor("map", long, long))
        self.sum = context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, long)
        )
        self.average = context.get_aggregating_state(
            AggregatingStateDescriptor("average", Average(), Types.TUPLE([long, long]))
        )
        self.seen = 0

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        number = value[1]
        self.seen += 1
        self.value.update(number)
        self.list.add(number)
        self.map.put(number, number * 10)
        self.sum.add(number)
        self.average.add(number)
        yield self.seen


EXPECTED = {
    "value": {"a": 3, "b": 2},
    "list": {"a": [1, 3], "b": [2]},
    "map": {"a": {1: 10, 3: 30}, "b": {2: 20}},
    "sum": {"a": 4, "b": 2},
    "average": {"a": 2.0, "b": 2.0},
}


def everything(**settings: Any) -> Any:
    return keyed_harness(Everything(), key=lambda v: v[0], **settings)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_all_kinds_of_state_can_be_looked_at_and_survive(parallelism: int) -> None:
    with everything(parallelism=parallelism) as h:
        h.process_many([("a", 1), ("b", 2), ("a", 3)])
        assert {name: h.state(name) for name in EXPECTED} == EXPECTED
        for other in (2, 4, 1):
            h.snapshot_and_restore(parallelism=other)
            assert {name: h.state(name) for name in EXPECTED} == EXPECTED


def test_fields_do_not_survive_a_recovery() -> None:
    with everything() as h:
        h.process(("a", 1))
        h.process(("a", 1))
        h.snapshot_and_restore()
        h.process(("a", 1))
        assert h.output() == [1, 2, 1]


def test_an_unknown_state_is_an_error_that_names_the_known_ones() -> None:
    with everything() as h, pytest.raises(StateError, match="average, list, map, sum, value"):
        h.state("valve")


class Expiring(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("n", Types.LONG())
        ttl = StateTtlConfig.new_builder(Time.milliseconds(100))
        descriptor.enable_time_to_live(
            ttl.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite).build()
        )
        self.n = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.n.update(value)


def test_looking_at_state_does_not_keep_it_alive() -> None:
    with keyed_harness(Expiring(), key=lambda _: "k") as h:
        h.process(5)
        for _ in range(9):
            h.advance_time(11)
            assert h.state("n") == {"k": 5}
        h.advance_time(11)
        assert h.state("n") == {}


class EveryTenth(KeyedProcessFunction):
    """A timer every 10 ms, set from the time that the clock shows."""

    def process_element(self, value: Any, ctx: Any) -> None:
        self.set_next(ctx)

    def set_next(self, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_processing_time()
        self.set_next(ctx)


def test_time_passes_from_timer_to_timer() -> None:
    with keyed_harness(EveryTenth(), key=lambda v: v, time=1_000) as h:
        h.process("k")
        h.advance_time(35)
        assert h.output() == [(1_010, 1_010), (1_020, 1_020), (1_030, 1_030)]
        assert h.time == 1_035
        h.snapshot_and_restore()
        h.advance_time(5)
        assert h.output() == [(1_040, 1_040)]


def test_a_snapshot_can_be_restored_again_and_again() -> None:
    with keyed_harness(lambda a, b: a + b, key=lambda _: 1, operation="reduce") as h:
        h.process(1)
        snapshot = h.snapshot()
        for _ in range(3):
            h.process(10)
            h.restore(snapshot)
        h.process(100)
        assert h.output() == [1, 11, 11, 11, 101]


def test_the_watermark_goes_on_after_a_recovery() -> None:
    class Late(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield ctx.timestamp() <= ctx.timer_service().current_watermark()

    with keyed_harness(Late(), key=lambda v: v) as h:
        h.watermark(10)
        h.snapshot_and_restore(parallelism=2)
        h.process("late", ts=5)
        assert h.output() == [True]
        assert h.current_watermark == 10
        h.watermark(7)
        h.watermark(20)
        assert h.watermarks() == [10, 20]


def test_functions_are_closed_also_on_the_way_out_of_a_failure() -> None:
    class Closing(MapFunction):
        def map(self, value: Any) -> Any:
            raise KeyError("first")

        def close(self) -> None:
            raise OSError("second")

    with pytest.raises(KeyError, match="first"), harness(Closing()) as h:
        h.process(1)
    closed = harness(Closing())
    with pytest.raises(OSError, match="second"):
        closed.close()
    closed.close()
    with pytest.raises(HeadraceError, match="closed"):
        closed.process(1)


def test_what_the_user_raised_it_from_stays() -> None:
    def failing(value: Any) -> Any:
        try:
            return {}[value]
        except KeyError as error:
            raise ValueError("wrapped") from error

    with harness(failing, "map") as h:
        with pytest.raises(ValueError, match="wrapped") as caught:
            h.process(1)
        assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_that_cannot_travel_is_refused() -> None:
    class Locked(MapFunction):
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(FunctionTypeError, match=r"create that in open\(\)"):
        harness(Locked())


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def test_the_wrong_harness_says_which_one_is_right() -> None:
    with pytest.raises(FunctionTypeError, match=r"keyed_harness\(function, key=\.\.\.\)"):
        harness(Everything())
    with pytest.raises(FunctionTypeError, match=r"keyed_harness\(function, key=\.\.\.\)"):
        harness(Sum())
    with pytest.raises(FunctionTypeError, match="two_input_harness"):
        harness(Both())
    with pytest.raises(FunctionTypeError, match="two_input_harness"):
        keyed_harness(Both(), key=lambda v: v)
    with pytest.raises(FunctionTypeError, match="operation='map'"):
        harness(lambda v: v)
    with pytest.raises(FunctionTypeError, match="map, filter, flat_map, reduce"):
        harness(lambda v: v, "mapp")
    with pytest.raises(FunctionTypeError, match="OutputTag"), harness(str, "map") as h:
        h.side_output("late")  # type: ignore[arg-type]


def test_an_unkeyed_operator_changes_its_parallelism() -> None:
    with harness(str, "map") as h:
        h.snapshot_and_restore()
        h.snapshot_and_restore(parallelism=2)
        assert len(h.functions) == 2
        h.process_many([1, 2, 3])
        assert sorted(h.output()) == ["1", "2", "3"]


def test_timestamps_must_be_as_many_as_records() -> None:
    with (
        harness(str, "map") as h,
        pytest.raises(HeadraceError, match="2 records have 1 timestamps"),
    ):
        h.process_many([1, 2], ts=[1])


def test_two_inputs_and_strategies_have_a_harness_too() -> None:
    with two_input_harness(Both()) as both:
        both.process1(1)
        both.process2(2)
        assert both.output() == [1, 2]
    with harness(WatermarkStrategy.for_monotonous_timestamps()) as h:
        h.process("a", ts=5)
        h.advance_time(200)
        assert h.watermarks() == [4]


def test_functions_see_parallelism_and_job_parameters() -> None:
    class Context(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.facts = (
                runtime_context.get_number_of_parallel_subtasks(),
                runtime_context.get_max_number_of_parallel_subtasks(),
                runtime_context.get_job_parameter("limit", "none"),
            )

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield self.facts

    settings = {"parallelism": 2, "max_parallelism": 16, "job_parameters": {"limit": "5"}}
    with keyed_harness(Context(), key=lambda v: v, **settings) as h:
        h.process(1)
        assert h.output() == [(2, 16, "5")]


def test_a_manual_clock_does_not_go_back() -> None:
    clock = ManualClock(100)
    clock.advance(5)
    assert clock() == 105
    assert repr(clock) == "ManualClock(105)"
    with pytest.raises(HeadraceError, match="cannot go backwards"):
        clock.advance_to(104)
