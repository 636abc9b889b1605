"""`headrace up`: runs take the Spark that waits for them, one after the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common.files.scratch import ScratchDirectory
from headrace.spark.idle.client import ask

PROGRAM = """
import sys
from pyspark import SparkContext
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(list(range(10))).key_by(lambda x: x % 2).reduce(lambda a, b: a + b).print()
env.execute()
print("port", SparkContext._gateway.gateway_parameters.port, flush=True)
if sys.argv[1:] == ["wait"]:
    sys.stdin.read()
"""


class Machine:
    """A user with a directory of running jobs, and a program."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "job.py").write_text(PROGRAM)

    def headrace(self, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "headrace.cluster.cli", *arguments, "--json"],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return json.loads(done.stdout)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "job.py", *arguments],
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, condition: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        deadline = time.monotonic() + 240
        while True:
            # What `headrace up --status` shows, without a process for each look.
            status = ask("status")
            assert status is not None
            if condition(status):
                return status
            assert time.monotonic() < deadline, status
            time.sleep(0.1)


def printed_port(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    return next(line.split()[1] for line in lines if line.startswith("port"))


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_runs_take_the_spark_that_waits_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = ScratchDirectory("test")
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(runs.path))
    machine = Machine(tmp_path)
    try:
        first = machine.headrace("up")
        assert first["spare"] == "ready"
        running = machine.start("wait")
        printed_port(running)
        in_use = machine.wait_for(lambda s: s["in_use"] == 1)
        assert in_use["spare"] == "none"
        # However a run ends, its Spark ends with it, and there is another one.
        running.send_signal(signal.SIGKILL)
        running.communicate()
        second = machine.wait_for(lambda s: s["spare"] == "ready")
        assert gone(first["holder"])
        again = machine.start()
        output, _ = again.communicate(timeout=240)
        assert again.returncode == 0
        values = [line.rpartition("> ")[2] for line in output.splitlines()]
        assert {"20", "25"} <= set(values)
        machine.wait_for(lambda s: s["holder"] not in (None, second["holder"]))
    finally:
        assert machine.headrace("down") == {"ended": True}
        assert machine.headrace("up", "--status") is None
        runs.remove()
