"""Time-to-live of every kind of state on every backend, with a clock that the tests move."""

from __future__ import annotations

import pytest

from headrace.common.errors import StateError, StateMigrationError
from headrace.common.time import Time
from headrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from tests.unit.runtime.state.backends import (
    ALL_KINDS,
    Subtask,
    average_of,
    list_of,
    map_of,
    read_all,
    sum_of,
    value_of,
    write_something,
)

TTL = 100


def config(
    *, on_read=False, return_expired=False, incremental=None, full_snapshot=False, rocksdb=False
) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL)).disable_cleanup_in_background()
    if on_read:
        builder.update_ttl_on_read_and_write()
    if return_expired:
        builder.return_expired_if_not_cleaned_up()
    if incremental:
        builder.cleanup_incrementally(*incremental)
    if full_snapshot:
        builder.cleanup_full_snapshot()
    if rocksdb:
        builder.cleanup_in_rocksdb_compact_filter(1000)
    return builder.build()


def expiring(descriptor, ttl_config=None, **settings):
    descriptor.enable_time_to_live(ttl_config or config(**settings))
    return descriptor


@pytest.mark.parametrize("make", ALL_KINDS)
class TestEveryKind:
    def test_an_entry_is_gone_when_its_time_is_up(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        empty = read_all(state)
        write_something(state, 5)
        subtask.clock.advance(TTL - 1)
        assert read_all(state) != empty
        subtask.clock.advance(1)
        assert read_all(state) == empty
        assert subtask.backend.number_of_entries() == 0

    def test_writing_makes_it_young_again(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        empty = read_all(state)
        write_something(state, 5)
        subtask.clock.advance(TTL - 1)
        write_something(state, 5)
        subtask.clock.advance(TTL - 1)
        assert read_all(state) != empty

    def test_reading_does_so_only_if_asked_for(self, subtask, make):
        on_write = subtask.state(expiring(make()))
        other = Subtask(subtask.factory, clock=subtask.clock)
        on_read = other.state(expiring(make(), on_read=True))
        subtask.at(1)
        other.at(1)
        empty = read_all(on_write)
        for state in (on_write, on_read):
            write_something(state, 5)
        for _ in range(3):
            subtask.clock.advance(TTL - 1)
            content = read_all(on_read)
            assert content != empty
        assert read_all(on_write) == empty
        subtask.clock.advance(TTL)
        assert read_all(on_read) == empty

    def test_expired_is_returned_until_it_is_cleaned_up(self, subtask, make):
        state = subtask.state(expiring(make(), return_expired=True))
        subtask.at(1)
        empty = read_all(state)
        write_something(state, 5)
        content = read_all(state)
        subtask.clock.advance(TTL)
        assert read_all(state) == content
        # That read was the clean-up.
        assert read_all(state) == empty
        assert subtask.backend.number_of_entries() == 0

    def test_clear_leaves_nothing(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        write_something(state, 5)
        state.clear()
        assert subtask.backend.number_of_entries() == 0

    def test_use_without_a_key_is_refused(self, subtask, make):
        state = subtask.state(expiring(make()))
        for call in (state.clear, lambda: read_all(state), lambda: write_something(state, 1)):
            with pytest.raises(StateError, match="no current key"):
                call()

    def test_ages_survive_a_restore(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        empty = read_all(state)
        write_something(state, 5)
        subtask.clock.advance(60)
        restored = subtask.restored(subtask.backend.snapshot())
        again = restored.state(expiring(make()))
        restored.at(1)
        subtask.clock.advance(39)
        assert read_all(again) != empty
        subtask.clock.advance(1)
        assert read_all(again) == empty

    @pytest.mark.parametrize("settings", [{}, {"on_read": True}, {"incremental": (3, True)}])
    def test_base_and_changes_make_the_whole(self, subtask, make, settings):
        descriptor = expiring(make(), **settings)
        state = subtask.state(descriptor)
        for key in range(20):
            subtask.at(key)
            write_something(state, key + 1)
            subtask.clock.advance(7)
        chain = [subtask.backend.snapshot("full", 1)]
        subtask.backend.notify_checkpoint_complete(1)
        for key in range(0, 25, 3):
            subtask.at(key)
            read_all(state)
            if key % 2:
                write_something(state, key)
        subtask.clock.advance(10)
        subtask.backend.after_batch(10)
        chain.append(subtask.backend.snapshot("changes", 2))
        changed, full = subtask.restored(*chain), subtask.restored(subtask.backend.snapshot())
        assert changed.backend.number_of_entries() == full.backend.number_of_entries()
        assert changed.dump(descriptor) == full.dump(descriptor)

    def test_adding_or_removing_it_on_restored_state_is_refused(self, subtask, make):
        plain = subtask.state(make())
        subtask.at(1)
        write_something(plain, 1)
        restored = subtask.restored(subtask.backend.snapshot())
        with pytest.raises(
            StateMigrationError, match="of operator 'op' was saved without time-to-live but is now"
        ):
            restored.state(expiring(make()))
        restored.state(make())

        other = Subtask(subtask.factory)
        other.at(1)
        write_something(other.state(expiring(make())), 1)
        restored = other.restored(other.backend.snapshot())
        with pytest.raises(StateMigrationError, match="saved with time-to-live but"):
            restored.state(make())

    def test_full_snapshots_leave_expired_entries_out_if_asked_for(self, subtask, make):
        descriptor = expiring(make(), full_snapshot=True)
        state = subtask.state(descriptor)
        subtask.at("old")
        write_something(state, 1)
        subtask.clock.advance(TTL)
        subtask.at("new")
        write_something(state, 2)
        restored = subtask.restored(subtask.backend.snapshot())
        assert restored.backend.keys(descriptor.name) == ["new"]
        assert sorted(subtask.backend.keys(descriptor.name)) == ["new", "old"]

    def test_full_snapshots_keep_them_otherwise(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        write_something(state, 1)
        subtask.clock.advance(TTL)
        restored = subtask.restored(subtask.backend.snapshot())
        assert restored.backend.number_of_entries() == 1

    def test_incremental_clean_up_on_access(self, subtask, make):
        state = subtask.state(expiring(make(), incremental=(2, False)))
        for key in range(10):
            subtask.at(key)
            write_something(state, key + 1)
        subtask.clock.advance(TTL)
        subtask.at("another")
        for _ in range(10):
            read_all(state)
        assert subtask.backend.number_of_entries() == 0

    def test_incremental_clean_up_for_every_record(self, subtask, make):
        state = subtask.state(expiring(make(), incremental=(1, True)))
        for key in range(10):
            subtask.at(key)
            write_something(state, key + 1)
        subtask.clock.advance(TTL)
        subtask.backend.after_batch(4)
        assert subtask.backend.number_of_entries() == 6
        subtask.backend.after_batch(100)
        assert subtask.backend.number_of_entries() == 0

    def test_no_clean_up_for_every_record_unless_asked_for(self, subtask, make):
        state = subtask.state(expiring(make(), incremental=(5, False)))
        subtask.at(1)
        write_something(state, 1)
        subtask.clock.advance(TTL)
        subtask.backend.after_batch(100)
        assert subtask.backend.number_of_entries() == 1

    def test_clean_up_spares_the_young(self, subtask, make):
        state = subtask.state(expiring(make(), incremental=(50, True)))
        for key in range(10):
            subtask.at(key)
            write_something(state, key + 1)
            subtask.clock.advance(20)
        subtask.backend.after_batch(1)
        assert sorted(subtask.backend.keys(make().name)) == [6, 7, 8, 9]

    def test_disabled_is_no_time_to_live_at_all(self, subtask, make):
        descriptor = make()
        descriptor.enable_time_to_live(StateTtlConfig.DISABLED)
        state = subtask.state(descriptor)
        subtask.at(1)
        write_something(state, 1)
        subtask.clock.advance(10**15)
        assert type(state) is type(Subtask(subtask.factory).state(make()))
        assert subtask.dump(descriptor)


def test_the_default_is_clean_up_in_the_background(subtask):
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
    state = subtask.state(expiring(value_of(), builder.build()))
    for key in range(5):
        subtask.at(key)
        state.update(1)
    subtask.clock.advance(TTL)
    subtask.at("another")
    state.value()
    assert subtask.backend.number_of_entries() == 0


def test_a_compaction_filter_alone_is_served_by_the_background_clean_up(subtask):
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
    builder.cleanup_in_rocksdb_compact_filter(1000)
    state = subtask.state(expiring(value_of(), builder.build()))
    subtask.at(1)
    state.update(1)
    subtask.clock.advance(TTL)
    subtask.at(2)
    state.value()
    assert subtask.backend.number_of_entries() == 0


def test_a_compaction_filter_is_accepted_with_background_clean_up_off(subtask):
    state = subtask.state(expiring(value_of(), rocksdb=True))
    subtask.at(1)
    state.update(1)
    subtask.clock.advance(TTL)
    assert state.value() is None


def test_the_time_may_change_on_restored_state(subtask):
    state = subtask.state(expiring(value_of()))
    subtask.at(1)
    state.update("x")
    restored = subtask.restored(subtask.backend.snapshot())
    longer = StateTtlConfig.new_builder(Time.milliseconds(10 * TTL)).build()
    again = restored.state(expiring(value_of(), longer))
    restored.at(1)
    subtask.clock.advance(5 * TTL)
    assert again.value() == "x"
    subtask.clock.advance(5 * TTL)
    assert again.value() is None


def test_with_and_without_in_one_run_is_refused(subtask):
    subtask.state(value_of())
    with pytest.raises(StateError, match="declared twice, once without and once with"):
        subtask.state(expiring(value_of()))


class TestValue:
    def test_default_value_after_expiry(self, subtask):
        state = subtask.state(expiring(ValueStateDescriptor("v", default_value=[])))
        subtask.at(1)
        state.update([1])
        subtask.clock.advance(TTL)
        state.value().append("mine")
        assert state.value() == []

    def test_none_clears(self, subtask):
        state = subtask.state(expiring(value_of()))
        subtask.at(1)
        state.update(0)
        assert state.value() == 0
        state.update(None)
        assert subtask.backend.number_of_entries() == 0


class TestList:
    def test_elements_expire_one_by_one(self, subtask):
        state = subtask.state(expiring(list_of()))
        subtask.at(1)
        state.add("a")
        subtask.clock.advance(60)
        state.add_all(["b", "c"])
        subtask.clock.advance(40)
        assert list(state.get()) == ["b", "c"]
        assert list(state) == ["b", "c"]
        subtask.clock.advance(60)
        assert list(state.get()) == []

    def test_update_stamps_all_elements(self, subtask):
        state = subtask.state(expiring(list_of()))
        subtask.at(1)
        state.update(["a"])
        subtask.clock.advance(60)
        state.update([*state.get(), "b"])
        subtask.clock.advance(60)
        assert list(state.get()) == ["a", "b"]
        state.update([])
        assert subtask.backend.number_of_entries() == 0

    def test_clean_up_trims_lists(self, subtask):
        state = subtask.state(expiring(list_of(), incremental=(5, True), full_snapshot=True))
        subtask.at(1)
        state.add("a")
        subtask.clock.advance(60)
        state.add("b")
        subtask.clock.advance(40)
        restored = subtask.restored(subtask.backend.snapshot())
        subtask.backend.after_batch(1)
        for owner in (subtask, restored):
            assert owner.dump(expiring(list_of())) == {1: ["b"]}

    def test_none_is_refused(self, subtask):
        state = subtask.state(expiring(list_of()))
        subtask.at(1)
        with pytest.raises(StateError, match="None"):
            state.add(None)
        state.add_all([])
        assert subtask.backend.number_of_entries() == 0


class TestMap:
    def test_entries_expire_one_by_one(self, subtask):
        state = subtask.state(expiring(map_of()))
        subtask.at(1)
        state.put("a", 1)
        subtask.clock.advance(60)
        state.put_all({"b": 2})
        state["c"] = 3
        subtask.clock.advance(40)
        assert state.get("a") is None
        assert "a" not in state
        assert "b" in state
        assert state["b"] == 2
        assert dict(state.items()) == {"b": 2, "c": 3}
        assert sorted(state) == ["b", "c"]
        assert sorted(state.values()) == [2, 3]
        del state["b"]
        state.remove("c")
        assert state.is_empty()
        assert subtask.backend.number_of_entries() == 0

    def test_reading_one_entry_keeps_only_that_one_young(self, subtask):
        state = subtask.state(expiring(map_of(), on_read=True))
        subtask.at(1)
        state.put_all({"a": 1, "b": 2, "c": 3})
        subtask.clock.advance(60)
        assert state.get("a") == 1
        assert state.contains("b")
        subtask.clock.advance(60)
        assert dict(state.items()) == {"a": 1, "b": 2}

    def test_is_empty_agrees_with_what_can_be_read(self, subtask):
        state = subtask.state(expiring(map_of()))
        subtask.at(1)
        state.put("a", 1)
        subtask.clock.advance(TTL)
        assert state.is_empty()
        other = Subtask(subtask.factory, clock=subtask.clock)
        visible = other.state(expiring(map_of(), return_expired=True))
        other.at(1)
        visible.put("a", 1)
        subtask.clock.advance(TTL)
        assert not visible.is_empty()
        assert visible.contains("a")
        assert visible.is_empty()

    def test_none_is_a_value(self, subtask):
        state = subtask.state(expiring(map_of()))
        subtask.at(1)
        state.put("x", None)
        assert "x" in state
        subtask.clock.advance(TTL)
        assert "x" not in state


class TestReducingAndAggregating:
    @pytest.mark.parametrize("return_expired", [True, False])
    @pytest.mark.parametrize(("make", "expected"), [(sum_of, 7), (average_of, 7.0)])
    def test_adding_to_an_expired_one_starts_anew(self, subtask, make, expected, return_expired):
        state = subtask.state(expiring(make(), return_expired=return_expired))
        subtask.at(1)
        state.add(100)
        subtask.clock.advance(TTL)
        state.add(7)
        assert state.get() == expected

    @pytest.mark.parametrize("make", [sum_of, average_of])
    def test_none_clears(self, subtask, make):
        state = subtask.state(expiring(make()))
        subtask.at(1)
        state.add(100)
        state.add(None)
        assert subtask.backend.number_of_entries() == 0


@pytest.mark.parametrize(
    ("make", "both", "young"),
    [(list_of, [1, 2], [2]), (sum_of, 3, 2), (average_of, 1.5, 2.0)],
)
@pytest.mark.parametrize("age", [0, 60])
def test_merging_windows_leaves_out_what_has_expired(subtask, make, both, young, age):
    state = subtask.state(expiring(make()), namespaced=True)
    subtask.at(("k", "w1"))
    state.add(1)
    subtask.clock.advance(60)
    subtask.at(("k", "w2"))
    state.add(2)
    subtask.clock.advance(age)
    state.merge_namespaces("k", "w1", ["w2"])
    subtask.at(("k", "w1"))
    assert state.get() == (young if age else both)
    assert subtask.backend.number_of_entries() == 1
