"""A slot that is silent for too long counts as lost; a slow coordinator blames nobody."""

from __future__ import annotations

from headrace.coordination.slots.heartbeats import Heartbeats, HeartbeatSettings
from headrace.graph.ids import SlotId

FIRST, SECOND = SlotId(0), SlotId(1)


class Watched:
    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[float] = []
        self.lost: list[SlotId] = []
        self.heartbeats = Heartbeats(
            HeartbeatSettings(10.0, 50.0),
            lambda: self.asked.append(self.now),
            lambda slot, silence_s: self.lost.append(slot),
            lambda: None,
            lambda: self.now,
        )

    def pass_time(self, seconds: int, answering: tuple[SlotId, ...] = ()) -> None:
        for _ in range(seconds):
            self.now += 1
            for slot in answering:
                self.heartbeats.heard(slot)
            self.heartbeats.tick()


def test_slots_are_asked_at_intervals() -> None:
    watched = Watched()
    watched.pass_time(30)
    assert watched.asked == [10, 20, 30]


def test_a_silent_slot_is_lost_once() -> None:
    watched = Watched()
    watched.heartbeats.heard(FIRST)
    watched.heartbeats.heard(SECOND)
    watched.pass_time(50, answering=(SECOND,))
    assert watched.lost == []
    watched.pass_time(20, answering=(SECOND,))
    assert watched.lost == [FIRST]


def test_nobody_is_lost_while_the_coordinator_itself_slept() -> None:
    watched = Watched()
    watched.heartbeats.heard(FIRST)
    watched.now += 1000
    watched.heartbeats.tick()
    assert watched.lost == []
    watched.pass_time(51)
    assert watched.lost == [FIRST]
