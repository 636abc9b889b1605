"""Partitioners: every record arrives where it should, once, and in order."""

from __future__ import annotations

import pickle
import subprocess
import sys
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pytest

from headrace.common.errors import HeadraceError
from headrace.graph import partitioning as p
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.routing import connected_receivers, connected_senders, make_router
from headrace.runtime.exchange.wire import FrameHeader, decode_payload, encode_frame
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.key_groups import key_group_of, subtask_of_group
from headrace.sql.segments.columns import KeyedRowsOfColumns, KeysOfColumns, RowsOfColumns

VALUES = [(k % 7, k) for k in range(50)]


def by_key(value: Any) -> Any:
    return value[0]


PARTITIONINGS = [
    p.Rebalance(),
    p.Rescale(),
    p.Shuffle(),
    p.Global(),
    p.Broadcast(),
    p.Keyed(by_key),
    p.Custom(lambda key, n: key % n, by_key),
]


def route(
    partitioning: p.Partitioning,
    batches: list[Batch],
    receivers: int,
    sender: int = 0,
    senders: int = 1,
) -> dict[int, list[Any]]:
    router = make_router(partitioning, sender, senders, receivers, 128)
    received: dict[int, list[Any]] = {}
    for batch in batches:
        for target, part in router(batch):
            stamps = part.timestamps or [None] * len(part)
            received.setdefault(target, []).extend(zip(part.values, stamps, strict=True))
    return received


@pytest.mark.parametrize("partitioning", PARTITIONINGS, ids=lambda x: x.ship_strategy)
@pytest.mark.parametrize("receivers", [1, 2, 3, 5])
@pytest.mark.parametrize("timed", [False, True])
def test_every_record_arrives_once_and_in_order(
    partitioning: p.Partitioning, receivers: int, timed: bool
) -> None:
    batches = [
        Batch(VALUES[s : s + n], [k for _, k in VALUES[s : s + n]] if timed else None)
        for s, n in ((0, 1), (1, 10), (11, 2), (13, 37))
    ]
    received = route(partitioning, batches, receivers)
    assert set(received) <= set(range(receivers))
    copies = receivers if isinstance(partitioning, p.Broadcast) else 1
    everything = sorted(v for rows in received.values() for v, _ in rows)
    assert everything == sorted(VALUES * copies)
    for rows in received.values():
        numbers = [k for (_, k), _ in rows]
        assert numbers == sorted(numbers)
        assert [stamp for _, stamp in rows] == (numbers if timed else [None] * len(rows))


def test_rebalance_deals_out_in_turn_over_batches() -> None:
    batches = [Batch([0]), Batch([1, 2]), Batch([3]), Batch([4, 5, 6, 7])]
    received = route(p.Rebalance(), batches, 3)
    assert {t: [v for v, _ in rows] for t, rows in received.items()} == {
        0: [0, 3, 6],
        1: [1, 4, 7],
        2: [2, 5],
    }


def test_shuffle_reaches_everybody() -> None:
    received = route(p.Shuffle(), [Batch(list(range(1_000)))], 4)
    assert all(150 < len(rows) < 350 for rows in received.values())
    assert len(received) == 4


def test_global_sends_all_to_the_first() -> None:
    assert set(route(p.Global(), [Batch(VALUES)], 4)) == {0}


@pytest.mark.parametrize("receivers", [1, 2, 3])
def test_keyed_records_carry_their_key_to_its_owner(receivers: int) -> None:
    router = make_router(p.Keyed(by_key), 0, 1, receivers, 128)
    for target, part in router(Batch(VALUES, list(range(50)))):
        assert part.keys == [v[0] for v in part.values]
        for key in part.keys:
            assert subtask_of_group(key_group_of(key, 128), receivers, 128) == target


@pytest.mark.parametrize("receivers", [1, 2, 3])
def test_keys_that_cannot_be_hashed_have_an_owner_too(receivers: int) -> None:
    router = make_router(p.Keyed(lambda v: [v[0]]), 0, 1, receivers, 128)
    owner: dict[int, int] = {}
    for target, part in router(Batch(VALUES)):
        for value in part.values:
            assert owner.setdefault(value[0], target) == target
    assert len(owner) == 7


@pytest.mark.parametrize("receivers", [1, 2, 3])
def test_all_that_is_not_a_number_is_one_key(receivers: int) -> None:
    router = make_router(p.KeyBy(lambda v: float("nan") if v < 20 else v), 0, 1, receivers, 128)
    parts = list(router(Batch(list(range(40)))))
    parts += router(Batch([1, 30, 2]))
    keys = [pickle.loads(pickle.dumps(key)) for _, part in parts for key in part.keys]
    assert len(keys) == 43
    assert len(set(keys)) == 21
    assert len({target for target, part in parts if 1 in part.values}) == 1


@pytest.mark.parametrize("senders", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("receivers", [1, 2, 3, 4, 6, 7])
def test_rescale_connects_everybody_with_a_few(senders: int, receivers: int) -> None:
    reached = [connected_receivers(p.Rescale(), s, senders, receivers) for s in range(senders)]
    assert {r for targets in reached for r in targets} == set(range(receivers))
    sizes = [len(targets) for targets in reached]
    assert max(sizes) - min(sizes) <= 1
    if receivers >= senders:
        assert sum(sizes) == receivers
    else:
        assert sizes == [1] * senders
    for receiver in range(receivers):
        from_ = connected_senders(p.Rescale(), receiver, senders, receivers)
        assert from_ == [s for s, targets in enumerate(reached) if receiver in targets]
        assert from_


def test_rescale_stays_within_its_share() -> None:
    received = route(p.Rescale(), [Batch(list(range(6)))], receivers=4, sender=1, senders=2)
    assert {t: [v for v, _ in rows] for t, rows in received.items()} == {2: [0, 2, 4], 3: [1, 3, 5]}


def test_forward_stays_in_its_subtask() -> None:
    assert set(route(p.Forward(), [Batch([1])], receivers=3, sender=2, senders=3)) == {2}


def test_all_partitionings_but_pointwise_ones_connect_all() -> None:
    for partitioning in PARTITIONINGS:
        if not partitioning.pointwise:
            assert connected_receivers(partitioning, 1, 3, 5) == range(5)
            assert connected_senders(partitioning, 4, 3, 5) == [0, 1, 2]


@pytest.mark.parametrize("wrong", [-1, 2, "0", None, 1.0])
def test_a_partitioner_must_name_a_subtask(wrong: Any) -> None:
    router = make_router(p.Custom(lambda key, n: wrong, by_key), 0, 1, 2, 128)
    with pytest.raises(UserCodeFailure) as caught:
        list(router(Batch([(1, "a")])))
    assert isinstance(caught.value.cause, HeadraceError)
    assert "from 0 to 1" in str(caught.value.cause)
    assert caught.value.record == "(1, 'a')"


def test_an_error_in_a_partitioner_names_the_record() -> None:
    router = make_router(p.Custom(lambda key, n: 0, lambda v: v["k"]), 0, 1, 2, 128)
    with pytest.raises(UserCodeFailure) as caught:
        list(router(Batch([{"k": 1}, {"x": 2}])))
    assert caught.value.record == "{'x': 2}"
    assert caught.value.where == "partition_custom"


def test_routing_leaves_the_batch_as_it_was() -> None:
    for partitioning in PARTITIONINGS:
        batch = Batch(list(VALUES), list(range(50)))
        list(make_router(partitioning, 0, 1, 3, 128)(batch))
        assert (batch.values, batch.timestamps, batch.keys) == (VALUES, list(range(50)), None)


@pytest.mark.parametrize("key", [(1, 0), (0,), (1,), (2,)])
@pytest.mark.parametrize("receivers", [1, 2, 300])
def test_columns_go_where_their_rows_would_go(receivers: int, key: tuple[int, ...]) -> None:
    large = [0, -1, 1 << 62, -(1 << 63), (1 << 63) - 1]
    rows = [
        (large[i] if i < 5 else i % 13 - 6, f"k{i % 5}", None if i % 7 == 0 else i)
        for i in range(400)
    ]
    columns = pa.record_batch(list(map(list, zip(*rows, strict=True))), names=["a", "b", "c"])
    by_rows = p.Keyed(itemgetter(*key))
    keys = KeysOfColumns(key)
    decode = KeyedRowsOfColumns(RowsOfColumns(3, (0, 1, 2)), keys)
    by_columns = p.KeyedColumns(by_rows.key_selector, keys, decode)
    wanted, found = (
        {
            target: through_a_frame(part)
            for target, part in make_router(how, 0, 1, receivers, 500)(b)
        }
        for how, b in ((by_rows, Batch(rows)), (by_columns, Batch([columns])))
    )
    assert found == wanted
    assert sum(len(values) for values, _ in found.values()) == len(rows)


def test_texts_that_come_again_cross_an_exchange_once() -> None:
    """Of a batch, if there are few different ones; where there are many, they are sent as such."""
    few = [None if i % 7 == 0 else f"text {i % 300}" for i in range(3000)]
    many = [f"text {i}" for i in range(3000)]
    columns = pa.record_batch([list(range(3000)), few, many], names=["a", "b", "c"])
    keys = KeysOfColumns((0,))
    decode = KeyedRowsOfColumns(RowsOfColumns(3, (0, 1, 2)), keys)
    route = make_router(p.KeyedColumns(itemgetter(0), keys, decode), 0, 1, 2, 128)
    for _ in range(3):
        parts = [part for _, part in route(Batch([columns]))]
        assert [str(c.type)[:4] for c in parts[0].columns.columns] == ["int6", "dict", "stri"]
        rows = [row for part in parts for row in through_a_frame(part)[0]]
        assert sorted(rows) == list(zip(range(3000), few, many, strict=True))


def test_columns_are_split_without_pandas() -> None:
    """Which takes a slot a second to import."""
    columns = pa.record_batch([[1, 2, 3] * 999, ["x", "y", None] * 999], names=["a", "b"])
    program = """
import pickle, sys
from headrace.graph.partitioning import KeyedColumns
from headrace.runtime.batch import Batch
from headrace.runtime.exchange.routing import make_router
from headrace.sql.segments.columns import KeysOfColumns
columns = pickle.load(sys.stdin.buffer)
for key in (0,), (1,), (0, 1):
    route = make_router(KeyedColumns(None, KeysOfColumns(key), None), 0, 1, 2, 128)
    assert sum(len(part) for _, part in route(Batch([columns]))) == 2997
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], input=pickle.dumps(columns), check=True)


def through_a_frame(batch: Batch) -> tuple[list[Any], list[Any] | None]:
    (received,) = decode_payload(encode_frame(FrameHeader(0, 0, 0, 0, 0), [batch]))
    assert type(received) is Batch
    return received.values, received.keys
