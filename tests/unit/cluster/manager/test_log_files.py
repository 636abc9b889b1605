"""Parts of logs: files, several as one, and those that a worker of Spark shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cluster.manager.log_files import JoinedLogs, LocalLog, Log, LogReadError, WorkerLog


def text(log: Log, offset: int = 0, limit: int = 10**9) -> str:
    return b"".join(log.read(offset, limit)).decode()


def test_a_file_is_read_in_parts(tmp_path: Path) -> None:
    content = "0123456789" * 20_000
    (tmp_path / "a.log").write_text(content)
    log = LocalLog("a.log", tmp_path / "a.log")
    assert log.size() == len(content)
    assert log.mtime_ms > 0
    assert text(log) == content
    assert text(log, 3, 4) == "3456"
    assert text(log, 100, 150_000) == content[100:150_100]
    assert text(log, len(content) + 5) == ""


def test_several_are_one_below_each_other(tmp_path: Path) -> None:
    for name, content in (("a", "first\n"), ("b", "second\n")):
        (tmp_path / name).write_text(content)
    joined = JoinedLogs("all", [LocalLog(n, tmp_path / n) for n in ("a", "b")])
    whole = "==== a ====\nfirst\n==== b ====\nsecond\n"
    assert text(joined) == whole
    assert joined.size() == len(whole)
    for offset in range(len(whole) + 1):
        assert text(joined, offset, 9) == whole[offset : offset + 9]
    assert JoinedLogs("none", []).size() == 0


def test_only_pages_of_a_worker_are_read() -> None:
    page = "http://127.0.0.1:1/logPage?appId=app-1&executorId=0&logType=stderr"
    assert WorkerLog.served_at(page)
    assert WorkerLog.served_at(page.replace("logPage?", "logPage/?"))
    assert not WorkerLog.served_at("http://node:8042/node/containerlogs/c_1/me/stderr?start=-4096")
    with pytest.raises(LogReadError, match="did not return the log"):
        WorkerLog("stderr", page).size()
