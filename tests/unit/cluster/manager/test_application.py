"""When the JobManager of an application ends, and what it leaves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cluster.client.cluster_start import start_job_manager
from headrace.cluster.errors import UsageError
from headrace.cluster.manager import job_manager
from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.programs import Programs


def test_it_ends_when_its_jobs_have(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, False, True])
    asked: list[bool] = []

    class Jobs:
        def all_ended(self, nobody_comes: bool) -> bool:
            assert not nobody_comes
            asked.append(next(answers))
            return asked[-1]

    monkeypatch.setattr(job_manager, "_LOOK_S", 0)
    monkeypatch.setattr(job_manager, "_GRACE_S", 0)
    shut_down = []
    job_manager.end_with_jobs(Jobs(), os.getppid(), lambda: shut_down.append(True))  # type: ignore[arg-type]
    assert shut_down == [True]
    assert len(asked) == 3


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


def test_one_that_does_not_start_leaves_no_temporary_directory(tmp_path: Path) -> None:
    directory = job_manager.cluster_directory(str(tmp_path / "cluster"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = ["rest.bind-address=127.0.0.1", f"rest.bind-port={taken.getsockname()[1]}"]
        with pytest.raises(UsageError, match="cannot be used"):
            start_job_manager(directory, settings, application=True, temporary=True)
    assert not directory.exists()
