"""Watermark alignment: a source that is ahead waits, and nobody waits for what will never come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.coordination.job.watermark_alignment import WatermarkAligner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import (
    ReadBatch,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.functions import ProcessFunction
from headrace.graph.job_graph import build_job_graph
from headrace.runtime.batch import BATCH_SIZE, MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.time.alignment import ReadLimit
from headrace.testing import ManualClock
from headrace.testing.runner import MiniRunner

DRIFT = 1_000
STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
    "group", Duration.of_millis(DRIFT), Duration.of_millis(700)
)


@dataclass(frozen=True)
class Script(Source):
    """Gives timestamped numbers, each one when its time has come."""

    records: tuple[tuple[int, int], ...]
    """Pairs: when the record is there, and its timestamp."""
    endless: bool = False
    split_id: str = "script"
    position: int = 0

    @property
    def bounded(self) -> bool:
        return not self.endless

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([self], parallelism)

    def create_reader(self, context: Any) -> SourceReader:
        return ScriptReader(context)


class ScriptReader(SourceReader):
    def __init__(self, context: Any) -> None:
        self.context = context
        self.script: Script | None = None

    def add_splits(self, splits: Sequence[Script]) -> None:
        (self.script,) = splits

    def poll(self, max_records: int) -> ReadBatch | None:
        if self.script is None:
            return None
        now = self.context.now_ms()
        rest = self.script.records[self.script.position :][:max_records]
        due = [t for at, t in rest if at <= now]
        self.script = replace(self.script, position=self.script.position + len(due))
        return ReadBatch("script", due, due) if due else None

    def available_at(self, now_ms: int) -> int | None:
        rest = self.script.records[self.script.position :] if self.script else ()
        return rest[0][0] if rest else None

    def snapshot(self) -> list[Script]:
        return [] if self.script is None or self.exhausted else [self.script]

    @property
    def exhausted(self) -> bool:
        if self.script is None:
            return True
        return not self.script.endless and self.script.position >= len(self.script.records)


class Follow(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value


def at_once(timestamps: Any) -> Script:
    return Script(tuple((0, t) for t in timestamps))


class Job:
    """Sources of one group in this process, epoch by epoch."""

    def __init__(
        self, *sources: Script | tuple[Script, WatermarkStrategy], **settings: Any
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        for number, source in enumerate(sources):
            script, strategy = source if isinstance(source, tuple) else (source, STRATEGY)
            name = f"source {number}"
            stream = env.from_source(script, strategy, name)
            stream.process(Follow()).name(f"follow {number}")
        self.clock = ManualClock()
        settings = {"epoch_records": 1_000_000, "epoch_ms": 10, **settings}
        self.runner = MiniRunner(
            build_job_graph(env.get_stream_graph()), clock=self.clock, **settings
        )
        self.runner.open()
        self.epochs = 0

    def epoch(self) -> None:
        self.runner.run_epoch()
        self.epochs += 1

    def next_due(self) -> int | None:
        """When the job would run its next epoch."""
        wait_ms = self.runner.wait_ms()
        return None if wait_ms is None else self.clock() + wait_ms

    def run(self, max_epochs: int = 1_000, until: int | None = None) -> None:
        """Run as the coordinator does: only when there is something to do."""
        while not self.runner.finished and max_epochs:
            self.epoch()
            due = self.next_due()
            if due is None and not self.runner.finished:
                return
            if due is not None and until is not None and due > until:
                return
            max_epochs -= 1
        assert self.runner.finished, "the job spins"

    def watermark(self, number: int) -> int:
        return self.runner.subtask(f"Source: source {number}").head.watermark

    def read(self, number: int) -> int:
        return self.runner.subtask(f"Source: source {number}").head.records_in


# The parts.


def test_without_a_limit_batches_are_large() -> None:
    limit = ReadLimit(None)
    assert limit.batch_size == BATCH_SIZE
    assert not limit.reached(MAX_TIMESTAMP)
    limit.moved(0, 5)
    assert limit.batch_size == BATCH_SIZE


def test_batches_grow_while_the_limit_is_far_and_are_small_near_it() -> None:
    limit = ReadLimit(1_000_000)
    limit.moved(MIN_TIMESTAMP, 0)
    smallest = limit.batch_size
    sizes = []
    for watermark in range(0, 20_000, 1_000):
        limit.moved(watermark, watermark + 1_000)
        sizes.append(limit.batch_size)
    assert sizes[0] == 2 * smallest
    assert sizes[-1] == BATCH_SIZE
    limit.moved(700_000, 900_000)
    assert limit.batch_size == smallest
    assert not limit.reached(1_000_000)
    assert limit.reached(1_000_001)


@dataclass
class Report:
    vertex: Any
    subtask: int
    aligned_watermark: int | None
    finished: bool = False


def aligner(*strategies: WatermarkStrategy) -> tuple[WatermarkAligner, list[Any]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    for number, strategy in enumerate(strategies):
        env.from_source(at_once([1]), strategy, f"source {number}").print()
    graph = build_job_graph(env.get_stream_graph())
    vertices = [v.id for v in graph.vertices]
    return WatermarkAligner(graph), vertices


def test_the_limit_is_the_slowest_watermark_and_the_drift() -> None:
    other_group = STRATEGY.with_watermark_alignment("other", 5)
    plain = WatermarkStrategy.for_monotonous_timestamps()
    subject, (a, b, c, d) = aligner(STRATEGY, STRATEGY, other_group, plain)
    first = MIN_TIMESTAMP + DRIFT
    assert subject.limits(0) == {a: first, b: first}
    subject.observe([Report(a, 0, 70), Report(b, 0, 5_000), Report(c, 0, 1), Report(d, 0, 2)])
    assert subject.limits(0) == {a: 70 + DRIFT, b: 70 + DRIFT}
    subject.observe([Report(a, 0, MAX_TIMESTAMP - 1)])
    subject.observe([Report(b, 0, MAX_TIMESTAMP - 1)])
    assert subject.limits(0) == {a: MAX_TIMESTAMP, b: MAX_TIMESTAMP}


@pytest.mark.parametrize("gone", [Report("b", 0, None), Report("b", 0, 3, finished=True)])
def test_nobody_waits_for_a_source_that_is_idle_or_finished(gone: Report) -> None:
    subject, (a, b) = aligner(STRATEGY, STRATEGY)
    gone.vertex = b
    subject.limits(0)
    subject.observe([Report(a, 0, 70), gone])
    assert subject.limits(0) == {}


def test_waiting_sources_go_on_at_once_if_all_wait_else_after_the_interval() -> None:
    subject, (a, b) = aligner(STRATEGY, STRATEGY)
    subject.limits(0)
    subject.observe([Report(a, 0, 10), Report(b, 0, 20)])  # both are beyond the first limit
    assert subject.resume_at() == 0
    subject.limits(100)
    subject.observe([Report(a, 0, 900), Report(b, 0, 2_000)])
    assert subject.resume_at() is None  # b waits, and cannot go on yet
    subject.observe([Report(a, 0, 1_000)])
    assert subject.resume_at() == 100 + 700


def test_sources_that_never_have_watermarks_are_left_out() -> None:
    none = WatermarkStrategy.no_watermarks().with_watermark_alignment("group", DRIFT)
    subject, (a, b, _) = aligner(STRATEGY, STRATEGY, none)
    assert set(subject.limits(0)) == {a, b}


# Jobs.


def test_a_fast_source_does_not_run_away() -> None:
    slow, fast = at_once(range(0, 30_000, 3)), at_once(range(0, 30_000, 3))
    # The slow one gets little of each epoch's budget: what it reads is spread over time.
    slow = Script(tuple((i, t) for i, (_, t) in enumerate(slow.records)))
    job = Job(slow, fast)
    most_ahead = 0
    while not job.runner.finished:
        job.epoch()
        if job.read(0) and job.watermark(0) < MAX_TIMESTAMP > job.watermark(1):
            most_ahead = max(most_ahead, job.watermark(1) - job.watermark(0))
        due = job.next_due()
        if due is not None and due > job.clock():
            job.clock.advance_to(due)
    assert job.read(0) == job.read(1) == 10_000
    # One small batch may go beyond the limit, and the slow one may not have been read yet.
    assert DRIFT / 2 < most_ahead <= DRIFT + 2 * 100 * 3


def test_two_backlogs_are_read_side_by_side_without_waiting() -> None:
    dense, sparse = at_once(range(0, 20_000)), at_once(range(0, 20_000, 10))
    job = Job(dense, sparse)
    job.run()
    assert (job.read(0), job.read(1)) == (20_000, 2_000)
    assert job.clock() < 700  # nobody waited for the update interval
    assert job.epochs < 40


def test_the_first_epoch_is_limited_too() -> None:
    job = Job(at_once(range(0, 1_000_000, 100)), at_once(range(0, 1_000_000, 100)))
    job.epoch()
    assert job.read(0) == job.read(1) == 100


def test_a_source_that_finished_holds_nobody_back() -> None:
    job = Job(at_once([1, 2, 3]), at_once(range(0, 1_000_000, 100)))
    job.run()
    assert job.read(1) == 10_000
    assert job.epochs < 6


def test_the_job_waits_while_the_slow_source_is_silent() -> None:
    job = Job(Script(((0, 5), (50_000, 90_000)), endless=True), at_once(range(0, 80_000, 10)))
    job.run(until=49_999)
    assert 1_000 <= job.watermark(1) <= 1_000 + DRIFT
    assert job.epochs < 8
    assert job.next_due() == 50_000  # no Spark job before the slow source has something
    job.clock.advance_to(50_000)
    job.run(until=1_000_000)
    assert job.read(1) == 8_000


def test_without_a_first_record_others_wait_too() -> None:
    job = Job(Script((), endless=True), at_once(range(0, 80_000, 10)))
    job.run()
    assert job.next_due() is None
    assert (job.read(1), job.epochs) == (100, 1)


@pytest.mark.parametrize("script", [Script(((0, 5),), endless=True), Script((), endless=True)])
def test_a_slow_source_that_is_idle_holds_nobody_back(script: Script) -> None:
    patient = STRATEGY.with_idleness(Duration.of_seconds(3))
    job = Job((script, patient), (at_once(range(0, 80_000, 10)), STRATEGY))
    job.run(until=1_000_000)
    assert job.read(1) == 8_000
    assert 3_000 <= job.clock() < 4_000
    assert job.epochs < 12


def test_a_source_that_waits_is_not_idle() -> None:
    impatient = STRATEGY.with_idleness(Duration.of_millis(200))
    slow = Script(tuple((second * 1_000, second * 500) for second in range(10)))
    job = Job(slow, (at_once(range(0, 6_000, 2)), impatient))
    statuses = []
    source = job.runner.subtask("Source: source 1").head
    status = source.output.status
    source.output.status = lambda idle: (statuses.append(idle), status(idle))  # type: ignore[method-assign,func-returns-value]
    job.run()
    assert statuses == []
    assert job.read(1) == 3_000


def test_subtasks_of_one_source_are_aligned_with_each_other() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = STRATEGY.with_timestamp_assigner(lambda value, _: value)
    env.from_source(NumberSequenceSource(0, 99_999), strategy, "numbers").print()
    runner = MiniRunner(build_job_graph(env.get_stream_graph()), epoch_records=1_000_000)
    runner.open()
    for _ in range(5):
        runner.run_epoch()
    # The second half of the numbers is far ahead of the first.
    first, second = (runner.subtask("Source: numbers", i).head.records_in for i in range(2))
    assert second == 100
    assert first > 2_000


def test_alignment_survives_a_restore() -> None:
    job = Job(at_once(range(0, 10_000)), at_once(range(0, 100_000, 10)), epoch_records=1_000_000)
    for _ in range(4):
        job.epoch()
        job.runner.snapshot_and_restore()
    job.run()
    assert job.runner.finished
