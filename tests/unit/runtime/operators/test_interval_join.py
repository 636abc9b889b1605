"""The interval join operator: bounds, late records, timestamps, state and how much it looks at."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Types
from headrace.common.errors import GraphError
from headrace.datastream import OutputTag
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.graph.specs import IntervalJoinSpec
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.testing import two_input_harness
from headrace.testing.harness import TwoInputHarness
from tests.examples import examples

STATES = ("interval-join-left", "interval-join-right")
LATE_LEFT, LATE_RIGHT = OutputTag("late-left"), OutputTag("late-right")


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right


def joining(
    lower: int, upper: int, function: Any = None, key: Any = lambda v: v[0], **settings: Any
) -> TwoInputHarness:
    tags = [settings.pop(name, None) for name in ("left_late", "right_late")]
    spec = IntervalJoinSpec(function or Pair(), lower, upper, *tags)
    return two_input_harness(spec, key, key, **settings)


def assert_nothing_left(h: TwoInputHarness) -> None:
    assert [h.state(name) for name in STATES] == [{}, {}]
    assert h.timers() == []


def late_dropped(h: TwoInputHarness) -> int:
    return sum(s.head._late_dropped.get_count() for s in h._subtasks)


@pytest.mark.parametrize(
    ("lower", "upper", "matching"),
    [
        (-2, 2, [8, 9, 10, 11, 12]),
        (0, 0, [10]),
        (1, 3, [11, 12, 13]),
        (-3, -1, [7, 8, 9]),
        (1, 0, []),  # (0, 1) with both bounds exclusive
    ],
)
@pytest.mark.parametrize("left_first", [True, False])
def test_bounds_are_included(lower: int, upper: int, matching: list[int], left_first: bool) -> None:
    with joining(lower, upper) as h:
        rights = [(("a", t), t) for t in range(5, 16)]
        if left_first:
            h.process1(("a", 10), ts=10)
        for value, ts in rights:
            h.process2(value, ts)
        if not left_first:
            h.process1(("a", 10), ts=10)
        assert h.output() == [(("a", 10), ("a", t)) for t in matching]


def test_results_have_the_later_timestamp() -> None:
    class Times(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
            ctx.output(OutputTag("side"), "seen")
            yield ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()
            yield OutputTag("side"), "yielded"

    with joining(-5, 5, Times()) as h:
        h.process1(("a",), ts=10)
        h.process2(("a",), ts=7)
        h.process2(("a",), ts=12)
        assert h.timestamped_output() == [((10, 7, 10), 10), ((10, 12, 12), 12)]
        assert sorted(h.side_output(OutputTag("side"))) == ["seen", "seen", "yielded", "yielded"]


def test_records_of_one_time_are_joined_in_order_of_arrival() -> None:
    with joining(-5, 5) as h:
        for number in (1, 2):
            h.process1(("a", number), ts=10)
        h.process1(("a", 0), ts=9)
        h.process2(("a", 3), ts=10)
        assert [left[1] for left, _ in h.output()] == [0, 1, 2]


def test_keys_do_not_meet_and_may_be_of_any_kind() -> None:
    with joining(-5, 5, key=lambda v: [v[0]], parallelism=2) as h:
        h.process1(("a", 1), ts=1)
        h.process2(("b", 2), ts=1)
        h.process2(("a", None), ts=2)
        assert h.output() == [(("a", 1), ("a", None))]


def test_late_records_are_dropped_and_counted() -> None:
    with joining(-5, 5) as h:
        h.process2(("a", 1), ts=21)
        h.watermark(20)
        h.process1(("a", 2), ts=19)
        assert h.output() == []
        h.process1(("a", 3), ts=20)  # not late: the watermark itself is in time
        assert h.output() == [(("a", 3), ("a", 1))]
        h.process2(("a", 4), ts=19)
        assert h.output() == []
        assert late_dropped(h) == 2


def test_late_records_go_to_the_side_output_of_their_side() -> None:
    with joining(-5, 5, left_late=LATE_LEFT, right_late=LATE_RIGHT) as h:
        h.watermark1(20)
        h.process1(("a", 1), ts=19)  # the other input holds event time back
        h.watermark2(30)
        h.process_many1([("a", 2), ("a", 3)], ts=[19, 20])
        h.process2(("a", 4), ts=3)
        assert h.side_output(LATE_LEFT) == [("a", 2)]
        assert h.side_output(LATE_RIGHT) == [("a", 4)]
        assert late_dropped(h) == 0


def test_event_time_is_the_smaller_one_of_both_inputs() -> None:
    with joining(-5, 5) as h:
        h.watermark1(20)
        assert h.watermarks() == []
        h.watermark2(10)
        assert h.current_watermark == 10
        assert h.watermarks() == [10]


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-3, 5, 105, 103), (2, 5, 105, 100), (-5, -2, 100, 105), (0, 0, 100, 100)],
)
def test_a_record_is_kept_as_long_as_it_can_meet_another(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    with joining(lower, upper) as h:
        h.process1(("a", 1), ts=100)
        h.process2(("a", 2), ts=100)
        for watermark in range(98, 110):
            h.watermark(watermark)
            left, right = (bool(h.state(name)) for name in STATES)
            assert (left, right) == (watermark < left_until, watermark < right_until)
        assert_nothing_left(h)


def test_a_record_right_at_the_watermark_is_in_time_but_meets_nothing_that_is_over() -> None:
    with joining(-5, 5) as h:
        h.process_many1([("a", 1), ("a", 2)], ts=[100, 101])
        h.watermark(105)
        h.process2(("a", 3), ts=105)
        assert h.output() == [(("a", 2), ("a", 3))]
        assert late_dropped(h) == 0


def test_nothing_is_left_at_the_end_of_time() -> None:
    with joining(-5, MAX_TIMESTAMP) as h:
        h.process1(("a", 1), ts=MAX_TIMESTAMP - 1)
        h.process1(("a", 2), ts=5)
        h.process2(("a", 3), ts=MAX_TIMESTAMP - 1)
        h.end_input()
        assert len(h.output()) == 2
        assert_nothing_left(h)


def test_a_key_has_one_timer_for_each_side_however_many_records_it_has() -> None:
    with joining(-5, 5) as h:
        h.process_many1([("a", t) for t in range(1000)], ts=lambda v: v[1])
        assert len(h.timers()) == 1
        h.watermark(504)
        assert [t for t, _, _ in h.timers()] == [505]
        ((stamps, _),) = h.state(STATES[0]).values()
        assert stamps == list(range(500, 1000))


def test_state_survives_a_restore_with_another_parallelism() -> None:
    keys = "abcdefgh"
    with joining(-5, 5, parallelism=2) as h:
        h.process_many1([(k, 1) for k in keys], ts=[10] * len(keys))
        h.watermark(8)
        h.snapshot_and_restore(parallelism=3)
        h.process_many2([(k, 2) for k in keys], ts=[12] * len(keys))
        h.process2(("a", 3), ts=7)  # late before the restore, and late now
        assert sorted(h.output()) == [((k, 1), (k, 2)) for k in keys]
        h.watermark(20)
        assert_nothing_left(h)


def test_a_record_without_a_timestamp_is_refused() -> None:
    with joining(-5, 5) as h:
        with pytest.raises(GraphError, match="without a timestamp reached an interval join"):
            h.process1(("a", 1))
        with pytest.raises(GraphError, match="assign_timestamps_and_watermarks"):
            h.process_many2([("a", 1), ("a", 2)], ts=[1, None])


def test_an_error_names_the_pair() -> None:
    class Failing(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
            raise ValueError("no")

    with joining(-5, 5, Failing()) as h:
        h.process2(("a", 2), ts=1)
        with pytest.raises(ValueError, match="no") as raised:
            h.process1(("a", 1), ts=1)
        assert "process_element, record (('a', 1), ('a', 2))" in raised.value.__notes__[0]


def test_the_function_has_state_of_the_key_and_may_return_nothing() -> None:
    class Counting(ProcessJoinFunction):
        def open(self, runtime_context: Any) -> None:
            self.pairs = runtime_context.get_state(ValueStateDescriptor("pairs", Types.INT()))

        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> None:
            self.pairs.update((self.pairs.value() or 0) + 1)

    with joining(-5, 5, Counting()) as h:
        h.process_many1([("a", 1), ("a", 2), ("b", 3)], ts=[1, 2, 3])
        h.process_many2([("a", 1), ("b", 2)], ts=[1, 2])
        assert h.output() == []
        assert h.state("pairs") == {"a": 2, "b": 1}


def test_a_narrow_interval_looks_at_few_records_of_a_large_buffer() -> None:
    looked_at = 0

    class Stamp(int):
        """A timestamp that counts comparisons."""

        def __lt__(self, other: Any) -> bool:
            nonlocal looked_at
            looked_at += 1
            return int.__lt__(self, other)

        def __gt__(self, other: Any) -> bool:
            nonlocal looked_at
            looked_at += 1
            return int.__gt__(self, other)

    with joining(-1, 1) as h:
        h.process_many1([("a", t) for t in range(20_000)], ts=lambda v: Stamp(v[1]))
        before, looked_at = looked_at, 0
        assert before < 100_000
        h.process2(("a", "x"), ts=10_000)
        assert len(h.output()) == 3
        assert looked_at < 60


# Any order, any watermarks: what is joined is what a naive loop over all that was not late finds.

# Watermarks lie between timestamps here: a record right at the watermark is in time, but what only
# it could have met is gone, as in Flink.


def even(n: int) -> int:
    return 2 * n


def odd(n: int) -> int:
    return 2 * n + 1


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([1, 2]), st.sampled_from("ab"), st.integers(0, 20).map(even)),
        st.tuples(st.just("watermark"), st.integers(0, 20).map(odd)),
        st.just(("restore",)),
    ),
    max_size=30,
)


@examples(30)
@given(steps, st.integers(-12, 12), st.integers(0, 12))
def test_it_agrees_with_a_naive_join_of_all_records_in_time(
    history: list[Any], lower: int, width: int
) -> None:
    upper, watermark = lower + width, -1
    seen: dict[int, list[Any]] = {1: [], 2: []}
    late: list[Any] = []
    with joining(lower, upper, left_late=LATE_LEFT, right_late=LATE_LEFT) as h:
        found, found_late = [], []
        for number, step in enumerate(history):
            if step[0] == "watermark":
                watermark = max(watermark, step[1])
                h.watermark(step[1])
            elif step[0] == "restore":
                h.snapshot_and_restore()
            else:
                side, key, ts = step
                record = (key, ts, number)
                (late if ts < watermark else seen[side]).append(record)
                (h.process1 if side == 1 else h.process2)(record, ts)
            found += h.output()
            found_late += h.side_output(LATE_LEFT)
        h.watermark(100)
        assert_nothing_left(h)
    expected = [
        (left, right)
        for left, right in product(seen[1], seen[2])
        if left[0] == right[0] and lower <= right[1] - left[1] <= upper
    ]
    assert found_late == late
    assert sorted(found) == sorted(expected)
