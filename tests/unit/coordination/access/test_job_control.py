"""The end of a job's control socket: what the job leaves behind is whole, whoever ends first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import threading, time
from types import SimpleNamespace
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.access import job_control
from headrace.coordination.access.program_jobs import EarlierRun

master = SimpleNamespace(
    job_id=JobID("ab" * 16),
    job_graph=SimpleNamespace(job_name="short"),
    checkpoints=SimpleNamespace(store=SimpleNamespace(directory="")),
    status=lambda: JobStatus.FINISHED,
    history=SimpleNamespace(root_failure=None),
    options=SimpleNamespace(run=EarlierRun()),
)
begun = threading.Event()

def slow_details(master, status):
    begun.set()
    time.sleep(1)
    return {"overview": {"state": status.name}}

job_control.details_of = slow_details
control = job_control.JobControl(master)
threading.Thread(target=control.close, daemon=True).start()
begun.wait()
"""


def test_a_program_waits_until_its_job_has_left_all_behind(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HEADRACE_RUN_DIR": str(tmp_path / "run"),
        "HEADRACE_ARCHIVE_DIR": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=120)
    left = json.loads((tmp_path / f"{'ab' * 16}.json").read_text())
    assert left["overview"] == {"state": "FINISHED"}
    (entry,) = (tmp_path / "run").glob("*.job")
    assert '"FINISHED"' in entry.read_text()
