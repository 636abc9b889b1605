"""Rates of subtasks and the list of epochs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.coordination.job.figures import EpochTimes, JobFigures
from headrace.graph.ids import CheckpointId, EpochId, SlotId, SubtaskIndex, VertexId
from headrace.graph.physical_graph import Partition, PhysicalGraph
from headrace.runtime.batch import MIN_TIMESTAMP
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport, OperatorReport

SOURCE, COUNT = (VertexId("source"), 0), (VertexId("count"), 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def figures(clock: Clock) -> JobFigures:
    figures = JobFigures(clock)
    levels = tuple(
        (Partition(VertexId(v), SubtaskIndex(0), SlotId(0)),) for v in ("source", "count")
    )
    figures.attempt_started(1, PhysicalGraph(levels, 1))
    return figures


def _reports(epoch: int, more: bool = True) -> list[EpochReport]:
    return [
        EpochReport(
            vertex=VertexId(name),
            subtask=0,
            epoch=EpochId(epoch),
            finished=False,
            operators=(OperatorReport(name, 100 * epoch, 0, 5),),
            source=name == "source",
            records_read=100,
            records_sent=50 * epoch,
            bytes_in=10,
            bytes_out=20,
            busy_ms=busy_ms,
            watermark=watermark,
            wake_up_at=None,
            more=more and name == "source",
        )
        for name, busy_ms, watermark in (("source", 100.0, 7), ("count", 600.0, MIN_TIMESTAMP))
    ]


def run(figures: JobFigures, clock: Clock, epoch: int, *, more: bool = True) -> None:
    """An epoch of a second: the source works 0.1 s, the count 0.6 s, for 100 records."""
    reports = _reports(epoch, more)
    request = CheckpointRequest(CheckpointId(3), "")
    plan = EpochPlan(EpochId(epoch), 1, 1000, 1000, checkpoint=request)
    figures.epoch_started()
    start = clock.now
    clock.now += 1.0
    times = EpochTimes(start, start, start + 0.05, start + 0.95, start + 1.0)
    figures.epoch_ended(plan, times, reports)


def test_an_epoch_is_split_into_phases(figures: JobFigures, clock: Clock) -> None:
    clock.now += 0.5
    run(figures, clock, 1)
    (epoch,) = figures.epochs()
    phases = {phase.name: phase.ms for phase in epoch.phases}
    assert list(phases) == ["plan", "spark", "level 0", "level 1", "commit"]
    assert sum(phases.values()) == pytest.approx(epoch.duration)
    assert phases["spark"] == pytest.approx(200)
    assert (epoch.records, epoch.more, epoch.checkpoint, epoch.watermark) == (100, True, 3, 7)
    assert epoch.wait_before == pytest.approx(500)
    assert figures.epochs_run == 1


def test_shares_of_time(figures: JobFigures, clock: Clock) -> None:
    for epoch in range(1, 5):
        run(figures, clock, epoch)
    source, count = figures.rates(SOURCE), figures.rates(COUNT)
    assert (source.busy, source.back_pressured) == (pytest.approx(0.1), pytest.approx(0.6))
    assert source.idle == pytest.approx(0.3)
    assert (count.busy, count.back_pressured) == (pytest.approx(0.6), 0.0)
    assert count.records_in == pytest.approx(100)
    assert count.bytes_out == pytest.approx(20)
    assert figures.totals(COUNT).busy_ms == pytest.approx(2400)
    assert figures.age_ms() == pytest.approx(4000)


def test_who_reads_all_there_is_waits_for_nobody(figures: JobFigures, clock: Clock) -> None:
    run(figures, clock, 1, more=False)
    assert figures.rates(SOURCE).back_pressured == 0.0


def test_rates_fall_while_the_job_sleeps_but_not_while_it_works(
    figures: JobFigures, clock: Clock
) -> None:
    run(figures, clock, 1)
    assert figures.rates(COUNT).busy == pytest.approx(0.6)
    clock.now += 2.0
    assert figures.rates(COUNT).busy == pytest.approx(0.2)
    figures.epoch_started()
    clock.now += 100.0
    assert figures.rates(COUNT).busy == pytest.approx(0.6), "an epoch that runs is not known yet"


def test_an_attempt_begins_at_zero(figures: JobFigures, clock: Clock) -> None:
    run(figures, clock, 1)
    figures.attempt_started(2, PhysicalGraph((), 0))
    assert figures.rates(COUNT).busy == 0.0
    assert figures.totals(COUNT).records_in == 0
    assert len(figures.epochs()) == 1
    assert figures.epochs(after=1) == []


def test_short_epochs_share_a_line(figures: JobFigures, clock: Clock) -> None:
    for epoch in range(1, 51):
        _run_short(figures, clock, epoch)
    lines = figures.epochs()
    assert sum(line.records for line in lines) == 50 * 100
    assert len(lines) < 10
    assert all(sum(p.ms for p in e.phases) == pytest.approx(e.duration) for e in lines)
    assert figures.epochs_run == 50


def test_rates_of_short_epochs_cover_the_window(figures: JobFigures, clock: Clock) -> None:
    for epoch in range(1, 1001):
        _run_short(figures, clock, epoch)
    assert figures.rates(COUNT).records_in == pytest.approx(10_000, rel=0.05)


def _run_short(figures: JobFigures, clock: Clock, epoch: int) -> None:
    """An epoch of 4 ms, 10 ms after the one before."""
    clock.now += 0.006
    reports = [replace(r, busy_ms=1.0) for r in _reports(epoch)]
    figures.epoch_started()
    start = clock.now
    clock.now += 0.004
    times = EpochTimes(start, start, start + 0.0002, start + 0.0038, clock.now)
    figures.epoch_ended(EpochPlan(EpochId(epoch), 1, 1000, 1000), times, reports)
