"""Hashes of many tuples of whole numbers are those of single ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.key_groups import KeyAssigner, stable_hash
from headrace.runtime.whole_keys import MOST_COLUMNS, columns_of, tuple_hashes

_NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [sign * 10**power + near for sign in (1, -1) for power in range(19) for near in (-1, 0, 1)]
)


@given(
    st.integers(2, MOST_COLUMNS).flatmap(
        lambda width: st.lists(st.tuples(*[_NUMBERS] * width), min_size=1, max_size=50)
    )
)
def test_the_hash_of_a_tuple_is_the_same_in_an_array(keys: list[tuple[int, ...]]) -> None:
    columns = columns_of(keys)
    assert columns is not None
    assert tuple_hashes(columns).tolist() == [stable_hash(key) for key in keys]


@pytest.mark.parametrize(
    "keys",
    [
        [(1, True)],
        [(1, 2.0)],
        [(1, None)],
        [(1, 2**63)],
        [(1, 2), (1, 2, 3)],
        [(1,)],
        [()],
        [(0,) * (MOST_COLUMNS + 1)],
    ],
)
def test_other_keys_have_no_columns(keys: list[Any]) -> None:
    assert columns_of(keys) is None


@pytest.mark.parametrize("parallelism", [1, 3, 300])
def test_many_tuples_have_the_owners_of_single_ones(parallelism: int) -> None:
    keys = [(i, -i * i) for i in range(3_000)]
    alone = [KeyAssigner(parallelism, 512).assign([key])[0] for key in keys[::100]]
    assert list(KeyAssigner(parallelism, 512).assign(keys))[::100] == alone
