"""One operator under any history of records, watermarks, time, failures and new parallelisms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.state import MapStateDescriptor
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.testing import harness, keyed_harness
from tests.examples import examples


class Schedule(KeyedProcessFunction):
    """Sets and deletes timers as it is told, and remembers in state which ones are to fire."""

    def open(self, runtime_context: Any) -> None:
        self.due = runtime_context.get_map_state(
            MapStateDescriptor("due", Types.LONG(), Types.BOOLEAN())
        )

    def process_element(self, value: Any, ctx: Any) -> None:
        _, timestamp, setting = value
        timers = ctx.timer_service()
        if setting:
            timers.register_event_time_timer(timestamp)
            self.due.put(timestamp, True)
        else:
            timers.delete_event_time_timer(timestamp)
            if self.due.contains(timestamp):
                self.due.remove(timestamp)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert self.due.contains(timestamp), "a timer that was deleted, or fired before"
        self.due.remove(timestamp)
        yield ctx.get_current_key(), timestamp


COMMANDS = st.tuples(st.integers(0, 3), st.integers(0, 60), st.booleans())
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("process"), st.lists(COMMANDS, min_size=1, max_size=5)),
        st.tuples(st.just("watermark"), st.integers(0, 60)),
        st.tuples(st.just("restore"), st.integers(1, 4)),
    ),
    max_size=25,
)


class Model:
    """What the timers of a keyed stream should do."""

    def __init__(self) -> None:
        self.timers: set[tuple[int, int]] = set()
        self.watermark = -1
        self.fired: list[tuple[int, int]] = []

    def process(self, commands: list[tuple[int, int, bool]]) -> None:
        for key, timestamp, setting in commands:
            (self.timers.add if setting else self.timers.discard)((timestamp, key))

    def advance(self, watermark: int) -> list[tuple[int, int]]:
        if watermark <= self.watermark:
            return []
        self.watermark = watermark
        due = {t for t in self.timers if t[0] <= watermark}
        self.timers -= due
        return sorted(due)


@examples(75)
@given(STEPS)
def test_timers_fire_exactly_once_in_order_and_never_early(steps: list[Any]) -> None:
    model = Model()
    with keyed_harness(Schedule(), key=lambda command: command[0]) as h:
        for kind, argument in [*steps, ("watermark", 61)]:
            if kind == "process":
                h.process_many(argument)
                model.process(argument)
                assert h.output() == []
            elif kind == "restore":
                h.snapshot_and_restore(parallelism=argument)
                assert h.output() == []
            else:
                h.watermark(argument)
                emitted = h.timestamped_output()
                assert sorted((t, k) for (k, t), _ in emitted) == model.advance(argument)
                assert all(stamp == t for (_, t), stamp in emitted)
                for key in range(4):
                    times = [t for (k, t), _ in emitted if k == key]
                    assert times == sorted(times)
            assert sorted((t.timestamp, t.key) for t in h.timers()) == sorted(model.timers)
        assert h.state("due") == {}


class Alarm(KeyedProcessFunction):
    """Counts records in processing time; emits the count 10 ms after the first one of a key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_map_state(
            MapStateDescriptor("count", Types.STRING(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> None:
        count = self.count.get("n") or 0
        if not count:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 10)
        self.count.put("n", count + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.count.get("n")
        self.count.clear()


HISTORY = st.lists(
    st.one_of(
        st.tuples(st.just("process"), st.integers(0, 3)),
        st.tuples(st.just("time"), st.integers(0, 25)),
    ),
    max_size=30,
)


def outputs(history: list[Any], restore_at: set[int], parallelism: int) -> list[Any]:
    collected: list[Any] = []
    with keyed_harness(Alarm(), key=lambda key: key) as h:
        for position, (kind, argument) in enumerate([*history, ("time", 100)]):
            if position in restore_at:
                h.snapshot_and_restore(parallelism=parallelism)
            if kind == "process":
                h.process(argument)
            else:
                h.advance_time(argument)
            collected.append(sorted(h.output()))
    return collected


@examples(50)
@given(HISTORY, st.sets(st.integers(0, 30), max_size=5), st.integers(1, 4))
def test_a_failure_at_any_place_changes_nothing(
    history: list[Any], restore_at: set[int], parallelism: int
) -> None:
    assert outputs(history, restore_at, parallelism) == outputs(history, set(), 1)


@examples(50)
@given(
    st.lists(st.tuples(st.lists(st.integers(-50, 1_000), max_size=5), st.integers(0, 400))),
    st.integers(0, 100),
)
def test_the_watermark_never_goes_back_and_holds_for_the_bound(
    steps: list[tuple[list[int], int]], bound: int
) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
        lambda value, _: value
    )
    seen: list[int] = []
    largest = None
    with harness(strategy) as h:
        for values, pause in steps:
            h.process_many(values)
            largest = max([*values, *([] if largest is None else [largest])], default=None)
            h.advance_time(pause)
            seen += h.watermarks()
            if seen:
                assert largest is not None
                assert seen[-1] <= largest - bound - 1
        h.end_input()
        seen += h.watermarks()
    assert seen == sorted(set(seen))
    assert seen[-1] == MAX_TIMESTAMP
