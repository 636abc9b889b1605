"""Records of a bounded input, held until all are there."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.runtime.operators.sorted_input import SortedInput
from headrace.runtime.state.hashmap import HashMapStateBackend

GROUPS = 128


def opened(backend: HashMapStateBackend) -> SortedInput:
    held = SortedInput(backend)
    held.open()
    return held


def add(held: SortedInput, *records: tuple[str, Any]) -> None:
    held.add(0, Batch([value for _, value in records], None, [key for key, _ in records]))
    held.store()


def test_records_stay_in_order_though_other_keys_have_left() -> None:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    add(opened(backend), ("x", 1), ("x", 2), ("a", 1), ("a", 2))
    # The job goes on at another parallelism: the records of x are in another subtask now.
    held = opened(backend)
    held._cell.key = "x"
    held._state.clear()
    add(opened(backend), ("a", 3))
    (batch,) = (batch for _, batch in opened(backend).drain())
    assert batch.values == [1, 2, 3]
