"""SHOW JOBS and STOP JOB: the jobs that a session started."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.binder.context import suggestion
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.sql.types.data_types import DataTypes
from headrace.sql.types.type_rules import string_type

__all__ = ["show_jobs", "stop_job"]


def show_jobs(session: Session, statement: s.Show) -> StatementResult:
    """Id, name, status and start of each job."""
    rows = [
        (
            str(job.client.get_job_id()),
            job.name,
            job.client.get_job_status().result().name,
            job.started_ms * 1000,
        )
        for job in session.known_jobs()
    ]
    types = [string_type(), string_type(), string_type(), DataTypes.TIMESTAMP_LTZ(3)]
    return StatementResult.of_rows(
        ["job id", "job name", "status", "start time"], rows, types=types
    )


def stop_job(session: Session, statement: s.JobStatement) -> StatementResult:
    """Ends a job, with a savepoint if it is wanted."""
    known = {str(job.client.get_job_id()): job.client for job in session.known_jobs()}
    client = known.get(statement.job_id or "")
    if client is None:
        hint = suggestion(statement.job_id or "", known)
        raise SqlError(f"there is no job '{statement.job_id}' in this session{hint}")
    if client.get_job_status().result().is_terminal_state():
        raise SqlError(f"the job '{statement.job_id}' has ended already")
    if statement.with_drain and not statement.with_savepoint:
        raise SqlError("WITH DRAIN is for STOP JOB ... WITH SAVEPOINT")
    if not statement.with_savepoint:
        client.cancel().result()
        return StatementResult.ok()
    path = client.stop_with_savepoint(statement.with_drain).result()
    return StatementResult.of_rows(["savepoint path"], [(path,)])
