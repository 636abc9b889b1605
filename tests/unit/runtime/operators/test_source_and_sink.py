"""Both ends of a job: budgets, watermarks of splits, idleness; writing, flushing, failing."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common.errors import JobExecutionError
from headrace.common.watermark_strategy import WatermarkGenerator
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import (
    ReadBatch,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.functions import SinkFunction
from headrace.graph.specs import SourceSpec
from headrace.runtime.batch import MAX_TIMESTAMP
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.operator import OperatorContext, SubtaskServices, TaskInfo
from headrace.runtime.operators.source import SourceOperator
from headrace.testing import MiniRunner, harness

SCRIPTS: dict[str, Any] = {}


class ScriptedEnumerator(SplitEnumerator):
    """Gives the splits of each discovery as the script says."""

    def __init__(self, rounds: list[dict[int, list[Any]]], bounded: bool) -> None:
        self._rounds = deque(rounds)
        self._bounded = bounded

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        return self._rounds.popleft() if self._rounds else {}

    @property
    def finished(self) -> bool:
        return self._bounded and not self._rounds


class ScriptedReader(SourceReader):
    """A split is a name and the batches of timestamps that it gives, one batch for each poll."""

    def __init__(self) -> None:
        self._splits: deque[tuple[str, list[list[int]]]] = deque()
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._splits.extend((name, list(batches)) for name, batches in splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._splits and not self._splits[0][1]:
            self._finished.append(self._splits.popleft()[0])
        if not self._splits:
            return None
        name, batches = self._splits[0]
        self._splits.rotate(-1)
        return ReadBatch(name, list(batches.pop(0)))

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[Any]:
        return [s for s in self._splits if s[1]]

    @property
    def exhausted(self) -> bool:
        return not self.snapshot()


class Scripted(Source):
    def __init__(self, rounds: list[dict[int, list[Any]]], bounded: bool = True) -> None:
        self.rounds = rounds
        self._bounded = bounded

    @property
    def bounded(self) -> bool:
        return self._bounded

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return ScriptedEnumerator(self.rounds, self._bounded)

    def create_reader(self, context: Any) -> SourceReader:
        return ScriptedReader()


class ColumnsReader(ScriptedReader):
    def poll(self, max_records: int) -> ReadBatch | None:
        batch = super().poll(max_records)
        if batch is None:
            return None
        columns = pa.record_batch([batch.values], names=["a"])
        return ReadBatch(batch.split_id, [columns], columns=True)


class Columns(Scripted):
    """The same, as columns of Arrow."""

    def create_reader(self, context: Any) -> SourceReader:
        return ColumnsReader()


class Watching(Sink):
    """Writes records and watermarks into a list of this process."""

    def __init__(self, name: str = "seen") -> None:
        self.name = name
        SCRIPTS[name] = []

    def create_writer(self, context: Any) -> SinkWriter:
        return Writer(SCRIPTS[self.name])


class Writer(SinkWriter):
    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def write(self, values: list[Any], timestamps: Any) -> None:
        self.seen.extend(values)

    def on_watermark(self, timestamp: int) -> None:
        self.seen.append(("wm", timestamp))

    def flush(self, end_of_input: bool) -> None:
        self.seen.append("last flush" if end_of_input else "flush")

    def close(self) -> None:
        self.seen.append("close")


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def monotonous() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(lambda value, _: value)


def runner_of(
    source: Source, strategy: WatermarkStrategy, parallelism: int = 1, **settings: Any
) -> MiniRunner:
    env = environment(parallelism)
    env.from_source(source, strategy, "scripted").sink_to(Watching())
    return MiniRunner(env.get_job_graph(), **settings)


def watermarks() -> list[int]:
    return [e[1] for e in SCRIPTS["seen"] if isinstance(e, tuple)]


def test_a_source_reads_no_more_than_its_budget_in_an_epoch() -> None:
    env = environment(2)
    env.from_sequence(1, 20).sink_to(Watching())
    runner = MiniRunner(env.get_job_graph(), epoch_records=[3, 1, 7])
    runner.run()
    assert runner.records_per_epoch == [6, 2, 12]
    assert sorted(e for e in SCRIPTS["seen"] if isinstance(e, int)) == list(range(1, 21))


@pytest.mark.parametrize("sinks", [1, 2], ids=["chained", "behind an exchange"])
def test_the_rows_of_columns_are_counted_and_not_their_batches(sinks: int) -> None:
    env = environment(1)
    splits = {0: [("a", [[1, 2, 3], [4, 5]]), ("b", [[6]])]}
    stream = env.from_source(Columns([splits]), WatermarkStrategy.no_watermarks(), "columns")
    stream.sink_to(Watching()).set_parallelism(sinks).name("sink")
    runner = MiniRunner(env.get_job_graph())
    runner.run()
    operators = [o for report in runner.reports.values() for o in report.operators]
    assert sum(o.records_in for o in operators if o.name == "Source: columns") == 6
    assert sum(o.records_in for o in operators if o.name == "Sink: sink") == 6
    assert sum(o.records_out for o in operators) == 6
    sent = sum(report.records_sent for report in runner.reports.values())
    assert sent == (0 if sinks == 1 else 6)
    rows = [v for e in SCRIPTS["seen"] if isinstance(e, pa.RecordBatch) for v in e[0].to_pylist()]
    assert sorted(rows) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("brief", "read"),
    [(False, [[1], [5], [2], [6], [3], [7]]), (True, [[1], [5], [2]])],
    ids=["whole", "brief"],
)
def test_a_brief_epoch_ends_when_a_split_gives_little_for_the_second_time(
    brief: bool, read: list[list[int]]
) -> None:
    source, emitted = source_with([("a", [[1], [2], [3]]), ("b", [[5], [6], [7]])])
    source.read(100, math.inf, lambda: None, brief=brief)
    assert emitted == read
    assert source.more_now is source.has_backlog is brief


def test_records_that_come_while_others_are_read_are_no_backlog() -> None:
    source, emitted = source_with([("a", [[1, 2, 3], [4], [5]])])
    source.read(100, math.inf, lambda: None, brief=True)
    assert emitted == [[1, 2, 3], [4]]
    assert source.more_now, "the reader says nothing as long as it was not found empty"
    assert not source.has_backlog


def test_a_split_that_was_not_looked_at_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedReader, "drained_splits", lambda _: ["a"])
    idle = WatermarkStrategy.for_monotonous_timestamps().with_idleness(IDLE)
    now = 0
    source, _ = source_with([("a", [[1], [2]])], idle, lambda: now)
    source.read(1, math.inf, lambda: None)
    now = 5_000
    source.read(0, math.inf, lambda: None)
    assert [s[2] for s in source.split_watermarks(1)] == [False]
    source.read(1, math.inf, lambda: None)
    now = 10_000
    source.read(1, math.inf, lambda: None)
    assert [s[2] for s in source.split_watermarks(1)] == [True]


def source_with(
    splits: list[Any],
    strategy: WatermarkStrategy | None = None,
    clock: Callable[[], int] = lambda: 0,
) -> tuple[SourceOperator, list[list[int]]]:
    """A source that has splits, and the list of what it emits."""
    emitted: list[list[int]] = []
    source = SourceOperator(SourceSpec(Scripted([]), strategy))
    task = TaskInfo("0" * 32, "job", "source", 0, 1, 128)
    receiver = SimpleNamespace(
        process_batch=lambda batch: emitted.append(batch.values), process_status=lambda idle: None
    )
    output = OperatorOutput([cast("Any", receiver)], {})
    context = OperatorContext(
        task, "source", "source", None, False, clock, None, {}, None, SubtaskServices()
    )
    source.setup(context, output)
    source.open()
    source.add_splits(splits, no_more=False)
    return source, emitted


def test_the_watermark_is_the_minimum_over_the_splits() -> None:
    splits = {0: [("a", [[10], [50]]), ("b", [[20], [30]])]}
    runner = runner_of(Scripted([splits]), monotonous(), epoch_records=1)
    runner.run()
    assert watermarks() == [9, 19, 29, MAX_TIMESTAMP] or watermarks() == [9, 19, MAX_TIMESTAMP]


def test_a_split_that_is_read_to_its_end_holds_nothing_back() -> None:
    splits = {0: [("short", [[10]]), ("long", [[20], [30], [40]])]}
    runner = runner_of(Scripted([splits]), monotonous(), epoch_records=1)
    runner.run()
    assert 29 in watermarks()


def test_the_last_split_holds_nothing_back_when_a_new_one_comes() -> None:
    rounds = [{0: [("first", [[10]])]}, {}, {0: [("second", [[20], [30], [40]])]}, {}, {}, {}]
    runner = runner_of(Scripted(rounds, bounded=False), monotonous(), epoch_records=1)
    runner.run(max_epochs=8)
    assert watermarks() == [9, 19, 29, 39]


IDLE = Duration.of_millis(3_000)


def test_a_subtask_that_never_gets_a_split_becomes_idle() -> None:
    env = environment(2)
    source = Scripted([{0: [("only", [[10], [20], [30], [40]])]}], bounded=False)
    stream = env.from_source(source, monotonous().with_idleness(IDLE), "scripted")
    stream.global_().map(lambda x: x).set_parallelism(1).sink_to(Watching()).set_parallelism(1)
    runner = MiniRunner(env.get_job_graph(), epoch_records=1)
    runner.run(max_epochs=10)
    assert watermarks()[-1] == 39


def test_a_split_that_comes_late_makes_the_subtask_active_again() -> None:
    rounds: list[dict[int, list[Any]]] = [{}] * 6 + [{0: [("late", [[10], [20]])]}]
    runner = runner_of(
        Scripted(rounds, bounded=False), monotonous().with_idleness(IDLE), epoch_records=1
    )
    runner.open()
    statuses: list[bool] = []
    head = runner.subtask("Source: scripted").head
    tell = head.output.status
    head.output.status = lambda idle: (statuses.append(idle), tell(idle))  # type: ignore[assignment]
    for _ in range(7):
        runner.run_epoch()
    runner.close()
    assert statuses == [True, False]


@pytest.mark.parametrize("chained", [False, True], ids=["source", "operator"])
def test_a_long_epoch_is_not_idleness(chained: bool) -> None:
    env = environment(1)
    source = Scripted([{0: [("only", [[10], [20], [30], [40]])]}], bounded=False)
    strategy = monotonous().with_idleness(IDLE)
    before = WatermarkStrategy.no_watermarks() if chained else strategy
    stream = env.from_source(source, before, "scripted")
    if chained:
        stream = stream.assign_timestamps_and_watermarks(strategy)
    stream.sink_to(Watching())
    runner = MiniRunner(env.get_job_graph(), epoch_records=1, epoch_ms=10_000)
    runner.open()
    statuses: list[bool] = []
    for operator in runner.subtask("Source: scripted").operators.values():
        if operator.context.name != "Sink: Writer":
            operator.output.status = statuses.append  # type: ignore[method-assign]
    for _ in range(4):
        runner.run_epoch()
    assert statuses == []
    for _ in range(2):
        runner.run_epoch()
    runner.close()
    assert statuses == [True]


def test_a_source_goes_on_from_its_positions_after_a_recovery() -> None:
    env = environment(2)
    env.from_sequence(1, 30).sink_to(Watching())
    runner = MiniRunner(env.get_job_graph(), epoch_records=4)
    runner.run(restore_after=[1, 2, 3])
    assert sorted(e for e in SCRIPTS["seen"] if isinstance(e, int)) == list(range(1, 31))


def test_an_error_while_reading_names_the_source() -> None:
    runner = runner_of(Scripted([{0: [("bad", None)]}]), monotonous())
    with pytest.raises(JobExecutionError) as caught:
        runner.run()
    assert caught.value.operator_name == "Source: scripted"


class FailingGenerator(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None: ...

    def on_periodic_emit(self, output: Any) -> None:
        raise ValueError("no watermark today")


def test_an_error_in_a_watermark_generator_names_the_source() -> None:
    strategy = WatermarkStrategy.for_generator(FailingGenerator)
    runner = runner_of(
        Scripted([{0: [("a", [[1], [2], [3]])]}]),
        strategy.with_timestamp_assigner(lambda value, _: value),
        epoch_records=1,
    )
    with pytest.raises(JobExecutionError, match="no watermark today") as caught:
        runner.run()
    assert caught.value.operator_name == "Source: scripted"


def test_a_sink_is_flushed_with_every_epoch_and_closed_at_the_end() -> None:
    runner = runner_of(Scripted([{0: [("a", [[1], [2]])]}]), monotonous(), epoch_records=1)
    runner.run()
    seen = [e for e in SCRIPTS["seen"] if not isinstance(e, tuple)]
    assert seen == [1, "flush", 2, "last flush", "flush", "close"]


class Invoking(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        if value == "bad":
            raise ValueError("refused")


def test_an_error_in_a_sink_function_names_the_record() -> None:
    with harness(Invoking()) as h:
        h.process("good")
        with pytest.raises(ValueError, match="refused") as caught:
            h.process_many(["good", "bad", "good"], ts=[1, 2, 3])
        assert "record 'bad'" in caught.value.__notes__[0]


def test_an_error_in_a_sink_without_context_names_the_record() -> None:
    class Short(SinkFunction):
        def invoke(self, value: Any) -> None:
            raise ValueError(value)

    with harness(Short()) as h:
        with pytest.raises(ValueError, match="x") as caught:
            h.process("x")
        assert "record 'x'" in caught.value.__notes__[0]


def test_an_error_in_write_watermark_names_the_sink() -> None:
    class Watermarked(SinkFunction):
        def invoke(self, value: Any, context: Any) -> None: ...

        def write_watermark(self, watermark: Any) -> None:
            raise ValueError("no water")

    with harness(Watermarked()) as h, pytest.raises(ValueError, match="no water") as caught:
        h.watermark(5)
    assert "watermark" in caught.value.__notes__[0]
