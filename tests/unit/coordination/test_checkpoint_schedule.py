"""When a checkpoint starts."""

from __future__ import annotations

from typing import Any

from headrace.coordination.checkpoint_schedule import CheckpointSchedule
from headrace.testing import ManualClock


def schedule(clock: ManualClock, interval_ms: int | None = 1_000, **how: Any) -> CheckpointSchedule:
    settings = {"min_pause_ms": 0, "limit": 1, **how}
    return CheckpointSchedule(interval_ms, clock=clock, **settings)


def test_the_first_one_comes_after_an_interval() -> None:
    clock = ManualClock(500)
    due = schedule(clock)
    assert due.next_start(0, ordered=False) == 1_500
    assert not due.is_due(0, ordered=False)
    clock.advance(1_000)
    assert due.is_due(0, ordered=False)


def test_the_interval_is_from_start_to_start() -> None:
    clock = ManualClock()
    due = schedule(clock)
    due.started()
    clock.advance(400)
    due.completed()
    assert due.next_start(0, ordered=False) == 1_000


def test_a_pause_is_kept_from_end_to_start() -> None:
    clock = ManualClock()
    due = schedule(clock, min_pause_ms=800)
    due.started()
    clock.advance(700)
    due.completed()
    assert due.next_start(0, ordered=False) == 1_500


def test_no_more_than_the_limit_are_under_way() -> None:
    due = schedule(ManualClock(), limit=2)
    assert due.next_start(1, ordered=True) is not None
    assert due.next_start(2, ordered=True) is None
    assert due.next_start(2, ordered=False) is None


def test_an_ordered_one_waits_for_no_interval() -> None:
    clock = ManualClock(70)
    assert schedule(clock, interval_ms=None).next_start(0, ordered=False) is None
    assert schedule(clock, interval_ms=None).is_due(0, ordered=True)
    assert schedule(clock, min_pause_ms=900).next_start(0, ordered=True) == 70
