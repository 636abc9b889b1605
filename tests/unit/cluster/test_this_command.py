"""The command that is suggested is one that works."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headrace.cluster.this_command import this_command


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "headrace"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_name_is_enough_where_the_shell_finds_it(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert this_command() == "headrace"


@pytest.mark.parametrize("others", [(), ("headrace",)])
def test_otherwise_it_is_the_path_that_was_used(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
) -> None:
    for other in others:
        (tmp_path / other).write_text("#!/bin/sh\n")
        (tmp_path / other).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [os.path.join("bin", "headrace")])
    assert this_command() == "bin/headrace"


def test_a_module_is_called_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    assert this_command() == f"{sys.executable} -m headrace"
