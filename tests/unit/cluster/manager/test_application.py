"""When the JobManager of an application ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cluster.manager import job_manager
from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.programs import Programs


def test_one_whose_starter_ended_before_its_job_was_there_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_manager, "_LOOK_S", 0.01)
    monkeypatch.setattr(job_manager, "_GRACE_S", 0.0)
    dispatcher = Dispatcher(tmp_path, Programs(tmp_path / "programs", 1), {})
    assert not dispatcher.all_ended()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    assert gone.pid != os.getppid()
    shut_down = []
    job_manager.end_with_jobs(dispatcher, gone.pid, lambda: shut_down.append(True))
    assert shut_down == [True]
