"""How joins keep the rows of a key: a few as one value, many in pages."""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.runtime.state.backend import SnapshotKind
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.joins.counts import Counts, add
from headrace.sql.operators.joins.rows import JoinRows, PagedRows, page_of
from tests.unit.runtime.state.backends import BACKENDS, MAX_PARALLELISM, Subtask

TTL_MS = 1000


@pytest.fixture(params=BACKENDS)
def subtask(request: pytest.FixtureRequest) -> Subtask:
    return Subtask(BACKENDS[request.param])


def rows_of(subtask: Subtask, ttl_ms: int = 0) -> JoinRows:
    operator = RowOperator()
    operator.cell = subtask.cell
    operator.context = cast("Any", SimpleNamespace(backend=subtask.backend, name="join"))
    return JoinRows(operator, "left", ttl_ms)


def change(subtask: Subtask, kept: JoinRows, key: Any, changes: Counts) -> None:
    subtask.at(key)
    rows = kept.load()
    for row, times in changes.items():
        add(rows, row, times)
    kept.store(rows, changes)
    assert subtask.cell.key == key


def content(subtask: Subtask, kept: JoinRows, key: Any) -> Counts:
    subtask.at(key)
    return kept.load().copy()


def is_paged(subtask: Subtask, kept: JoinRows, key: Any) -> bool:
    subtask.at(key)
    return isinstance(kept.load(), PagedRows)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JoinRows, "most_rows", 6)
    monkeypatch.setattr(JoinRows, "page_rows", 3)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
@pytest.mark.parametrize("seed", range(2))
def test_rows_are_what_was_stored_whatever_they_grow_to(
    subtask: Subtask, ttl_ms: int, seed: int
) -> None:
    """With snapshots in between, full ones and those of changes, on other key groups."""
    choose = random.Random(seed)
    model: dict[str, Counts] = {"hot": {}, "warm": {}, "cold": {}}
    kept = rows_of(subtask, ttl_ms)
    saved: list[Any] = []
    ever_paged = False
    for step in range(60):
        key = choose.choice(["hot", "hot", "hot", "warm", "cold"])
        grows = step % 30 < 20
        changes: Counts = {}
        for _ in range(choose.randint(1, 12)):
            row = (choose.randint(0, 60), "x", None)
            there = model[key].get(row, 0) + changes.get(row, 0)
            if grows:
                add(changes, row, 1)
            elif there:
                add(changes, row, -1)
        if not grows and choose.random() < 0.3:
            changes = {row: -times for row, times in model[key].items()}
        for row, times in changes.items():
            add(model[key], row, times)
        change(subtask, kept, key, changes)
        ever_paged |= is_paged(subtask, kept, "hot")
        if step % 15 == 0:
            kind = SnapshotKind.FULL if not saved or choose.random() < 0.3 else SnapshotKind.CHANGES
            snapshot = subtask.backend.snapshot(kind, cast("Any", step + 1))
            subtask.backend.notify_checkpoint_complete(cast("Any", step + 1))
            saved = [snapshot] if snapshot.kind is SnapshotKind.FULL else [*saved, snapshot]
            subtask = restored(subtask, saved)
            kept = rows_of(subtask, ttl_ms)
            saved = []
        for name, rows in model.items():
            assert content(subtask, kept, name) == rows
    assert ever_paged == subtask.backend.encodes_values
    for key in model:
        change(subtask, kept, key, {row: -n for row, n in content(subtask, kept, key).items()})
    assert subtask.backend.number_of_entries() == 0


def restored(subtask: Subtask, saved: list[Any]) -> Subtask:
    """Through two subtasks with half of the key groups each, and back into one."""
    middle = MAX_PARALLELISM // 2
    halves = [
        subtask.restored(*saved, key_groups=groups)
        for groups in (range(middle), range(middle, MAX_PARALLELISM))
    ]
    return subtask.restored(*(half.backend.snapshot() for half in halves))


@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
def test_a_row_of_a_large_key_is_written_with_its_page_alone(ttl_ms: int) -> None:
    subtask = Subtask(BACKENDS["rocksdb"])
    kept = rows_of(subtask, ttl_ms)
    for start in range(0, 5000, 500):
        change(subtask, kept, "k", {(i, f"row {i}"): 1 for i in range(start, start + 500)})
    full = subtask.backend.snapshot(SnapshotKind.FULL, cast("Any", 1))
    subtask.backend.notify_checkpoint_complete(cast("Any", 1))
    change(subtask, kept, "k", {(7, "row 7"): 1, (8, "row 8"): -1})
    # Two pages, perhaps another one for what was too much, and their number.
    assert (subtask.backend.changes_since(cast("Any", 1)) or 0) <= 5
    changes = subtask.backend.snapshot(SnapshotKind.CHANGES)
    assert size_of(changes) < size_of(full) / 10
    found = content(subtask, kept, "k")
    assert len(found) == 4999
    assert found[7, "row 7"] == 2


def size_of(snapshot: Any) -> int:
    return sum(map(len, snapshot.blocks.values()))


@pytest.mark.usefixtures("small_pages")
def test_moving_rows_to_other_pages_does_not_make_them_younger() -> None:
    subtask = Subtask(BACKENDS["rocksdb-small-cache"])
    kept = rows_of(subtask, TTL_MS)
    change(subtask, kept, "k", {(i,): 1 for i in range(5)})
    for step in range(1, 4):
        subtask.clock.advance(200)
        change(subtask, kept, "k", {(100 * step + i,): 1 for i in range(5)})
    assert is_paged(subtask, kept, "k")
    subtask.clock.advance(399)
    assert len(content(subtask, kept, "k")) == 20
    subtask.clock.advance(1)
    assert {row[0] // 100 for row in content(subtask, kept, "k")} == {1, 2, 3}
    # A few are left, which move back to their key.
    subtask.clock.advance(400)
    subtask.at("k")
    rows = kept.load()
    assert len(rows.copy()) == 5
    changes = {(999,): 1, (300,): -1, (301,): -1, (302,): -1}
    for row, times in changes.items():
        add(rows, row, times)
    kept.store(rows, changes)
    assert not is_paged(subtask, kept, "k")
    subtask.clock.advance(199)
    assert len(content(subtask, kept, "k")) == 3
    subtask.clock.advance(1)
    assert content(subtask, kept, "k") == {(999,): 1}
    subtask.clock.advance(TTL_MS)
    assert content(subtask, kept, "k") == {}


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("count", [5, 20])
def test_a_row_that_is_stored_as_it_was_lives_on(subtask: Subtask, count: int) -> None:
    """So does the number of partners of a row that comes once more."""
    kept = rows_of(subtask, TTL_MS)
    change(subtask, kept, "k", {(i,): 1 for i in range(count)})
    assert is_paged(subtask, kept, "k") == (count > 6 and subtask.backend.encodes_values)
    subtask.clock.advance(TTL_MS // 2)
    subtask.at("k")
    kept.store(kept.load(), [(3,)])
    subtask.clock.advance(TTL_MS // 2)
    assert content(subtask, kept, "k") == {(3,): 1}


@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
def test_a_savepoint_with_all_rows_in_one_value_is_read(subtask: Subtask, ttl_ms: int) -> None:
    """As they were before there were pages."""
    rows = {(i,): 1 for i in range(3000)}
    operator = RowOperator()
    operator.cell = subtask.cell
    operator.context = cast("Any", SimpleNamespace(backend=subtask.backend, name="join"))
    subtask.at("k")
    if ttl_ms:
        operator.state_of(MapStateDescriptor("left"), ttl_ms).put_all(rows)
    else:
        operator.state_of(ValueStateDescriptor("left")).update(rows)
    later = subtask.restored(subtask.backend.snapshot())
    kept = rows_of(later, ttl_ms)
    assert content(later, kept, "k") == rows
    later.clock.advance(TTL_MS // 2)
    change(later, kept, "k", {(5000,): 1})
    assert is_paged(later, kept, "k") == subtask.backend.encodes_values
    assert content(later, kept, "k") == {**rows, (5000,): 1}
    later.clock.advance(TTL_MS // 2)
    assert len(content(later, kept, "k")) == (1 if ttl_ms else 3001)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
def test_a_backend_of_objects_takes_over_pages(ttl_ms: int) -> None:
    subtask = Subtask(BACKENDS["rocksdb"])
    change(subtask, rows_of(subtask, ttl_ms), "k", {(i,): 1 for i in range(20)})
    later = Subtask(BACKENDS["hashmap"], clock=subtask.clock)
    later.backend.restore([subtask.backend.snapshot()], range(MAX_PARALLELISM))
    kept = rows_of(later, ttl_ms)
    change(later, kept, "k", {(i,): 1 for i in range(20, 40)})
    assert content(later, kept, "k") == {(i,): 1 for i in range(40)}


def test_rows_that_are_equal_are_on_the_same_page() -> None:
    equal = [
        ((1, -0.0, "a"), (1, 0.0, "".join(["a"]))),
        ((Decimal("1.0"), None), (Decimal("1.00"), None)),
        (((-0.0, b"x"),), ((0.0, bytes([120])),)),
    ]
    for one, other in equal:
        assert one == other
        assert page_of(one, 1 << 20) == page_of(other, 1 << 20)
