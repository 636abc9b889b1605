"""Ctrl+C of a program: its job is cancelled, functions are closed, and nothing else is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.examples import ALL
from tests.faults.processes import LIMIT_S, assert_gone

pytestmark = [pytest.mark.fault, pytest.mark.spark]

PROGRAM = """
import os
import sys
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import MapFunction


class Noisy(MapFunction):
    def map(self, value):
        return value

    def close(self):
        with open(sys.argv[2], "w") as closed:
            closed.write(str(os.getpid()))


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
source = DataGeneratorSource(lambda i: i, 10**9, RateLimiterStrategy.per_second(50))
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(Noisy()).print()
if sys.argv[1] == "execute":
    env.execute("endless")
else:
    env.execute_async("endless").get_job_execution_result().result()
"""


COMMANDS = {"python": [], "headrace": ["-m", "headrace.cluster.cli", "run"]}
CASES = [
    ("python", "execute", "live"),
    ("python", "execute_async", "epochs"),
    ("headrace", "execute", "live"),
]


@pytest.mark.parametrize(
    ("command", "how", "carrier"),
    [*product(COMMANDS, ("execute", "execute_async"), ("live", "epochs"))] if ALL else CASES,
)
def test_an_interrupted_program_ends_quietly(
    command: str, how: str, carrier: str, tmp_path: Path
) -> None:
    program, closed, temporary = tmp_path / "job.py", tmp_path / "closed", tmp_path / "temporary"
    program.write_text(PROGRAM.replace("sys.argv[2]", repr(str(closed))))
    temporary.mkdir()
    running = subprocess.Popen(
        [sys.executable, *COMMANDS[command], str(program), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "HEADRACE_RUN_DIR": str(tmp_path / "run"),
            "HEADRACE_EXECUTION_CARRIER": carrier,
        },
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline(), "the job runs"
        if command == "python":
            running.send_signal(signal.SIGINT)
        else:
            # As a terminal does it: the whole group is interrupted, Java and its workers too.
            os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=LIMIT_S)
    finally:
        running.kill()
    assert said.strip().splitlines()[-1] == "interrupted; running jobs were cancelled"
    assert "Traceback" not in said
    # A shell shows 130 for both.
    assert running.returncode == (130 if command == "headrace" else -signal.SIGINT)
    assert_gone([int(closed.read_text())])
    assert [p.name for p in temporary.iterdir() if p.name.startswith("headrace-")] == []
