"""Evictors: which records stay in a window, before or after it is evaluated."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Time
from headrace.datastream.window import (
    CountEvictor,
    DeltaEvictor,
    DeltaFunction,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
)


def distance(value, last):
    return abs(last - value)


def evicted(evictor, values, after=False):
    elements = [v if isinstance(v, TimestampedValue) else TimestampedValue(v, v) for v in values]
    method = evictor.evict_after if after else evictor.evict_before
    method(elements, len(elements), TimeWindow(0, 100), None)
    return [e.value for e in elements]


@pytest.mark.parametrize(
    "make",
    [
        lambda after: CountEvictor.of(1, after),
        lambda after: DeltaEvictor.of(1, distance, after),
        lambda after: TimeEvictor.of(Time.milliseconds(1), after),
    ],
)
def test_evictors_act_on_one_side(make):
    assert evicted(make(False), [1, 2, 3]) == [3]
    assert evicted(make(False), [1, 2, 3], after=True) == [1, 2, 3]
    assert evicted(make(True), [1, 2, 3]) == [1, 2, 3]
    assert evicted(make(True), [1, 2, 3], after=True) == [3]
    assert evicted(make(False), []) == []


def test_count_keeps_the_last():
    assert evicted(CountEvictor.of(2), [1, 2, 3, 4]) == [3, 4]
    assert evicted(CountEvictor.of(5), [1, 2]) == [1, 2]
    assert evicted(CountEvictor.of(0), [1, 2]) == []
    with pytest.raises(GraphError):
        CountEvictor.of(-1)


def test_delta_keeps_what_is_closer_than_the_threshold_to_the_last():
    class Distance(DeltaFunction):
        def get_delta(self, old_data_point, new_data_point):
            return new_data_point - old_data_point

    assert evicted(DeltaEvictor.of(5, Distance()), [5, 9, 1, 6, 10]) == [9, 6, 10]
    with pytest.raises(FunctionTypeError):
        DeltaEvictor.of(5, None)


def test_time_keeps_a_span_up_to_the_largest_timestamp():
    evictor = TimeEvictor.of(Time.milliseconds(5))
    assert evicted(evictor, [10, 4, 5, 6]) == [10, 6]


def test_time_keeps_all_without_timestamps():
    values = [TimestampedValue(1), TimestampedValue(2)]
    assert evicted(TimeEvictor.of(Time.milliseconds(5)), values) == [1, 2]


def test_timestamped_values():
    value = TimestampedValue("a", 3)
    assert (value.get_value(), value.get_timestamp(), value.has_timestamp()) == ("a", 3, True)
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(TimestampedValue("a", 3))
    assert value != TimestampedValue("a")
    assert repr(value) == "TimestampedValue('a', 3)"
    with pytest.raises(GraphError, match="no timestamp"):
        TimestampedValue("a").get_timestamp()


@pytest.mark.parametrize(
    "evictor", [CountEvictor.of(1), DeltaEvictor.of(1, distance), TimeEvictor.of(1)]
)
def test_evictors_are_picklable(evictor):
    assert type(evictor).__name__ in repr(pickle.loads(pickle.dumps(evictor)))
