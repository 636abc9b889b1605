"""Logs begin new files, and places in them stay what they were."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.cluster.manager import told_process
from headrace.cluster.manager.log_files import JoinedLogs, LocalLog
from headrace.common.files import rolling_log
from headrace.common.files.rolling_log import LogLimit, keep_file_small, old_parts, remove_log

WRITER = """
import os, time
from headrace.cluster.manager.told_process import what_was_told

for number in range(what_was_told()):
    print(f"line {number:06}", flush=True)
    if number % 100 == 99:  # the next lines are for the next file
        while os.fstat(1).st_size >= 1000:
            time.sleep(0.01)
"""
LIMIT_S = 60.0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_the_output_of_a_process_is_kept_in_files_of_limited_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log_writer.py").write_text(WRITER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    path = tmp_path / "job.log"
    limit = LogLimit(1000, 2)
    writer = told_process.start("log_writer", [], 450, path, limit)
    assert writer.wait(LIMIT_S) == 0

    whole = "".join(f"line {number:06}\n" for number in range(450)).encode()
    assert [place for place, _ in old_parts(path)] == [2400, 3600]
    log = LocalLog("a log", path)
    assert (log.begin(), log.size()) == (2400, len(whole))
    for place in (2400, 3000, 3599, 3600, 5000, len(whole)):
        assert b"".join(log.read(place, len(whole))) == whole[place:]
        assert b"".join(log.read(place, 1300)) == whole[place : place + 1300]
    joined = JoinedLogs("all", [log])
    assert b"".join(joined.read(0, 10_000)) == b"==== a log ====\n" + whole[2400:]
    remove_log(path)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("job.log")] == []


def test_a_file_of_another_process_is_truncated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_log, "_LOOK_S", 0.05)
    path = tmp_path / "spark.log"
    with path.open("ab") as output:
        command = [sys.executable, "-c", "import sys\nfor line in sys.stdin: print(line, end='')"]
        with subprocess.Popen(
            [*command[:1], "-u", *command[1:]], stdin=subprocess.PIPE, stdout=output
        ) as other:
            assert other.stdin is not None
            keep_file_small(path, LogLimit(1000, 1))
            for number in range(3):
                other.stdin.write(b"%d" % number * 1000 + b"\n")
                other.stdin.flush()
                wait_for(lambda place=number * 1001: [p for p, _ in old_parts(path)] == [place])
                wait_for(lambda: path.stat().st_size == 0)
            other.stdin.write(b"the end\n")
    assert path.read_bytes() == b"the end\n"
