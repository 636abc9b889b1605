"""Equal keys have one owner, in every process, and ranges of key groups share all of them out."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pytest

from headrace.common import Row
from headrace.runtime.key_groups import (
    KeyAssigner,
    OpaqueKey,
    hashable_key,
    key_group_of,
    key_group_range,
    stable_hash,
    subtask_of_group,
)


class Number(enum.IntEnum):
    ONE = 1


class Name(str, enum.Enum):  # noqa: UP042 - people still write it
    ADA = "ada"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class User:
    name: str
    seen: int = field(default=0, compare=False)


EQUAL_KEYS = [
    (1, 1.0),
    (1, True),
    (0, -0.0),
    (0, False),
    (1, Decimal(1)),
    (1, Fraction(1)),
    (1, complex(1, 0)),
    (0.5, Decimal("0.5")),
    (0.5, Fraction(1, 2)),
    (2**70, float(2**70)),
    (-7, -7.0),
    (float("inf"), Decimal("inf")),
    (1, Number.ONE),
    ("ada", Name.ADA),
    ((1, 2), Point(1, 2)),
    ((1, "a"), (1.0, "a")),
    ((1, (2, 3)), (True, (2.0, 3))),
    (frozenset([1, 2]), frozenset([2.0, 1])),
    (User("ada"), User("ada", seen=7)),
    (Row(1, "a"), Row(1.0, "a")),
    (Row(x=1, y=2), Row(y=2, x=1)),
    (b"a", b"a"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL_KEYS, ids=str)
def test_equal_keys_have_equal_hashes(one: object, other: object) -> None:
    assert one == other
    assert stable_hash(one) == stable_hash(other)


@pytest.mark.parametrize(("one", "other"), EQUAL_KEYS, ids=str)
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_equal_keys_have_one_owner_whichever_came_first(
    one: object, other: object, parallelism: int
) -> None:
    first = KeyAssigner(parallelism, 128).assign([one])
    assert KeyAssigner(parallelism, 128).assign([other]) == first
    assert KeyAssigner(parallelism, 128).assign([other, one]) == bytes([*first, *first])


def test_an_unhashable_key_is_equal_where_its_parts_are() -> None:
    parts = "".join(["n", "orth"])
    shared, apart = [parts, parts], [parts, "".join(["nor", "th"])]
    assert shared[1] is not apart[1]
    assert hashable_key(shared) == hashable_key(apart)
    assert hash(hashable_key(shared)) == hash(hashable_key(apart))
    assert stable_hash(OpaqueKey(shared)) == stable_hash(OpaqueKey(apart))


def test_dicts_and_sets_as_keys_know_no_order() -> None:
    assert OpaqueKey({"a": 1, "b": 2}) == OpaqueKey({"b": 2, "a": 1})
    assert OpaqueKey({"x", "y", "z"}) == OpaqueKey({"z", "y", "x"})
    assert OpaqueKey([1, 2]) != OpaqueKey([2, 1])
    assert OpaqueKey([1]) == OpaqueKey([1.0])


def test_different_keys_are_told_apart() -> None:
    assert OpaqueKey(["ab", "c"]) != OpaqueKey(["a", "bc"])
    assert OpaqueKey([["a"], "b"]) != OpaqueKey([["a", "b"]])
    assert OpaqueKey([]) != OpaqueKey({})


def test_the_hash_is_the_same_in_another_process() -> None:
    keys = "['ada', 5, -3, 2.5, None, (1, 'a'), b'x', frozenset(['p', 'q'])]"
    code = (
        "from headrace.runtime.key_groups import stable_hash;"
        f"print([stable_hash(k) for k in {keys}])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == str([stable_hash(k) for k in eval(keys)])


@pytest.mark.parametrize("max_parallelism", [1, 2, 7, 128, 4096])
def test_ranges_share_out_all_key_groups(max_parallelism: int) -> None:
    for parallelism in {1, 2, 3, max_parallelism // 2 or 1, max_parallelism}:
        if parallelism > max_parallelism:
            continue
        ranges = [key_group_range(s, parallelism, max_parallelism) for s in range(parallelism)]
        assert [g for r in ranges for g in r] == list(range(max_parallelism))
        for subtask, groups in enumerate(ranges):
            assert len(groups) >= max_parallelism // parallelism
            for group in groups:
                assert subtask_of_group(group, parallelism, max_parallelism) == subtask


def test_small_numbers_spread_over_the_key_groups() -> None:
    counts = [0] * 128
    for key in range(12_800):
        counts[key_group_of(key, 128)] += 1
    assert min(counts) > 50
    assert max(counts) < 200


def test_an_assigner_remembers_without_growing_for_ever() -> None:
    assigner = KeyAssigner(2, 128)
    for start in range(0, 300_000, 10_000):
        keys = [f"key-{n}" for n in range(start, start + 10_000)]
        assert list(assigner.assign(keys)) == [
            subtask_of_group(key_group_of(k, 128), 2, 128) for k in keys
        ]
    assert len(assigner._memo) <= assigner._MEMO_LIMIT + 10_000


def test_mixed_columns_of_keys() -> None:
    keys = [1, "a", None, 2.5, (1, 2), True]
    expected = [subtask_of_group(key_group_of(k, 128), 4, 128) for k in keys]
    assert list(KeyAssigner(4, 128).assign(keys)) == expected
