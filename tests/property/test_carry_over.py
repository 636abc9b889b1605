"""Epochs that are cut short anywhere: what was on its way is in the checkpoint, for any job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Types
from headrace.common.errors import HeadraceError
from headrace.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.datastream.state import MapStateDescriptor
from headrace.testing.runner import MiniRunner
from tests.examples import examples
from tests.property.live_slots import carried
from tests.property.programs import (
    CountAndTrace,
    SumUntilTimer,
    bucketed,
    counted,
    key_of,
    strategy,
)

Stream = Any
Program = Callable[[StreamExecutionEnvironment, int], Stream]
EVENTS = [(n % 7, n) for n in range(60)]
LATE = OutputTag("late")
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value if value[1] % 2 else (LATE, value)


class Same(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "first", value

    def map2(self, value: Any) -> Any:
        return "second", value


class WithRules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(str(value), value)


def events(env: StreamExecutionEnvironment) -> Stream:
    return env.from_collection(EVENTS).uid("events")


def counting(env: StreamExecutionEnvironment, width: int) -> Stream:
    return events(env).key_by(key_of).process(CountAndTrace()).uid("count")


def timing(env: StreamExecutionEnvironment, width: int) -> Stream:
    # A watermark that overtakes a record would have a bucket fire twice.
    timed = events(env).assign_timestamps_and_watermarks(strategy(0)).uid("times")
    timed = timed.set_parallelism(1)
    return timed.key_by(key_of).process(SumUntilTimer()).uid("timers")


def passing_on(env: StreamExecutionEnvironment, width: int) -> Stream:
    spread = events(env).rebalance().map(lambda e: e).uid("a").shuffle().map(lambda e: e).uid("b")
    custom = spread.partition_custom(lambda key, n: key % n, key_of).map(lambda e: e).uid("c")
    return custom.global_().map(lambda e: e).uid("d")


def two_inputs(env: StreamExecutionEnvironment, width: int) -> Stream:
    odd = events(env).rebalance().process(Split()).uid("split")
    even = odd.get_side_output(LATE)
    return odd.key_by(key_of).connect(even.key_by(key_of)).map(Same()).uid("both")


def broadcast(env: StreamExecutionEnvironment, width: int) -> Stream:
    rules = env.from_collection([1, 2, 3]).uid("rules").broadcast(RULES)
    return events(env).rebalance().connect(rules).process(WithRules()).uid("ruled")


EXPECTED: dict[Program, list[Any]] = {
    counting: counted(EVENTS),
    timing: bucketed(EVENTS),
    passing_on: EVENTS,
    two_inputs: [("first" if e[1] % 2 else "second", e) for e in EVENTS],
    broadcast: EVENTS,
}


def runner(program: Program, width: int, records: int, restore: str | None = None) -> MiniRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(width)
    env.set_max_parallelism(8)
    env.get_config().set_auto_watermark_interval(1)
    out = program(env, width)
    out.sink_to(CollectSink("out")).name("out").uid("out")
    made = MiniRunner(env.get_job_graph(), epoch_records=records, restore_path=restore)
    made.open(checkpointing=True)
    return made


def results(*runs: MiniRunner) -> list[Any]:
    found = [r for run in runs for r in run.services.collected.get("out", [])]
    # Of timers it is the watermark that depends on the cuts.
    return sorted(r[:3] if len(r) == 4 else r for r in found)


def expected(program: Program) -> list[Any]:
    return sorted(EXPECTED[program])


@pytest.mark.parametrize("program", EXPECTED, ids=lambda program: program.__name__)
@examples(15)
@given(
    before=st.integers(1, 4),
    after=st.integers(1, 4),
    records=st.integers(1, 30),
    epochs=st.integers(1, 8),
    ends=st.lists(st.none() | st.integers(0, 6), min_size=1, max_size=4),
    memory=st.sampled_from([100, 10_000]),
    live=st.booleans(),
)
def test_a_checkpoint_has_what_was_on_its_way_at_any_parallelism(
    program: Program,
    before: int,
    after: int,
    records: int,
    epochs: int,
    ends: list[int | None],
    memory: int,
    live: bool,
) -> None:
    with carried(True, [*ends, None], memory):
        first = runner(program, before, records)
        while first.epochs < epochs and not first.finished:
            first.run_epoch()
        if first.finished:
            assert results(first) == expected(program)
            first.close()
            return
        snapshot = first.snapshot()
    with carried(live, [*ends, None], memory):
        second = runner(program, after, records, snapshot.directory)
        while not second.finished:
            second.run_epoch()
        assert results(first, second) == expected(program)
        second.close()
    first.close(quietly=True)


def test_frames_are_carried_over_and_restored_and_some_are_in_a_file() -> None:
    with carried(True, [0], memory=100):
        first = runner(counting, 2, 20)
        first.run_epoch()
        queues = [subtask.input.carried for subtask in first.subtasks.values()]
        assert sum(queue.spilled for queue in queues) > 0
        assert not results(first)
        snapshot = first.snapshot()
    with carried(True, [None]):
        second = runner(counting, 3, 20, snapshot.directory)
        while not second.finished:
            second.run_epoch()
        assert results(second) == expected(counting)
        second.close()
    first.close(quietly=True)


def test_a_program_without_the_exchange_is_refused() -> None:
    def otherwise(env: StreamExecutionEnvironment, width: int) -> Stream:
        return events(env).rebalance().map(lambda e: (e, 1)).uid("count")

    with carried(True, [0]):
        first = runner(counting, 2, 20)
        first.run_epoch()
        snapshot = first.snapshot()
        with pytest.raises(HeadraceError, match=r"frames of records .* take a savepoint"):
            runner(otherwise, 2, 20, snapshot.directory)
    first.close(quietly=True)


def test_only_exchanges_with_frames_must_be_there() -> None:
    def beside(env: StreamExecutionEnvironment, width: int) -> Stream:
        # A source that is as wide as its receiver needs no exchange for all.
        narrow = env.from_collection(EVENTS).uid("narrow")
        return events(env).rebalance().connect(narrow).map(Same()).uid("both")

    with carried(True, [0]):
        first = runner(beside, 1, 20)
        first.run_epoch()
        snapshot = first.snapshot()
    with carried(True, [None]):
        second = runner(beside, 2, 20, snapshot.directory)
        while not second.finished:
            second.run_epoch()
        assert results(first, second) == sorted((n, e) for n in ("first", "second") for e in EVENTS)
        second.close()
    first.close(quietly=True)


def test_a_stream_whose_records_wait_is_not_idle() -> None:
    def timed(env: StreamExecutionEnvironment, width: int) -> Stream:
        idle = strategy().with_idleness(Duration.of_millis(1))
        return events(env).rebalance().assign_timestamps_and_watermarks(idle).name("times")

    with carried(True, [0]):
        made = runner(timed, 2, 20)
        statuses: list[bool] = []
        for number in range(2):
            head = made.subtask("times", number).head
            head.output.status = statuses.append  # type: ignore[method-assign]
        for _ in range(3):
            made.run_epoch()
        assert statuses == []
    made.close(quietly=True)
