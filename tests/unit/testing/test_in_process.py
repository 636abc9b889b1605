"""Whole programs in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, JobExecutionError
from headrace.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import IntCounter
from headrace.testing import MiniRunner, collect, run_in_process

ODD = OutputTag("odd")


class Noted(MapFunction):
    """Adds how many subtasks there are."""

    def open(self, runtime_context: Any) -> None:
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value: int) -> tuple[int, int]:
        return value, self.subtasks


def test_a_job_goes_on_with_another_parallelism() -> None:
    env = environment(1)
    numbers = env.from_collection(list(range(9))).key_by(lambda n: n % 3).map(Noted())
    result = run_in_process(env, {"seen": numbers}, epoch_records=2, rescale_after={1: 3, 3: 2})
    seen = sorted(result["seen"])
    assert [value for value, _ in seen] == list(range(9))
    assert [subtasks for _, subtasks in seen[::2]] == [1, 1, 3, 3, 2]


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def test_collect_gives_the_records_in_order() -> None:
    env = environment()
    assert collect(env.from_collection([1, 2, 3])) == [1, 2, 3]
    assert collect(env.from_collection([1, 2, 3]).map(lambda x: x * 2), limit=2) != []
    assert collect(environment(1).from_sequence(1, 5), epoch_records=2, limit=3) == [1, 2, 3]


def test_the_program_is_forgotten_after_it_ran() -> None:
    env = environment()
    collect(env.from_collection([1]))
    with pytest.raises(GraphError, match="No operators"):
        run_in_process(env)


def test_several_streams_and_side_outputs() -> None:
    class Split(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            if value % 2:
                ctx.output(ODD, value)
            else:
                yield value

    env = environment()
    evens = env.from_sequence(1, 10).process(Split())
    result = run_in_process(env, {"even": evens, "odd": evens.get_side_output(ODD)})
    assert sorted(result["even"]) == [2, 4, 6, 8, 10]
    assert sorted(result["odd"]) == [1, 3, 5, 7, 9]
    assert result.records_out["PROCESS"] == 10


def test_printed_lines_are_kept() -> None:
    env = environment(1)
    env.from_collection(["a", "b"]).print()
    env.from_collection(["c"]).print("id")
    assert sorted(run_in_process(env).printed) == ["a", "b", "id> c"]


@pytest.mark.parametrize(
    ("cuts", "read"),
    [(4, [4, 4, 2]), ([3, 1], [3, 1, 3, 1, 2]), (lambda epoch: epoch, [1, 2, 3, 4])],
)
def test_epochs_are_cut_where_the_caller_says(cuts: Any, read: list[int]) -> None:
    env = environment(1)
    env.from_sequence(1, 10).print()
    result = run_in_process(env, epoch_records=cuts)
    assert result.records_per_epoch == read
    assert result.epochs == len(read)


def test_accumulators_are_added_up() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.counter = IntCounter()
            runtime_context.add_accumulator("seen", self.counter)

        def map(self, value: Any) -> Any:
            self.counter.add(1)
            return value

    env = environment(3)
    env.from_sequence(1, 20).rebalance().map(Counting()).print()
    assert run_in_process(env, epoch_records=3).accumulators == {"seen": 20}


class Delay(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 3_600_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def endless(env: StreamExecutionEnvironment) -> Any:
    """A source that gives one record and then waits for ever."""
    from headrace.common import WatermarkStrategy
    from tests.unit.runtime.operators.test_source_and_sink import Scripted

    source = Scripted([{0: [("only", [[7]])]}], bounded=False)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "endless")


def test_simulated_time_waits_for_nobody() -> None:
    env = environment(1)
    stream = endless(env).key_by(lambda x: x).process(Delay())
    result = run_in_process(env, {"out": stream}, max_epochs=3)
    assert result["out"] == [(7, 3_600_000)], "an hour in no time"


def test_a_real_clock_can_be_used() -> None:
    class Soon(Delay):
        def process_element(self, value: Any, ctx: Any) -> None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 20)

    env = environment(1)
    stream = endless(env).key_by(lambda x: x).process(Soon())
    before = time.time_ns() // 1_000_000
    result = run_in_process(
        env, {"out": stream}, clock=lambda: time.time_ns() // 1_000_000, max_epochs=20
    )
    ((key, fired),) = result["out"]
    assert key == 7
    assert fired >= before + 20


def test_a_failure_is_the_error_of_a_real_job() -> None:
    closed = []

    class Failing(MapFunction):
        def map(self, value: Any) -> Any:
            return 1 // value

    env = environment(1)
    env.from_collection([1, 0]).map(Failing()).uid("inverse").print()
    with pytest.raises(JobExecutionError) as caught:
        run_in_process(env, job_name="inverses")
    assert caught.value.operator_uid == "inverse"
    assert caught.value.job_name == "inverses"
    assert "ZeroDivisionError" in str(caught.value)
    assert closed == []


def test_the_runner_can_be_driven_by_hand() -> None:
    env = environment(2)
    env.from_sequence(1, 10).key_by(lambda x: x).map(lambda x: x).name("keyed").print()
    runner = MiniRunner(env.get_job_graph(), epoch_records=2)
    runner.open()
    runner.run_epoch()
    runner.snapshot_and_restore()
    while not runner.finished:
        runner.run_epoch()
    assert runner.subtask("keyed", 1).task.subtask == 1
    with pytest.raises(HeadraceError, match="no vertex"):
        runner.subtask("other")
    runner.close()
    lines = sorted(int(line.split("> ")[1]) for line in runner.services.printed)
    assert lines == list(range(1, 11))


def test_wrong_arguments_are_refused() -> None:
    env = environment()
    stream = env.from_collection([1])
    with pytest.raises(FunctionTypeError, match="takes an environment"):
        run_in_process(stream)  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="'process' or 'spark'"):
        collect(stream, on="moon")
    with pytest.raises(FunctionTypeError, match="only for on='process'"):
        collect(stream, on="spark", epoch_records=3)
    with pytest.raises(HeadraceError, match="another environment"):
        run_in_process(environment(), {"x": stream})
