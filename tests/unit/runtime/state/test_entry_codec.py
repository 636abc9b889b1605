"""Entries as bytes: equal addresses are one, and every address comes back as it was written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from headrace.common.types import Row
from headrace.datastream.window import TimeWindow
from headrace.runtime.key_groups import OpaqueKey
from headrace.runtime.state.entry_codec import (
    BLOCK_MAGIC,
    address_bytes,
    address_of,
    gone_bytes,
    is_gone,
    oldest_of,
    read_block,
    read_records,
    record,
    value_bytes,
    value_of,
)

ADDRESSES = [
    0, -5, 2**80, True, 1.5, -0.25, float("inf"), 3 + 4j, Decimal("0.1"), "", "ada", "ä\ud800",
    b"\x00\xff", None, (), (1, ("x", None)), frozenset({"a"}), Row(1, "x"), OpaqueKey([1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES, ids=repr)
@pytest.mark.parametrize("oldest", [None, 0, -7, 2**40])
def test_an_entry_comes_back(address, oldest):
    for whole, namespaced in (
        (address, False),
        ((address, TimeWindow(0, 5)), True),
        (("key", address), True),
    ):
        key = address_bytes(whole, namespaced)
        value = value_bytes(whole, {"n": 1}, namespaced, oldest)
        found = address_of(key, value, namespaced)
        assert found == whole
        if not namespaced:
            assert type(found) is type(whole)
        assert value_of(value) == {"n": 1}
        assert oldest_of(value) == oldest
        assert not is_gone(value)
        gone = gone_bytes(whole, namespaced)
        assert is_gone(gone)
        assert address_of(key, gone, namespaced) == whole


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, True, Decimal(1), Fraction(1), 1 + 0j),
        (0.5, Decimal("0.5"), Fraction(1, 2), 0.5 + 0j),
        (float("inf"), Decimal("Infinity")),
        ((1, 0.5), (True, Fraction(1, 2))),
        (OpaqueKey([1]), OpaqueKey([1.0])),
    ],
)
def test_equal_addresses_have_equal_bytes(equal):
    assert len({address_bytes(x, False) for x in equal}) == 1
    assert len({address_bytes(("k", x), True) for x in equal}) == 1


def test_different_addresses_have_different_bytes():
    found = {address_bytes(x, False) for x in ADDRESSES}
    assert len(found) == len(ADDRESSES)
    # These two have the same hash in Python.
    a, b = 0.5, 0.5 + (2**61 - 1)
    assert a != b or address_bytes(a, False) == address_bytes(b, False)
    x, y = Fraction(1, 2), Fraction(1, 2) + (2**61 - 1)
    assert hash(x) == hash(y)
    assert address_bytes(x, False) != address_bytes(y, False)
    assert address_bytes(("a", "bc"), True) != address_bytes(("ab", "c"), True)


def test_a_block_is_read_back():
    rows = {1: "one", (2, 3): ["x"], "gone": None}
    block = BLOCK_MAGIC + b"".join(
        record(
            address_bytes(k, False),
            gone_bytes(k, False) if v is None else value_bytes(k, v, False),
        )
        for k, v in rows.items()
    )
    assert read_block(block, False) == ({1: "one", (2, 3): ["x"]}, ["gone"])
    for cut in (1, 3):
        with pytest.raises(EOFError):
            list(read_records(block[:-cut]))
