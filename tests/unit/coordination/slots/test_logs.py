"""Logs of slots: one file for each, which does not grow for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.coordination.slots.logs import SlotLogs, log_files, slot_log_directory
from headrace.graph.ids import SlotId


def test_each_slot_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slot_log_directory(tmp_path / "slots").items():
        monkeypatch.setenv(name, value)
    logs = SlotLogs.of_environment()
    logs.write(SlotId(0), "one\n")
    logs.write(SlotId(1), "ä\n")
    logs.write(SlotId(0), "two\n")
    assert [p.read_text() for p in log_files(tmp_path / "slots", 0)] == ["one\ntwo\n"]
    assert [p.read_text("utf-8") for p in log_files(tmp_path / "slots", 1)] == ["ä\n"]
    assert log_files(tmp_path / "slots", 2) == []


def test_a_large_file_makes_place(tmp_path: Path) -> None:
    logs = SlotLogs(str(tmp_path), largest=10)
    for text in ("0123456789", "abcdefghij", "x"):
        logs.write(SlotId(0), text)
    assert [p.read_text() for p in log_files(tmp_path, 0)] == ["x", "abcdefghij"]


def test_nothing_is_kept_without_a_job_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in slot_log_directory(Path()):
        monkeypatch.delenv(name, raising=False)
    SlotLogs.of_environment().write(SlotId(0), "nobody reads it")
