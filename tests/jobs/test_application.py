"""Application mode, over TLS and with a token: a JobManager that ends with its job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.cluster.client.rest_client import RestClient
from headrace.cluster.manager.job_manager import running_job_manager
from headrace.common.errors import HeadraceError
from tests.certificates import certificate

LIMIT_S = 300.0
TOKEN = "a token for this test"

PROGRAM = """
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i, 10**9, RateLimiterStrategy.per_second(10))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(lambda i: f"number {i}").print()
env.execute("application")
"""


def wait(condition: Callable[[], Any], what: str, process: subprocess.Popen[str]) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        if process.poll() is not None:
            break
        time.sleep(0.2)
    process.kill()
    raise AssertionError(f"{what}: {process.communicate()[0]}")


def end(directory: Path) -> None:
    """Leave no JobManager behind, whatever went wrong."""
    about = running_job_manager(directory)
    if about is not None:
        os.kill(int(str(about["pid"])), signal.SIGKILL)


def code_of(url: str, headers: dict[str, str]) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.timeout(1200)
def test_an_application_lives_as_long_as_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, directory = tmp_path / "job.py", tmp_path / "cluster"
    program.write_text(PROGRAM)
    certificate_path, key_path = certificate(tmp_path)
    monkeypatch.setenv("HEADRACE_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate_path))
    command = [sys.executable, "-m", "headrace.cluster.cli", "run-application"]
    command += ["--dir", str(directory), "--master", "local[2]", "-p", "1"]
    command += ["-D", f"security.ssl.rest.certificate={certificate_path}"]
    command += ["-D", f"security.ssl.rest.key={key_path}", "-D", "rest.bind-address=127.0.0.1"]
    with subprocess.Popen(
        [*command, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ.copy(),
    ) as running:
        try:
            about = wait(lambda: running_job_manager(directory), "no JobManager", running)
            address = str(about["address"])
            assert address.startswith("https://127.0.0.1:")
            client = RestClient(address)

            def job() -> str | None:
                jobs = client.request("GET", "/jobs/overview")["jobs"]
                return next((j["jid"] for j in jobs if j["state"] == "RUNNING"), None)

            job_id = wait(job, "the job does not run", running)
            log = f"/jobs/{job_id}/log"
            wait(lambda: "number 5" in client.request("GET", log), "nothing was printed", running)
            assert code_of(f"{address}/jobs", {}) == 401
            assert code_of(f"{address}/jobs", {"Authorization": "Bearer wrong"}) == 401
            assert code_of(f"{address}/jobs", {"Authorization": f"Bearer {TOKEN}"}) == 200
            with pytest.raises(HeadraceError, match="no JobManager"):
                RestClient(address.replace("https://", "http://")).request("GET", "/jobs")
            monkeypatch.delenv("SSL_CERT_FILE")
            with pytest.raises(HeadraceError, match="certificate"):
                RestClient(address).request("GET", "/jobs")
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate_path))

            client.request("PATCH", f"/jobs/{job_id}?mode=cancel")
            said = running.communicate(timeout=LIMIT_S)[0]
        except BaseException:
            running.kill()
            end(directory)
            raise
    assert running.returncode == 1, "a job that was cancelled has not succeeded"
    assert f"job {job_id} is CANCELED" in said
    assert "number 5" in said
    deadline = time.monotonic() + LIMIT_S
    while running_job_manager(directory) is not None and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running_job_manager(directory) is None, "the JobManager did not end with its job"
    left = json.loads((directory / "jobs" / job_id / "ended.json").read_text())
    assert left["overview"]["state"] == "CANCELED"
    assert left["epochs"]["total"] > 0
