"""How epochs are cut and carried, how wide a job is, when it fails: the results do not show it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.testing import run_in_process
from tests.examples import examples
from tests.property.live_slots import carried
from tests.property.programs import (
    CountAndTrace,
    Event,
    SumUntilTimer,
    bucketed,
    counted,
    environment,
    key_of,
    strategy,
)

EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=40)
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=6)
PARALLELISM = st.integers(1, 4)
SEEDS = st.none() | st.integers(0, 1_000)
ENDS = st.lists(st.none() | st.integers(0, 6), max_size=5).map(lambda ends: [*ends, None])
"""After how many looks at the clock live epochs are cut short for a checkpoint, in turn."""
FAILURES = st.sets(st.integers(1, 8), max_size=3)


def histories(test: Any) -> Any:
    given_all = given(
        events=EVENTS,
        cuts=CUTS,
        parallelism=PARALLELISM,
        width=PARALLELISM,
        seed=SEEDS,
        failures=FAILURES,
        live=st.booleans(),
        ends=ENDS,
    )
    return examples(30)(given_all(test))


@histories
def test_counting_by_key(
    events: list[Event],
    cuts: list[int],
    parallelism: int,
    width: int,
    seed: int | None,
    failures: set[int],
    live: bool,
    ends: list[int | None],
) -> None:
    env = environment(parallelism)
    stream = env.from_collection(events).key_by(key_of).process(CountAndTrace())
    out = stream.set_parallelism(width)
    with carried(live, ends):
        result = run_in_process(
            env, {"out": out}, epoch_records=cuts, shuffle_seed=seed, restore_after=failures
        )
    # One source subtask: records of a key come in their order, so the numbers are the records' own.
    assert sorted(result["out"]) == sorted(counted(events))


@histories
def test_records_of_a_key_keep_their_order(
    events: list[Event],
    cuts: list[int],
    parallelism: int,
    width: int,
    seed: int | None,
    failures: set[int],
    live: bool,
    ends: list[int | None],
) -> None:
    env = environment(parallelism)
    numbered = [(key, number) for number, (key, _) in enumerate(events)]
    stream = env.from_collection(numbered).key_by(key_of).map(lambda e: e).set_parallelism(width)
    stream = stream.key_by(key_of).map(lambda e: e).key_by(key_of).process(CountAndTrace())
    with carried(live, ends):
        result = run_in_process(
            env, {"out": stream}, epoch_records=cuts, shuffle_seed=seed, restore_after=failures
        )
    by_key = defaultdict(list)
    for (key, number), count in result["out"]:
        by_key[key].append(number)
        assert len(by_key[key]) == count
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert sum(map(len, by_key.values())) == len(events)


@histories
def test_reducing_by_key_ends_with_the_same_totals(
    events: list[Event],
    cuts: list[int],
    parallelism: int,
    width: int,
    seed: int | None,
    failures: set[int],
    live: bool,
    ends: list[int | None],
) -> None:
    env = environment(parallelism)
    spread = env.from_collection(events).rebalance().map(lambda e: e)
    stream = spread.key_by(key_of).reduce(lambda a, b: (a[0], a[1] + b[1])).set_parallelism(width)
    with carried(live, ends):
        result = run_in_process(
            env, {"out": stream}, epoch_records=cuts, shuffle_seed=seed, restore_after=failures
        )
    assert len(result["out"]) == len(events)
    expected: dict[int, int] = defaultdict(int)
    for key, amount in events:
        expected[key] += amount
    assert {key: max(t for k, t in result["out"] if k == key) for key in expected} == expected


@histories
def test_timers_fire_once_for_every_bucket_and_never_early(
    events: list[Event],
    cuts: list[int],
    parallelism: int,
    width: int,
    seed: int | None,
    failures: set[int],
    live: bool,
    ends: list[int | None],
) -> None:
    env = environment(parallelism)
    timed = env.from_collection(events).assign_timestamps_and_watermarks(strategy())
    stream = timed.key_by(key_of).process(SumUntilTimer()).set_parallelism(width)
    with carried(live, ends):
        result = run_in_process(
            env, {"out": stream}, epoch_records=cuts, shuffle_seed=seed, restore_after=failures
        )
    assert sorted((k, end, times) for k, end, times, _ in result["out"]) == bucketed(events)
    assert all(watermark >= end for _, end, _, watermark in result["out"])
    by_key = defaultdict(list)
    for key, end, _, _ in result["out"]:
        by_key[key].append(end)
    assert all(ends == sorted(ends) for ends in by_key.values())


@examples(20)
@given(
    count=st.integers(1, 60),
    cuts=CUTS,
    parallelism=PARALLELISM,
    seed=SEEDS,
    failures=FAILURES,
    live=st.booleans(),
    ends=ENDS,
)
def test_parallel_sources_and_every_partitioner_lose_nothing(
    count: int,
    cuts: list[int],
    parallelism: int,
    seed: int | None,
    failures: set[int],
    live: bool,
    ends: list[int | None],
) -> None:
    env = environment(parallelism)
    numbers = env.from_sequence(1, count)
    streams = {
        "rebalance": numbers.rebalance().map(lambda x: x).set_parallelism(3),
        "rescale": numbers.rescale().map(lambda x: x).set_parallelism(2),
        "shuffle": numbers.shuffle().map(lambda x: x),
        "global": numbers.global_().map(lambda x: x),
        "broadcast": numbers.broadcast().map(lambda x: x).set_parallelism(3),
        "custom": numbers.partition_custom(lambda k, n: k % n, lambda x: x).map(lambda x: x),
        "forward": numbers.forward().map(lambda x: x),
        "union": numbers.union(numbers.rebalance()).rescale().map(lambda x: x).set_parallelism(4),
    }
    with carried(live, ends):
        result = run_in_process(
            env, streams, epoch_records=cuts, shuffle_seed=seed, restore_after=failures
        )
    copies = {"broadcast": 3, "union": 2}
    for name in streams:
        expected = sorted(list(range(1, count + 1)) * copies.get(name, 1))
        assert sorted(result[name]) == expected, name
