"""Records of a bounded input, held until all are there."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import HeadraceError
from headrace.runtime.batch import Batch
from headrace.runtime.operators.sorted_input import SortedInput
from headrace.runtime.state.hashmap import HashMapStateBackend

GROUPS = 128


def opened(backend: HashMapStateBackend, most: int = 1000) -> SortedInput:
    held = SortedInput(backend, most)
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


batches = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=9))


@given(batches, st.integers(1, 20), st.lists(st.sampled_from(["go on", "store", "restore"])))
def test_records_come_sorted_though_they_waited_in_files(
    given_batches: list[list[tuple[str, int]]], most: int, steps: list[str]
) -> None:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    held = opened(backend, most)
    everything: list[tuple[int, int, str]] = []
    for number, records in enumerate(given_batches):
        first = len(everything)
        everything += [(t, first + i, key) for i, (key, t) in enumerate(records)]
        values = list(range(first, len(everything)))
        held.add(0, Batch(values, [t for _, t in records], [key for key, _ in records]))
        step = steps[number] if number < len(steps) else "go on"
        if step != "go on":
            held.store()
        if step == "restore":
            held = opened(backend, most)
    found = [batch for _, batch in held.drain()]
    columns = [(b.timestamps or (), b.values, b.keys or ()) for b in found]
    drained = [record for column in columns for record in zip(*column, strict=True)]
    assert drained == sorted(everything)
    assert not list(backend.keys("records of a bounded input"))


def test_no_room_for_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **settings: full)
        held = opened(HashMapStateBackend(GROUPS, lambda: 0), 2)
        with pytest.raises(HeadraceError, match="No space left on device; make room there"):
            held.add(0, Batch([1, 2, 3], None, ["a", "b", "c"]))


def test_no_place_for_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/does/not/exist")
    held = opened(HashMapStateBackend(GROUPS, lambda: 0), 2)
    with pytest.raises(HeadraceError, match=r"cannot be written to /does/not/exist: .* set TMPDIR"):
        held.add(0, Batch([1, 2, 3], None, ["a", "b", "c"]))
