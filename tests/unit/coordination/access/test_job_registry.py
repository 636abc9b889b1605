"""Jobs in a directory: what is found, what is refused, what is cleaned up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.common.errors import ConfigurationError, UnknownJobError
from headrace.coordination.access.control_client import call, find_job
from headrace.coordination.access.job_registry import (
    JobEntry,
    JobRegistry,
    process_start,
    run_directory,
)


def an_entry(job_id: str, name: str = "job", pid: int | None = None) -> JobEntry:
    pid = pid or os.getpid()
    now = int(time.time() * 1000)
    return JobEntry(job_id, name, pid, process_start(pid), "/nowhere", "RUNNING", now)


@pytest.fixture
def registry(tmp_path: Path) -> JobRegistry:
    return JobRegistry(tmp_path)


def test_a_job_is_found_by_id_prefix_and_name(registry: JobRegistry) -> None:
    registry.put(an_entry("aaaa1111", "first"))
    registry.put(an_entry("aaaa2222", "second"))
    assert find_job("aaaa1111", registry).name == "first"
    assert find_job("AAAA2", registry).name == "second"
    assert find_job("first", registry).job_id == "aaaa1111"
    with pytest.raises(UnknownJobError, match=r"several running jobs: .*aaaa.*second"):
        find_job("aaaa", registry)
    with pytest.raises(UnknownJobError, match="no running job 'aaa'"):
        find_job("aaa", registry)


def test_an_ended_job_is_named_with_its_state(registry: JobRegistry) -> None:
    registry.put(replace(an_entry("bbbb", "done"), state="CANCELED", ended_ms=1 << 60))
    with pytest.raises(UnknownJobError, match=r"bbbb \(done\) is CANCELED"):
        find_job("bbbb", registry)


def test_a_job_without_its_process_has_failed(registry: JobRegistry) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    registry.put(an_entry("cccc", pid=child.pid))
    assert registry.get("cccc").state == "RUNNING"  # type: ignore[union-attr]
    child.kill()
    child.wait()
    lost = registry.get("cccc")
    assert lost is not None
    assert (lost.state, lost.running) == ("FAILED", False)
    # Another process that got the same id is not the job's.
    registry.put(replace(an_entry("dddd"), process_start="long ago"))
    assert registry.get("dddd").state == "FAILED"  # type: ignore[union-attr]


def test_old_jobs_are_forgotten_and_damaged_files_ignored(registry: JobRegistry) -> None:
    registry.put(replace(an_entry("eeee"), state="FINISHED", ended_ms=1))
    (registry.directory / "ffff.job").write_text("{")
    assert [e.job_id for e in registry.entries()] == ["eeee"]
    assert registry.entries() == []


def test_a_job_that_does_not_answer_has_ended() -> None:
    with pytest.raises(UnknownJobError, match="has ended in the meantime"):
        call(an_entry("gggg"), "details")


def test_the_directory_is_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path / "new"))
    assert run_directory().stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir(mode=0o700)
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path / "open"))
    with pytest.raises(ConfigurationError, match="others can write"):
        run_directory()
