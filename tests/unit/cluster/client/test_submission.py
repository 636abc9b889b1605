"""What `headrace run` sends where: the JobManager it finds, and the files that go along."""

from __future__ import annotations

import argparse
import io
import json
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headrace.cluster.cli import build_parser
from headrace.cluster.client import submission
from headrace.cluster.client.configured import configured_job_manager
from headrace.cluster.client.jobs import LocalJobs, jobs_of
from headrace.cluster.client.rest_client import RestClient, RestJobs
from headrace.cluster.errors import UsageError
from headrace.cluster.program_options import program_of, settings_of
from headrace.coordination.access.control_client import OnProgress


def parsed(*arguments: str) -> argparse.Namespace:
    return build_parser().parse_args(list(arguments))


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "HEADRACE_CONF_DIR",
        "FLINK_CONF_DIR",
        "HEADRACE_REST_ADDRESS",
        "HEADRACE_REST_PORT",
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_configured_job_manager_is_used(tmp_path: Path) -> None:
    assert configured_job_manager() is None
    assert submission.job_manager_of(parsed("run", "job.py")) is None
    assert isinstance(jobs_of(parsed("list")), LocalJobs)
    (tmp_path / "headrace.yaml").write_text("rest:\n  address: 127.0.0.1\n  port: 9999\n")
    assert submission.job_manager_of(parsed("run", "job.py")) == "127.0.0.1:9999"
    assert submission.job_manager_of(parsed("run", "-m", "h:1", "job.py")) == "h:1"
    assert submission.job_manager_of(parsed("run", "-m", "local", "job.py")) is None
    assert isinstance(jobs_of(parsed("list")), RestJobs)
    assert isinstance(jobs_of(parsed("list", "-m", "local")), LocalJobs)


def test_the_command_line_and_the_environment_may_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert configured_job_manager(["rest.port=8082"]) == "localhost:8082"
    monkeypatch.setenv("HEADRACE_REST_ADDRESS", "there")
    assert configured_job_manager() == "there:8081"
    assert configured_job_manager(["security.ssl.rest.certificate=c"]) == "https://there:8081"


def test_the_job_manager_of_flinks_own_file_is_flinks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("rest:\n  address: localhost\n")
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    assert configured_job_manager() is None


class Recorded:
    """In the place of the client."""

    uploads: list[tuple[str, bytes]]
    submitted: dict[str, Any]

    def __init__(self, address: str) -> None:
        Recorded.uploads = []

    def upload(self, name: str, content: bytes, on_progress: OnProgress) -> str:
        on_progress({})
        self.uploads.append((name, content))
        return "id"

    def submit(self, program: str, how: dict[str, Any]) -> str:
        Recorded.submitted = how
        return "f" * 32


def test_requirements_and_archives_go_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("job.py", "more.py", "requirements.txt", "env.zip"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(submission, "RestClient", Recorded)
    options = parsed(
        *("run", "-d", "--json", "-pyfs", "more.py", "-pyreq", "requirements.txt"),
        *("-pyarch", "env.zip#env", "-D", "pipeline.name=x", "job.py", "argument"),
    )
    assert submission.submit(options, "h:1") == 0
    assert json.loads(capsys.readouterr().out) == {"jobid": "f" * 32, "jobmanager": "h:1"}
    ((name, content),) = Recorded.uploads
    assert name == "job.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert sorted(archive.namelist()) == ["env.zip", "job.py", "more.py", "requirements.txt"]
    assert Recorded.submitted["entry"] == "job.py"
    assert Recorded.submitted["programArgsList"] == ["argument"]
    assert Recorded.submitted["settings"] == {
        "pipeline.name": "x",
        "python.requirements": "requirements.txt",
        "python.archives": "env.zip#env",
    }


def test_a_savepoint_and_a_parallelism_may_be_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.py").touch()
    monkeypatch.setattr(submission, "RestClient", Recorded)
    settings = ("-D", "execution.savepoint.path=/s/1", "-D", "parallelism.default=3")
    submission.submit(parsed("run", "-d", *settings, "job.py"), "h:1")
    assert Recorded.submitted["savepointPath"] == "/s/1"
    assert Recorded.submitted["parallelism"] == 3
    assert Recorded.submitted["settings"] == {}


def test_a_zip_takes_further_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        archive.writestr("__main__.py", "pass")
    (tmp_path / "more.py").write_text("pass")
    monkeypatch.setattr(submission, "RestClient", Recorded)
    submission.submit(parsed("run", "-d", "-pyfs", "more.py", "job.zip"), "h:1")
    with zipfile.ZipFile(io.BytesIO(Recorded.uploads[0][1])) as archive:
        assert sorted(archive.namelist()) == ["__main__.py", "more.py"]


def test_what_a_cluster_cannot_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a module"):
        submission.submit(parsed("run", "-pym", "job"), "h:1")
    with pytest.raises(UsageError, match="there is no file"):
        submission.submit(parsed("run", "none.py"), "h:1")
    (tmp_path / "job.py").write_text("")
    with pytest.raises(UsageError, match="without a cache"):
        submission.submit(parsed("run", "-pyreq", "r.txt#cache", "job.py"), "h:1")


class Followed(Recorded):
    """A job whose log ends in the middle of a character when it is first read."""

    written = b"caf\xc3\xa9 \xff done\n"
    parts: ClassVar = [written[:4], written]

    def request(self, method: str, path: str) -> dict[str, Any]:
        state = "FINISHED" if len(self.parts) == 1 else "RUNNING"
        return {"id": "f" * 32, "status": state, "jobs": [{"id": "f" * 32, "status": state}]}

    def log(self, job: str, offset: int) -> tuple[int, bytes]:
        part = self.parts.pop(0)
        return len(part), part[offset:]


def test_a_log_is_followed_to_its_last_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.py").touch()
    monkeypatch.setattr(submission, "RestClient", Followed)
    assert submission.submit(parsed("run", "-m", "h:1", "job.py"), "h:1") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["caf\u00e9 \ufffd done"]


class _Taking(BaseHTTPRequestHandler):
    received = b""

    def do_POST(self) -> None:
        _Taking.received = self.rfile.read(int(self.headers["Content-Length"]))
        answer = b'{"filename": "id_job.zip"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_an_upload_tells_how_far_it_is() -> None:
    content = os.urandom(300_000)
    told: list[dict[str, Any]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Taking) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        client = RestClient(f"127.0.0.1:{server.server_port}")
        assert client.upload("job.zip", content, told.append) == "id_job.zip"
        server.shutdown()
    assert content in _Taking.received
    sent = [t["bytes"] for t in told]
    assert len(sent) > 1
    assert sent == sorted(sent)
    assert told[-1] == {"bytes": len(_Taking.received), "of": len(_Taking.received)}


def test_a_target_is_flinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert submission.job_manager_of(parsed("run", "-t", "remote", "job.py")) == "localhost:8081"
    (tmp_path / "config.yaml").write_text("rest:\n  address: there\n")
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    assert submission.job_manager_of(parsed("run", "-t", "remote", "job.py")) == "there:8081"
    assert submission.job_manager_of(parsed("run", "-t", "local", "job.py")) is None
    assert isinstance(jobs_of(parsed("stop", "-t", "remote", "j")), RestJobs)
    assert settings_of(parsed("run", "-t", "yarn-application", "job.py")).to_dict() == {
        "spark.master": "yarn"
    }
    with pytest.raises(SystemExit):
        parsed("stop", "-t", "native", "j")


def test_a_class_is_javas(tmp_path: Path) -> None:
    (tmp_path / "job.py").touch()
    driver = "org.apache.flink.client.python.PythonDriver"
    assert program_of(parsed("run", "-c", driver, "-py", "job.py")).path == Path("job.py")
    with pytest.raises(UsageError, match="class of a Java program"):
        program_of(parsed("run", "-c", "shop.Main", "job.py"))
