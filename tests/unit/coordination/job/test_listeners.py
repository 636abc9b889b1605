"""What listeners are told of a job."""

from __future__ import annotations

import logging

import pytest

from headrace.common.errors import FunctionTypeError
from headrace.common.job_listener import EpochStatistics, JobListener
from headrace.coordination.job.listeners import JobListeners
from headrace.coordination.job.options import EpochSummary
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.ids import EpochId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import EpochReport, OperatorReport


def a_job() -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection([1]).map(lambda x: x).name("plus").print()
    return env.get_job_graph("job")


def summary_of(job: JobGraph) -> EpochSummary:
    reports = []
    for vertex in job.vertices:
        for subtask in range(vertex.parallelism):
            operators = tuple(
                OperatorReport(o.name, 10, 5 + subtask, 100 + subtask) for o in vertex.operators
            )
            reports.append(
                EpochReport(
                    vertex=vertex.id,
                    subtask=subtask,
                    epoch=EpochId(3),
                    finished=False,
                    operators=operators,
                    source=vertex.is_source,
                    records_read=10,
                    records_sent=0,
                    bytes_in=0,
                    bytes_out=0,
                    busy_ms=1.0 + subtask,
                    watermark=100,
                    wake_up_at=None,
                )
            )
    return EpochSummary(3, 0.25, tuple(reports), job)


class Noting(JobListener):
    def __init__(self) -> None:
        self.epochs: list[EpochStatistics] = []

    def on_epoch(self, statistics: EpochStatistics) -> None:
        self.epochs.append(statistics)


class Broken(JobListener):
    def on_epoch(self, statistics: EpochStatistics) -> None:
        raise ValueError("listener is broken")


def test_reports_of_subtasks_are_added_up_by_operator() -> None:
    job, listener = a_job(), Noting()
    JobListeners([listener]).epoch(summary_of(job))
    (told,) = listener.epochs
    assert (told.epoch, told.duration_ms, told.records_read) == (3, 250.0, 10)
    assert told.busy_ms == (2.0, 1.0, 1.0)
    assert [o.name for o in told.operators][1] == "plus"
    plus = told.operators[1]
    assert (plus.parallelism, plus.records_in, plus.records_out, plus.watermark) == (2, 20, 11, 100)


def test_a_broken_listener_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    job, listener = a_job(), Noting()
    with caplog.at_level(logging.WARNING):
        JobListeners([Broken(), listener]).epoch(summary_of(job))
    assert len(listener.epochs) == 1
    assert "listener is broken" in caplog.text


def test_only_listeners_can_be_registered() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(FunctionTypeError, match="JobListener"):
        env.register_job_listener(print)  # type: ignore[arg-type]
    listener = Noting()
    env.register_job_listener(listener)
    assert env.get_job_listeners() == [listener]
    env.clear_job_listeners()
    assert env.get_job_listeners() == []
