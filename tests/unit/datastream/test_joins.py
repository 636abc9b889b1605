"""Window joins, co-groups and interval joins as programs: what is refused, and what comes out."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
    RichCoGroupFunction,
    RichJoinFunction,
)
from headrace.datastream.joins import TaggedUnion
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.testing import collect, run_in_process
from headrace.testing.runner import MiniRunner
from tests.examples import examples

Record = tuple[str, int]
"""A key and a timestamp; the position in its list makes records distinct."""

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
ANY_ORDER = WatermarkStrategy.for_bounded_out_of_orderness(1000).with_timestamp_assigner(
    lambda v, _: v[1]
)


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def stream(env: StreamExecutionEnvironment, records: list[Any], strategy: Any = IN_ORDER) -> Any:
    return env.from_collection(records).assign_timestamps_and_watermarks(strategy)


def two(left: list[Any], right: list[Any], parallelism: int = 1, strategy: Any = IN_ORDER) -> Any:
    env = environment(parallelism)
    return stream(env, left, strategy), stream(env, right, strategy)


def key(record: Any) -> Any:
    return record[0]


def paired(joined: Any) -> Any:
    return joined.where(key).equal_to(key)


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right


# Window join.


def test_a_join_pairs_all_records_of_a_key_and_window() -> None:
    left, right = two([("a", 1), ("a", 2), ("b", 3), ("a", 11)], [("a", 4), ("b", 12), ("a", 13)])
    joined = paired(left.join(right)).window(TEN).apply(lambda one, other: (one, other))
    assert collect(joined) == [
        (("a", 1), ("a", 4)),
        (("a", 2), ("a", 4)),
        (("a", 11), ("a", 13)),
    ]


def test_a_stream_can_be_joined_with_itself_and_with_keys_of_other_shapes() -> None:
    env = environment()
    records = stream(env, [("a", 1), ("b", 2)])
    joined = (
        records.key_by(key)
        .join(records)
        .where(lambda r: [r[0]])
        .equal_to(lambda r: [r[0]])
        .window(TEN)
        .apply(lambda one, other: one[0] + other[0], Types.STRING())
    )
    assert sorted(collect(joined)) == ["aa", "bb"]


class Sum(JoinFunction):
    def join(self, first: Any, second: Any) -> int:
        return first[1] + second[1]


class Both(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return None if first[0] == "b" else [first[1], second[1]]


def test_join_functions_give_one_record_and_flat_ones_any_number() -> None:
    left, right = two([("a", 1), ("b", 2)], [("a", 4), ("b", 5)])
    windows = paired(left.join(right)).window(TEN)
    assert collect(windows.apply(Sum(), output_type=Types.INT())) == [5, 7]
    left, right = two([("a", 1), ("b", 2)], [("a", 4), ("b", 5)])
    assert collect(paired(left.join(right)).window(TEN).apply(Both())) == [1, 4]


class Opened(RichJoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.name = self.get_runtime_context().get_task_name()
        assert self.get_runtime_context() is runtime_context

    def join(self, first: Any, second: Any) -> str:
        return self.name


def test_the_users_function_is_opened_with_its_context() -> None:
    left, right = two([("a", 1)], [("a", 4)])
    (name,) = collect(paired(left.join(right)).window(TEN).apply(Opened()))
    assert "Join(TumblingEventTimeWindows)" in name


def test_results_have_the_last_time_of_the_window() -> None:
    left, right = two([("a", 1), ("a", 12)], [("a", 4), ("a", 15)])
    joined = paired(left.join(right)).window(TEN).apply(lambda one, other: one)
    counts = joined.window_all(TEN).count()
    assert collect(counts) == [1, 1]


# Co-group.


class Sides(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        yield [v[1] for v in first], [v[1] for v in second]


def test_a_co_group_sees_sides_that_are_empty() -> None:
    left, right = two([("a", 1), ("b", 2), ("a", 3)], [("a", 4), ("c", 5), ("a", 15)])
    grouped = paired(left.co_group(right)).window(TEN).apply(Sides())
    assert collect(grouped) == [([1, 3], [4]), ([2], []), ([], [5]), ([], [15])]


def test_a_co_group_takes_callables_and_side_outputs() -> None:
    lonely = OutputTag("lonely", Types.STRING())

    def outer(first: Any, second: Any) -> Any:
        if not second:
            yield lonely, first[0][0]
        yield from product(first, second)

    left, right = two([("a", 1), ("b", 2)], [("a", 4)])
    grouped = paired(left.co_group(right)).window(TEN).apply(outer)
    streams = {"main": grouped, "side": grouped.get_side_output(lonely)}
    result = run_in_process(left.get_execution_environment(), streams)
    assert result["main"] == [(("a", 1), ("a", 4))]
    assert result["side"] == ["b"]


class Seen(RichCoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        yield len(first), len(second)


def test_trigger_and_evictor_see_both_sides() -> None:
    left, right = two([("a", 1), ("a", 2)], [("a", 3), ("a", 4)])
    triggered = (
        paired(left.co_group(right)).window(TEN).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    )
    assert collect(triggered.apply(Seen())) == [(2, 0), (0, 2)]
    left, right = two([("a", 1), ("a", 2)], [("a", 3), ("a", 4)])
    evicted = paired(left.co_group(right)).window(TEN).evictor(CountEvictor.of(3))
    assert collect(evicted.apply(Seen())) == [(1, 2)]


def every_record(left: list[Any], right: list[Any]) -> Any:
    """Both streams as a source with a watermark for each record: the right one comes first."""
    from headrace.common.watermark_strategy import WatermarkGenerator

    class EveryRecord(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            output.emit_watermark(event_timestamp)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    strategy = WatermarkStrategy.for_generator(EveryRecord).with_timestamp_assigner(
        lambda v, _: v[1]
    )
    return two(left, right, strategy=strategy)


@pytest.mark.parametrize("operation", ["join", "co_group"])
def test_late_records_go_to_the_side_output_with_their_side(operation: str) -> None:
    late = OutputTag("late")
    left, right = every_record([("a", 25), ("a", 3)], [("a", 5), ("a", 26), ("a", 4)])
    windows = paired(getattr(left, operation)(right)).window(TEN).side_output_late_data(late)
    result = windows.apply(lambda one, other: [])
    # The watermark is the smaller one of both inputs: 25 after all of them.
    records = run_in_process(
        left.get_execution_environment(), {"late": result.get_side_output(late)}, epoch_records=2
    )["late"]
    assert records == [TaggedUnion(1, ("a", 4))]
    (record,) = records
    assert record.is_two()
    assert not record.is_one()
    assert (record.get_one(), record.get_two()) == (None, ("a", 4))


def test_late_records_fire_again_while_they_are_allowed() -> None:
    left, right = every_record([("a", 5), ("a", 25)], [("a", 6), ("a", 26), ("a", 7)])
    grouped = paired(left.co_group(right)).window(TEN).allowed_lateness(100).apply(Sides())
    assert collect(grouped, epoch_records=2) == [([5], [6]), ([5], [6, 7]), ([25], [26])]


# What is refused.


def test_steps_come_in_order() -> None:
    left, right = two([("a", 1)], [("a", 1)])
    joined = left.join(right)
    for early, step, missing in (
        (joined, "equal_to", "where"),
        (joined, "window", "where"),
        (joined, "apply", "where"),
        (joined.where(key), "window", "equal_to"),
        (joined.where(key), "apply", "equal_to"),
        (joined.where(key).equal_to(key), "apply", "window"),
        (joined.where(key).equal_to(key), "trigger", "window"),
        (left.co_group(right).where(key), "apply", "equal_to"),
    ):
        with pytest.raises(GraphError, match=rf"{step}\(\) comes too early, {missing}\(\) is"):
            getattr(early, step)
    with pytest.raises(AttributeError, match="has no attribute 'wher'"):
        joined.wher  # noqa: B018


def test_wrong_arguments_are_refused_where_they_are_written() -> None:
    left, right = two([("a", 1)], [("a", 1)])
    equal = paired(left.join(right))
    refused: list[tuple[type[Exception], Any]] = [
        (FunctionTypeError, lambda: left.join("right")),
        (FunctionTypeError, lambda: left.co_group(None)),
        (FunctionTypeError, lambda: left.join(right).where("key")),
        (FunctionTypeError, lambda: left.join(right).where(key).equal_to(3)),
        (FunctionTypeError, lambda: equal.window("ten seconds")),
        (FunctionTypeError, lambda: equal.window(TEN).apply("function")),
        (FunctionTypeError, lambda: equal.window(TEN).apply(lambda one: one)),
        (FunctionTypeError, lambda: equal.window(TEN).apply(Sides())),
        (FunctionTypeError, lambda: paired(left.co_group(right)).window(TEN).apply(Sum())),
        (FunctionTypeError, lambda: equal.window(TEN).apply(Sum(), output_type="int")),
        (FunctionTypeError, lambda: equal.window(TEN).trigger(3)),
        (FunctionTypeError, lambda: equal.window(TEN).evictor(3)),
        (FunctionTypeError, lambda: equal.window(TEN).side_output_late_data("late")),
        (GraphError, lambda: equal.window(TEN).allowed_lateness(-1)),
        (GraphError, lambda: left.join(stream(environment(), [("a", 1)]))),
        (
            GraphError,
            lambda: left.join(right).where(key, Types.STRING()).equal_to(key, Types.INT()),
        ),
        (FunctionTypeError, lambda: left.key_by(key).interval_join(right)),
        (FunctionTypeError, lambda: left.key_by(key).interval_join(3)),
    ]
    for error, build in refused:
        with pytest.raises(error):
            build()


def test_an_interval_join_refuses_what_it_cannot_do() -> None:
    left, right = two([("a", 1)], [("a", 1)])
    joined = left.key_by(key).interval_join(right.key_by(key))
    with pytest.raises(GraphError, match="only supported in event time"):
        joined.in_processing_time().between(0, 1)
    joined.in_event_time()
    with pytest.raises(GraphError, match="lower bound"):
        joined.between(Time.seconds(1), Time.seconds(0))
    with pytest.raises(FunctionTypeError, match="lower bound"):
        joined.between("one", 2)
    within = joined.between(-1, 1)
    with pytest.raises(FunctionTypeError, match="ProcessJoinFunction"):
        within.process(lambda left, right: [])
    with pytest.raises(FunctionTypeError, match="OutputTag"):
        within.side_output_left_late_data("late")
    with pytest.raises(FunctionTypeError, match="OutputTag"):
        within.side_output_right_late_data(None)


def test_a_record_without_a_timestamp_is_a_clear_error() -> None:
    env = environment()
    left, right = env.from_collection([("a", 1)]), env.from_collection([("a", 1)])
    joined = left.key_by(key).interval_join(right.key_by(key)).between(-1, 1).process(Pair())
    with pytest.raises(Exception, match="without a timestamp reached an interval join"):
        collect(joined)


# A naive computation as the oracle.

few = examples(20)
records = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-30, 60)), max_size=12)
runs = st.fixed_dictionaries(
    {
        "parallelism": st.integers(1, 3),
        "epochs": st.lists(st.integers(1, 5), min_size=1, max_size=3),
        "restores": st.sets(st.integers(1, 4)),
        "seed": st.integers(0, 3),
    }
)


def distinct(generated: list[Record]) -> list[tuple[str, int, int]]:
    return [(k, t, n) for n, (k, t) in enumerate(generated)]


def results_of(build: Any, left: Any, right: Any, run: dict[str, Any]) -> Counter[Any]:
    one, other = two(left, right, run["parallelism"], ANY_ORDER)
    return Counter(
        collect(
            build(one, other),
            epoch_records=run["epochs"],
            restore_after=run["restores"],
            shuffle_seed=run["seed"],
        )
    )


def windows_of(assigner: Any, timestamp: int) -> list[tuple[int, int]]:
    if isinstance(assigner, TumblingEventTimeWindows):
        start = timestamp - timestamp % assigner.size
        return [(start, start + assigner.size)]
    last = timestamp - timestamp % assigner.slide
    starts = range(last, timestamp - assigner.size, -assigner.slide)
    return [(start, start + assigner.size) for start in starts]


def cells_of(assigner: Any, records: list[Any]) -> dict[Any, list[Any]]:
    cells: dict[Any, list[Any]] = {}
    for record in records:
        for window in windows_of(assigner, record[1]):
            cells.setdefault((record[0], window), []).append(record)
    return cells


assigners = st.sampled_from(
    [TEN, SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(5))]
)


@few
@given(records, records, assigners, runs)
def test_a_window_join_is_a_cross_product_by_key_and_window(
    left: Any, right: Any, assigner: Any, run: Any
) -> None:
    left, right = distinct(left), distinct(right)
    one, other = cells_of(assigner, left), cells_of(assigner, right)
    expected = Counter(
        pair for cell in one.keys() & other.keys() for pair in product(one[cell], other[cell])
    )

    def build(first: Any, second: Any) -> Any:
        return paired(first.join(second)).window(assigner).apply(lambda a, b: (a, b))

    assert results_of(build, left, right, run) == expected


@few
@given(records, records, assigners, runs)
def test_a_co_group_gives_both_sides_of_each_key_and_window(
    left: Any, right: Any, assigner: Any, run: Any
) -> None:
    left, right = distinct(left), distinct(right)
    one, other = cells_of(assigner, left), cells_of(assigner, right)
    expected = Counter(
        (frozenset(one.get(cell, ())), frozenset(other.get(cell, ())))
        for cell in one.keys() | other.keys()
    )

    def build(first: Any, second: Any) -> Any:
        windows = paired(first.co_group(second)).window(assigner)
        return windows.apply(lambda a, b: [(frozenset(a), frozenset(b))])

    assert results_of(build, left, right, run) == expected


@few
@given(records, records, st.integers(1, 10), runs)
def test_a_co_group_by_sessions_puts_both_sides_into_one_session(
    left: Any, right: Any, gap: int, run: Any
) -> None:
    left, right = distinct(left), distinct(right)
    both = sorted([(k, t, n, 0) for k, t, n in left] + [(k, t, n, 1) for k, t, n in right])
    sessions: list[list[Any]] = []
    for record in both:
        last = sessions[-1][-1] if sessions else None
        # Sessions that touch are merged too.
        if last is not None and last[0] == record[0] and record[1] <= last[1] + gap:
            sessions[-1].append(record)
        else:
            sessions.append([record])
    expected = Counter(
        tuple(frozenset(r[:3] for r in s if r[3] == side) for side in (0, 1)) for s in sessions
    )

    def build(first: Any, second: Any) -> Any:
        assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(gap))
        windows = paired(first.co_group(second)).window(assigner)
        return windows.apply(lambda a, b: [(frozenset(a), frozenset(b))])

    assert results_of(build, left, right, run) == expected


@few
@given(
    records, records, st.integers(-25, 25), st.integers(0, 30), st.booleans(), st.booleans(), runs
)
def test_an_interval_join_is_a_cross_product_within_the_bounds(
    left: Any, right: Any, lower: int, width: int, low_open: bool, high_open: bool, run: Any
) -> None:
    left, right, upper = distinct(left), distinct(right), lower + width
    expected = Counter(
        (a, b)
        for a, b in product(left, right)
        if a[0] == b[0]
        and (lower < b[1] - a[1] if low_open else lower <= b[1] - a[1])
        and (b[1] - a[1] < upper if high_open else b[1] - a[1] <= upper)
    )

    def build(first: Any, second: Any) -> Any:
        within = first.key_by(key).interval_join(second.key_by(key)).between(lower, upper)
        if low_open:
            within.lower_bound_exclusive()
        if high_open:
            within.upper_bound_exclusive()
        return within.process(Pair())

    assert results_of(build, left, right, run) == expected


def test_reports_show_the_watermark_of_joins_as_the_smaller_one_of_both_inputs() -> None:
    env = environment()
    left = stream(env, [("a", t) for t in range(0, 100, 2)]).name("left")
    right = stream(env, [("a", t) for t in range(100)]).name("right")
    paired(left.join(right)).window(TEN).apply(lambda one, other: one).name("window join").print()
    close = left.key_by(key).interval_join(right.key_by(key)).between(-1, 1).process(Pair())
    close.name("interval join").print()
    runner = MiniRunner(build_job_graph(env.get_stream_graph()), epoch_records=7)
    runner.open()
    seen = []
    while not runner.finished:
        runner.run_epoch()
        marks = {o.name: o.watermark for r in runner.reports.values() for o in r.operators}
        lowest = min(marks["left"], marks["right"])
        assert marks["window join"] == marks["interval join"] == lowest
        seen.append(lowest)
    assert seen == sorted(seen)
    assert len(set(seen)) > 5
    assert seen[-1] == MAX_TIMESTAMP
    runner.close()
