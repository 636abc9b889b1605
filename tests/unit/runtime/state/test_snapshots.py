"""Snapshots of every backend: consistent, by key group, incremental, restored anywhere."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import replace

import pytest

from headrace.common.errors import StateError, StateMigrationError
from headrace.common.typeinfo import Types
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.state.backend import SnapshotKind
from tests.unit.runtime.state.backends import (
    ALL_KINDS,
    BACKENDS,
    MAX_PARALLELISM,
    Subtask,
    average_of,
    list_of,
    map_of,
    value_of,
    write_something,
)


def fill(subtask: Subtask, keys=range(40)) -> None:
    states = [subtask.state(make()) for make in ALL_KINDS]
    for key in keys:
        subtask.at(key)
        for state in states:
            write_something(state, key)


def dump_all(subtask: Subtask) -> dict:
    return {make().name: subtask.dump(make()) for make in ALL_KINDS}


class TestFull:
    def test_a_restored_backend_has_the_same_content(self, subtask):
        fill(subtask)
        snapshot = pickle.loads(pickle.dumps(subtask.backend.snapshot("full")))
        assert dump_all(subtask.restored(snapshot)) == dump_all(subtask)

    @pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 5), (4, 1)])
    def test_restore_at_another_parallelism(self, subtask, before, after):
        owned = [key_group_range(i, before, MAX_PARALLELISM) for i in range(before)]
        snapshots, expected = [], {make().name: {} for make in ALL_KINDS}
        for key_groups in owned:
            old = Subtask(subtask.factory)
            fill(old, [k for k in range(60) if key_group_of(k, MAX_PARALLELISM) in key_groups])
            snapshots.append(old.backend.snapshot("full"))
            for name, content in dump_all(old).items():
                expected[name].update(content)
        found = {name: {} for name in expected}
        for index in range(after):
            key_groups = key_group_range(index, after, MAX_PARALLELISM)
            new = subtask.restored(*snapshots, key_groups=key_groups)
            for name, content in dump_all(new).items():
                assert all(key_group_of(k, MAX_PARALLELISM) in key_groups for k in content)
                assert not content.keys() & found[name].keys()
                found[name].update(content)
        assert found == expected

    def test_blocks_are_grouped_by_key_group_of_the_key(self, subtask):
        state = subtask.state(value_of(), namespaced=True)
        for window in range(5):
            subtask.at(("user", window))
            state.update(window)
        snapshot = subtask.backend.snapshot()
        assert list(snapshot.blocks) == [("value", key_group_of("user", MAX_PARALLELISM))]
        assert snapshot.size_bytes > 0
        restored = subtask.restored(snapshot)
        restored.state(value_of(), namespaced=True)
        assert restored.backend.keys("value") == ["user"]
        assert len(restored.backend.keys_and_namespaces("value")) == 5

    def test_restrict_keeps_what_a_subtask_needs(self, subtask):
        fill(subtask)
        snapshot = subtask.backend.snapshot()
        half = range(0, MAX_PARALLELISM // 2)
        part = snapshot.restrict(half)
        assert {group for _, group in part.blocks} == set(half)
        assert dump_all(subtask.restored(part)) == dump_all(
            subtask.restored(snapshot, key_groups=half)
        )

    def test_later_changes_in_place_are_not_in_the_snapshot(self, subtask):
        value, elements, pairs = (subtask.state(m()) for m in (value_of, list_of, map_of))
        average = subtask.state(average_of())
        subtask.at(1)
        mine = {"n": 1}
        value.update(mine)
        elements.add(mine)
        pairs.put("x", mine)
        average.add(2)
        snapshot = subtask.backend.snapshot()
        mine["n"] = 2
        elements.add("later")
        pairs.put("later", 1)
        average.add(4)
        restored = subtask.restored(snapshot)
        assert restored.dump(value_of()) == {1: {"n": 1}}
        assert restored.dump(list_of()) == {1: [{"n": 1}]}
        assert restored.dump(map_of()) == {1: {"x": {"n": 1}}}
        assert restored.dump(average_of()) == {1: 2.0}

    def test_empty_backend(self, subtask):
        restored = subtask.restored(subtask.backend.snapshot())
        assert restored.backend.number_of_entries() == 0

    def test_states_that_are_not_declared_again_are_carried_on(self, subtask):
        fill(subtask)
        once = subtask.restored(subtask.backend.snapshot())
        twice = once.restored(once.backend.snapshot())
        assert sorted(twice.backend.state_names()) == sorted(subtask.backend.state_names())
        assert twice.backend.number_of_entries() == subtask.backend.number_of_entries()
        assert twice.dump(list_of()) == subtask.dump(list_of())

    def test_a_value_that_cannot_be_pickled_is_named(self, subtask):
        state = subtask.state(value_of())
        # A backend on disk may notice it before the snapshot does.
        with pytest.raises(StateError, match=r"'value'.*lock.*at key 33") as info:  # noqa: PT012
            for key in range(50):
                subtask.at(key)
                state.update(threading.Lock() if key == 33 else key)
            subtask.backend.snapshot("full", 1)
        assert isinstance(info.value.__cause__, TypeError)

    def test_instances_of_local_classes_are_saved(self, subtask):
        class Local:
            def __init__(self, n):
                self.n = n

        state = subtask.state(value_of())
        subtask.at(1)
        state.update(Local(5))
        restored = subtask.restored(subtask.backend.snapshot())
        assert restored.dump(value_of())[1].n == 5


class TestDeferred:
    def test_views_must_be_serialized_before_they_travel(self, subtask):
        fill(subtask)
        snapshot = subtask.backend.snapshot("full", deferred=True)
        assert not snapshot.is_serialized
        with pytest.raises(StateError, match="serialize"):
            pickle.dumps(snapshot)
        with pytest.raises(StateError, match="serialize"):
            snapshot.restrict(range(2))
        assert snapshot.serialize() is snapshot
        assert snapshot.is_serialized
        assert dump_all(subtask.restored(snapshot)) == dump_all(subtask)

    def test_a_forked_child_writes_the_state_of_the_barrier(self, subtask, tmp_path):
        fill(subtask)
        before = dump_all(subtask)
        snapshot = subtask.backend.snapshot("full", deferred=True)
        proceed_read, proceed_write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.read(proceed_read, 1)
                (tmp_path / "snapshot").write_bytes(pickle.dumps(snapshot.serialize()))
                status = 0
            finally:
                os._exit(status)
        fill(subtask, range(30, 80))
        os.write(proceed_write, b"x")
        assert os.waitpid(child, 0)[1] == 0
        os.close(proceed_read)
        os.close(proceed_write)
        saved = pickle.loads((tmp_path / "snapshot").read_bytes())
        assert dump_all(subtask.restored(saved)) == before


class TestIncremental:
    @pytest.fixture
    def state(self, subtask):
        return subtask.state(value_of())

    def put(self, subtask, state, **values):
        for key, value in values.items():
            subtask.at(key)
            state.update(value)

    def test_base_and_changes_make_the_whole(self, subtask, state):
        self.put(subtask, state, a=1, b=2, c=3)
        chain = [subtask.backend.snapshot("full", 1)]
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, b=20, c=None, d=4)
        chain.append(subtask.backend.snapshot("changes", 2))
        assert (chain[1].kind, chain[1].base) == (SnapshotKind.CHANGES, 1)
        assert subtask.restored(*chain).dump(value_of()) == {"a": 1, "b": 20, "d": 4}

    def test_changes_hold_only_what_changed(self, subtask, state):
        for key in range(1000):
            subtask.at(key)
            state.update("x" * 100)
        full = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        subtask.at(5)
        state.update("y")
        changes = subtask.backend.snapshot("changes", 2)
        assert len(changes.blocks) == 1
        assert changes.size_bytes < full.size_bytes / 100

    def test_without_a_complete_checkpoint_changes_are_everything(self, subtask, state):
        self.put(subtask, state, a=1)
        first = subtask.backend.snapshot("changes", 1)
        assert (first.kind, first.base) == (SnapshotKind.FULL, None)
        second = subtask.backend.snapshot("changes", 2)
        assert second.kind is SnapshotKind.FULL
        assert subtask.restored(second).dump(value_of()) == {"a": 1}

    def test_an_aborted_checkpoint_is_made_up_for_by_the_next(self, subtask, state):
        self.put(subtask, state, a=1)
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, b=2)
        subtask.backend.snapshot("changes", 2)
        subtask.backend.notify_checkpoint_aborted(2)
        self.put(subtask, state, c=3)
        third = subtask.backend.snapshot("changes", 3)
        assert third.base == 1
        assert subtask.restored(base, third).dump(value_of()) == {"a": 1, "b": 2, "c": 3}

    def test_checkpoints_under_way_at_the_same_time(self, subtask, state):
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, a=1)
        second = subtask.backend.snapshot("changes", 2)
        self.put(subtask, state, b=2)
        third = subtask.backend.snapshot("changes", 3)
        assert third.base == 1
        assert subtask.restored(base, third).dump(value_of()) == {"a": 1, "b": 2}
        subtask.backend.notify_checkpoint_complete(2)
        subtask.backend.notify_checkpoint_aborted(3)
        fourth = subtask.backend.snapshot("changes", 4)
        assert fourth.base == 2
        assert subtask.restored(base, second, fourth).dump(value_of()) == {"a": 1, "b": 2}

    def test_a_later_checkpoint_covers_earlier_ones(self, subtask, state):
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, a=1)
        subtask.backend.snapshot("changes", 2)
        self.put(subtask, state, b=2)
        third = subtask.backend.snapshot("changes", 3)
        subtask.backend.notify_checkpoint_complete(3)
        subtask.backend.notify_checkpoint_complete(2)
        subtask.backend.notify_checkpoint_aborted(2)
        fourth = subtask.backend.snapshot("changes", 4)
        assert fourth.base == 3
        assert fourth.blocks == {}
        assert subtask.restored(base, third, fourth).dump(value_of()) == {"a": 1, "b": 2}

    def test_a_savepoint_leaves_the_tracking_alone(self, subtask, state):
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, a=1)
        subtask.backend.snapshot("full")
        changes = subtask.backend.snapshot("changes", 2)
        assert subtask.restored(base, changes).dump(value_of()) == {"a": 1}

    def test_a_failed_snapshot_loses_no_changes(self, subtask, state):
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        self.put(subtask, state, a=1, b=threading.Lock())
        with pytest.raises(StateError, match="cannot be pickled"):
            subtask.backend.snapshot("changes", 2)
        self.put(subtask, state, b=2)
        third = subtask.backend.snapshot("changes", 3)
        assert subtask.restored(base, third).dump(value_of()) == {"a": 1, "b": 2}

    def test_changes_continue_on_a_restored_checkpoint(self, subtask, state):
        self.put(subtask, state, a=1)
        base = subtask.backend.snapshot("full", 7)
        second = Subtask(subtask.factory)
        second.backend.restore([base], range(MAX_PARALLELISM), base=7)
        again = second.state(value_of())
        self.put(second, again, b=2)
        changes = second.backend.snapshot("changes", 8)
        assert (changes.kind, changes.base) == (SnapshotKind.CHANGES, 7)
        assert subtask.restored(base, changes).dump(value_of()) == {"a": 1, "b": 2}

    def test_restore_without_base_starts_with_a_full_one(self, subtask, state):
        restored = subtask.restored(subtask.backend.snapshot("full", 7))
        assert restored.backend.snapshot("changes", 8).kind is SnapshotKind.FULL

    def test_epochs_without_checkpoints_remember_nothing(self, subtask, state):
        self.put(subtask, state, a=1)
        subtask.backend.epoch_end()
        base = subtask.backend.snapshot("full", 1)
        subtask.backend.epoch_end()
        self.put(subtask, state, b=2)
        subtask.backend.epoch_end()
        subtask.backend.notify_checkpoint_complete(1)
        changes = subtask.backend.snapshot("changes", 2)
        assert subtask.restored(base, changes).dump(value_of()) == {"a": 1, "b": 2}

    @pytest.mark.parametrize("factory", BACKENDS.values(), ids=BACKENDS)
    def test_without_tracking_every_checkpoint_is_full(self, factory):
        subtask = Subtask(factory, track_changes=False)
        fill(subtask)
        for checkpoint in (1, 2):
            snapshot = subtask.backend.snapshot("changes", checkpoint)
            assert snapshot.kind is SnapshotKind.FULL
            subtask.backend.notify_checkpoint_complete(checkpoint)
            subtask.backend.epoch_end()
        assert dump_all(subtask.restored(snapshot)) == dump_all(subtask)

    @pytest.mark.parametrize("make", ALL_KINDS)
    def test_every_kind_reports_writes_and_removals(self, subtask, make):
        state = subtask.state(make())
        for key in range(4):
            subtask.at(key)
            write_something(state, key + 1)
        chain = [subtask.backend.snapshot("full", 1)]
        subtask.backend.notify_checkpoint_complete(1)
        subtask.at(0)
        write_something(state, 9)
        subtask.at(1)
        state.clear()
        subtask.at(5)
        write_something(state, 5)
        subtask.at("never there")
        state.clear()
        chain.append(subtask.backend.snapshot("changes", 2))
        assert subtask.restored(*chain).dump(make()) == subtask.dump(make())

    def test_merged_windows_are_changes(self, subtask):
        state = subtask.state(list_of(), namespaced=True)
        for window in (1, 2):
            subtask.at(("k", window))
            state.add(window)
        chain = [subtask.backend.snapshot("full", 1)]
        subtask.backend.notify_checkpoint_complete(1)
        state.merge_namespaces("k", 1, [2])
        chain.append(subtask.backend.snapshot("changes", 2))
        restored = subtask.restored(*chain)
        again = restored.state(list_of(), namespaced=True)
        restored.at(("k", 1))
        assert again.get() == [1, 2]
        assert restored.backend.keys_and_namespaces("list") == [("k", 1)]


class TestRefusals:
    def saved(self, subtask, descriptor):
        state = subtask.state(descriptor)
        subtask.at(1)
        write_something(state, 1)
        return subtask.restored(subtask.backend.snapshot("full", 1))

    def test_another_kind(self, subtask):
        restored = self.saved(subtask, ValueStateDescriptor("s", Types.LONG()))
        with pytest.raises(
            StateMigrationError,
            match=r"state 's' of operator 'op' was saved as ValueState of Long but is now declared "
            r"as ListState of .*choose a new state name",
        ):
            restored.state(ListStateDescriptor("s", Types.LONG()))

    def test_another_type(self, subtask):
        restored = self.saved(subtask, ValueStateDescriptor("s", Types.LONG()))
        with pytest.raises(StateMigrationError, match=r"saved as ValueState of Long .* of String"):
            restored.state(ValueStateDescriptor("s", Types.STRING()))
        assert restored.dump(ValueStateDescriptor("s", Types.LONG())) == {1: 1}

    def test_windowed_or_not(self, subtask):
        restored = self.saved(subtask, value_of())
        with pytest.raises(StateMigrationError, match="for each key and window"):
            restored.state(value_of(), namespaced=True)

    def test_a_type_may_become_declared_or_undeclared(self, subtask):
        undeclared = self.saved(subtask, ListStateDescriptor("s"))
        undeclared.state(ListStateDescriptor("s", Types.LONG()))
        declared = Subtask(subtask.factory)
        self.saved(declared, ListStateDescriptor("s", Types.LONG())).state(ListStateDescriptor("s"))

    def test_two_declarations_in_one_run(self, subtask):
        subtask.state(ValueStateDescriptor("s", Types.LONG()))
        with pytest.raises(StateError, match=r"declared twice.*rename one") as info:
            subtask.state(ListStateDescriptor("s"))
        assert not isinstance(info.value, StateMigrationError)

    def test_another_maximum_parallelism(self, subtask):
        fill(subtask)
        snapshot = subtask.backend.snapshot()
        other = Subtask(subtask.factory, max_parallelism=32)
        with pytest.raises(StateError, match=r"maximum parallelism 16.*has 32.*set_max_parall"):
            other.backend.restore([snapshot], range(32))

    def test_a_newer_format(self, subtask):
        snapshot = replace(subtask.backend.snapshot(), version=99)
        with pytest.raises(StateError, match="format version 99"):
            subtask.restored(snapshot)

    def test_changes_without_their_base(self, subtask):
        subtask.state(value_of())
        subtask.backend.snapshot("full", 1)
        subtask.backend.notify_checkpoint_complete(1)
        changes = subtask.backend.snapshot("changes", 2)
        with pytest.raises(StateError, match="checkpoint 2 build on checkpoint 1"):
            subtask.restored(changes)

    def test_the_same_key_group_twice(self, subtask):
        fill(subtask)
        with pytest.raises(StateError, match="two full snapshots"):
            subtask.restored(subtask.backend.snapshot(), subtask.backend.snapshot())

    def test_restore_after_a_declaration(self, subtask):
        subtask.state(value_of())
        with pytest.raises(StateError, match="before the first state is declared"):
            subtask.backend.restore([], range(MAX_PARALLELISM))

    def test_a_damaged_block_names_state_and_key_group(self, subtask):
        fill(subtask)
        snapshot = subtask.backend.snapshot()
        snapshot.blocks["value", 3] = snapshot.blocks["value", 3][:-5]
        restored = subtask.restored(snapshot)
        for _ in range(2):
            with pytest.raises(StateError, match="key group 3 of the saved state 'value'"):
                restored.state(value_of())
        # A subtask that does not own the key group is not concerned.
        assert subtask.restored(snapshot, key_groups=range(4, 16)).dump(value_of())
