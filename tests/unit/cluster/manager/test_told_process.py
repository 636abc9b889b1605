"""Settings of processes that we start are not on their command lines, where all can read them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace.cluster.client.cluster_start import start_process
from headrace.cluster.manager.dispatcher import Dispatcher, Submission
from headrace.cluster.manager.programs import Programs
from headrace.common.errors import HeadraceError

PROGRAM = b"""
import pathlib, sys
from headrace.datastream import StreamExecutionEnvironment
configuration = StreamExecutionEnvironment.get_execution_environment().get_configuration()
print("command", pathlib.Path("/proc/self/cmdline").read_text().split(chr(0)))
print("setting", configuration.get_string("s3.secret-key", "missing"), "arguments", sys.argv[1:])
"""
SERVER = """
from pathlib import Path
from headrace.cluster.manager.told_process import what_was_told
print("command", Path("/proc/self/cmdline").read_text().split(chr(0)))
print("setting", what_was_told()["s3.secret-key"])
"""


def test_the_settings_of_a_job_are_not_on_its_command_line(tmp_path: Path) -> None:
    programs = Programs(tmp_path / "programs", 10_000)
    program = programs.add("job.py", lambda file: file.write(PROGRAM) and None)
    dispatcher = Dispatcher(tmp_path, programs, {})
    job = dispatcher.submit(
        Submission(program.id, arguments=("one",), settings={"s3.secret-key": "hidden"})
    )
    while not (tmp_path / "jobs" / job / "ended.json").exists():
        time.sleep(0.05)
    written = (tmp_path / "jobs" / job / "job.log").read_text()
    command, setting = written.splitlines()[:2]
    assert setting == "setting hidden arguments ['one']"
    assert "hidden" not in command
    assert job in command


def test_the_settings_of_a_server_are_not_on_its_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "told_server.py").write_text(SERVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    log = tmp_path / "log"
    with pytest.raises(HeadraceError, match="the server ended"):
        start_process(
            "told_server", ["a"], {"s3.secret-key": "hidden"}, log, lambda pid: None, "server"
        )
    command, setting = log.read_text().splitlines()
    assert setting == "setting hidden"
    assert "hidden" not in command
