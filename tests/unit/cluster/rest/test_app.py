"""The REST application: what it answers, and what it refuses."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.unit.cluster.rest.rest_app import ENDED, LIMIT, rest_app

UNKNOWN = "f" * 32


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return TestClient(rest_app(tmp_path), raise_server_exceptions=False)


def test_a_job_that_has_ended_is_still_told_about(client: TestClient) -> None:
    job = f"/jobs/{ENDED}"
    assert client.get("/overview").json()["jobs-failed"] == 1
    assert client.get(f"/v1{job}").json()["state"] == "FAILED"
    assert client.get(f"{job}/exceptions").json()["root-exception"] == "it broke"
    assert client.get(f"{job}/status").json() == {"status": "FAILED"}
    ended = client.get(f"{job}/execution-result").json()
    assert ended["status"] == {"id": "COMPLETED"}
    assert ended["job-execution-result"]["application-status"] == "FAILED"
    assert "it broke" in ended["job-execution-result"]["failure-cause"]["stack-trace"]
    assert client.get(f"{job}/diagnosis").json()["status"] == "critical"
    assert client.get(f"{job}/epochs").json()["epochs"] == []
    assert client.get(f"{job}/timeline").json() == {"live": False, "moments": []}
    assert client.get(f"{job}/checkpoints").json()["counts"]["completed"] == 0
    assert client.get(f"{job}/checkpoints/config").status_code == 404
    assert client.get(f"{job}/log?offset=5").text == "it said\n"
    assert client.get(f"{job}/metrics").json() == []
    assert client.get("/jobs/metrics").json() == []
    refused = client.get(f"{job}/vertices/v/flamegraph")
    assert (refused.status_code, refused.json()) == (409, {"errors": [f"job {ENDED} is FAILED"]})


def test_the_cluster_describes_itself(client: TestClient) -> None:
    (manager,) = client.get("/taskmanagers").json()["taskmanagers"]
    assert (manager["id"], manager["slotsNumber"], manager["freeSlots"]) == ("driver", 2, 2)
    assert client.get("/taskmanagers/driver").json()["allocatedSlots"] == []
    assert client.get("/taskmanagers/metrics?get=taskSlotsTotal&agg=sum").json() == [
        {"id": "taskSlotsTotal", "sum": 2.0}
    ]
    (value,) = client.get("/jobmanager/metrics?get=numRunningJobs").json()
    assert value == {"id": "numRunningJobs", "value": "0"}
    assert "flink_jobmanager_numRunningJobs" in client.get("/metrics").text
    assert client.get("/jobmanager/log").text == "started\n"
    (log,) = client.get("/jobmanager/logs").json()["logs"]
    assert (log["name"], log["size"]) == ("job-manager.log", 8)
    part = client.get("/jobmanager/logs/job-manager.log?offset=1&limit=3")
    assert (part.text, part.headers["content-type"]) == ("tar", "text/plain; charset=utf-8")
    threads = client.get("/jobmanager/thread-dump").json()["threadInfos"]
    assert any(t["threadName"] == "MainThread" for t in threads)
    assert all("File " in t["stringifiedThreadInfo"] for t in threads)
    assert client.get("/jobmanager/config").json() == [{"key": "rest.port", "value": "8081"}]
    assert "/jobs/{job}" in client.get("/docs").text
    described = client.get("/openapi.json").json()
    ids = [o["operationId"] for path in described["paths"].values() for o in path.values()]
    assert len(ids) == len(set(ids))


def test_a_task_manager_without_slots_has_its_own_log(client: TestClient) -> None:
    (log,) = client.get("/taskmanagers/driver/logs").json()["logs"]
    assert log["name"] == "job-manager.log"
    assert client.get("/taskmanagers/driver/logs/job-manager.log").text == "started\n"
    assert client.get("/taskmanagers/driver/log?offset=100").text == ""
    assert client.get("/taskmanagers/driver/stdout").text == ""
    assert client.get("/taskmanagers/driver/thread-dump").json() == {"threadInfos": []}


@pytest.mark.parametrize(
    "path",
    [
        f"/jobs/{UNKNOWN}",
        f"/jobs/{UNKNOWN}/metrics",
        f"/jobs/{ENDED}/vertices/none",
        f"/jobs/{ENDED}/checkpoints/details/1",
        f"/jobs/{ENDED}/savepoints/none",
        "/taskmanagers/none",
        "/taskmanagers/none/logs",
        "/taskmanagers/none/thread-dump",
        "/taskmanagers/driver/logs/lock",
        "/taskmanagers/driver/logs/..%2fjob-manager.json",
        "/taskmanagers/driver/logs/%2fetc%2fpasswd",
        "/nothing",
        "/jobs/",
        "/jobmanager/logs/nothing.log",
        "/jobmanager/logs/lock",
        # Ways out of a directory.
        "/jobmanager/logs/..%2f..%2fetc%2fpasswd",
        "/jobmanager/logs/%2e%2e%2fjobs",
        "/jobs/..%2f..%2fetc/log",
        "/jobs/%2e%2e/log",
    ],
)
def test_what_is_not_there_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["errors"]


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("POST", f"/jobs/{ENDED}/savepoints", b"{"),
        ("POST", f"/jobs/{ENDED}/savepoints", b"[1]"),
        ("POST", f"/jobs/{ENDED}/savepoints", b'"x"'),
        ("POST", f"/jobs/{ENDED}/savepoints", b"\xff\xfe"),
        ("POST", f"/jobs/{ENDED}/savepoints", b"[" * 5000),
        ("POST", f"/jobs/{ENDED}/savepoints", b'{"target-directory": 1}'),
        ("POST", f"/jobs/{ENDED}/savepoints", b'{"cancel-job": "yes"}'),
        ("POST", f"/jobs/{ENDED}/stop", b'{"targetDirectory": "a\\u0000b"}'),
        ("PATCH", f"/jobs/{ENDED}?mode=stop", b""),
        ("PATCH", f"/jobs/{ENDED}/rescaling?parallelism=0", b""),
        ("PATCH", f"/jobs/{ENDED}/rescaling?parallelism=\u0662", b""),
        ("PATCH", f"/jobs/{ENDED}/rescaling", b""),
        ("POST", "/savepoint-disposal", b"{}"),
        ("POST", "/programs/x.py/run", b'{"programArgsList": "x"}'),
        ("POST", "/programs/x.py/run", b'{"settings": {"a": 1}}'),
        ("POST", "/programs/x.py/run", b'{"parallelism": true}'),
        ("POST", "/programs/x.py/run", b'{"entry": "\\ud800"}'),
        ("GET", f"/jobs/{ENDED}/epochs?limit=0", b""),
        ("GET", f"/jobs/{ENDED}/epochs?after=nan", b""),
        ("GET", f"/jobs/{ENDED}/log?offset=-1", b""),
        ("GET", "/jobmanager/log?limit=x", b""),
        ("GET", f"/jobs/{ENDED}/state/counts", b""),
        ("GET", f"/jobs/{ENDED}/state/counts?key=%00", b""),
        ("GET", "/taskmanagers/driver/log?limit=-1", b""),
        ("GET", f"/jobs/{ENDED}/vertices/v/records?wait=100", b""),
        ("GET", f"/jobs/{ENDED}/vertices/v/flamegraph?type=x", b""),
    ],
)
def test_wrong_requests_are_refused(
    client: TestClient, method: str, path: str, content: bytes
) -> None:
    answer = client.request(method, path, content=content)
    assert answer.status_code == 400
    assert answer.json()["errors"]


def upload(client: TestClient, name: str, content: bytes) -> Any:
    return client.post("/programs/upload", files={"file": (name, content)})


def zipped(**members: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()


def test_programs_are_uploaded_listed_and_deleted(client: TestClient) -> None:
    program = upload(client, "job.py", b"pass").json()["filename"]
    assert [p["name"] for p in client.get("/programs").json()["files"]] == ["job.py"]
    assert client.delete(f"/programs/{program}").status_code == 200
    assert client.delete(f"/programs/{program}").status_code == 404
    assert client.post(f"/programs/{program}/run", json={}).status_code == 404


def test_bad_uploads_are_refused(client: TestClient, tmp_path: Path) -> None:
    for name in ("../job.py", "job.sh", "a/b.py", ".py", "job.py\0", "a" * 300 + ".py"):
        assert upload(client, name, b"").status_code == 400, name
    assert upload(client, "job.zip", b"no zip").status_code == 400
    assert upload(client, "job.py", b"x" * (LIMIT + 1)).status_code == 413
    assert client.post("/programs/upload", data={"file": "text"}).status_code == 400
    garbage = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post("/programs/upload", content=b"--x\r\n", headers=garbage).status_code == 400
    for content in (
        zipped(**{"../out.py": "x"}),
        zipped(**{"/tmp/out.py": "x"}),
        zipped(**{"notes.txt": "x"}),
        zipped(**{"main.py": "x" * (LIMIT + 1)}),
    ):
        program = upload(client, "job.zip", content).json()["filename"]
        assert client.post(f"/programs/{program}/run", json={}).status_code == 400
    program = upload(client, "job.zip", zipped(**{"main.py": "x"})).json()["filename"]
    refused = client.post(f"/programs/{program}/run", json={"entry": "../../secret.py"})
    assert refused.status_code == 400
    assert not list(tmp_path.parent.glob("**/out.py"))
    assert [p.name for p in (tmp_path / "jobs").iterdir()] == [ENDED]
    assert [j["id"] for j in client.get("/jobs").json()["jobs"]] == [ENDED]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 404),
        ({"origin": "http://testserver"}, 404),
        ({"sec-fetch-site": "same-origin"}, 404),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 403),
    ],
)
def test_pages_of_other_sites_change_nothing(
    client: TestClient, headers: dict[str, str], code: int
) -> None:
    for method, path in (
        ("PATCH", f"/jobs/{UNKNOWN}"),
        ("POST", f"/jobs/{UNKNOWN}/stop"),
        ("POST", f"/programs/{UNKNOWN}_x.py/run"),
        ("DELETE", f"/programs/{UNKNOWN}_x.py"),
    ):
        assert client.request(method, path, headers=headers).status_code == code, (method, path)


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    client = TestClient(rest_app(tmp_path, token="secret"))
    for path in ("/overview", "/metrics", "/openapi.json", f"/jobs/{ENDED}"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer no"}).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer secret"}).status_code == 200
