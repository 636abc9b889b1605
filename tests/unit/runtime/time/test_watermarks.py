"""Watermark strategies: monotonous, bounded, custom, idleness; and timestamps that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner, Watermark, WatermarkGenerator
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.testing import OperatorHarness, harness

INTERVAL = 200


def by_value(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return strategy.with_timestamp_assigner(lambda value, _: value)


def monotonous() -> OperatorHarness:
    return harness(by_value(WatermarkStrategy.for_monotonous_timestamps()))


def bounded(ms: int) -> OperatorHarness:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(ms))
    return harness(by_value(strategy))


def test_monotonous_timestamps_lag_one_millisecond() -> None:
    with monotonous() as h:
        h.process_many([5, 7])
        assert h.timestamped_output() == [(5, 5), (7, 7)]
        assert h.watermarks() == []
        h.advance_time(INTERVAL)
        assert h.watermarks() == [6]


def test_nothing_is_said_twice() -> None:
    with monotonous() as h:
        h.process(5)
        h.advance_time(INTERVAL)
        h.advance_time(10 * INTERVAL)
        h.process(3)
        h.advance_time(INTERVAL)
        assert h.watermarks() == [4]


def test_before_the_first_record_there_is_no_watermark() -> None:
    with bounded(10) as h:
        h.advance_time(10 * INTERVAL)
        assert h.watermarks() == []
        assert h.current_watermark == MIN_TIMESTAMP


def test_bounded_out_of_orderness_lags_by_the_bound() -> None:
    with bounded(10) as h:
        h.process_many([100, 95, 120, 90])
        h.advance_time(INTERVAL)
        h.process(125)
        h.advance_time(INTERVAL)
        assert h.watermarks() == [109, 114]


def test_the_watermark_never_goes_back() -> None:
    with bounded(0) as h:
        for value in (100, 5, 200, 7):
            h.process(value)
            h.advance_time(INTERVAL)
        assert h.watermarks() == [99, 199]


def test_the_end_of_the_input_is_the_last_watermark() -> None:
    with bounded(10) as h:
        h.process(100)
        h.end_input()
        assert h.watermarks() == [MAX_TIMESTAMP]


def test_watermarks_from_above_are_replaced() -> None:
    with monotonous() as h:
        h.watermark(1_000)
        h.idle()
        assert h.watermarks() == []
        h.process(5)
        h.advance_time(INTERVAL)
        assert h.watermarks() == [4]


class Punctuated(WatermarkGenerator):
    """A record that is a str with an exclamation mark is a watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event == "idle":
            output.mark_idle()
        elif event.endswith("!"):
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def punctuated() -> OperatorHarness:
    strategy = WatermarkStrategy.for_generator(Punctuated)
    return harness(strategy.with_timestamp_assigner(lambda value, _: len(value)))


def test_a_punctuated_generator_puts_watermarks_between_the_records_of_a_batch() -> None:
    with punctuated() as h:
        seen: list[Any] = []
        h._recording.watermark = lambda subtask, ts: seen.append((ts, len(h._recording.main)))
        h.process_many(["a", "bb!", "c", "dddd!", "e"])
        assert seen == [(3, 2), (5, 4)]
        assert h.output() == ["a", "bb!", "c", "dddd!", "e"]


def test_a_generator_that_goes_back_is_ignored() -> None:
    with punctuated() as h:
        h.process_many(["aaaa!", "b!", "cccccc!"])
        assert h.watermarks() == [5, 7]


def test_a_generator_may_mark_itself_idle() -> None:
    with punctuated() as h:
        h.process_many(["a", "idle", "b"])
        assert h._recording.statuses == [True]
        h.process("c!")
        assert h._recording.statuses == [True, False]


class Periodic(WatermarkGenerator):
    def __init__(self) -> None:
        self.calls = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        pass

    def on_periodic_emit(self, output: Any) -> None:
        self.calls += 1
        output.emit_watermark(self.calls)


def test_a_periodic_generator_is_called_although_nothing_comes() -> None:
    with harness(WatermarkStrategy.for_generator(Periodic)) as h:
        h.advance_time(3 * INTERVAL)
        assert h.watermarks() == [1, 2, 3]


def test_a_generator_that_needs_no_timestamps_gets_none() -> None:
    with harness(WatermarkStrategy.for_generator(Punctuated)) as h:
        h.process_many(["a", "b!"])
        h.process_many(["c", "d"], ts=[5, None])
        assert h.output() == ["a", "b!", "c", "d"]


def test_idleness_is_found_out_and_taken_back() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(
        Duration.of_millis(1_000)
    )
    with harness(by_value(strategy)) as h:
        h.process(5)
        h.advance_time(999)
        assert h._recording.statuses == []
        h.advance_time(1)
        assert h._recording.statuses == [True]
        h.advance_time(5_000)
        h.process(9)
        assert h._recording.statuses == [True, False]
        h.advance_time(INTERVAL)
        assert h.watermarks() == [4, 8]


def test_a_stream_without_any_record_becomes_idle() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(
        Duration.of_millis(1_000)
    )
    with harness(by_value(strategy)) as h:
        h.advance_time(1_000)
        assert h._recording.statuses == [True]


def test_no_watermarks_only_assigns_timestamps() -> None:
    with harness(by_value(WatermarkStrategy.no_watermarks())) as h:
        h.process(5)
        h.advance_time(10 * INTERVAL)
        assert h.timestamped_output() == [(5, 5)]
        assert h.watermarks() == []


def test_an_assigner_object_sees_the_timestamp_before() -> None:
    class Later(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return -1 if record_timestamp == MIN_TIMESTAMP else record_timestamp + 1

    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Later())
    with harness(strategy) as h:
        h.process_many(["a", "b"], ts=[10, None])
        h.process("c")
        assert h.timestamped_output() == [("a", 11), ("b", -1), ("c", -1)]


def test_a_whole_float_is_a_timestamp() -> None:
    with monotonous() as h:
        h.process_many([5.0, 7])
        assert [ts for _, ts in h.timestamped_output()] == [5, 7]


@pytest.mark.parametrize("wrong", [None, "12", 1.5, object()])
def test_what_is_no_timestamp_is_refused(wrong: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with harness(strategy.with_timestamp_assigner(lambda value, _: value)) as h:
        with pytest.raises(TypeError, match="milliseconds as an int") as caught:
            h.process_many([1, wrong])
        assert "extract_timestamp" in caught.value.__notes__[0]


def test_an_error_in_the_assigner_names_the_record() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with harness(strategy.with_timestamp_assigner(lambda value, _: value["ts"])) as h:
        with pytest.raises(KeyError) as caught:
            h.process_many([{"ts": 1}, {"time": 2}])
        assert "record {'time': 2}" in caught.value.__notes__[0]


def test_records_without_a_timestamp_do_not_move_the_watermark() -> None:
    with harness(WatermarkStrategy.for_monotonous_timestamps()) as h:
        h.process("without")
        h.advance_time(INTERVAL)
        assert h.watermarks() == []
        h.process_many(["with", "without"], ts=[7, None])
        h.advance_time(INTERVAL)
        assert h.watermarks() == [6]
        assert h.output() == ["without", "with", "without"]
