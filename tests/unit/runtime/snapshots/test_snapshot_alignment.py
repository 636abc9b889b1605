"""What snapshots tell of how barriers have aligned."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

from headrace.graph.ids import CheckpointId, EpochId, SlotId
from headrace.runtime.epoch import CheckpointRequest, EpochPlan
from headrace.runtime.exchange.channel_use import ChannelUse
from headrace.runtime.exchange.live import LiveExchange
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshots.slots import SlotSnapshots
from tests.property.subtask_fleet import Fleet


class Aligning:
    """An exchange in which barriers take their time."""

    waited_s = 0.0

    def begin(self) -> ChannelUse:
        return ChannelUse(alignment_s=0.5, alignment_bytes=100)


def test_a_snapshot_between_epochs_has_no_barriers(tmp_path: Path) -> None:
    fleet = Fleet("hashmap", 1)
    fleet.open()
    (subtask,) = fleet.subtasks
    told: list[Snapshotted] = []
    snapshots = SlotSnapshots(SlotId(0), told.append, at_once=True)
    first, second = (CheckpointRequest(CheckpointId(i), str(tmp_path)) for i in (1, 2))
    plan = EpochPlan(EpochId(1), 1, 100, 100, checkpoint=first)
    live = cast("LiveExchange", Aligning())
    report = subtask.run_epoch(plan, (), lambda frame: None, partial(snapshots.take, subtask), live)
    snapshots.take(subtask, second)
    fleet.close()
    assert report.channels is not None
    assert [(s.alignment_ms, s.alignment_bytes) for s in told] == [(500, 100), (0, 0)]
