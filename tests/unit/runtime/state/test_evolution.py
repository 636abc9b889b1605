"""Saved state under a changed declaration, and state with a serializer of one's own."""

from __future__ import annotations

import struct

import pytest

from headrace.common.errors import FunctionTypeError, StateMigrationError
from headrace.common.serializer import TypeSerializer
from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.runtime.state.operator_state import OperatorStateBackend
from tests.unit.runtime.state.backends import Average, Subtask, read_all

OLD = Types.ROW_NAMED(["user", "clicks"], [Types.STRING(), Types.INT()])
NEW = Types.ROW_NAMED(["clicks", "country"], [Types.INT(), Types.STRING()])


def saved(subtask: Subtask, descriptor, write) -> Subtask:
    """A subtask that starts from a snapshot with one key."""
    state = subtask.state(descriptor)
    subtask.at("k")
    write(state)
    return subtask.restored(subtask.backend.snapshot("full"))


def restored_value(subtask: Subtask, descriptor):
    state = subtask.state(descriptor)
    subtask.at("k")
    return read_all(state)


class TestRows:
    def test_fields_are_added_and_removed_by_name(self, subtask):
        row = Row(user="ada", clicks=3)
        again = saved(subtask, ValueStateDescriptor("s", OLD), lambda s: s.update(row))
        found = restored_value(again, ValueStateDescriptor("s", NEW))
        assert found == Row(clicks=3, country=None)
        assert found.get_field_names() == ["clicks", "country"]

    def test_rows_without_names_and_tuples_go_by_position(self, subtask):
        again = saved(subtask, ListStateDescriptor("s", OLD), lambda s: s.update([("ada", 3)]))
        assert restored_value(again, ListStateDescriptor("s", NEW)) == [(3, None)]

    def test_rows_inside_of_maps(self, subtask):
        def typed(row):
            return MapStateDescriptor("s", Types.STRING(), Types.LIST(row))

        again = saved(subtask, typed(OLD), lambda s: s.put("a", [Row(user="ada", clicks=3)]))
        assert restored_value(again, typed(NEW)) == {"a": [Row(clicks=3, country=None)]}

    def test_with_time_to_live(self, subtask):
        def typed(row):
            descriptor = ListStateDescriptor("s", row)
            ttl = StateTtlConfig.new_builder(Duration.of_seconds(10)).build()
            descriptor.enable_time_to_live(ttl)
            return descriptor

        again = saved(subtask, typed(OLD), lambda s: s.add(Row(user="ada", clicks=3)))
        assert restored_value(again, typed(NEW)) == [Row(clicks=3, country=None)]

    def test_the_new_form_is_in_the_next_snapshot(self, subtask):
        again = saved(subtask, ValueStateDescriptor("s", OLD), lambda s: s.update(Row("ada", 3)))
        restored_value(again, ValueStateDescriptor("s", NEW))
        third = again.restored(again.backend.snapshot("full"))
        assert restored_value(third, ValueStateDescriptor("s", NEW)) == Row(3, None)

    def test_another_type_of_a_field_is_refused(self, subtask):
        changed = Types.ROW_NAMED(["user", "clicks"], [Types.STRING(), Types.STRING()])
        again = saved(subtask, ValueStateDescriptor("s", OLD), lambda s: s.update(Row("ada", 3)))
        with pytest.raises(StateMigrationError, match=r"saved as .* migrate_from\(\)"):
            again.state(ValueStateDescriptor("s", changed))

    def test_rows_that_share_no_field_are_refused(self, subtask):
        other = Types.ROW_NAMED(["x"], [Types.STRING()])
        again = saved(subtask, ValueStateDescriptor("s", OLD), lambda s: s.update(Row("ada", 3)))
        with pytest.raises(StateMigrationError, match="choose a new state name"):
            again.state(ValueStateDescriptor("s", other))

    def test_other_keys_of_a_map_are_refused(self, subtask):
        before = MapStateDescriptor("s", Types.STRING(), OLD)
        again = saved(subtask, before, lambda s: s.put("a", Row("ada", 3)))
        with pytest.raises(StateMigrationError):
            again.state(MapStateDescriptor("s", Types.INT(), NEW))


class TestMigration:
    def test_a_function_makes_new_values_of_old_ones(self, subtask):
        again = saved(subtask, ValueStateDescriptor("s", Types.INT()), lambda s: s.update(7))
        now = ValueStateDescriptor("s", Types.STRING()).migrate_from(Types.INT(), str)
        assert restored_value(again, now) == "7"

    def test_it_sees_each_element_of_a_list(self, subtask):
        again = saved(subtask, ListStateDescriptor("s", Types.INT()), lambda s: s.update([1, 2]))
        now = ListStateDescriptor("s", Types.STRING()).migrate_from(Types.INT(), str)
        assert restored_value(again, now) == ["1", "2"]

    def test_a_migration_from_yet_another_type_does_not_count(self, subtask):
        again = saved(subtask, ValueStateDescriptor("s", Types.INT()), lambda s: s.update(7))
        now = ValueStateDescriptor("s", Types.STRING()).migrate_from(Types.LONG(), str)
        with pytest.raises(StateMigrationError):
            again.state(now)

    @pytest.mark.parametrize("arguments", [(int, str), (Types.INT(), "str")])
    def test_wrong_arguments(self, arguments):
        with pytest.raises(FunctionTypeError, match="migrate_from"):
            ValueStateDescriptor("s", Types.STRING()).migrate_from(*arguments)

    def test_operator_state(self):
        before = OperatorStateBackend("op")
        before.get_list_state(ListStateDescriptor("s", OLD)).add(Row(user="ada", clicks=3))
        now = OperatorStateBackend("op")
        now.restore({0: before.snapshot()}, 1, 0, 1)
        found = now.get_list_state(ListStateDescriptor("s", NEW)).get()
        assert found == [Row(clicks=3, country=None)]


class Pair(TypeSerializer):
    """Pairs of ints in eight bytes."""

    def serialize(self, element, stream):
        stream.write(struct.pack(">ii", *element))

    def deserialize(self, stream):
        return struct.unpack(">ii", stream.read(8))


class PairTwo(Pair):
    """The next version: 16 bytes. It has the same name in a later release of a program."""

    version = 2

    def serialize(self, element, stream):
        stream.write(struct.pack(">qq", *element))

    def deserialize(self, stream):
        return struct.unpack(">qq", stream.read(16))

    def deserialize_old(self, stream, version):
        assert version == 1
        return super().deserialize(stream)


class PairSum(Average):
    """Counts in an accumulator that is a pair."""

    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value, accumulator[1] + 1)


class TestSerializers:
    @pytest.mark.parametrize(
        ("descriptor", "write", "expected"),
        [
            (ValueStateDescriptor("s", Pair()), lambda s: s.update((1, 2)), (1, 2)),
            (ListStateDescriptor("s", Pair()), lambda s: s.add_all([(1, 2)]), [(1, 2)]),
            (
                MapStateDescriptor("s", Pair(), Pair()),
                lambda s: s.put_all({(1, 2): (3, 4)}),
                {(1, 2): (3, 4)},
            ),
            (
                ReducingStateDescriptor("s", lambda a, b: (a[0] + b[0], a[1] + b[1]), Pair()),
                lambda s: [s.add((1, 2)), s.add((3, 4))],
                (4, 6),
            ),
            (
                AggregatingStateDescriptor("s", PairSum(), Pair()),
                lambda s: [s.add(2), s.add(4)],
                3.0,
            ),
        ],
        ids=["value", "list", "map", "reducing", "aggregating"],
    )
    def test_every_kind_comes_back_from_a_snapshot(self, subtask, descriptor, write, expected):
        again = saved(subtask, descriptor, write)
        assert restored_value(again, descriptor) == expected

    def test_the_table_holds_the_serializers_bytes(self, subtask):
        again = saved(subtask, ValueStateDescriptor("s", Pair()), lambda s: s.update((1, 2)))
        again.state(ValueStateDescriptor("s", Pair()))
        stored = again.backend._tables["s"].entries.get("k")
        assert stored == b"\x01" + struct.pack(">ii", 1, 2)

    def test_a_map_finds_and_removes_by_the_bytes_of_a_key(self, subtask):
        state = subtask.state(MapStateDescriptor("s", Pair(), Types.STRING()))
        subtask.at("k")
        state.put((1, 2), "a")
        assert state.contains((1, 2))
        assert list(state.keys()) == [(1, 2)]
        state.remove((1, 2))
        assert state.is_empty()

    def test_a_default_value_is_not_serialized(self, subtask):
        state = subtask.state(ValueStateDescriptor("s", Pair(), default_value=(0, 0)))
        subtask.at("k")
        assert state.value() == (0, 0)

    def test_a_later_version_reads_the_bytes_of_an_earlier_one(self, subtask):
        PairTwo.__name__ = "Pair"
        again = saved(subtask, ValueStateDescriptor("s", Pair()), lambda s: s.update((1, 2)))
        assert restored_value(again, ValueStateDescriptor("s", PairTwo())) == (1, 2)

    def test_a_version_that_cannot_read_the_bytes_says_so(self, subtask):
        class Next(Pair):
            version = 3

        Next.__name__ = "Pair"
        again = saved(subtask, ValueStateDescriptor("s", Pair()), lambda s: s.update((1, 2)))
        with pytest.raises(StateMigrationError, match=r"version 1 .* version 3 .*deserialize_old"):
            restored_value(again, ValueStateDescriptor("s", Next()))

    def test_another_serializer_is_refused(self, subtask):
        class Other(Pair):
            pass

        again = saved(subtask, ValueStateDescriptor("s", Pair()), lambda s: s.update((1, 2)))
        with pytest.raises(StateMigrationError, match="SerializedTypeInfo<Other>"):
            again.state(ValueStateDescriptor("s", Other()))

    def test_operator_state(self):
        before = OperatorStateBackend("op")
        before.get_list_state(ListStateDescriptor("s", Pair())).add((1, 2))
        now = OperatorStateBackend("op")
        now.restore({0: before.snapshot()}, 1, 0, 1)
        assert now.get_list_state(ListStateDescriptor("s", Pair())).get() == [(1, 2)]

    def test_broadcast_state_takes_none(self):
        with pytest.raises(FunctionTypeError, match="does not accept a TypeSerializer"):
            OperatorStateBackend("op").get_broadcast_state(MapStateDescriptor("s", Pair()))
