"""What users may rely on for each kind of keyed state, on every backend."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.errors import StateError
from headrace.datastream.state import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.runtime.state.key_cell import NO_KEY, KeyCell
from tests.unit.runtime.state.backends import (
    ALL_KINDS,
    BACKENDS,
    Subtask,
    average_of,
    list_of,
    map_of,
    read_all,
    sum_of,
    value_of,
    write_something,
)


@pytest.mark.parametrize(
    ("make", "interface"),
    [
        (value_of, ValueState),
        (list_of, ListState),
        (map_of, MapState),
        (sum_of, ReducingState),
        (average_of, AggregatingState),
    ],
)
def test_each_kind_implements_its_public_interface(subtask, make, interface):
    assert isinstance(subtask.state(make()), interface)


@pytest.mark.parametrize("make", ALL_KINDS)
def test_keys_do_not_see_each_other_and_clear_leaves_nothing(subtask, make):
    state = subtask.state(make())
    subtask.at("a")
    empty = read_all(state)
    write_something(state, 1)
    only_a = read_all(state)
    subtask.at("b")
    assert read_all(state) == empty
    write_something(state, 2)
    assert read_all(state) != only_a
    state.clear()
    subtask.at("a")
    assert read_all(state) == only_a
    state.clear()
    state.clear()
    assert read_all(state) == empty
    assert subtask.backend.number_of_entries() == 0
    assert subtask.backend.keys(make().get_name()) == []


@pytest.mark.parametrize("track_changes", [True, False])
@pytest.mark.parametrize("make", ALL_KINDS)
@pytest.mark.parametrize("factory", BACKENDS.values(), ids=BACKENDS)
def test_use_without_a_key_is_refused_by_every_method(factory, make, track_changes):
    subtask = Subtask(factory, track_changes=track_changes)
    state = subtask.state(make())
    calls = [state.clear, lambda: read_all(state), lambda: write_something(state, 1)]
    if hasattr(state, "remove"):
        calls += [
            lambda: state.remove(1),
            lambda: state.contains(1),
            lambda: state.put_all({}),
            state.is_empty,
        ]
    if isinstance(state, ListState):
        calls += [lambda: state.add_all([]), lambda: state.update([]), lambda: state.update([1])]
    for call in calls:
        with pytest.raises(StateError, match=r"no current key.*process_element"):
            call()
    assert subtask.backend.number_of_entries() == 0


def test_use_without_a_key_is_refused_in_a_namespaced_state_too(subtask):
    state = subtask.state(value_of(), namespaced=True)
    with pytest.raises(StateError, match="no current key"):
        state.value()
    subtask.at((NO_KEY, "window"))
    with pytest.raises(StateError, match="no current key"):
        state.update(1)


def test_no_key_survives_pickling_as_the_same_object():
    assert pickle.loads(pickle.dumps(NO_KEY)) is NO_KEY
    assert KeyCell().key is NO_KEY
    assert repr(NO_KEY) == "NO_KEY"


class TestValue:
    def test_nothing_gives_none_and_none_clears(self, subtask):
        state = subtask.state(value_of())
        subtask.at(1)
        assert state.value() is None
        state.update(0)
        assert state.value() == 0
        state.update(None)
        assert state.value() is None
        assert subtask.backend.number_of_entries() == 0

    @pytest.mark.parametrize("track_changes", [True, False])
    @pytest.mark.parametrize("factory", BACKENDS.values(), ids=BACKENDS)
    def test_default_value_is_copied_when_it_could_be_changed(self, factory, track_changes):
        subtask = Subtask(factory, track_changes=track_changes)
        state = subtask.state(value_of(default_value=[]))
        subtask.at(1)
        state.value().append("mine")
        assert state.value() == []
        assert subtask.backend.number_of_entries() == 0
        state.update([1])
        assert state.value() == [1]
        state.clear()
        assert state.value() == []

    def test_immutable_default_value_is_returned_as_it_is(self, subtask):
        default = ("a", 1)
        state = subtask.state(ValueStateDescriptor("v", default_value=default))
        subtask.at(1)
        assert state.value() is default

    def test_falsy_values_are_values(self, subtask):
        state = subtask.state(value_of(default_value=7))
        for falsy in (0, "", False, ()):
            subtask.at(repr(falsy))
            state.update(falsy)
            assert state.value() == falsy


class TestList:
    def test_add_get_update(self, subtask):
        state = subtask.state(list_of())
        subtask.at(1)
        assert list(state.get()) == []
        state.add(1)
        state.add_all([2, 3])
        state.add_all(x for x in (4,))
        assert list(state.get()) == [1, 2, 3, 4]
        assert list(state) == [1, 2, 3, 4]
        state.update([9])
        assert list(state.get()) == [9]

    def test_empty_lists_count_as_absent(self, subtask):
        state = subtask.state(list_of())
        subtask.at(1)
        state.add_all([])
        assert subtask.backend.number_of_entries() == 0
        state.add(1)
        state.update([])
        assert subtask.backend.number_of_entries() == 0

    @pytest.mark.parametrize(
        "call",
        [
            lambda s: s.add(None),
            lambda s: s.add_all([1, None]),
            lambda s: s.update([None]),
            lambda s: s.update(None),
            lambda s: s.add_all(None),
        ],
    )
    def test_none_is_refused_and_changes_nothing(self, subtask, call):
        state = subtask.state(list_of())
        subtask.at(1)
        state.add(5)
        with pytest.raises(StateError, match=r"list state 'list'.*None"):
            call(state)
        assert list(state.get()) == [5]

    def test_what_get_returned_is_independent_of_the_state(self, subtask):
        state = subtask.state(list_of())
        subtask.at(1)
        state.update([1, 2])
        for element in state.get():
            state.add(element + 10)
        assert list(state.get()) == [1, 2, 11, 12]
        read = state.get()
        state.update(read)
        state.add(0)
        assert list(read) == [1, 2, 11, 12]
        mine = [1]
        state.update(mine)
        mine.append(2)
        assert list(state.get()) == [1]

    def test_elements_need_not_compare(self, subtask):
        class Touchy:
            def __eq__(self, other):
                raise ValueError("ambiguous")

            __hash__ = None

        state = subtask.state(list_of())
        subtask.at(1)
        state.add_all([Touchy(), Touchy()])
        assert len(list(state.get())) == 2


class TestMap:
    def test_methods_and_operators(self, subtask):
        state = subtask.state(map_of())
        subtask.at(1)
        assert state.is_empty()
        assert state.get("x") is None
        assert state["x"] is None
        state.put("x", 1)
        state["y"] = 2
        state.put_all({"z": 3})
        state.put_all([("w", 4)])
        assert not state.is_empty()
        assert state.contains("x")
        assert "y" in state
        assert "nope" not in state
        assert dict(state.items()) == {"x": 1, "y": 2, "z": 3, "w": 4}
        assert sorted(state.keys()) == sorted(state) == ["w", "x", "y", "z"]
        assert sorted(state.values()) == [1, 2, 3, 4]
        assert next(state.keys()) == "x"
        state.remove("x")
        state.remove("x")
        del state["y"]
        del state["never there"]
        assert dict(state.items()) == {"z": 3, "w": 4}

    def test_removing_the_last_entry_leaves_nothing(self, subtask):
        state = subtask.state(map_of())
        subtask.at(1)
        state.put_all({})
        state.remove("x")
        assert subtask.backend.number_of_entries() == 0
        state.put("x", 1)
        state.remove("x")
        assert state.is_empty()
        assert subtask.backend.number_of_entries() == 0

    def test_none_is_a_value(self, subtask):
        state = subtask.state(map_of())
        subtask.at(1)
        state.put("x", None)
        assert state.contains("x")
        assert not state.is_empty()
        assert list(state.items()) == [("x", None)]

    def test_reading_an_empty_map_creates_nothing(self, subtask):
        state = subtask.state(map_of())
        subtask.at(1)
        assert [*state.keys(), *state.values(), *state.items()] == []
        assert subtask.backend.number_of_entries() == 0

    def test_the_map_that_was_put_is_copied(self, subtask):
        state = subtask.state(map_of())
        subtask.at(1)
        mine = {"a": 1}
        state.put_all(mine)
        state.put("b", 2)
        assert mine == {"a": 1}


class TestReducingAndAggregating:
    def test_reduce(self, subtask):
        state = subtask.state(sum_of())
        subtask.at(1)
        assert state.get() is None
        state.add(2)
        assert state.get() == 2
        state.add(3)
        assert state.get() == 5
        state.add(None)
        assert state.get() is None
        assert subtask.backend.number_of_entries() == 0

    def test_reduce_to_none_clears(self, subtask):
        state = subtask.state(ReducingStateDescriptor("r", lambda a, b: None))
        subtask.at(1)
        state.add(1)
        state.add(2)
        assert subtask.backend.number_of_entries() == 0

    def test_aggregate(self, subtask):
        state = subtask.state(average_of())
        subtask.at(1)
        assert state.get() is None
        state.add(2)
        state.add(4)
        assert state.get() == 3.0
        subtask.at(2)
        state.add(100)
        subtask.at(1)
        assert state.get() == 3.0
        state.add(None)
        assert state.get() is None
        assert subtask.backend.number_of_entries() == 1


class TestNamespaces:
    def test_entries_are_told_apart_by_namespace(self, subtask):
        state = subtask.state(value_of(), namespaced=True)
        for key, window, value in [("a", 1, 10), ("a", 2, 20), ("b", 1, 30)]:
            subtask.at((key, window))
            state.update(value)
        subtask.at(("a", 2))
        assert state.value() == 20
        backend = subtask.backend
        assert sorted(backend.keys("value")) == ["a", "b"]
        assert sorted(backend.keys("value", 1)) == ["a", "b"]
        assert backend.keys("value", 2) == ["a"]
        assert sorted(backend.keys_and_namespaces("value")) == [("a", 1), ("a", 2), ("b", 1)]
        state.clear()
        assert backend.keys("value", 2) == []

    def test_keys_and_namespaces_of_a_plain_state_is_refused(self, subtask):
        subtask.state(value_of())
        with pytest.raises(StateError, match="no namespaces"):
            subtask.backend.keys_and_namespaces("value")

    @pytest.mark.parametrize(
        ("make", "expected"),
        [(list_of, [1, 2, 3]), (sum_of, 6), (average_of, 2.0)],
    )
    def test_merging_windows(self, subtask, make, expected):
        state = subtask.state(make(), namespaced=True)
        for window, number in [("w1", 1), ("w2", 2), ("w3", 3)]:
            subtask.at(("k", window))
            state.add(number)
        subtask.at(("other", "w2"))
        state.add(50)
        state.merge_namespaces("k", "w1", ["w2", "w1", "w3", "absent"])
        subtask.at(("k", "w1"))
        assert state.get() == expected
        assert set(subtask.backend.keys_and_namespaces(make().name)) == {
            ("k", "w1"),
            ("other", "w2"),
        }

    def test_merging_into_an_empty_window(self, subtask):
        state = subtask.state(list_of(), namespaced=True)
        subtask.at(("k", "old"))
        state.add_all([1, 2])
        state.merge_namespaces("k", "new", ["old"])
        state.merge_namespaces("k", "newer", ["nothing"])
        subtask.at(("k", "new"))
        assert state.get() == [1, 2]
        assert subtask.backend.number_of_entries() == 1


class TestBackend:
    def test_same_name_gives_a_state_over_the_same_table(self, subtask):
        first, second = subtask.state(value_of()), subtask.state(value_of())
        subtask.at(1)
        first.update("x")
        assert second.value() == "x"

    def test_a_second_cell_scopes_another_object(self, subtask):
        state = subtask.state(value_of())
        other_cell = KeyCell("b")
        other = subtask.backend.get_or_create(value_of(), other_cell)
        subtask.at("a")
        state.update(1)
        assert other.value() is None
        other_cell.key = "a"
        assert other.value() == 1

    def test_apply_to_all_keys(self, subtask):
        state = subtask.state(value_of())
        other = subtask.state(value_of("other"))
        for key in "abc":
            subtask.at(key)
            state.update(key.upper())
            other.update(key * 2)
        subtask.at("b")
        seen = {}

        def visit(key, visited):
            seen[key] = (visited.value(), other.value())
            if key != "a":
                visited.clear()

        subtask.backend.apply_to_all_keys(value_of(), visit, subtask.cell)
        assert seen == {"a": ("A", "aa"), "b": ("B", "bb"), "c": ("C", "cc")}
        assert subtask.cell.key == "b"
        assert subtask.backend.keys("value") == ["a"]

    def test_apply_to_all_keys_restores_the_key_after_a_failure(self, subtask):
        state = subtask.state(value_of())
        subtask.at("a")
        state.update(1)
        subtask.leave_key()
        with pytest.raises(ZeroDivisionError):
            subtask.backend.apply_to_all_keys(value_of(), lambda k, s: 1 / 0, subtask.cell)
        assert subtask.cell.key is NO_KEY

    def test_numbers_and_names(self, subtask):
        state, elements = subtask.state(value_of()), subtask.state(list_of())
        for key in range(3):
            subtask.at(key)
            state.update(key)
        elements.add_all([1, 2, 3])
        assert subtask.backend.number_of_entries() == 4
        assert subtask.backend.number_of_entries("list") == 1
        assert subtask.backend.state_names() == ["value", "list"]
        with pytest.raises(StateError, match=r"no state 'nope'.*'list', 'value'"):
            subtask.backend.keys("nope")

    def test_dispose_frees_everything(self, subtask):
        state = subtask.state(value_of())
        subtask.at(1)
        state.update(1)
        subtask.backend.dispose()
        with pytest.raises(StateError, match="disposed"):
            subtask.state(value_of())
        with pytest.raises(StateError, match="disposed"):
            subtask.backend.snapshot()
