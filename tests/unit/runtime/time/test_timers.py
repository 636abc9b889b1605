"""Timers: one for each address and time, in order, deleted and registered while others fire."""

from __future__ import annotations

import time

from headrace.runtime.time.timers import TimerQueue


def queue_of(*timers: tuple[int, str]) -> TimerQueue:
    queue = TimerQueue()
    for timestamp, address in timers:
        queue.register(timestamp, address)
    return queue


def test_timers_fire_in_order_of_time_then_of_registration() -> None:
    queue = queue_of((20, "a"), (10, "b"), (10, "a"), (30, "a"))
    assert list(queue.pop_due(20)) == [(10, "b"), (10, "a"), (20, "a")]
    assert queue.next_timestamp() == 30
    assert len(queue) == 1


def test_the_same_timer_twice_is_one_timer() -> None:
    queue = queue_of((10, "a"), (10, "a"))
    assert len(queue) == 1
    assert list(queue.pop_due(10)) == [(10, "a")]
    assert list(queue.pop_due(10)) == []


def test_a_deleted_timer_does_not_fire() -> None:
    queue = queue_of((10, "a"), (10, "b"), (20, "a"))
    queue.delete(10, "a")
    queue.delete(99, "a")
    queue.delete(20, "b")
    assert list(queue.pop_due(100)) == [(10, "b"), (20, "a")]


def test_a_time_without_timers_is_not_due() -> None:
    queue = queue_of((10, "a"), (20, "b"))
    queue.delete(10, "a")
    assert queue.next_timestamp() == 20
    queue.delete(20, "b")
    assert queue.next_timestamp() is None
    assert list(queue.pop_due(100)) == []


def test_a_deleted_timer_may_be_registered_again() -> None:
    queue = queue_of((10, "a"))
    queue.delete(10, "a")
    queue.register(10, "a")
    assert list(queue.pop_due(10)) == [(10, "a")]


def test_timers_deleted_by_a_timer_before_them_do_not_fire() -> None:
    queue = queue_of((10, "a"), (10, "b"), (20, "c"))
    fired = []
    for timer in queue.pop_due(30):
        fired.append(timer)
        queue.delete(10, "b")
        queue.delete(20, "c")
    assert fired == [(10, "a")]


def test_timers_registered_while_firing_fire_in_order() -> None:
    queue = queue_of((10, "a"), (10, "b"), (30, "c"))
    fired = []
    for timestamp, address in queue.pop_due(30):
        fired.append((timestamp, address))
        if address == "a":
            queue.register(20, "later")
            queue.register(10, "same")
            queue.register(40, "not yet")
    assert fired == [(10, "a"), (10, "b"), (10, "same"), (20, "later"), (30, "c")]
    assert queue.snapshot() == [(40, "not yet")]


def test_a_timer_for_the_past_is_the_next_to_fire() -> None:
    queue = queue_of((10, "a"), (10, "b"))
    fired = []
    for timestamp, address in queue.pop_due(10):
        fired.append((timestamp, address))
        if (timestamp, address) == (10, "a"):
            queue.register(5, "a")
    assert fired == [(10, "a"), (5, "a"), (10, "b")]


def test_a_timer_that_registers_itself_for_later_goes_on() -> None:
    queue = queue_of((10, "a"))
    fired = []
    for timestamp, address in queue.pop_due(50):
        fired.append(timestamp)
        queue.register(timestamp + 10, address)
    assert fired == [10, 20, 30, 40, 50]
    assert queue.next_timestamp() == 60


def test_a_snapshot_has_all_timers_in_order() -> None:
    queue = queue_of((20, "a"), (10, "b"), (20, "c"))
    restored = TimerQueue()
    restored.restore(queue.snapshot())
    assert restored.snapshot() == [(10, "b"), (20, "a"), (20, "c")]
    assert list(restored.pop_due(100)) == [(10, "b"), (20, "a"), (20, "c")]


def test_many_timers_of_one_time_cost_no_more_than_one_each() -> None:
    queue = TimerQueue()
    for key in range(100_000):
        queue.register(10, key)
    started = time.process_time()
    assert sum(1 for _ in queue.pop_due(10)) == 100_000
    assert time.process_time() - started < 5
