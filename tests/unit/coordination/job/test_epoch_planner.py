"""When an epoch runs and what it may read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common import Configuration
from headrace.coordination.job.epoch_planner import EpochPlanner, seconds_until
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.ids import CheckpointId, EpochId
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.epoch import ChannelReport, CheckpointRequest, EpochReport
from headrace.testing import ManualClock
from headrace.testing.clock import SimulatedTime


class Budget:
    max_records = 7
    max_read_ms = 50

    def __init__(self) -> None:
        self.observed: list[tuple[float, int]] = []

    def observe(self, work_s: float, most_read: int) -> None:
        self.observed.append((work_s, most_read))


class Planned:
    """A planner of a job with a source of two subtasks and a keyed level behind it."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        env.set_parallelism(2)
        env.from_sequence(1, 10).key_by(lambda x: x).map(lambda x: x).print()
        graph = env.get_job_graph()
        self.physical = build_physical_graph(graph)
        self.budget = Budget()
        self.clock = ManualClock(1_000)
        self.live_budget = Budget()
        self.live_budget.max_read_ms = 5
        self.planner = EpochPlanner(
            graph, self.physical, self.budget, SimulatedTime(self.clock), self.live_budget
        )

    def reports(self, **fields: Any) -> list[EpochReport]:
        found = []
        for number, level in enumerate(self.physical.levels):
            for p in level:
                report = EpochReport(
                    p.vertex,
                    int(p.subtask),
                    EpochId(1),
                    finished=False,
                    operators=(),
                    source=number == 0,
                    records_read=int(p.subtask) + 3 if number == 0 else 0,
                    records_sent=0,
                    bytes_in=0,
                    bytes_out=0,
                    busy_ms=100 * (number + 1) + int(p.subtask),
                    watermark=0,
                    wake_up_at=None,
                )
                found.append(replace(report, **fields))
        return found


def test_a_plan_has_the_budget_the_splits_and_what_was_decided() -> None:
    job = Planned()
    splits = job.planner.discover()
    request = CheckpointRequest(CheckpointId(4), "somewhere")
    plan = job.planner.plan(3, 2, splits, request, None, drain=True)
    assert (plan.epoch, plan.attempt) == (3, 2)
    assert (plan.max_records, plan.max_read_ms) == (7, 50)
    assert len(plan.splits) == 2
    assert plan.no_more_splits == {key[0] for key in plan.splits}
    assert plan.checkpoint is request
    assert plan.drain


def test_live_epochs_are_brief_and_have_a_budget_of_their_own() -> None:
    job = Planned()
    plans = []
    for live in (False, True, False):
        plans.append(job.planner.plan(1, 1, {}, None, None, drain=False, live=live))
        job.planner.observe(job.reports())
    assert [(plan.brief, plan.max_read_ms) for plan in plans] == [
        (False, 50),
        (True, 5),
        (False, 50),
    ]
    assert (len(job.budget.observed), len(job.live_budget.observed)) == (2, 1)


def test_what_was_given_out_is_in_the_state_of_the_enumerators() -> None:
    job, other = Planned(), Planned()
    assert job.planner.discover()
    other.planner.restore(job.planner.enumerators(), {})
    assert other.planner.discover() == {}


def test_the_budget_learns_from_the_slowest_subtask_of_each_level() -> None:
    job = Planned()
    job.planner.observe(job.reports())
    ((work_s, most_read),) = job.budget.observed
    assert round(work_s * 1000) == 101 + 201
    assert most_read == 4


def test_the_next_epoch_comes_with_whatever_is_due_first() -> None:
    job = Planned()
    job.planner.discover()
    assert job.planner.time_left_s(job.reports(), None) is None
    assert job.planner.time_left_s(job.reports(), 1_800) == 0.8
    reports = [replace(r, wake_up_at=1_000 + 100 * i) for i, r in enumerate(job.reports(), 2)]
    assert job.planner.time_left_s(reports, 1_800) == 0.2
    assert job.planner.time_left_s(job.reports(wake_up_at=5), None) == 0
    assert job.planner.time_left_s(job.reports(wake_up_at=5, finished=True), None) is None


def test_what_is_overdue_is_due_now() -> None:
    assert seconds_until(None, 5) is None
    assert seconds_until(1_500, 1_000) == 0.5
    assert seconds_until(1, 1_000) == 0


def test_sources_wait_for_what_is_carried_over_and_the_budget_learns_from_all_of_it() -> None:
    job = Planned()
    carrying = ChannelReport(carried_frames=1)
    job.planner.plan(1, 0, {}, None, None, drain=False, live=True, cut_after_ms=50)
    job.planner.observe(job.reports(channels=carrying))
    assert job.planner.plan(2, 0, {}, None, None, drain=False, live=True).max_records == 0
    assert job.live_budget.observed == []
    job.planner.observe(job.reports(records_read=0, channels=ChannelReport()))
    ((work_s, read),) = job.live_budget.observed
    assert (round(work_s, 3), read) == (0.604, 4)
    assert job.planner.plan(3, 0, {}, None, None, drain=False, live=True).max_records == 7
    cut = job.planner.plan(4, 0, {}, None, None, drain=False, live=True, cut_after_ms=0)
    assert cut.max_records == 0
