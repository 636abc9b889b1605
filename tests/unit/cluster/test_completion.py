"""Completion scripts: real shells read them, and offer what the parsers know."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from headrace.cluster.cli import build_parser, main
from headrace.cluster.commands import COMMANDS
from headrace.cluster.completion import SHELLS, script_for


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_know_all_commands_and_shells_accept_them(shell: str) -> None:
    script = script_for(shell, build_parser())
    assert all(command.NAME in script for command in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here to read the script")
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["headrace", "sav"], ["savepoint"]),
        (["headrace", "run", "--det"], ["--detached"]),
        (["headrace", "completion", "ba"], ["bash"]),
    ],
)
def test_bash_offers_what_fits(words: list[str], offered: list[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    array = " ".join(words)
    ask = f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _headrace; echo ${{COMPREPLY[@]}}"
    script = script_for("bash", build_parser())
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.split() == offered


def test_the_command_prints_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    assert "complete -c headrace" in capsys.readouterr().out
    assert main(["completion", "tcsh"]) == 2
