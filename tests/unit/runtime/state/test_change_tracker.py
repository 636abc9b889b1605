from __future__ import annotations

from headrace.runtime.state.change_tracker import ChangeTracker


def test_changes_return_to_the_present_when_nothing_later_is_under_way():
    tracker = ChangeTracker()
    tracker.changed.add("a")
    tracker.begin(1)
    assert tracker.changed == set()
    tracker.abort(1)
    assert tracker.changed == {"a"}


def test_changes_of_an_aborted_checkpoint_go_to_the_later_one_that_holds_them():
    tracker = ChangeTracker()
    tracker.changed.add("a")
    tracker.begin(1)
    tracker.changed.add("b")
    tracker.begin(2)
    tracker.abort(1)
    assert tracker.changed == set()
    assert tracker.since_complete() == {"a", "b"}
    tracker.complete(2)
    assert tracker.since_complete() == set()


def test_the_set_of_changes_stays_the_same_object():
    tracker = ChangeTracker()
    changed = tracker.changed
    changed.add("a")
    tracker.begin(1)
    tracker.abort(1)
    tracker.forget()
    assert tracker.changed is changed
    assert changed == set()


def test_what_was_taken_does_not_change_afterwards():
    tracker = ChangeTracker()
    tracker.changed.add("a")
    taken = tracker.since_complete()
    tracker.begin(1)
    tracker.changed.add("b")
    assert taken == {"a"}


def test_unknown_checkpoints_are_ignored():
    tracker = ChangeTracker()
    tracker.changed.add("a")
    tracker.abort(5)
    tracker.complete(5)
    assert tracker.since_complete() == {"a"}
