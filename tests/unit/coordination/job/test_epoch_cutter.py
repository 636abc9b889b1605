"""When an epoch is cut short."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordination.checkpoint_coordinator import CheckpointSettings, SavepointOrder
from headrace.coordination.job.epoch_cutter import EpochCutter
from headrace.graph.ids import CheckpointId, EpochId, VertexId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import ChannelReport, CheckpointRequest, EpochPlan, EpochReport

REQUEST = CheckpointRequest(CheckpointId(1), "somewhere")


class Checkpoints:
    expected: tuple[int | None, bool] = (400, False)

    def expected_in_ms(self) -> tuple[int | None, bool]:
        return self.expected


def cutter(unaligned: bool = True, timeout_ms: int = 0) -> EpochCutter:
    settings = CheckpointSettings(1_000, unaligned=unaligned, aligned_timeout_ms=timeout_ms)
    coordinator: Any = Checkpoints()
    return EpochCutter(settings, coordinator)


def observed(cutter: EpochCutter, frames: int, after_ms: int | None = None) -> EpochCutter:
    plan = EpochPlan(EpochId(1), 0, 1, 1, cut_after_ms=after_ms)
    report = EpochReport(
        VertexId("v"),
        0,
        EpochId(1),
        finished=False,
        operators=(),
        source=False,
        records_read=0,
        records_sent=0,
        bytes_in=0,
        bytes_out=0,
        busy_ms=0.0,
        watermark=0,
        wake_up_at=None,
        channels=ChannelReport(carried_frames=frames),
    )
    cutter.observe(plan, [report])
    return cutter


def test_aligned_checkpoints_wait_for_the_whole_epoch() -> None:
    assert cutter(unaligned=False).cut_after_ms(REQUEST, None) is None
    assert cutter(unaligned=False).cut_after_ms(None, None) is None


def test_an_epoch_is_cut_when_the_next_checkpoint_is_due() -> None:
    assert cutter().cut_after_ms(None, None) == 400
    assert cutter(timeout_ms=300).cut_after_ms(None, None) == 700


def test_one_that_is_not_slow_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cutter().cut_after_ms(REQUEST, None) == 50
    assert cutter(timeout_ms=300).cut_after_ms(REQUEST, None) == 300
    monkeypatch.setattr(Checkpoints, "expected", (-10, False))
    assert cutter().cut_after_ms(None, None) == 50
    monkeypatch.setattr(Checkpoints, "expected", (-10, True))
    assert cutter().cut_after_ms(None, None) == 1_000, "another one is under way"
    monkeypatch.setattr(Checkpoints, "expected", (None, False))
    assert cutter().cut_after_ms(None, None) is None


def test_what_waits_already_is_overtaken_at_once_but_not_twice_in_a_row() -> None:
    assert observed(cutter(), frames=3).cut_after_ms(REQUEST, None) == 0
    assert observed(cutter(), frames=3, after_ms=0).cut_after_ms(REQUEST, None) == 50
    assert observed(cutter(), frames=0).cut_after_ms(REQUEST, None) == 50


def test_savepoints_are_always_aligned() -> None:
    graph = JobGraph("other", (), ())
    orders = SavepointOrder("here"), SavepointOrder(None, stop=True), SavepointOrder(None)
    orders[2].rescaled = graph
    for order in orders:
        assert observed(cutter(), frames=3).cut_after_ms(REQUEST, order) is None
    assert observed(cutter(), frames=3).cut_after_ms(REQUEST, SavepointOrder(None)) == 0
