"""A job of another process, with the handle that jobs of this process have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.common.errors import HeadraceError, JobCancelledError
from headrace.common.job_client import JobHandle
from headrace.common.job_status import JobStatus
from headrace.coordination.access.other_job import OtherJob

ID = "cd" * 16

# What the master of a job does is not the point here, but how it is asked.
PROGRAM = f"""
import sys
from concurrent.futures import Future
from types import SimpleNamespace
from headrace.common.errors import CheckpointError
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.access.job_control import publish

status, result = [JobStatus.RUNNING], Future()

def done(value):
    future = Future()
    future.set_result(value)
    return future

def cancel():
    status[0] = JobStatus.CANCELED
    result.set_result(None)
    return done(None)

def trigger_savepoint(directory):
    raise CheckpointError("no room in " + directory)

master = SimpleNamespace(
    job_id=JobID("{ID}"),
    job_graph=SimpleNamespace(job_name="other"),
    checkpoints=SimpleNamespace(store=SimpleNamespace(directory=""), progress=lambda: None),
    status=lambda: status[0],
    history=SimpleNamespace(root_failure=None),
    options=SimpleNamespace(run=SimpleNamespace(program=None, parallelism=None)),
    result_future=lambda: result,
    cancel=cancel,
    stop_with_savepoint=lambda drain, directory: done(f"{{directory}}/{{drain}}"),
    trigger_savepoint=trigger_savepoint,
)
publish(master)
print("published", flush=True)
sys.stdin.read()
"""


def test_a_job_of_another_process_is_found_and_steered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path / "run"))
    assert OtherJob.find(ID) is None
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"published\n"
        job = OtherJob.find(ID)
        assert job is not None
        assert isinstance(job, JobHandle)
        assert str(job.job_id) == ID
        assert job.status() is JobStatus.RUNNING
        assert job.stop_with_savepoint(True, "/sp").result(60) == "/sp/True"
        with pytest.raises(HeadraceError, match="no room in /sp"):
            job.trigger_savepoint("/sp").result(60)
        ended = job.result_future()
        job.cancel().result(60)
        with pytest.raises(JobCancelledError, match=r"other.* was cancelled"):
            ended.result(60)
        assert job.status() is JobStatus.CANCELED
        assert OtherJob.find(ID) is None
        process.communicate()
