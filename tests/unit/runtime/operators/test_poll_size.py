"""A source's batches are as large as the chain's pace allows."""

from __future__ import annotations

from headrace.runtime.batch import BATCH_SIZE
from headrace.runtime.operators.poll_size import PollSize


def test_batches_of_a_fast_chain_grow_to_the_largest() -> None:
    size = PollSize()
    for _ in range(5):
        size.observe(size.records, 0.001)
    assert size.records == BATCH_SIZE


def test_batches_of_a_slow_chain_take_a_fraction_of_a_second() -> None:
    size = PollSize()
    for _ in range(3):
        size.observe(size.records, size.records * 0.01)
    assert size.records * 0.01 <= 0.25


def test_a_single_record_that_takes_long_is_still_read() -> None:
    size = PollSize()
    size.observe(1, 60.0)
    assert size.records == 1


def test_a_chain_that_was_slow_once_becomes_fast_again() -> None:
    size = PollSize()
    size.observe(2_000, 100.0)
    for _ in range(10):
        size.observe(size.records, 0.001)
    assert size.records == BATCH_SIZE
