"""Windows agree with a naive model, and the fast operator with the general one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.datastream import StreamExecutionEnvironment, rolling
from headrace.datastream.functions import as_reduce_function
from headrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.runtime.operators.window import AlignedWindowOperator, build_window_operator
from headrace.testing import keyed_harness, run_in_process
from tests.examples import examples
from tests.property import window_histories as histories
from tests.property import window_model as model
from tests.property.live_slots import carried
from tests.property.window_histories import (
    LATE,
    Show,
    ShowContent,
    ShowNumbered,
    SlowEventTimeTrigger,
    spec,
)

MAX = (1 << 63) - 1
parallelisms = st.integers(1, 4)
sizes = st.integers(1, 25)


def expected(oracle: model.Model, history: list[histories.Step]) -> list[Any]:
    seen = []
    for kind, what in [*history, ("watermark", MAX)]:
        fired = []
        if kind == "records":
            for key, stamp, value in what:
                late_fired = oracle.add(key, stamp, (key, stamp, value))
                fired += [(_shown(window), stamp) for window in late_fired]
        elif kind == "watermark":
            fired = list(map(_result, oracle.advance(what)))
        late, oracle.late = oracle.late, []
        seen.append((sorted(fired, key=repr), sorted(late)))
    return seen


def _shown(fired: model.Fired) -> Any:
    key, start, end, records = fired
    return key, start, end, tuple(r[2] for r in records)


def _result(fired: model.Fired) -> Any:
    return _shown(fired), fired[2] - 1


@st.composite
def sliding_windows(draw: Any) -> tuple[int, int, int]:
    size, slide = draw(sizes), draw(sizes)
    return size, slide, draw(st.integers(1 - slide, slide - 1))


@given(sliding_windows(), st.sampled_from([0, 0, 7]), histories.histories, parallelisms)
@example((4, 1, 0), 0, [("records", [("a", -4, 1), ("a", -1, 2), ("a", 0, 3), ("a", 1, 4)])], 1)
def test_sliding_windows(window: Any, lateness: int, history: Any, parallelism: int) -> None:
    size, slide, offset = window
    windows = spec(
        SlidingEventTimeWindows.of(size, slide, offset),
        function=Show(),
        allowed_lateness_ms=lateness,
        late_tag=LATE,
    )
    oracle = model.Model(model.sliding(size, slide, offset), lateness)
    assert histories.run(windows, history, parallelism) == expected(oracle, history)


@given(sizes, st.data(), st.sampled_from([0, 7]), histories.histories, parallelisms)
def test_tumbling_windows(
    size: int, data: Any, lateness: int, history: Any, parallelism: int
) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))
    windows = spec(
        TumblingEventTimeWindows.of(size, offset),
        function=Show(),
        allowed_lateness_ms=lateness,
        late_tag=LATE,
    )
    oracle = model.Model(model.tumbling(size, offset), lateness)
    assert histories.run(windows, history, parallelism) == expected(oracle, history)


@given(st.integers(1, 12), st.sampled_from([0, 0, 7]), histories.histories, parallelisms)
def test_sessions(gap: int, lateness: int, history: Any, parallelism: int) -> None:
    windows = spec(
        EventTimeSessionWindows.with_gap(gap),
        function=Show(in_order=False),
        allowed_lateness_ms=lateness,
        late_tag=LATE,
    )
    oracle = _InValueOrder(model.gap(gap), lateness)
    assert histories.run(windows, history, parallelism) == expected(oracle, history)


class _InValueOrder(model.SessionModel):
    """Values of sessions are compared in their own order, not in that of their keys and times."""

    def add(self, key: Any, stamp: int, value: Any) -> list[model.Fired]:
        return list(map(_by_value, super().add(key, stamp, value)))

    def advance(self, time: int) -> list[model.Fired]:
        return list(map(_by_value, super().advance(time)))


def _by_value(fired: model.Fired) -> model.Fired:
    return (*fired[:3], tuple(sorted(fired[3], key=lambda record: record[2])))


@given(histories.histories, st.sampled_from([0, 5]), parallelisms)
def test_sessions_with_a_gap_of_each_record(history: Any, lateness: int, parallelism: int) -> None:
    windows = spec(
        EventTimeSessionWindows.with_dynamic_gap(lambda record: 1 + record[1] % 9),
        function=Show(in_order=False),
        allowed_lateness_ms=lateness,
        late_tag=LATE,
    )
    oracle = _InValueOrder(lambda stamp: [(stamp, stamp + 1 + stamp % 9)], lateness)
    assert histories.run(windows, history, parallelism) == expected(oracle, history)


@pytest.mark.parametrize("kind", ["tumbling", "sliding", "session"])
@given(st.lists(st.one_of(histories.batches, st.tuples(st.just("time"), st.integers(0, 15)))))
@examples(30)
def test_windows_by_processing_time(kind: str, history: list[histories.Step]) -> None:
    assigner, oracle = {
        "tumbling": (
            TumblingProcessingTimeWindows.of(10, 3),
            model.ProcessingModel(model.tumbling(10, 3)),
        ),
        "sliding": (
            SlidingProcessingTimeWindows.of(10, 4, 1),
            model.ProcessingModel(model.sliding(10, 4, 1)),
        ),
        "session": (ProcessingTimeSessionWindows.with_gap(6), _ProcessingSessions(model.gap(6))),
    }[kind]
    windows = spec(assigner, function=Show(in_order=kind != "session"))
    with keyed_harness(windows, key=lambda r: r[0], parallelism=2) as harness:
        for step, what in [*history, ("time", 100)]:
            fired = []
            if step == "records":
                harness.process_many(what)
                for key, _, value in what:
                    fired += oracle.add(key, harness.time, (key, 0, value))
            else:
                harness.advance_time(what)
                harness.snapshot_and_restore()
                fired = oracle.advance(harness.time)
            assert histories.emitted(harness) == (sorted(map(_result, fired), key=repr), [])
        assert histories.entries(harness) == 0
        assert harness.timers() == []


class _ProcessingSessions(_InValueOrder):
    def add(self, key: Any, stamp: int, value: Any) -> list[model.Fired]:
        self.time = model.MIN
        return super().add(key, stamp, value)

    def advance(self, time: int) -> list[model.Fired]:
        self.time = model.MIN
        return super().advance(time)


@given(st.integers(1, 4), st.integers(1, 5), histories.histories, parallelisms)
def test_count_windows(size: int, slide: int, history: Any, parallelism: int) -> None:
    """Those that are not full at the end are not reported."""
    sliding = CountSlidingWindowAssigner.of(size, slide)
    for assigner, step in [(sliding, slide), (CountTumblingWindowAssigner.of(size), size)]:
        fired = []
        for key, values in _by_key(history).items():
            for first in range(0, len(values) - size + 1, step):
                fired.append((key, first // step, tuple(values[first : first + size])))
        assert _output(spec(assigner, function=ShowNumbered()), history, parallelism) == sorted(
            fired
        )


@given(st.integers(1, 4), st.booleans(), histories.histories, parallelisms)
def test_global_windows(count: int, purge: bool, history: Any, parallelism: int) -> None:
    fired = []
    for key, values in _by_key(history).items():
        for end in range(count, len(values) + 1, count):
            fired.append((key, 0, tuple(values[end - count if purge else 0 : end])))
    trigger = PurgingTrigger.of(CountTrigger.of(count)) if purge else CountTrigger.of(count)
    window = spec(GlobalWindows.create(), trigger=trigger, function=ShowNumbered())
    assert _output(window, history, parallelism) == sorted(fired)


def _by_key(history: list[histories.Step]) -> dict[str, list[int]]:
    values: dict[str, list[int]] = {}
    for kind, what in history:
        for key, _, value in what if kind == "records" else ():
            values.setdefault(key, []).append(value)
    return values


def _output(window: Any, history: list[histories.Step], parallelism: int) -> list[Any]:
    with keyed_harness(window, key=lambda r: r[0], parallelism=parallelism) as harness:
        for step in history:
            histories.play(harness, *step)
        return sorted(harness.output())


# The fast operator against the general one.

KINDS: dict[str, dict[str, Any]] = {
    "records": {"function": Show()},
    "aggregate": {"aggregate": histories.CountAndSum()},
    "aggregate with function": {"aggregate": histories.CountAndSum(), "function": ShowContent()},
    "mutable accumulator": {"aggregate": histories.Collected(), "function": ShowContent()},
    "mutable in a tuple": {"aggregate": histories.InTuple(), "function": ShowContent()},
    "empty merge": {"aggregate": histories.EmptyMerge(), "function": ShowContent()},
    "none": {"aggregate": histories.SometimesNothing(), "function": ShowContent()},
    "none without function": {"aggregate": histories.SometimesNothing()},
    "reduce in order": {"reduce": histories.KeepOrder(), "function": ShowContent()},
    "reduce to none": {"reduce": as_reduce_function(lambda a, b: None if b[2] == 9 else a)},
    "sum": {"reduce": rolling.SumOf(2)},
    "state of windows and keys": {"function": histories.Counted()},
}


@pytest.mark.parametrize("kind", KINDS)
@given(sliding_windows(), histories.histories, parallelisms)
@examples(20)
def test_the_fast_operator_gives_what_the_general_one_gives(
    kind: str, window: Any, history: Any, parallelism: int
) -> None:
    size, slide, offset = window
    for assigner in (
        SlidingEventTimeWindows.of(max(size, slide), min(size, slide), offset % min(size, slide)),
        TumblingEventTimeWindows.of(size, offset % size),
    ):
        fast = spec(assigner, late_tag=LATE, **KINDS[kind])
        assert isinstance(build_window_operator(fast), AlignedWindowOperator)
        slow = spec(assigner, trigger=SlowEventTimeTrigger(), late_tag=LATE, **KINDS[kind])
        assert not isinstance(build_window_operator(slow), AlignedWindowOperator)
        if kind == "sum":
            # Of a sum over slices, the time is that of the earliest record, not of the first.
            fast_seen, slow_seen = (
                _sums(histories.run(s, history, parallelism)) for s in (fast, slow)
            )
            assert fast_seen == slow_seen
        else:
            assert histories.run(fast, history, parallelism) == histories.run(
                slow, history, parallelism
            )


def _sums(seen: list[Any]) -> list[Any]:
    return [(sorted((stamp, r[0], r[2]) for r, stamp in output), late) for output, late in seen]


# Whole jobs.


@given(
    st.lists(histories.records, max_size=40),
    st.sampled_from(["tumbling", "sliding", "slices", "session"]),
    st.lists(st.integers(1, 15), min_size=1, max_size=3),
    st.sets(st.integers(1, 6), max_size=2),
    parallelisms,
    st.sampled_from([0, 6]),
    st.booleans(),
)
@examples(20)
def test_results_depend_neither_on_epochs_nor_on_failures_nor_on_parallelism(
    records: Any, kind: str, epochs: Any, failures: Any, parallelism: int, lateness: int, live: bool
) -> None:
    assigner, oracle = {
        "tumbling": (TumblingEventTimeWindows.of(10), model.Model(model.tumbling(10), lateness)),
        "sliding": (SlidingEventTimeWindows.of(9, 4), model.Model(model.sliding(9, 4), lateness)),
        "slices": (SlidingEventTimeWindows.of(12, 3), model.Model(model.sliding(12, 3), lateness)),
        "session": (EventTimeSessionWindows.with_gap(5), _InValueOrder(model.gap(5), lateness)),
    }[kind]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    windows = (
        env.from_collection(records or [("a", 0, 0)])
        .assign_timestamps_and_watermarks(histories.punctuated())
        .set_parallelism(1)
        .key_by(lambda r: r[0])
        .window(assigner)
        .allowed_lateness(lateness)
        .side_output_late_data(LATE)
    )
    if kind == "slices":
        fired = windows.aggregate(histories.Collected(), ShowContent())
        oracle_order = _in_value_order
    else:
        fired = windows.process(Show(in_order=kind != "session"))
        oracle_order = list
    with carried(live):
        result = run_in_process(
            env,
            {"fired": fired, "late": fired.get_side_output(LATE)},
            epoch_records=epochs,
            restore_after=failures,
            shuffle_seed=1,
        )
    history: list[histories.Step] = []
    for record in records or [("a", 0, 0)]:
        history.append(("records", [record]))
        if histories.has_watermark(record):
            history.append(("watermark", record[1]))
    seen = expected(oracle, history)
    assert sorted(result["fired"]) == sorted(
        r for output, _ in seen for r in oracle_order([r for r, _ in output])
    )
    assert sorted(result["late"]) == sorted(r for _, late in seen for r in late)


def _in_value_order(results: list[Any]) -> list[Any]:
    return [(*r[:3], tuple(sorted(r[3]))) for r in results]
