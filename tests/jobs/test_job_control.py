"""A running job is reached by the command line: one job's life."""

from __future__ import annotations

import json
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.coordination.access.job_registry import JobRegistry
from headrace.queryablestate import QueryableStateClient
from tests.jobs.command import HEADRACE, headrace

NAME = "counting words"
CHECKPOINTS = "execution.checkpointing.interval=500 ms"

PROGRAM = """
from headrace.common import WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        descriptor = ValueStateDescriptor("count")
        descriptor.set_queryable("counts")
        self.count = context.get_state(descriptor)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i % 5, 10**9, RateLimiterStrategy.per_second(500))
records = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").uid("words")
counted = records.key_by(lambda word: word).process(Count()).uid("count")
counted.filter(lambda word: False).print()
env.execute("counting words")
"""


class RunningJob:
    """`headrace run` in a process of its own."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        program = directory / "job.py"
        program.write_text(PROGRAM)
        settings = ["-p", "1", "-D", "execution.epoch.target=200 ms"]
        self.log = directory / "job.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*HEADRACE, "run", *settings, *arguments, str(program)],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.id = self._published()
            self.wait_for_count(1)
        except BaseException:
            self.end()
            raise

    def _published(self) -> str:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and self.process.poll() is None:
            for entry in JobRegistry().entries():
                if entry.pid == self.process.pid:
                    return entry.job_id
            time.sleep(0.1)
        raise AssertionError(f"the job did not start:\n{self.log.read_text()}")

    def wait_for_count(self, at_least: int, key: int = 3) -> int:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                state: Any = QueryableStateClient().get_kv_state(self.id, "counts", key).result()
                if state.value() >= at_least:
                    return int(state.value())
            except HeadraceError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"the count stayed low:\n{self.log.read_text()}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[RunningJob]:
    started = RunningJob(tmp_path)
    yield started
    started.end()


def test_the_life_of_a_job(job: RunningJob, tmp_path: Path) -> None:
    (listed,) = json.loads(headrace("list", "-r", "--json"))["jobs"]
    assert (listed["jid"], listed["name"], listed["state"]) == (job.id, NAME, "RUNNING")
    assert NAME in headrace("list")
    (watched,) = json.loads(headrace("top", "-n", "1", "--json"))
    assert (watched["jid"], watched["name"]) == (job.id, NAME)
    assert watched["records-in"] >= 0
    assert NAME in headrace("top", "-n", "1")
    entry = JobRegistry().get(job.id)
    assert entry is not None
    assert stat.S_IMODE(Path(entry.address).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(entry.address).parent.stat().st_mode) == 0o700

    assert "no running job" in headrace("cancel", "deadbeef", code=3)
    assert "nothing for the key 'x'" in headrace("query", NAME, "counts", "x", code=1)
    assert "where should the savepoint go" in headrace("savepoint", job.id, code=1)
    assert "128 key groups" in headrace("rescale", job.id, "-p", "999", code=1)

    rescaled = json.loads(headrace("rescale", job.id[:8], "-p", "2", "--json"))
    assert rescaled == {"job": job.id, "parallelism": 2}
    before = int(headrace("query", job.id, "counts", "3"))
    assert before > 0

    savepoint = json.loads(headrace("savepoint", job.id, str(tmp_path), "--json"))["savepoint"]
    assert (Path(savepoint) / "_metadata").exists()
    headrace("savepoint", "--dispose", savepoint)
    assert not Path(savepoint).exists()

    stopped = headrace("stop", job.id, "-p", str(tmp_path)).split(": ", 1)[1].strip()
    assert job.process.wait(240) == 0
    assert f"job {job.id} ({NAME}) is FINISHED" in headrace("stop", job.id, code=3)

    again = RunningJob(tmp_path, "-s", stopped, "--restoreMode", "claim", "-D", CHECKPOINTS)
    try:
        assert again.wait_for_count(before) >= before
        deadline = time.monotonic() + 240
        while Path(stopped).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not Path(stopped).exists(), "a claimed savepoint goes when a checkpoint replaces it"
        headrace("cancel", again.id)
        assert again.process.wait(240) == 1
        assert "the job was cancelled" in again.log.read_text()
        states = {j["jid"]: j["state"] for j in json.loads(headrace("list", "--json"))["jobs"]}
        assert (states[job.id], states[again.id]) == ("FINISHED", "CANCELED")
    finally:
        again.end()
