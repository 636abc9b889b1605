from __future__ import annotations

import datetime
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.watermark_strategy import (
    BoundedOutOfOrdernessWatermarks,
    TimestampAssigner,
    Watermark,
    WatermarkAlignment,
    WatermarkGenerator,
    WatermarkOutput,
)


class Collected:
    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def emit_watermark(self, watermark: Watermark | int) -> None:
        self.watermarks.append(
            watermark.timestamp if isinstance(watermark, Watermark) else watermark
        )

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "mark":
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


def emitted(generator: Any, timestamps: list[int]) -> list[int]:
    output = Collected()
    for timestamp in timestamps:
        generator.on_event("x", timestamp, output)
        generator.on_periodic_emit(output)
    return output.watermarks


def test_monotonous_stays_one_behind() -> None:
    generator = WatermarkStrategy.for_monotonous_timestamps().create_generator()
    assert emitted(generator, [10, 12, 11]) == [9, 11, 11]


def test_bounded_stays_bound_and_one_behind() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    assert emitted(strategy.create_generator(), [10, 8, 20]) == [4, 4, 14]


def test_no_watermarks_emits_none() -> None:
    generator = WatermarkStrategy.no_watermarks().create_generator()
    assert emitted(generator, [10, 20]) == []


def test_nothing_is_emitted_before_the_first_record() -> None:
    output = Collected()
    BoundedOutOfOrdernessWatermarks(5).on_periodic_emit(output)
    assert output.watermarks == []


def test_records_without_timestamp_do_not_move_the_watermark() -> None:
    assert emitted(BoundedOutOfOrdernessWatermarks(5), [MIN_LONG_VALUE]) == []


@given(
    st.lists(st.integers(-(2**62), 2**62), max_size=20), st.integers(0, 1000), st.integers(0, 20)
)
def test_batches_are_the_same_as_records(timestamps: list[int], bound: int, cut: int) -> None:
    by_record = BoundedOutOfOrdernessWatermarks(bound)
    by_batch = BoundedOutOfOrdernessWatermarks(bound)
    for timestamp in timestamps:
        by_record.on_event(None, timestamp, Collected())
    by_batch.on_batch(timestamps[:cut])
    by_batch.on_batch(timestamps[cut:])
    assert by_batch.current_watermark == by_record.current_watermark
    if timestamps:
        assert by_batch.current_watermark == max(timestamps) - bound - 1


@pytest.mark.parametrize(
    "bound", [Duration.of_seconds(2), Time.seconds(2), datetime.timedelta(seconds=2), 2000]
)
def test_bounds_of_all_kinds(bound: Any) -> None:
    assert WatermarkStrategy.for_bounded_out_of_orderness(bound).bound_ms == 2000


def test_refining_leaves_the_original_alone_and_keeps_what_was_set() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    assigner = FirstField()
    full = (
        plain.with_timestamp_assigner(assigner)
        .with_idleness(Duration.of_minutes(1))
        .with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_millis(500))
    )
    assert plain == WatermarkStrategy.for_monotonous_timestamps()
    assert full.timestamp_assigner is assigner
    assert full.idle_timeout_ms == 60_000
    assert full.alignment == WatermarkAlignment("group", 20_000, 500)
    assert full.kind == "monotonous"
    default = plain.with_watermark_alignment("group", Duration.of_seconds(20)).alignment
    assert default == WatermarkAlignment("group", 20_000, 1000)


def test_timestamp_functions() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    assert strategy.timestamp_function() is None
    by_object = strategy.with_timestamp_assigner(FirstField()).timestamp_function()
    by_lambda = strategy.with_timestamp_assigner(lambda value, old: old + 1).timestamp_function()
    assert by_object is not None
    assert by_object((7, "x"), 0) == 7
    assert by_lambda is not None
    assert by_lambda("x", 4) == 5


def test_generators_of_ones_own() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated)
    first, second = strategy.create_generator(), strategy.create_generator()
    assert first is not second
    output = Collected()
    first.on_event("x", 1, output)
    first.on_event("mark", 5, output)
    assert output.watermarks == [5]


def test_pickle() -> None:
    strategy = (
        WatermarkStrategy.for_generator(Punctuated)
        .with_timestamp_assigner(FirstField())
        .with_idleness(5)
    )
    restored = pickle.loads(pickle.dumps(strategy))
    assert isinstance(restored.create_generator(), Punctuated)
    assert restored.timestamp_function()((3,), 0) == 3
    assert restored.idle_timeout_ms == 5
    generator = BoundedOutOfOrdernessWatermarks(5)
    generator.on_batch([10])
    assert pickle.loads(pickle.dumps(generator)).current_watermark == 4


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.for_bounded_out_of_orderness("5 s"),
        lambda s: s.for_generator(Punctuated()),
        lambda s: s.for_generator(5),
        lambda s: s.for_generator(dict).create_generator(),
        lambda s: s.with_timestamp_assigner(5),
        lambda s: s.with_timestamp_assigner(FirstField),
        lambda s: s.with_watermark_alignment(5, 5),
    ],
)
def test_wrong_arguments(build: Any) -> None:
    with pytest.raises(FunctionTypeError):
        build(WatermarkStrategy.no_watermarks())


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.for_bounded_out_of_orderness(-1),
        lambda s: s.with_idleness(0),
        lambda s: s.with_watermark_alignment("g", -1),
        lambda s: s.with_watermark_alignment("g", 1, 0),
    ],
)
def test_impossible_times(build: Any) -> None:
    with pytest.raises(GraphError):
        build(WatermarkStrategy.no_watermarks())


def test_watermarks_order() -> None:
    assert Watermark(1) < Watermark(2) < Watermark.MAX
    assert Watermark.MAX.timestamp == MAX_LONG_VALUE
