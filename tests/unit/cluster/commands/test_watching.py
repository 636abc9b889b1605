"""`headrace logs` and `headrace top` against a real server, and against jobs of this host."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.cluster.cli import main
from headrace.cluster.commands import top
from headrace.coordination.access.job_registry import JobEntry, JobRegistry, process_start
from headrace.coordination.bodies.jobs import ListedJob
from headrace.coordination.bodies.vertices import Rates
from tests.unit.cluster.rest.rest_app import ENDED, served


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path / "cluster") as (host, port):
        yield f"{host}:{port}"


@pytest.fixture
def job_of_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobEntry:
    """A job that has just been noted and does not answer yet."""
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path / "run"))
    pid = os.getpid()
    now_ms = int(time.time() * 1000)
    nowhere = str(tmp_path / "socket")
    entry = JobEntry("ab" * 16, "mine", pid, process_start(pid), nowhere, "RUNNING", now_ms)
    JobRegistry().put(entry)
    return entry


@pytest.mark.parametrize("follow", [[], ["-f"]])
def test_the_log_of_a_job_that_has_ended(
    address: str, follow: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "-m", address, *follow, ENDED[:6]]) == 0
    assert capsys.readouterr().out == "what it said\n"


def test_an_unknown_job_has_no_log(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "-m", address, "ffff"]) == 3
    assert "no job 'ffff'" in capsys.readouterr().err


@pytest.mark.usefixtures("job_of_this_host")
def test_the_output_of_a_program_is_where_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "-m", "local", "mine"]) == 1
    assert f"runs by itself, in process {os.getpid()}" in capsys.readouterr().err


def test_jobs_that_have_ended_are_not_watched(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", "-m", address, "-n", "2", "-i", "0.01", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n[]\n"


def test_a_job_that_tells_no_figures_is_shown_without(
    job_of_this_host: JobEntry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", "-m", "local", "-n", "1", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["jid"], shown["state"]) == (job_of_this_host.job_id, "RUNNING")
    assert main(["top", "-m", "local", "-n", "1"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["job", "state"]
    assert line.split()[:2] == ["abababab", "RUNNING"]
    assert line.split()[-1] == "mine"


def test_what_comes_in_and_goes_out_is_counted_at_the_ends() -> None:
    def vertex(records_in: float, records_out: float, watermark: int | None) -> SimpleNamespace:
        rates = Rates(records_in, records_out, 0, 0, 0.2, 0, 0.8, watermark, max_busy=0.25)
        return SimpleNamespace(rates=rates)

    class Told:
        def details(self, job: str) -> SimpleNamespace:
            late_ms = int(time.time() * 1000) - 90_000
            return SimpleNamespace(vertices=(vertex(0, 1200, None), vertex(1200, 0, late_ms)))

    job = ListedJob("ab" * 16, "mine", "RUNNING", 0, -1, 61_000)
    figures = top.figures_of(Told(), job)  # type: ignore[arg-type]
    assert (figures["records-in"], figures["records-out"]) == (1200, 1200)
    assert top.cells_of(figures)[2:7] == ("1 min 01 s", "1,200", "1,200", "25%", "1 min 30 s")
