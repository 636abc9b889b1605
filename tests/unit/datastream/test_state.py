"""State descriptors, time-to-live settings, and the conveniences of the state interfaces."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time
from headrace.common.typeinfo import Types
from headrace.datastream.functions import AggregateFunction, ReduceFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Larger(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


def test_descriptors_carry_name_and_types():
    value = ValueStateDescriptor("v", Types.LONG())
    assert (value.name, value.get_name(), value.type_info) == ("v", "v", Types.LONG())
    items = ListStateDescriptor("l", Types.STRING())
    assert items.type_info == Types.LIST(Types.STRING())
    assert items.elem_type_info == Types.STRING()
    mapping = MapStateDescriptor("m", Types.STRING(), Types.LONG())
    assert mapping.type_info == Types.MAP(Types.STRING(), Types.LONG())
    assert (mapping.key_type_info, mapping.value_type_info) == (Types.STRING(), Types.LONG())


def test_a_type_is_optional():
    assert ValueStateDescriptor("v").type_info == Types.PICKLED_BYTE_ARRAY()
    assert MapStateDescriptor("m").type_info == Types.MAP(
        Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY()
    )


def test_each_default_value_is_a_copy():
    descriptor = ValueStateDescriptor("v", None, default_value=[])
    descriptor.get_default_value().append(1)
    assert descriptor.get_default_value() == []
    assert ValueStateDescriptor("v").get_default_value() is None


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_is_needed(name):
    with pytest.raises(GraphError):
        ValueStateDescriptor(name, Types.LONG())


@pytest.mark.parametrize(
    "make",
    [
        lambda t: ValueStateDescriptor("s", t),
        lambda t: ListStateDescriptor("s", t),
        lambda t: MapStateDescriptor("s", Types.STRING(), t),
        lambda t: MapStateDescriptor("s", t, Types.STRING()),
        lambda t: ReducingStateDescriptor("s", max, t),
        lambda t: AggregatingStateDescriptor("s", Sum(), t),
    ],
)
def test_a_type_that_is_none_is_refused(make):
    with pytest.raises(FunctionTypeError, match=r"call it with \(\)"):
        make(Types.LONG)
    with pytest.raises(FunctionTypeError, match="'s'"):
        make("LONG")


def test_reducing_state_takes_functions_and_callables():
    assert ReducingStateDescriptor("r", max, Types.LONG()).get_reduce_function().reduce(1, 2) == 2
    larger = Larger()
    assert ReducingStateDescriptor("r", larger, Types.LONG()).get_reduce_function() is larger
    with pytest.raises(FunctionTypeError):
        ReducingStateDescriptor("r", 3, Types.LONG())
    with pytest.raises(FunctionTypeError, match="instance"):
        ReducingStateDescriptor("r", Larger, Types.LONG())


def test_aggregating_state_takes_only_aggregate_functions():
    total = Sum()
    assert AggregatingStateDescriptor("a", total, Types.LONG()).get_agg_function() is total
    with pytest.raises(TypeError):
        AggregatingStateDescriptor("a", lambda a, b: a, Types.LONG())


def test_descriptors_are_equal_by_kind_and_name():
    assert ValueStateDescriptor("a", Types.LONG()) == ValueStateDescriptor("a", Types.STRING())
    assert ValueStateDescriptor("a") != ListStateDescriptor("a")
    assert len({ValueStateDescriptor("a"), ValueStateDescriptor("a")}) == 1


def test_ttl_defaults():
    config = StateTtlConfig.new_builder(Time.hours(1)).build()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.get_ttl_time_characteristic() is characteristic
    assert config.get_ttl() == Time.hours(1)
    assert config.get_time_to_live() == Duration.of_hours(1)
    assert config.ttl_ms == 3_600_000
    assert config.is_enabled()
    strategies = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()
    assert strategies.get_incremental_cleanup_strategy().get_cleanup_size() == 5
    assert not strategies.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    rocksdb = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert rocksdb.get_query_time_after_num_entries() == 1000
    assert rocksdb.get_periodic_compaction_time() == Duration.of_days(30)


def test_ttl_builder_sets_everything():
    config = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(timedelta(seconds=2))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(7, Time.days(1))
        .disable_cleanup_in_background()
        .build()
    )
    config = pickle.loads(pickle.dumps(config))
    assert config.ttl_ms == 2000
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    visibility = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert config.get_state_visibility() is visibility
    strategies = config.get_cleanup_strategies()
    assert strategies.in_full_snapshot()
    assert not strategies.is_cleanup_in_background()
    assert strategies.get_incremental_cleanup_strategy().get_cleanup_size() == 10
    assert strategies.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    rocksdb = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert rocksdb.get_query_time_after_num_entries() == 7
    assert rocksdb.get_periodic_compaction_time() == Duration.of_days(1)
    assert "2000 ms" in repr(config)


def test_a_built_config_does_not_change_with_its_builder():
    builder = StateTtlConfig.new_builder(Time.seconds(1))
    config = builder.build()
    builder.cleanup_full_snapshot()
    assert not config.get_cleanup_strategies().in_full_snapshot()


def test_without_background_cleanup_there_is_no_default_strategy():
    builder = StateTtlConfig.new_builder(Time.seconds(1)).disable_cleanup_in_background()
    strategies = builder.build().get_cleanup_strategies()
    assert strategies.get_incremental_cleanup_strategy() is None
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy() is None


def test_wrong_ttl_settings_are_refused():
    with pytest.raises(GraphError, match="at least one millisecond"):
        StateTtlConfig.new_builder(Time.seconds(0)).build()
    with pytest.raises(FunctionTypeError):
        StateTtlConfig.new_builder("1 h").build()
    with pytest.raises(GraphError, match="positive number of entries"):
        StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(0, False)
    with pytest.raises(GraphError):
        StateTtlConfig.new_builder(Time.seconds(1)).cleanup_in_rocksdb_compact_filter(-1)
    with pytest.raises(FunctionTypeError, match="UpdateType"):
        StateTtlConfig.new_builder(Time.seconds(1)).set_update_type("x").build()


def test_ttl_of_a_descriptor():
    descriptor = ValueStateDescriptor("v", Types.LONG())
    assert descriptor.ttl_config is None
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    descriptor.enable_time_to_live(config)
    assert descriptor.ttl_config is config
    assert pickle.loads(pickle.dumps(descriptor)).ttl_config.ttl_ms == 1000
    descriptor.enable_time_to_live(StateTtlConfig.DISABLED)
    assert descriptor.ttl_config is None
    with pytest.raises(FunctionTypeError, match="build"):
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)))


class _Dict(MapState, BroadcastState):
    def __init__(self):
        self.data = {}

    def get(self, key):
        return self.data.get(key)

    def put(self, key, value):
        self.data[key] = value

    def put_all(self, dict_value):
        self.data.update(dict_value)

    def remove(self, key):
        self.data.pop(key, None)

    def contains(self, key):
        return key in self.data

    def items(self):
        return self.data.items()

    def keys(self):
        return self.data.keys()

    def values(self):
        return self.data.values()

    def is_empty(self):
        return not self.data

    def clear(self):
        self.data.clear()


class _List(ListState):
    def __init__(self):
        self.data = []

    def get(self):
        return self.data

    def add(self, value):
        self.data.append(value)

    def add_all(self, values):
        self.data.extend(values)

    def update(self, values):
        self.data = list(values)

    def clear(self):
        self.data = []


def test_map_state_behaves_like_a_dict_that_forgives():
    state = _Dict()
    state["a"] = 1
    assert state["a"] == 1
    assert state["missing"] is None
    assert "a" in state
    assert list(state) == ["a"]
    del state["a"]
    del state["a"]
    assert "a" not in state


def test_list_state_is_iterable():
    state = _List()
    state.add_all([1, 2])
    assert list(state) == [1, 2]
