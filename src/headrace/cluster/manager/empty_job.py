"""What can be told of a program that has no job: not yet, or it ended without one."""

from __future__ import annotations

from headrace.coordination.bodies.jobs import (
    Diagnosis,
    ExceptionEntry,
    ExceptionHistory,
    Exceptions,
    JobConfig,
    JobDetails,
    JobOverview,
    JobParts,
    JobPlan,
    Plan,
)
from headrace.coordination.bodies.metrics import JobMetrics

__all__ = ["empty_parts"]

_STARTING = Diagnosis("ok", "starting", "The program is starting.")
_FAILED = Diagnosis(
    "critical",
    "ended",
    "The program failed before its job ran.",
    "The log of the job has what the program wrote.",
)


def empty_parts(overview: JobOverview, failure: str | None = None) -> JobParts:
    """The parts of a job with nothing in them, or only the failure that it ended with."""
    job_id, name = overview.jid, overview.name
    diagnosis, plan = _FAILED if failure else _STARTING, Plan(job_id, name)
    return JobParts(
        overview=overview,
        job=JobDetails(
            job_id,
            name,
            overview.state,
            overview.start_time,
            overview.end_time,
            overview.duration,
            max_parallelism=0,
            now=overview.start_time + overview.duration,
            timestamps={overview.state: overview.start_time},
            vertices=(),
            status_counts={},
            plan=plan,
            diagnosis=diagnosis,
        ),
        plan=JobPlan(plan),
        exceptions=_failure(failure, overview.end_time) if failure else Exceptions(),
        metrics=JobMetrics(job_id, name),
        config=JobConfig(job_id, name),
        diagnosis=diagnosis,
    )


def _failure(text: str, timestamp: int) -> Exceptions:
    entry = ExceptionEntry("ProgramFailed", text, timestamp)
    return Exceptions(text, timestamp, exception_history=ExceptionHistory((entry,)))
