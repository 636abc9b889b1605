"""Jobs on a real Spark standalone cluster: one master, two workers, each a host of its own."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cluster.manager.log_files import WorkerLog
from tests.examples import ALL
from tests.faults.cluster_program import KEYS, RECORDS
from tests.faults.counting_runs import CountingRuns
from tests.faults.processes import Child, assert_gone
from tests.standalone_cluster import HOSTS, StandaloneCluster

PROGRAMS = Path(__file__).parent

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    started = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.close()


def test_tasks_are_drawn_to_their_slots(cluster: StandaloneCluster, tmp_path: Path) -> None:
    module = tmp_path / "only_here.py"
    module.write_text("FACTOR = 1\n")
    program = PROGRAMS / "cluster_program.py"
    job = Child(program, [cluster.master, str(module)], tmp_path / "job.log")
    try:
        job.wait_for("result")
    finally:
        job.end()
    rows = json.loads(job.lines("result")[0].split(" ", 1)[1])
    assert [row[:2] for row in rows] == [[key, RECORDS // KEYS] for key in range(KEYS)]
    assert all(".zip/only_here.py" in row[2] for row in rows), "the copy that Spark brought"
    placed = json.loads(job.lines("placed")[0].split(" ", 1)[1])
    slots = [location.split("_") for location in placed["slots"]]
    assert sorted(host for _, host, _ in slots) == sorted(HOSTS)
    drawn = {str(number): executor for number, (_, _, executor) in enumerate(slots)}
    assert len(placed["stages"]) >= 4
    assert all(stage == drawn for stage in placed["stages"])
    check_executor_logs(json.loads(job.lines("logs")[0].split(" ", 1)[1]))


def check_executor_logs(urls: list[dict[str, str]]) -> None:
    """Workers show what their executors wrote, in parts as a JobManager reads it."""
    assert [sorted(of_executor) for of_executor in urls] == [["stderr", "stdout"]] * len(HOSTS)
    for of_executor in urls:
        assert WorkerLog.served_at(of_executor["stderr"])
        log = WorkerLog("stderr", of_executor["stderr"])
        size = log.size()
        text = b"".join(log.read(0, size))
        assert len(text) == size
        assert b"Executor" in text
        assert b"".join(log.read(7, 20)) == text[7:27]
        assert b"".join(log.read(size, 20)) == b""


@pytest.fixture
def runs(cluster: StandaloneCluster, tmp_path: Path) -> Iterator[CountingRuns]:
    job = CountingRuns(cluster.master, tmp_path)
    yield job
    job.end()


def test_executors_and_the_driver_are_killed(
    cluster: StandaloneCluster, runs: CountingRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both executors at once, then the driver; in `make test-all` one executor and a slot, too.

    The job is live, and after that it is not; all records go over the network. Nothing is left of
    what was killed.
    """
    # Slots go to both executors, not to the one that comes first.
    wait_for_both = "spark.cores.max: 6\nspark.scheduler.minRegisteredResourcesRatio: 1.0"
    monkeypatch.setenv("HEADRACE_PROPERTIES", wait_for_both)
    runs.start("elsewhere")
    _, slots = runs.attempt(1)
    assert runs.driver.wait_for("carried", 1) == "carried live"
    runs.wait_for_rows()
    executors = cluster.executors()
    assert len(executors) == 2
    for executor in executors:
        os.kill(executor, signal.SIGKILL)
    runs.attempt(2)
    assert_gone([*slots, *executors])
    runs.wait_for_rows()

    _, later = runs.last_attempt()
    assert not set(slots) & set(later)
    if ALL:
        one, *_ = cluster.executors()
        os.kill(one, signal.SIGKILL)
        os.kill(later[0], signal.SIGKILL)
        assert_gone([*later, one])
        runs.wait_for_rows()

    driver, slots = runs.last_attempt()
    executors = cluster.executors()
    os.kill(driver, signal.SIGKILL)
    assert_gone([*slots, *executors])

    monkeypatch.setenv("HEADRACE_EXECUTION_CARRIER", "epochs")
    runs.start("elsewhere")
    runs.wait_for_rows()
    assert runs.driver.wait_for("carried", 1) == "carried epochs"
    runs.finish()
