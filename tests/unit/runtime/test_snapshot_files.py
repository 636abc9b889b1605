"""Snapshots in files: what was written comes back, in ranges, and damage is noticed."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.datastream.state import ValueStateDescriptor
from headrace.graph.ids import CheckpointId
from headrace.runtime.key_groups import key_group_range
from headrace.runtime.snapshot_files import (
    SnapshotRef,
    read_snapshot,
    seal_of,
    write_snapshot,
)
from headrace.runtime.snapshots.subtasks import SubtaskSnapshot
from headrace.runtime.snapshots.writer import MAGIC, TRAILER
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.storage import LocalStorage
from headrace.runtime.time.timer_state import TimerState
from headrace.runtime.time.timers import TimerQueue

GROUPS = 128
KEYS = 5_000


class CountingStorage(LocalStorage):
    """Knows how many bytes were read."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def read_range(self, path: str, start: int, end: int | None) -> bytes:
        data = super().read_range(path, start, end)
        self.read_bytes += len(data)
        return data


def filled(keys: int) -> HashMapStateBackend:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    cell = KeyCell()
    state = backend.get_or_create(ValueStateDescriptor("value"), cell)
    for cell.key in range(keys):
        state.update(f"{cell.key:0>1000}")
    return backend


def timers(*registered: tuple[int, int]) -> TimerState:
    queue = TimerQueue()
    queue.restore(registered)
    return TimerState({"event": queue}, lambda key: key, GROUPS, track_changes=False)


def snapshot_of(backend: HashMapStateBackend, own_timers: TimerState) -> SubtaskSnapshot:
    return SubtaskSnapshot(
        0,
        1,
        {"op": {"watermark": 17}},
        {"op": backend.snapshot(deferred=True)},
        {},
        CheckpointId(3),
        {"op": own_timers.snapshot()},
    )


def restored_keys(snapshot: SubtaskSnapshot, groups: range) -> list[Any]:
    backend = HashMapStateBackend(GROUPS, lambda: 0)
    backend.restore([snapshot.keyed["op"]], groups)
    return backend.keys("value")


@pytest.fixture(params=[False, True], ids=["plain", "compressed"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = str(tmp_path / "a.snapshot")
    snapshot = snapshot_of(filled(KEYS), timers((5, 1), (5, 2), (6, 1)))
    seal = write_snapshot(LocalStorage(), path, snapshot, compress=request.param)
    assert seal.size == Path(path).stat().st_size
    assert seal == seal_of(LocalStorage(), path)
    return path


def test_what_was_written_comes_back(path: str) -> None:
    snapshot = read_snapshot(LocalStorage(), path)
    assert (snapshot.subtask, snapshot.parallelism, snapshot.checkpoint) == (0, 1, 3)
    assert snapshot.operators == {"op": {"watermark": 17}}
    assert sorted(restored_keys(snapshot, range(GROUPS))) == list(range(KEYS))
    queue = TimerQueue()
    state = TimerState({"event": queue}, lambda key: key, GROUPS, track_changes=False)
    state.restore([snapshot.timers["op"]], range(GROUPS))
    assert sorted(queue) == [(5, 1), (5, 2), (6, 1)]


def test_a_subtask_reads_its_key_groups_only(path: str) -> None:
    shares: list[Any] = []
    for subtask in range(4):
        storage = CountingStorage()
        snapshot = read_snapshot(storage, path)
        before = storage.read_bytes
        shares += restored_keys(snapshot, key_group_range(subtask, 4, GROUPS))
        assert storage.read_bytes - before < Path(path).stat().st_size * 0.6
    assert sorted(shares) == list(range(KEYS))


def test_nothing_of_the_state_is_read_before_it_is_needed(path: str) -> None:
    storage = CountingStorage()
    read_snapshot(storage, path)
    assert storage.read_bytes < 2_000


@pytest.mark.parametrize("at", [0, len(MAGIC) + 100, -TRAILER.size - 5, -3])
def test_a_changed_byte_is_noticed(path: str, at: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 1
    Path(path).write_bytes(data)
    with pytest.raises(CheckpointError, match=r"a\.snapshot (is damaged|is not a snapshot)"):
        restored_keys(read_snapshot(LocalStorage(), path), range(GROUPS))


@pytest.mark.parametrize("offset", range(-TRAILER.size, 0))
def test_a_damaged_trailer_never_looks_like_storage_that_is_down(path: str, offset: int) -> None:
    ref = SnapshotRef(path, 0, frozenset(["op"]), seal_of(LocalStorage(), path))
    data = bytearray(Path(path).read_bytes())
    data[offset] ^= 128
    Path(path).write_bytes(data)
    with pytest.raises(CheckpointError) as raised:
        ref.read(LocalStorage())
    assert raised.value.reason is CheckpointFailureReason.RESTORE_FAILURE


def test_an_intact_file_in_the_place_of_another_is_refused(path: str, tmp_path: Path) -> None:
    storage, wanted = LocalStorage(), SnapshotRef(path, 0, frozenset(["op"]))
    right = replace(wanted, seal=seal_of(storage, path))
    assert right.read(storage).checkpoint == 3
    other = str(tmp_path / "other.snapshot")
    seal = write_snapshot(storage, other, snapshot_of(filled(KEYS + 1), timers((5, 1))))
    for wrong, word in (
        (replace(wanted, subtask=1), "subtask 0, not subtask 1"),
        (replace(wanted, operators=frozenset(["op", "else"])), "other operators"),
        (replace(right, path=other), f"with {seal.size} bytes"),
        (replace(right, seal=replace(right.seal, checkpoint=2)), "not checkpoint 2"),
    ):
        with pytest.raises(CheckpointError, match=word) as raised:
            wrong.read(storage)
        assert raised.value.reason is CheckpointFailureReason.RESTORE_FAILURE


@pytest.mark.parametrize("kept", [0, 5, 30, 10_000, -1])
def test_a_file_that_was_cut_off_is_noticed(path: str, kept: int) -> None:
    Path(path).write_bytes(Path(path).read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"a\.snapshot (is damaged|is not a snapshot)"):
        read_snapshot(LocalStorage(), path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"b\.snapshot is missing"):
        read_snapshot(LocalStorage(), str(tmp_path / "b.snapshot"))


def test_a_damaged_file_of_the_first_format_is_noticed(tmp_path: Path) -> None:
    body = b"not a pickle"
    path = tmp_path / "c.snapshot"
    path.write_bytes(b"headrace snapshot 1\n%08x\n" % (zlib.crc32(body) ^ 1) + body)
    with pytest.raises(CheckpointError, match="its checksum does not match"):
        read_snapshot(LocalStorage(), str(path))
