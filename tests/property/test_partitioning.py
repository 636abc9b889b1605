"""Partitioners deliver every record exactly once, in order; key groups share out all keys."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.graph import partitioning as p
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.routing import connected_receivers, connected_senders, make_router
from headrace.runtime.key_groups import (
    KeyAssigner,
    hashable_key,
    key_group_of,
    key_group_range,
    stable_hash,
)

PARTITIONINGS = st.sampled_from(
    [
        p.Rebalance(),
        p.Rescale(),
        p.Shuffle(),
        p.Global(),
        p.Broadcast(),
        p.Keyed(lambda value: value[1] % 5),
        p.Keyed(lambda value: str(value[1])),
        p.Keyed(lambda value: [value[1] % 3]),
        p.Custom(lambda key, n: key % n, lambda value: value[1]),
    ]
)

NUMBERS = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
)
SIMPLE = st.one_of(st.none(), NUMBERS, st.text(), st.binary())
KEYS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.lists(inner, max_size=3),
        st.frozensets(SIMPLE, max_size=3),
        st.dictionaries(st.text(), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(
    partitioning=PARTITIONINGS,
    senders=st.integers(1, 5),
    receivers=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 20), max_size=6),
    timed=st.booleans(),
)
def test_every_record_arrives_once_and_in_order(
    partitioning: p.Partitioning, senders: int, receivers: int, sizes: list[int], timed: bool
) -> None:
    arrived: Counter[Any] = Counter()
    sent: Counter[Any] = Counter()
    for sender in range(senders):
        router = make_router(partitioning, sender, senders, receivers, 128)
        reachable = connected_receivers(partitioning, sender, senders, receivers)
        last: dict[int, int] = {}
        number = 0
        for size in sizes:
            values = [(sender, number + i) for i in range(size)]
            number += size
            sent.update(values)
            batch = Batch(values, [v[1] for v in values] if timed else None)
            for target, part in router(batch):
                assert target in reachable
                assert sender in connected_senders(partitioning, target, senders, receivers)
                numbers = [v[1] for v in part.values]
                assert numbers == sorted(numbers)
                assert numbers[0] > last.get(target, -1)
                last[target] = numbers[-1]
                assert part.timestamps == (numbers if timed else None)
                arrived.update(part.values)
    copies = receivers if isinstance(partitioning, p.Broadcast) else 1
    assert arrived == Counter({value: copies for value in sent})


@given(max_parallelism=st.integers(1, 500), data=st.data())
def test_ranges_partition_the_key_groups(max_parallelism: int, data: st.DataObject) -> None:
    parallelism = data.draw(st.integers(1, max_parallelism))
    ranges = [key_group_range(s, parallelism, max_parallelism) for s in range(parallelism)]
    assert [g for r in ranges for g in r] == list(range(max_parallelism))
    sizes = [len(r) for r in ranges]
    assert max(sizes) - min(sizes) <= 1


@given(one=KEYS, other=KEYS, parallelism=st.integers(1, 4))
def test_equal_keys_have_one_owner(one: Any, other: Any, parallelism: int) -> None:
    one, other = hashable_key(one), hashable_key(other)
    if one == other:
        assert stable_hash(one) == stable_hash(other)
        owners = [KeyAssigner(parallelism, 128).assign([k]) for k in (one, other)]
        assert owners[0] == owners[1]


@given(number=NUMBERS)
def test_numbers_that_are_equal_have_one_owner(number: Any) -> None:
    for kind in (int, float, complex):
        try:
            other = kind(number)
        except (OverflowError, ValueError):
            continue
        if other == number:
            assert stable_hash(other) == stable_hash(number)


@given(keys=st.lists(KEYS, max_size=20), parallelism=st.integers(1, 4))
def test_a_column_of_keys_is_assigned_as_its_keys_are(keys: list[Any], parallelism: int) -> None:
    hashable = [hashable_key(k) for k in keys]
    together = KeyAssigner(parallelism, 128).assign(hashable)
    for key, owner in zip(hashable, together, strict=True):
        assert key_group_of(key, 128) in key_group_range(owner, parallelism, 128)
