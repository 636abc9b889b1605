"""Records that fail go to a side output, and the operator goes on exactly behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DeadLetter
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, ProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.specs import ProcessSpec
from headrace.testing import run_in_process
from headrace.testing.harness import OperatorHarness

FAILED = OutputTag("failed")
INPUT = ["1", "x", "2", "", "3", "y"]


def strings(values: list[Any] = INPUT) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env, env.from_collection(values)


def run(env: StreamExecutionEnvironment, stream: DataStream[Any]) -> tuple[list[Any], list[Any]]:
    result = run_in_process(env, {"good": stream, "bad": stream.get_side_output(FAILED)})
    return result["good"], result["bad"]


def records(letters: list[DeadLetter]) -> list[Any]:
    return [letter.record for letter in letters]


def test_map() -> None:
    env, stream = strings()
    good, bad = run(env, stream.map(int).name("parse").on_error(FAILED))
    assert good == [1, 2, 3]
    assert records(bad) == ["x", "", "y"]
    letter = bad[0]
    assert letter.error_type == "ValueError"
    assert letter.message == "invalid literal for int() with base 10: 'x'"
    assert (letter.operator, letter.where, letter.timestamp) == ("parse", "map", None)
    assert "ValueError" in letter.traceback


def test_no_record_is_given_twice() -> None:
    class Counting(MapFunction):
        def __init__(self) -> None:
            self.calls = 0

        def map(self, value: str) -> tuple[int, int]:
            self.calls += 1
            return int(value), self.calls

    env, stream = strings()
    good, _ = run(env, stream.map(Counting()).on_error(FAILED))
    assert good == [(1, 1), (2, 3), (3, 5)]


def test_filter_and_flat_map_keep_timestamps_beside_their_records() -> None:
    env, stream = strings()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, _: INPUT.index(value))
    )
    kept = stream.filter(lambda value: int(value) != 2).on_error(FAILED)
    stamped = kept.process(Stamps())
    result = run_in_process(env, {"good": stamped, "bad": kept.get_side_output(FAILED)})
    assert result["good"] == [("1", 0), ("3", 4)]
    assert [(b.record, b.timestamp) for b in result["bad"]] == [("x", 1), ("", 3), ("y", 5)]

    env, stream = strings()
    good, bad = run(env, stream.flat_map(lambda v: [int(v)] * 2).on_error(FAILED))
    assert good == [1, 1, 2, 2, 3, 3]
    assert records(bad) == ["x", "", "y"]


class Stamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


def test_a_generator_that_fails_halfway_emits_nothing_of_its_record() -> None:
    def halves(value: str) -> Iterator[Any]:
        yield value
        yield int(value)

    env, stream = strings()
    good, bad = run(env, stream.flat_map(halves).on_error(FAILED))
    assert good == ["1", 1, "2", 2, "3", 3]
    assert len(bad) == 3


class Sums(KeyedProcessFunction[str, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield "begun"
        yield ctx.get_current_key(), self.seen.value(), int(value)


@pytest.mark.parametrize("with_time", [False, True])
def test_process_goes_on_with_state_and_key(with_time: bool) -> None:
    env, stream = strings(["1", "x", "2"])
    if with_time:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        stream = stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda value, _: 7)
        )
    good, bad = run(env, stream.key_by(lambda _: "k").process(Sums()).on_error(FAILED))
    # State that was changed and records that were emitted before the failure stay.
    assert good == ["begun", ("k", 1, 1), "begun", "begun", ("k", 3, 2)]
    assert [(b.record, b.where) for b in bad] == [("x", "process_element")]
    assert bad[0].timestamp == (7 if with_time else None)


class Alarms(KeyedProcessFunction[str, Any, Any]):
    """An event-time timer for each record, which fails for some keys."""

    def process_element(self, value: str, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(len(value))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "begun"
        yield int(ctx.get_current_key()), timestamp


def test_timers() -> None:
    env, stream = strings(["1", "x", "20"])
    good, bad = run(env, stream.key_by(lambda v: v).process(Alarms()).name("a").on_error(FAILED))
    assert sorted(good, key=str) == [(1, 1), (20, 2), "begun", "begun", "begun"]
    [letter] = bad
    assert (letter.record, letter.timestamp, letter.where) == ("x", 1, "on_timer(1)")
    assert (letter.operator, letter.error_type) == ("a", "ValueError")

    env, stream = strings(["x"])
    with pytest.raises(JobExecutionError, match=r"on_timer\(1\) of key 'x'"):
        run_in_process(env, {"all": stream.key_by(lambda v: v).process(Alarms())})


def test_processing_time_timers() -> None:
    class Alarm(Alarms):
        def process_element(self, value: str, ctx: Any) -> None:
            ctx.timer_service().register_processing_time_timer(len(value))

    spec = ProcessSpec(Alarm(), FAILED)
    with OperatorHarness(spec, [lambda value: value]) as harness:
        harness.process_many(["1", "x"])
        harness.advance_time(10)
        assert sorted(harness.output(), key=str) == [(1, 1), "begun", "begun"]
        [letter] = harness.side_output(FAILED)
    assert (letter.record, letter.timestamp, letter.where) == ("x", None, "on_timer(1)")


def test_results_that_are_not_of_the_declared_type() -> None:
    env, stream = strings(["1", "x", "2"])
    numbers = {"1": 1, "x": "no number", "2": 2}
    stream = stream.map(numbers.get, Types.INT()).name("parse").on_error(FAILED)
    good, bad = run(env, stream)
    assert good == [1, 2]
    [letter] = bad
    assert (letter.record, letter.error_type) == ("no number", "TypeMismatchError")
    assert (letter.operator, letter.where) == ("parse", "converting to Integer")
    assert "does not fit the declared type" in letter.message


def test_results_keep_their_timestamps_when_others_do_not_fit() -> None:
    class Results(ProcessFunction):
        def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield int(value) if value.isdigit() else value

    env, stream = strings()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, _: INPUT.index(value))
    )
    kept = stream.process(Results(), Types.INT()).on_error(FAILED)
    result = run_in_process(
        env, {"good": kept.process(Stamps()), "bad": kept.get_side_output(FAILED)}
    )
    assert result["good"] == [(1, 0), (2, 2), (3, 4)]
    assert [(b.record, b.timestamp) for b in result["bad"]] == [("x", 1), ("", 3), ("y", 5)]


def test_without_on_error_the_job_fails_at_the_record() -> None:
    env, stream = strings()
    with pytest.raises(JobExecutionError) as caught:
        run_in_process(env, {"all": stream.map(int)})
    assert caught.value.record == "'x'"


def test_a_failure_further_down_is_not_taken_for_one_of_this_operator() -> None:
    env, stream = strings(["1"])
    bad = stream.map(int).on_error(FAILED).map(lambda n: n / 0)
    with pytest.raises(JobExecutionError, match="division by zero"):
        run_in_process(env, {"all": bad})


def test_stop_iteration_is_a_failure_like_any_other() -> None:
    env, stream = strings(["1", "", "2"])
    good, bad = run(env, stream.map(lambda value: next(iter(value))).on_error(FAILED))
    assert good == ["1", "2"]
    assert [b.message for b in bad] == ["map raised StopIteration"]


@dataclass(frozen=True)
class Split:
    split_id: str = "all"


class Bytes(Source):
    """A connector that deserializes."""

    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([Split()], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return BytesReader(context)


class BytesReader(SourceReader):
    def __init__(self, context: ReaderContext) -> None:
        self.context = context
        self.left = [b"1", b"\xff", b"2"]

    def add_splits(self, splits: Any) -> None: ...

    def poll(self, max_records: int) -> ReadBatch | None:
        values: list[Any] = []
        while self.left:
            data = self.left.pop(0)
            try:
                values.append(data.decode())
            except UnicodeDecodeError as error:
                if not self.context.set_aside(data, error, 5):
                    raise
        return ReadBatch("all", values) if values else None

    def snapshot(self) -> list[Any]:
        return []

    @property
    def exhausted(self) -> bool:
        return not self.left


def test_what_a_source_cannot_deserialize() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_source(Bytes(), WatermarkStrategy.no_watermarks(), "bytes")
    good, bad = run(env, stream.on_error(FAILED))
    assert good == ["1", "2"]
    assert [(b.record, b.error_type, b.where) for b in bad] == [
        (b"\xff", "UnicodeDecodeError", "deserialization")
    ]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_source(Bytes(), WatermarkStrategy.no_watermarks(), "bytes")
    with pytest.raises(JobExecutionError, match="UnicodeDecodeError"):
        run_in_process(env, {"all": stream})


def test_errors_while_building() -> None:
    _, stream = strings()
    with pytest.raises(FunctionTypeError, match="OutputTag"):
        stream.map(int).on_error("failed")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="right after the operation"):
        stream.map(int).rebalance().on_error(FAILED)
    with pytest.raises(GraphError, match="not for 'Reduce'"):
        stream.key_by(int).reduce(max).on_error(FAILED)
