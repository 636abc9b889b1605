"""Programs with several jobs in a session cluster: all of them are the cluster's jobs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.command import headrace
from tests.jobs.test_cluster import CHECKPOINTS, RunningCluster

pytestmark = pytest.mark.spark

TWO_JOBS = """
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["the first job ran"]).print()
env.execute("first")
source = DataGeneratorSource(lambda i: i, 10**9, RateLimiterStrategy.per_second(500))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
numbers.key_by(lambda i: i % 10).reduce(lambda a, b: a + b).uid("sum").filter(bool).print()
env.execute("second")
"""
BOTH = ("first", "second")
RUNNING = ["FINISHED", "RUNNING"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path_factory.mktemp("cluster"))
    yield running
    headrace("stop-cluster", "--dir", str(running.directory))


def jobs(cluster: RunningCluster) -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in cluster.get("/jobs/overview")["jobs"]}


def states(cluster: RunningCluster, *names: str) -> list[str]:
    found = jobs(cluster)
    return [found[name]["state"] for name in names if name in found]


def restart(cluster: RunningCluster) -> None:
    cluster.kill()
    cluster.start()
    cluster.wait(lambda: states(cluster, *BOTH) == RUNNING, "both jobs after a restart")


def test_later_jobs_are_listed_rescaled_recovered_and_cancelled(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    (tmp_path / "two_jobs.py").write_text(TWO_JOBS)
    options = ("-d", "-m", cluster.address, "-p", "1", "-D", CHECKPOINTS)
    first = headrace("run", *options, str(tmp_path / "two_jobs.py")).split()[-1]
    cluster.wait(lambda: states(cluster, *BOTH) == RUNNING, "both jobs")
    second = jobs(cluster)["second"]["jid"]
    assert jobs(cluster)["first"]["jid"] == first

    headrace("rescale", "-m", cluster.address, second, "-p", "2")
    cluster.wait(lambda: parallelism(cluster, second) == 2, "a parallelism of 2")
    cluster.wait(lambda: completed(cluster, second) > 0, "a checkpoint")
    restart(cluster)
    assert jobs(cluster)["second"]["jid"] == second
    assert parallelism(cluster, second) == 2
    restored = cluster.get(f"/jobs/{second}/checkpoints")["latest"]["restored"]
    assert restored is not None
    log = cluster.get(f"/jobs/{first}/log")
    assert log.count("the first job ran") == 1

    entry = json.loads((cluster.directory / "run" / f"{second}.job").read_text())
    os.kill(entry["pid"], signal.SIGSTOP)
    assert jobs(cluster).keys() >= set(BOTH), "who is frozen holds up nobody"
    headrace("cancel", "-m", cluster.address, second)
    ended = ["FINISHED", "CANCELED"]
    cluster.wait(lambda: states(cluster, *BOTH) == ended, "a killed job")


def parallelism(cluster: RunningCluster, job: str) -> int:
    found: int = cluster.get(f"/jobs/{job}")["vertices"][0]["parallelism"]
    return found


def completed(cluster: RunningCluster, job: str) -> int:
    found: int = cluster.get(f"/jobs/{job}/checkpoints")["counts"]["completed"]
    return found


SEVERAL = """
import sys
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
for name in ("one", "two"):
    env.from_collection([f"job {name}"]).print()
    env.execute(f"{name} of {sys.argv[1]}")
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_is_followed_to_the_end_of_its_last_job(
    cluster: RunningCluster, tmp_path: Path, code: int
) -> None:
    (tmp_path / "several.py").write_text(SEVERAL)
    run = ("run", "-m", cluster.address, "-p", "1", str(tmp_path / "several.py"), str(code))
    said = headrace(*run, code=1 if code else 0)
    assert "job one" in said
    assert "job two" in said
    assert states(cluster, f"one of {code}", f"two of {code}") == ["FINISHED", "FINISHED"]
