"""Content of windows in incremental snapshots: changes to panes, and panes that are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.time import Time
from headrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from headrace.graph.ids import CheckpointId
from headrace.runtime.snapshot_files import read_snapshot, write_snapshot
from headrace.runtime.snapshots.subtasks import restore_subtask, take_snapshot
from headrace.runtime.state.snapshot import SnapshotKind
from headrace.runtime.storage import LocalStorage
from tests.property.subtask_fleet import Fleet


def tumbling(keyed: Any) -> Any:
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).reduce(_sum).uid("w")


def sessions(keyed: Any) -> Any:
    windows = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    return windows.reduce(_sum).uid("w")


def _sum(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    return one[0], one[1] + other[1]


def ended(fleet: Fleet) -> list[Any]:
    """What all windows that are left give."""
    emitted: list[Any] = []
    for subtask in fleet.subtasks:
        emit = subtask.head.output.emit
        subtask.head.output.emit = lambda batch, emit=emit: emitted.extend(batch.values)  # type: ignore[method-assign,misc]
    fleet.watermark(1_000)
    return sorted(emitted)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("windows", [tumbling, sessions])
def test_changes_on_top_of_a_full_snapshot_give_the_windows_back(
    tmp_path: Path, windows: Any, backend: str
) -> None:
    fleet = Fleet(backend, 1, windows)
    fleet.open()
    (subtask,) = fleet.subtasks
    storage, paths = LocalStorage(), []

    def checkpoint(number: int, base: int | None) -> SnapshotKind:
        at = None if base is None else CheckpointId(base)
        snapshot = take_snapshot(subtask, CheckpointId(number), base=at)
        (kind,) = {s.kind for s in snapshot.keyed.values()}
        paths.append(str(tmp_path / f"{number}.snapshot"))
        write_snapshot(storage, paths[-1], snapshot)
        subtask.checkpoint_ended(CheckpointId(number), True)
        return kind

    fleet.process(("a", 1), ("b", 2), timestamp=5)
    fleet.process(("a", 10), timestamp=105)
    assert checkpoint(1, None) is SnapshotKind.FULL
    fleet.process(("a", 20), ("c", 3), timestamp=106)
    assert checkpoint(2, 1) is SnapshotKind.CHANGES
    fleet.watermark(50)  # the first windows are gone
    fleet.process(("b", 40), timestamp=107)
    assert checkpoint(3, 2) is SnapshotKind.CHANGES

    restored = Fleet(backend, 2, windows)
    for part in restored.subtasks:
        restore_subtask(part, [read_snapshot(storage, path) for path in paths])
    restored.open()
    assert ended(restored) == [("a", 30), ("b", 40), ("c", 3)]
    restored.close()
    fleet.close()
