"""What a job shows to its program: an iterator that may stop, fail or be left alone."""

from __future__ import annotations

import os
import pickle
import sys
import threading

import pytest

from headrace.coordination.job.outputs import CollectedOutput, Collector, Terminal
from headrace.graph.ids import SlotId
from headrace.runtime.slot.messages import Collected


def put(collector: Collector, *values: object, epoch: int = 1, commit: bool = True) -> None:
    """Records of one epoch, which is committed at once."""
    collector.put(pickle.dumps(list(values)))
    collector.epoch_ended(epoch)
    if commit:
        collector.commit(epoch)


def test_records_come_in_order_until_the_end() -> None:
    collector = Collector()
    put(collector, 1, 2)
    put(collector, 3)
    collector.end()
    assert list(collector) == [1, 2, 3]


def test_an_error_comes_after_the_records_before_it() -> None:
    collector = Collector()
    put(collector, 1)
    collector.end(ValueError("failed"))
    records = iter(collector)
    assert next(records) == 1
    with pytest.raises(ValueError, match="failed"):
        next(records)


def test_records_count_when_their_epoch_is_committed() -> None:
    collector = Collector()
    put(collector, 1, epoch=1)
    put(collector, 2, epoch=2, commit=False)
    put(collector, 3, epoch=3, commit=False)
    collector.commit(2)
    collector.end()
    assert list(collector) == [1, 2]


def test_records_that_will_come_again_are_dropped() -> None:
    collector = Collector()
    put(collector, 1, epoch=1)
    put(collector, 2, epoch=2, commit=False)
    collector.put(pickle.dumps([3]))
    collector.rewind(3)
    put(collector, 2, epoch=3)
    collector.end()
    assert list(collector) == [1, 2]


def test_the_iterator_waits_for_records() -> None:
    collector = Collector()
    taken: list[object] = []
    thread = threading.Thread(target=lambda: taken.extend(collector))
    thread.start()
    put(collector, "late")
    collector.end()
    thread.join(timeout=120)
    assert taken == ["late"]


def test_the_job_waits_when_nobody_takes() -> None:
    collector = Collector()
    assert not collector.full
    put(collector, *range(100_001))
    assert collector.full
    collector.wait_while_full(0.001)
    assert collector.full
    next(iter(collector))
    assert not collector.full


def test_an_abandoned_iterator_ends_and_holds_nothing_up() -> None:
    collector = Collector()
    put(collector, *range(200_000))
    collector.abandon()
    assert not collector.full
    put(collector, "more", epoch=2)
    collector.end(ValueError("nobody wants to know"))
    assert list(collector) == []


def test_an_abandoned_iterator_gives_nothing_that_was_on_its_way() -> None:
    collector = Collector()
    collector.put(pickle.dumps([1]))
    collector.abandon()
    collector.epoch_ended(1)
    collector.commit(1)
    collector.end()
    assert list(collector) == []


def test_lines_go_where_they_should(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.write("out\n", to_stderr=False)
    terminal.write("err\n", to_stderr=True)
    assert capsys.readouterr() == ("out\n", "err\n")
    assert sys.stdout is not None


def test_a_terminal_that_nobody_reads_any_more_takes_what_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        terminal = Terminal()
        terminal.write("out\n", to_stderr=False)
        terminal.write("more\n", to_stderr=False)
    # Closed at the end without an error: nothing is left that could not be written.
    terminal.write("after the end\n", to_stderr=False)


def test_an_epoch_that_failed_after_its_checkpoint_was_complete_counts() -> None:
    collector = Collector()
    collector.put(pickle.dumps([1]))
    collector.commit(1)
    collector.rewind(1)
    collector.end()
    assert list(collector) == [1]


def test_what_was_handed_over_is_left_out_after_going_back_further() -> None:
    collector = Collector(remember=True)
    put(collector, "a", ["not", "hashable"], epoch=1)
    collector.forget(0)
    put(collector, "b", epoch=2)
    put(collector, "c", epoch=3, commit=False)
    collector.rewind(4)
    collector.fall_back(0)
    put(collector, "b", "a", epoch=5)
    # A second time, in the middle: what came again counts as handed over, too.
    collector.rewind(6)
    collector.fall_back(0)
    put(collector, "a", "b", "c", ["not", "hashable"], "d", epoch=7)
    collector.end()
    assert list(collector) == ["a", ["not", "hashable"], "b", "c", "d"]


def test_nothing_is_kept_of_what_the_job_cannot_go_back_to() -> None:
    collector = Collector(remember=True)
    put(collector, "a", epoch=1)
    put(collector, "b", epoch=2)
    collector.forget(1)
    collector.fall_back(1)
    put(collector, "b", "a", epoch=3)
    collector.end()
    assert list(collector) == ["a", "b", "a"]


def test_records_of_an_attempt_that_has_failed_do_not_count() -> None:
    collector = Collector()
    output = CollectedOutput({"id": collector}, remember=False)

    def send(attempt: int, value: str) -> None:
        output.put(attempt, Collected(SlotId(0), "id", pickle.dumps([value]), 1))

    output.attempt_started(1)
    send(1, "lost")
    output.attempt_failed(1)
    send(1, "late")
    output.attempt_started(2)
    send(1, "later")
    send(2, "kept")
    output.epoch_ended(2, final=True)
    output.end(None)
    assert list(collector) == ["kept"]
