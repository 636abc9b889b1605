"""Jobs of SQL clients and SQL gateways that belong to a session cluster."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cluster.client.rest_client import RestClient
from tests.jobs.command import HEADRACE, headrace, headrace_process
from tests.jobs.test_cluster import RunningCluster
from tests.jobs.test_cluster_programs import jobs
from tests.jobs.test_sql_gateway import BOUNDED, ENDLESS, NOWHERE

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path / "cluster")
    yield running
    headrace("stop-cluster", "--dir", str(running.directory))


def states(cluster: RunningCluster) -> dict[str, str]:
    return {name: job["state"] for name, job in jobs(cluster).items()}


def insert(name: str, table: str) -> str:
    return f"SET 'pipeline.name' = '{name}'; INSERT INTO nowhere SELECT n FROM {table};"


def test_jobs_of_a_client_and_a_gateway_are_those_of_the_cluster(
    cluster: RunningCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = f"{BOUNDED}; {ENDLESS}; {NOWHERE}; SET 'parallelism.default' = '1';"
    options = ("sql-client", "-m", cluster.address, "-e")
    # Its jobs have the client's Python, whatever the `python3` of the PATH is.
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    headrace_process(*options, first + insert("bounded", "five"))
    assert states(cluster) == {"bounded": "FINISHED"}

    client = subprocess.Popen([*HEADRACE, *options, first + insert("endless", "endless")])
    cluster.wait(lambda: states(cluster).get("endless") == "RUNNING", "a running job")
    headrace("cancel", "-m", cluster.address, jobs(cluster)["endless"]["jid"])
    assert client.wait() != 0, "its job did not finish"
    cluster.wait(lambda: states(cluster)["endless"] == "CANCELED", "a cancelled job")

    where = ("--dir", str(tmp_path / "gateway"), "--json", "-m", cluster.address)
    port = "-Dsql-gateway.endpoint.rest.bind-port=18300-18399"
    gateway = json.loads(headrace_process("sql-gateway", "start", *where, port))
    endpoint = f"127.0.0.1:{gateway['port']}"
    session = RestClient(endpoint).request("POST", "/v2/sessions", {})["sessionHandle"]
    for statement in (first + insert("of a gateway", "endless")).split(";")[:-1]:
        path = f"/v2/sessions/{session}/statements"
        told = RestClient(endpoint).request("POST", path, {"statement": statement})
        result = f"/v2/sessions/{session}/operations/{told['operationHandle']}/status"
        cluster.wait(
            lambda path=result: RestClient(endpoint).request("GET", path)["status"] == "FINISHED",
            statement,
        )
    cluster.wait(lambda: states(cluster)["of a gateway"] == "RUNNING", "the gateway's job")
    headrace("cancel", "-m", cluster.address, jobs(cluster)["of a gateway"]["jid"])
    ended = {"bounded": "FINISHED", "endless": "CANCELED", "of a gateway": "CANCELED"}
    cluster.wait(lambda: states(cluster) == ended, "all jobs at their end")
    archived = jobs(cluster)["of a gateway"]["jid"]
    assert (cluster.directory / "archive" / f"{archived}.json").exists()

    cluster.kill()
    cluster.wait(lambda: not os.path.exists(f"/proc/{gateway['pid']}"), "the gateway's end")
    cluster.start()
    cluster.wait(lambda: states(cluster) == ended, "the same jobs after a restart")
