"""The bytes of bitmaps are those of Roaring's portable format, whatever the containers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import HeadraceError
from headrace.sql.functions.builtin.bitmaps import build, from_bytes, to_array, to_bytes
from tests.examples import examples

NUMBERS = st.integers(-(2**31), 2**31 - 1)
# Stretches and scattered numbers, in a few containers and in many.
STRETCHES = st.tuples(st.integers(0, 2**18), st.integers(1, 9000), st.sampled_from([1, 2, 3]))


@given(st.lists(NUMBERS, max_size=20), st.lists(STRETCHES, max_size=6))
@examples(15, derandomize=True)
def test_bytes_have_all_numbers(numbers: list[int], stretches: list[tuple[int, int, int]]) -> None:
    found = build(
        [*numbers, *(n for at, size, step in stretches for n in range(at, at + size, step))]
    )
    assert from_bytes(to_bytes(found)) == found
    assert build(to_array(found)) == found


def test_known_bytes() -> None:
    assert to_bytes(build([])).hex() == "3a30000000000000"
    array = "3a300000010000000000020010000000010003000500"
    assert to_bytes(build([5, 1, 3])).hex() == array
    run = "3b3000000100000b00010001000b00"
    assert to_bytes(build(range(1, 13))).hex() == run


def test_other_bytes_are_refused() -> None:
    for data in (b"", b"abc", to_bytes(build([1, 2]))[:-1]):
        with pytest.raises(HeadraceError, match="not a bitmap"):
            from_bytes(data)
