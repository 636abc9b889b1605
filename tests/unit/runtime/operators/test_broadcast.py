"""The broadcast state pattern: what both sides may do, and what survives."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, StateError
from headrace.common.typeinfo import Types
from headrace.datastream import (
    BroadcastConnectedStream,
    BroadcastStream,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    data_stream,
)
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.time_domain import TimeDomain
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.testing import broadcast_harness, run_in_process

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())
TOO_MUCH = OutputTag("too much", Types.STRING())


class Limits(BroadcastProcessFunction):
    """Lets numbers up to the newest limit pass."""

    def process_broadcast_element(self, value: int, ctx: Any) -> Any:
        ctx.get_broadcast_state(LIMITS).put("limit", value)
        yield f"limit {value} at {ctx.timestamp()}, {ctx.current_watermark()}"

    def process_element(self, value: int, ctx: Any) -> Any:
        limit = ctx.get_broadcast_state(LIMITS).get("limit")
        if limit is not None and value > limit:
            ctx.output(TOO_MUCH, f"{value} > {limit}")
        else:
            yield value


def test_one_side_writes_what_the_other_reads() -> None:
    with broadcast_harness(Limits(), LIMITS) as h:
        h.process(5)
        h.broadcast(3, ts=10)
        h.process_many([2, 4], ts=[11, 12])
        assert h.timestamped_output() == [
            (5, None),
            (f"limit 3 at 10, {MIN_TIMESTAMP}", 10),
            (2, 11),
        ]
        assert h.side_output(TOO_MUCH) == ["4 > 3"]


def test_every_subtask_gets_every_broadcast_record() -> None:
    with broadcast_harness(Limits(), LIMITS, parallelism=3) as h:
        h.broadcast_many([7, 3])
        assert h.broadcast_state("limits") == [{"limit": 3}] * 3
        assert len(h.output()) == 6
        h.process_many(range(6))
        assert sorted(h.output()) == [0, 1, 2, 3]


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_the_state_survives_at_any_parallelism(parallelism: int) -> None:
    with broadcast_harness(Limits(), LIMITS, parallelism=2) as h:
        h.broadcast(3)
        h.snapshot_and_restore(parallelism)
        assert h.broadcast_state("limits") == [{"limit": 3}] * parallelism
        h.output()
        h.process_many([1, 9])
        assert (h.output(), h.side_output(TOO_MUCH)) == ([1], ["9 > 3"])


class Anything(BroadcastProcessFunction):
    """Does with the contexts what a record, a function, says."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return value(ctx)

    def process_element(self, value: Any, ctx: Any) -> Any:
        return value(ctx)


def test_the_side_that_is_not_broadcast_only_reads() -> None:
    with broadcast_harness(Anything(), LIMITS) as h:
        h.broadcast(lambda ctx: ctx.get_broadcast_state(LIMITS).put("a", 1))
        h.process(lambda ctx: ctx.get_broadcast_state(LIMITS).items())
        assert h.output() == [("a", 1)]
        with pytest.raises(StateError, match=r"'limits' is read-only in process_element"):
            h.process(lambda ctx: ctx.get_broadcast_state(LIMITS).put("a", 2))


@pytest.mark.parametrize("side", ["process", "broadcast"])
def test_only_registered_states_are_there(side: str) -> None:
    with broadcast_harness(Anything(), LIMITS, NAMES) as h:
        give = getattr(h, side)
        give(lambda ctx: ctx.get_broadcast_state(NAMES).items())
        with pytest.raises(
            StateError, match=r"'other' is not .*: 'limits', 'names'. Pass its desc"
        ):
            give(lambda ctx: ctx.get_broadcast_state(MapStateDescriptor("other")))
        with pytest.raises(FunctionTypeError, match="takes a MapStateDescriptor"):
            give(lambda ctx: ctx.get_broadcast_state(ListStateDescriptor("limits")))


def test_without_a_key_there_are_no_timers_and_no_keyed_state() -> None:
    with broadcast_harness(Anything(), LIMITS) as h:
        with pytest.raises(StateError, match="Register timers is only supported on a keyed stream"):
            h.process(lambda ctx: ctx.timer_service().register_event_time_timer(1))
        with pytest.raises(StateError, match="has no keyed state"):
            h.broadcast(lambda ctx: ctx.apply_to_keyed_state(LIMITS, print))


COUNT = ValueStateDescriptor("count", Types.INT())


class Counts(KeyedBroadcastProcessFunction):
    """Counts by key; a broadcast number is added to all counts, None clears them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(LIMITS).put("added", value)
        seen = []

        def change(key: Any, state: Any) -> None:
            # The state of the function itself is in scope of the key too.
            assert self.count.value() == state.value()
            seen.append(key)
            if value is None:
                state.clear()
            else:
                state.update(state.value() + value)

        ctx.apply_to_keyed_state(COUNT, change)
        yield "visited", sorted(seen)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        if isinstance(value, tuple):
            ctx.timer_service().register_event_time_timer(value[1])
            ctx.timer_service().register_processing_time_timer(value[1])
        yield ctx.get_current_key(), self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        added = ctx.get_broadcast_state(LIMITS).get("added")
        assert ctx.timestamp() == timestamp
        where = "event" if ctx.time_domain() is TimeDomain.EVENT_TIME else "processing"
        yield where, timestamp, ctx.get_current_key(), self.count.value(), added
        with pytest.raises(StateError, match="read-only"):
            ctx.get_broadcast_state(LIMITS).clear()


def key_of(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def test_a_broadcast_record_visits_the_state_of_all_keys() -> None:
    with broadcast_harness(Counts(), LIMITS, key=key_of, parallelism=2) as h:
        h.process_many(["a", "b", "a", "c"])
        h.output()
        h.broadcast(10)
        visited = [key for _, keys in h.output() for key in keys]
        assert sorted(visited) == ["a", "b", "c"]
        assert h.state("count") == {"a": 12, "b": 11, "c": 11}
        h.snapshot_and_restore(parallelism=3)
        h.broadcast(None)
        assert h.state("count") == {}
        h.process("a")
        assert h.output()[-1] == ("a", 1)


def test_keys_that_cannot_be_hashed_are_visited_as_they_are() -> None:
    with broadcast_harness(Counts(), LIMITS, key=list) as h:
        h.process("ab")
        h.broadcast(1)
        assert h.output() == [(["a", "b"], 1), ("visited", [["a", "b"]])]


def test_timers_of_the_keyed_side() -> None:
    with broadcast_harness(Counts(), LIMITS, key=key_of) as h:
        h.process(("a", 50), ts=1)
        h.broadcast(5, ts=2)
        h.output()
        h.watermark1(60)
        assert h.output() == [], "the broadcast side holds event time back"
        h.snapshot_and_restore(parallelism=2)
        h.watermark2(60)
        assert h.timestamped_output() == [(("event", 50, "a", 6, 5), 50)]
        h.advance_time(50)
        assert h.timestamped_output() == [(("processing", 50, "a", 6, 5), None)]


class KeyedAnything(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return value(self, ctx)

    def process_element(self, value: Any, ctx: Any) -> Any: ...


def test_a_broadcast_record_has_no_key() -> None:
    with broadcast_harness(KeyedAnything(), LIMITS, key=key_of) as h:
        for use, message in (
            (lambda f, ctx: ctx.timer_service(), "no timers in process_broadcast_element"),
            (lambda f, ctx: ctx.get_current_key(), "no current key in process_broadcast_element"),
            (lambda f, ctx: f.count.value(), "no current key"),
            (lambda f, ctx: ctx.apply_to_keyed_state(COUNT, 5), "a function of a key and its"),
        ):
            with pytest.raises((StateError, FunctionTypeError), match=message):
                h.broadcast(use)
        h.broadcast(lambda f, ctx: [ctx.current_processing_time(), ctx.timestamp()])
        assert h.output() == [0, MIN_TIMESTAMP]


# Batch mode.


@pytest.mark.parametrize("parallelism", [1, 3])
def test_in_batch_mode_the_broadcast_input_comes_first(parallelism: int) -> None:
    with broadcast_harness(Limits(), LIMITS, batch=True) as h:
        h.process_many([1, 5, 9])
        h.watermark1(7)
        h.snapshot_and_restore(parallelism)
        h.broadcast(4)
        h.process(2)
        assert h.side_output(TOO_MUCH) == []
        h.output()
        h.end_input()
        assert sorted(h.output()) == [1, 2]
        assert sorted(h.side_output(TOO_MUCH)) == ["5 > 4", "9 > 4"]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_in_batch_mode_records_held_back_stay_with_their_keys(parallelism: int) -> None:
    with broadcast_harness(Counts(), LIMITS, key=key_of, batch=True, parallelism=2) as h:
        h.process_many(["a", "b", "a", ("c", 5)], ts=[1, 2, 3, 4])
        h.snapshot_and_restore(parallelism)
        h.snapshot_and_restore(parallelism)
        assert h.output() == []
        h.end_input()
        found = h.output()
        assert sorted(found[:4]) == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]
        assert found[4:] == [("event", 5, "c", 1, None)]
        assert h.watermarks() == [MAX_TIMESTAMP]


# Building.


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def test_what_the_methods_give(env: Any) -> None:
    numbers = env.from_collection([1, 2])
    rules = numbers.broadcast(LIMITS, NAMES)
    assert isinstance(rules, BroadcastStream)
    assert rules.broadcast_state_descriptors == [LIMITS, NAMES]
    connected = numbers.connect(rules)
    assert isinstance(connected, BroadcastConnectedStream)
    assert connected.process(Limits()).get_name() == "Co-Process-Broadcast"
    keyed = numbers.key_by(lambda x: x).connect(rules)
    assert keyed.process(Counts(), Types.STRING()).get_type() == Types.STRING()
    assert data_stream.BroadcastStream is BroadcastStream
    assert data_stream.BroadcastConnectedStream is BroadcastConnectedStream


def test_wrong_programs_are_refused_where_they_are_written(env: Any) -> None:
    numbers = env.from_collection([1, 2])
    rules = numbers.broadcast(LIMITS)
    with pytest.raises(FunctionTypeError, match="applied to keyed DataStream: call key_by"):
        numbers.connect(rules).process(Counts())
    with pytest.raises(FunctionTypeError, match="non-keyed DataStream: write a KeyedBroadcast"):
        numbers.key_by(lambda x: x).connect(rules).process(Limits())
    with pytest.raises(FunctionTypeError, match="BroadcastProcessFunction or KeyedBroadcast"):
        numbers.connect(rules).process(KeyedCoProcessFunction)
    with pytest.raises(FunctionTypeError, match="must be MapStateDescriptor"):
        numbers.broadcast(ValueStateDescriptor("rules"))
    with pytest.raises(GraphError, match="two descriptors with the name 'limits'"):
        numbers.broadcast(LIMITS, MapStateDescriptor("limits"))
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(GraphError, match="different environments"):
        numbers.connect(other.broadcast(LIMITS))


# Whole programs.


def program(env: Any, main: list[int], rules: list[int]) -> Any:
    return env.from_collection(main).connect(env.from_collection(rules).broadcast(LIMITS))


@pytest.mark.parametrize("seed", range(5))
def test_rules_count_for_the_records_of_their_epoch(env: Any, seed: int) -> None:
    result = program(env, list(range(10)), [5]).process(Limits())
    sides = {"main": result, "side": result.get_side_output(TOO_MUCH)}
    found = run_in_process(env, sides, shuffle_seed=seed)
    assert sorted(v for v in found["main"] if isinstance(v, int)) == list(range(6))
    assert len(found["side"]) == 4


@pytest.mark.parametrize("restore_after", [(), (1, 3, 4)])
def test_all_rules_come_first_in_batch_mode(env: Any, restore_after: tuple[int, ...]) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    result = program(env, list(range(10)), [9, 8, 7, 6, 5]).process(Limits())
    found = run_in_process(env, {"main": result}, epoch_records=2, restore_after=restore_after)
    assert sorted(v for v in found["main"] if isinstance(v, int)) == list(range(6))
