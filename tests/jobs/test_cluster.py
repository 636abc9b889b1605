"""A session cluster: programs are submitted, watched, steered, and survive their JobManager."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cluster.client.rest_client import RestClient
from headrace.common.errors import HeadraceError, UnknownJobError
from tests.examples import scaled
from tests.faults.processes import short_lived
from tests.jobs.command import headrace, headrace_process
from tests.jobs.flink_command import FlinkUnavailableError, flink_command

CHECKPOINTS = "execution.checkpointing.interval=500 ms"
LIMIT_S = 150.0

ENDLESS = """
import words                                   # a module of this program alone
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i, 10**9, RateLimiterStrategy.per_second(500))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
pairs = numbers.map(words.pair)
counted = pairs.key_by(lambda p: p[0]).reduce(words.add).uid("count")
pairs.key_by(lambda p: p[0]).as_queryable_state("latest")
pairs.filter(lambda p: False).print()          # the last operator of the first vertex
counted.filter(lambda p: p[1] % 500 == 0).map(lambda p: f"{p[0]} has {p[1]}").print()
env.execute(words.NAME)
"""
WORDS = """
NAME = "{name}"
def pair(i): return ("{name}", 1)
def add(a, b): return (a[0], a[1] + b[1])
"""
SHORT = """
import sys
from headrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(sys.argv[1:]).map(lambda x: 12 // int(x)).print()
env.execute("short")
"""


class RunningCluster:
    """`headrace start-cluster` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.start()

    def start(self) -> None:
        settings = ["--master", "local[2]", "-D", "rest.bind-port=18100-18199"]
        started = headrace_process(
            *("start-cluster", "--json", "--dir", str(self.directory), *settings)
        )
        self.about = json.loads(started)
        self.address = f"127.0.0.1:{self.about['port']}"
        self.client = RestClient(self.address)

    def kill(self) -> None:
        os.kill(self.about["pid"], signal.SIGKILL)

    def get(self, path: str) -> Any:
        return self.client.request("GET", path)

    def submit(self, directory: Path, name: str, *options: str) -> str:
        (directory / "words.py").write_text(WORDS.format(name=name))
        (directory / "job.py").write_text(ENDLESS)
        said = headrace(
            *("run", "-d", "-m", self.address, "-p", "1", "-D", CHECKPOINTS, *options),
            *("-pyfs", str(directory / "words.py"), str(directory / "job.py")),
        )
        return said.split()[-1]

    def wait(self, condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.2)
        logs = [p.read_text() for p in self.directory.glob("**/*.log")]
        raise AssertionError(f"{what}:\n" + "\n".join(logs))

    def count_of(self, job: str) -> int:
        """The last count that the job printed."""
        lines = [li for li in self.get(f"/jobs/{job}/log").splitlines() if " has " in li]
        return int(lines[-1].split()[-1]) if lines else 0

    def restored(self, job: str) -> bool:
        return self.get(f"/jobs/{job}/checkpoints")["latest"]["restored"] is not None

    def state_of(self, job: str) -> str:
        state: str = self.get(f"/jobs/{job}")["state"]
        return state


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path_factory.mktemp("cluster"))
    yield running
    headrace("stop-cluster", "--dir", str(running.directory))


@pytest.fixture(scope="module")
def jobs(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two jobs at once, whose modules have the same name."""
    submitted = [cluster.submit(tmp_path_factory.mktemp("job"), n) for n in ("first", "second")]
    for job in submitted:
        cluster.wait(lambda job=job: cluster.count_of(job) > 0, f"{job} counted nothing")
    return submitted


def test_jobs_run_side_by_side_with_code_of_their_own(
    cluster: RunningCluster, jobs: list[str]
) -> None:
    listed = json.loads(headrace("list", "-m", cluster.address, "--json"))["jobs"]
    names = {j["jid"]: (j["name"], j["state"]) for j in listed}
    assert [names[job] for job in jobs] == [("first", "RUNNING"), ("second", "RUNNING")]
    job = cluster.get(f"/v1/jobs/{jobs[0]}")
    vertex = job["vertices"][1]["id"]
    assert cluster.get(f"/jobs/{jobs[0]}/vertices/{vertex}")["subtasks"][0]["status"] == "RUNNING"
    assert len(cluster.get(f"/jobs/{jobs[0]}/plan")["plan"]["nodes"]) == len(job["vertices"])
    assert cluster.get("/overview")["jobs-running"] == 2
    assert cluster.get(f"/jobs/{jobs[0]}/status") == {"status": "RUNNING"}
    assert cluster.get(f"/jobs/{jobs[0]}/execution-result") == {"status": {"id": "IN_PROGRESS"}}


def test_everything_about_a_job_can_be_seen(cluster: RunningCluster, jobs: list[str]) -> None:
    job = f"/jobs/{jobs[0]}"
    about = cluster.get(job)
    source, count = (v["id"] for v in about["vertices"][:2])
    assert about["vertices"][1]["rates"].keys() >= {"records-in", "busy", "max-busy", "watermark"}
    assert about["diagnosis"]["sentence"]
    assert [n["level"] for n in about["plan"]["nodes"]] == [0, 1, 1]
    assert about["plan"]["nodes"][1]["operators"][0]["keyed"]

    cluster.wait(
        lambda: int(_value(cluster, f"{job}/vertices/{count}/metrics", "0.numRecordsIn")) > 0,
        "no record was counted",
    )
    first, second = (v["metrics"] for v in cluster.get(job)["vertices"][:2])
    assert first["write-records"] == first["read-records"] > 0, "to two vertices, counted once"
    assert (second["write-records"], second["write-bytes"]) == (0, 0), "sinks send nothing on"
    names = {m["id"] for m in cluster.get(f"{job}/vertices/{count}/subtasks/0/metrics")}
    assert names >= {"busyTimeMsPerSecond", "currentInputWatermark", "numRecordsOutPerSecond"}
    (aggregated,) = cluster.get(
        f"{job}/vertices/{count}/subtasks/metrics?get=numRecordsIn&agg=max,sum"
    )
    assert aggregated["sum"] >= aggregated["max"] > 0
    assert _value(cluster, f"{job}/metrics", "numRestarts") == "0"
    assert int(_value(cluster, "/jobmanager/metrics", "numRunningJobs")) == 2
    prometheus = cluster.get("/metrics")
    assert 'flink_taskmanager_job_task_operator_numRecordsIn{host="' in prometheus
    assert jobs[0] in prometheus
    assert jobs[1] in prometheus

    epochs = cluster.get(f"{job}/epochs?limit=2")
    assert 0 < len(epochs["epochs"]) <= min(2, epochs["total"])
    last = epochs["epochs"][-1]
    assert sum(p["ms"] for p in last["phases"]) == pytest.approx(last["duration"], rel=0.1)
    pressure = cluster.get(f"{job}/vertices/{source}/backpressure")
    assert pressure["backpressureLevel"] in ("ok", "low", "high")
    assert cluster.get(f"{job}/watermarks")["held-back-by"] is None
    (mark,) = cluster.get(f"{job}/vertices/{count}/watermarks")
    assert mark["id"] == "0.currentInputWatermark"
    subtask = cluster.get(f"{job}/vertices/{count}/subtasks/0")
    assert subtask["endpoint"].rpartition(":")[2].isdecimal()
    cluster.wait(
        lambda: cluster.get(f"{job}/vertices/{count}")["subtasks"][0]["taskmanager-id"] == "driver",
        "the task manager of the subtask is not known",
    )

    cluster.wait(
        lambda: cluster.get(f"{job}/checkpoints")["latest"]["completed"] is not None,
        "no checkpoint completed",
    )
    checkpoint = cluster.get(f"{job}/checkpoints")["latest"]["completed"]
    details = cluster.get(f"{job}/checkpoints/details/{checkpoint['id']}")
    assert details["tasks"][count]["num_acknowledged_subtasks"] == 1
    parts = cluster.get(f"{job}/checkpoints/details/{checkpoint['id']}/subtasks/{count}")
    assert parts["subtasks"][0]["status"] == "completed"
    assert cluster.get(f"{job}/checkpoints/config")["interval"] == 500
    settings = {s["key"]: s["value"] for s in cluster.get(f"{job}/config")["settings"]}
    assert settings["execution.checkpointing.interval"]


def test_the_cluster_tells_about_itself(cluster: RunningCluster, jobs: list[str]) -> None:
    (manager,) = cluster.get("/taskmanagers")["taskmanagers"]
    assert manager["slotsNumber"] == 2
    cluster.wait(
        lambda: (
            {s["jobId"] for s in cluster.get(f"/taskmanagers/{manager['id']}")["allocatedSlots"]}
            == set(jobs)
        ),
        "the slots of both jobs are not in the slot report",
    )
    names = [log["name"] for log in cluster.get("/jobmanager/logs")["logs"]]
    assert names == ["job-manager.log"]
    assert "listens on" in cluster.get("/jobmanager/log")
    paths = cluster.get("/openapi.json")["paths"]
    assert "/jobs/{job}/vertices/{vertex}/flamegraph" in paths
    assert "GET" in cluster.get("/docs")


def test_logs_and_threads_of_slots_are_shown(cluster: RunningCluster, jobs: list[str]) -> None:
    manager = "/taskmanagers/driver"
    wanted = [f"{job}-slot-0.log" for job in jobs]

    def listed() -> dict[str, int]:
        return {log["name"]: log["size"] for log in cluster.get(f"{manager}/logs")["logs"]}

    cluster.wait(lambda: all(listed().get(n, 0) > 0 for n in wanted), "slots have no logs")
    assert "job-manager.log" in listed()
    for name, words in zip(wanted, ("first has ", "second has "), strict=True):
        text = cluster.get(f"{manager}/logs/{name}")
        lines = [line for line in text.splitlines() if " has " in line]
        assert lines
        assert all(words in line for line in lines), "what another slot wrote"
        assert cluster.get(f"{manager}/logs/{name}?offset=2&limit=5") == text[2:7]
    assert all(f"==== {name} ====" in cluster.get(f"{manager}/stdout") for name in wanted)
    assert "listens on" in cluster.get(f"{manager}/log")

    def slots_seen() -> bool:
        threads = cluster.get(f"{manager}/thread-dump")["threadInfos"]
        shown = [t["stringifiedThreadInfo"] for t in threads if "MainThread" in t["threadName"]]
        return len(shown) == len(jobs) and all(
            "headrace/runtime/slot/process.py" in s for s in shown
        )

    cluster.wait(slots_seen, "the threads of both slots are not shown")
    own = cluster.get("/jobmanager/thread-dump")["threadInfos"]
    assert any("uvicorn" in t["stringifiedThreadInfo"] for t in own)


def test_state_is_queried_over_rest(cluster: RunningCluster, jobs: list[str]) -> None:
    found = cluster.get(f"/jobs/{jobs[0]}/state/latest?key=first")
    assert found["kind"] == "ValueState"
    assert found["value"].startswith("('first', ")
    said = headrace("query", "-m", cluster.address, jobs[0], "latest", "first", "--json")
    assert json.loads(said)["value"].startswith("('first', ")
    with pytest.raises(HeadraceError, match="nothing for the key 7"):
        cluster.get(f"/jobs/{jobs[0]}/state/latest?key=7")
    with pytest.raises(HeadraceError, match="nothing for the key '7'"):
        cluster.get(f"/jobs/{jobs[0]}/state/latest?key=7&text=true")
    headrace("query", "-m", cluster.address, jobs[0], "nothing", "first", code=1)


def test_a_job_can_be_looked_into(cluster: RunningCluster, jobs: list[str]) -> None:
    node = cluster.get(f"/jobs/{jobs[0]}")["plan"]["nodes"][0]
    vertex = f"/jobs/{jobs[0]}/vertices/{node['id']}"
    records = f"{vertex}/records?operator={node['operators'][1]['id']}"
    seen = cluster.get(f"{records}&limit=5&wait=10")
    cluster.wait(
        lambda: bool(cluster.get(f"{records}&limit=1&wait=10")["records"]),
        f"no record was seen: {seen}",
    )

    def sampled() -> bool:
        # The source sleeps most of the time: a sample may have found nothing.
        graph = cluster.get(f"{vertex}/flamegraph?type=full&refresh=true")
        return bool(graph["data"] and graph["data"]["value"])

    cluster.wait(sampled, "no stack was sampled")


@pytest.mark.timeout(900)
def test_generated_requests_find_no_mistake(cluster: RunningCluster, jobs: list[str]) -> None:
    # Its import takes a second in every process that collects tests.
    from tests.jobs.rest_fuzzing import check_all

    vertices = [v["id"] for v in cluster.get(f"/jobs/{jobs[0]}")["vertices"]]
    known = {"job": jobs[:1], "vertex": vertices[:1], "subtask": ["0"], "manager": ["driver"]}
    description = cluster.get("/openapi.json")
    operations = sum(map(len, description["paths"].values()))
    assert check_all(description, f"http://{cluster.address}", known) == operations - 1
    assert [cluster.state_of(job) for job in jobs] == ["RUNNING", "RUNNING"]


def _value(cluster: RunningCluster, path: str, name: str) -> str:
    (found,) = cluster.get(f"{path}?get={name}")
    value: str = found["value"]
    return value


def test_jobs_go_on_after_the_job_manager_was_killed(
    cluster: RunningCluster, jobs: list[str]
) -> None:
    def checkpoints() -> list[int]:
        return [cluster.get(f"/jobs/{j}/checkpoints")["counts"]["completed"] for j in jobs]

    # The second one from now on was begun after the first counts were printed.
    wanted = [count + 2 for count in checkpoints()]
    cluster.wait(
        lambda: all(c >= w for c, w in zip(checkpoints(), wanted, strict=True)),
        "no checkpoints were taken",
    )
    before = [cluster.count_of(job) for job in jobs]
    cluster.kill()
    cluster.start()
    for job, count in zip(jobs, before, strict=True):
        # Counts may still come from the process before, and nothing is restored in that one.
        cluster.wait(lambda j=job: cluster.restored(j), f"{job} did not go on")
        cluster.wait(lambda j=job, c=count: cluster.count_of(j) > c, f"{job} did not count on")
        counts = [
            li.split()[-1] for li in cluster.get(f"/jobs/{job}/log").splitlines() if "has" in li
        ]
        assert int(counts[0]) == 500
        assert counts.count("500") == 1, "a job that begins anew counts from one again"


@pytest.mark.timeout(900)
def test_a_job_is_steered_over_rest(
    cluster: RunningCluster, jobs: list[str], tmp_path: Path
) -> None:
    headrace("rescale", "-m", cluster.address, jobs[0], "-p", "2")
    assert max(v["parallelism"] for v in cluster.get(f"/jobs/{jobs[0]}")["vertices"]) == 2
    path = json.loads(
        headrace("stop", "-m", cluster.address, jobs[0], "-p", str(tmp_path), "--json")
    )["savepoint"]
    assert (Path(path) / "_metadata").exists()
    cluster.wait(lambda: cluster.state_of(jobs[0]) == "FINISHED", "the job did not end")
    headrace("stop", "-m", cluster.address, jobs[0], code=3)
    counted = cluster.count_of(jobs[0])
    resumed = cluster.submit(tmp_path, "first", "-s", path)
    cluster.wait(lambda: cluster.count_of(resumed) > 0, "the savepoint was not resumed")
    assert cluster.count_of(resumed) > counted, "it began anew"
    assert cluster.get(f"/jobs/{resumed}/checkpoints")["latest"]["restored"]["is_savepoint"]
    assert "RUNNING" in headrace("list", "-r", "--why", "-m", cluster.address)
    headrace("cancel", "-m", cluster.address, resumed)
    cluster.wait(lambda: cluster.state_of(resumed) == "CANCELED", "the job was not cancelled")


def test_a_program_is_followed_to_its_end(cluster: RunningCluster, tmp_path: Path) -> None:
    program = tmp_path / "short.py"
    program.write_text(SHORT)
    run = ("run", "-m", cluster.address, "-p", "1", str(program))
    assert headrace(*run, "3", "4").splitlines()[1:] == ["4", "3"]
    assert "ZeroDivisionError" in headrace(*run, "0", code=1)
    failed = next(j for j in cluster.get("/jobs/overview")["jobs"] if j["state"] == "FAILED")
    assert "ZeroDivisionError" in cluster.get(f"/jobs/{failed['jid']}/exceptions")["root-exception"]


@pytest.mark.timeout(1800)
def test_flinks_own_command_works(cluster: RunningCluster, jobs: list[str], tmp_path: Path) -> None:
    try:
        flink = flink_command()
    except FlinkUnavailableError as error:
        pytest.skip(f"no `flink` command (HEADRACE_FLINK names one): {error}")
    job = jobs[1]
    stopped = cluster.submit(tmp_path, "third")
    cluster.wait(lambda: cluster.count_of(stopped) > 0, "the third job counted nothing")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [flink, arguments[0], "-m", cluster.address, *arguments[1:]],
            env={**os.environ, **short_lived()},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Savepoint completed" in run("savepoint", job, str(tmp_path))
    assert "Savepoint completed" in run("stop", "-p", str(tmp_path), stopped)
    cluster.wait(lambda: cluster.state_of(stopped) == "FINISHED", "the job was not stopped")
    listed = run("list", "-a")
    assert f"{job} : second (RUNNING)" in listed
    assert f"{stopped} : third (FINISHED)" in listed
    assert "Cancelled job" in run("cancel", job)
    cluster.wait(lambda: cluster.state_of(job) == "CANCELED", "the job was not cancelled")


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("GET", "/jobs/" + "0" * 32, None, "there is no job"),
        ("GET", "/jobs/..%2f..%2fetc/log", None, "Not Found"),
        ("GET", "/jobs/x/savepoints/nothing", None, "there is no operation"),
        ("POST", "/programs/..%2f..%2fx.py/run", {}, "Not Found"),
        ("POST", "/programs/x.py/run", {}, "there is no program"),
        ("POST", "/programs/x.py/run", b"{", "not JSON"),
        ("POST", "/programs/x.py/run", b"[1]", "not a JSON object"),
        ("POST", "/programs/x.py/run", {"parallelism": "2"}, "parallelism must be a number"),
        ("POST", "/savepoint-disposal", {}, "savepoint-path is missing"),
        ("POST", "/programs/upload", b"", "a part with a file is missing"),
        ("DELETE", "/jobs", None, "Method Not Allowed"),
        ("GET", "/jobs/x/epochs?limit=no", None, "limit must be a number"),
        ("GET", "/jobs/x/vertices/v/flamegraph?type=fast", None, "type must be one of"),
        ("GET", "/jobs/x/vertices/v/metrics", None, "there is no job"),
        ("GET", "/taskmanagers/none", None, "no task manager"),
        ("GET", "/jobmanager/logs/..%2fjobs", None, "Not Found"),
        ("GET", "/jobmanager/logs/lock", None, "there is no log"),
        ("POST", "/programs/x.py/run", {"entry": "a\0b"}, "not a text that file systems accept"),
    ],
)
def test_wrong_requests_are_refused(
    cluster: RunningCluster, method: str, path: str, body: Any, says: str
) -> None:
    with pytest.raises(HeadraceError, match=says):
        cluster.client.request(method, path, body)


def test_bad_uploads_are_refused(cluster: RunningCluster) -> None:
    for name in ("../job.py", "job.sh", "a/b.py", ".py"):
        with pytest.raises(HeadraceError, match="plain name"):
            cluster.client.upload(name, b"")
    with pytest.raises(HeadraceError, match="not a zip file"):
        cluster.client.upload("job.zip", b"no zip")
    with pytest.raises(UnknownJobError):
        cluster.client.submit("0" * 32 + "_gone.py", {})


# Far more than there are cores and slots; more of them in `make test-all`.
MANY = min(20, scaled(8))
SMALL = """
import sys
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i, 10**9, RateLimiterStrategy.per_second(0.5))
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
env.execute(sys.argv[1])
"""
MEMORY_OF_JOB = 400 << 20


@pytest.mark.timeout(1800)
def test_many_jobs_run_at_once(cluster: RunningCluster) -> None:
    program = cluster.client.upload("small.py", SMALL.encode())
    how = {"parallelism": 1, "settings": {"execution.epoch.target": "10 s"}}
    many = [
        cluster.client.submit(program, {**how, "programArgsList": [f"small {number}"]})
        for number in range(MANY)
    ]

    def all_are(*states: str) -> bool:
        found = {j["jid"]: j["state"] for j in cluster.get("/jobs/overview")["jobs"]}
        return all(found[job] in states for job in many)

    def all_have_read() -> bool:
        return all(cluster.get(f"/jobs/{job}/epochs")["total"] > 0 for job in many)

    cluster.wait(lambda: all_are("RUNNING"), "not all jobs run", 600)
    cluster.wait(all_have_read, "not all jobs have read something", 600)
    (manager,) = cluster.get("/taskmanagers")["taskmanagers"]
    slots = cluster.get(f"/taskmanagers/{manager['id']}")["allocatedSlots"]
    used = sum(map(_resident_bytes, {slot["pid"] for slot in slots if slot["jobId"] in many}))
    assert used < MANY * MEMORY_OF_JOB
    for job in many:
        cluster.client.request("PATCH", f"/jobs/{job}?mode=cancel")
    cluster.wait(lambda: all_are("CANCELED"), "not all jobs were cancelled", 600)


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
