"""Completion in real shells: scripts are put where users put them, and the tab key is pressed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from headrace.cluster.cli import build_parser
from headrace.cluster.completion import script_for
from tools.debian import PackageUnavailableError, install

WAIT_S = 120
CASES = [
    ("savep", "savepoint"),
    ("--vers", "--version"),
    ("run --det", "run --detached"),
    ("run -pyr", "run -pyreq"),
    ("cancel --js", "cancel --json"),
    ("completion ba", "completion bash"),
    ("run only_th", "run only_this.py"),
    ("run -d a\\ na", "run -d a name.py"),
]


def shell_program(name: str) -> str:
    """The shell, installed if it can be."""
    if shutil.which(name) is None:
        try:
            install(name)
        except PackageUnavailableError as error:
            pytest.skip(str(error))
    found = shutil.which(name)
    assert found is not None
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    for name in ("only_this.py", "a name.py"):
        (tmp_path / "here" / name).touch()
    return tmp_path


class TypingShell:
    """An interactive shell that a test types into."""

    def __init__(self, program: str, options: list[str], home: Path, start: str) -> None:
        environment = {
            **{k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL")},
            "HOME": str(home),
            "ZDOTDIR": str(home),
            "TERM": "dumb",
        }
        self._child = pexpect.spawn(
            program,
            options,
            env=environment,
            cwd=str(home / "here"),
            timeout=WAIT_S,
            encoding="utf-8",
            dimensions=(40, 200),
        )
        # Texts are put together, so that the echo of this line is not taken for them.
        self._child.sendline(f"{start}; headrace() {{ echo 'go''t' \"$*\" end; }}; PS1='rea''dy> '")
        self._child.expect_exact("ready> ")

    def completed(self, typed: str) -> str:
        """What `headrace` is called with if the tab key is pressed behind its arguments."""
        self._child.send(f"headrace {typed}\t\r")
        self._child.expect("got (.*) end")
        found: str = self._child.match.group(1)
        self._child.expect_exact("ready> ")
        return found

    def close(self) -> None:
        self._child.close(force=True)


@pytest.fixture
def typing(home: Path, request: pytest.FixtureRequest) -> Iterator[TypingShell]:
    name: str = request.param
    program = shell_program(name)
    script = script_for(name, build_parser())
    if name == "bash":
        (home / "headrace").write_text(script)
        start = "source ~/headrace; bind 'set enable-bracketed-paste off'"
        shell = TypingShell(program, ["--norc", "--noprofile", "-i"], home, start)
    else:
        (home / "_headrace").write_text(script)
        start = "fpath=(~ $fpath); autoload -Uz compinit; compinit -u"
        shell = TypingShell(program, ["-f", "-i"], home, start)
    yield shell
    shell.close()


@pytest.mark.parametrize("typing", ["bash", "zsh"], indirect=True)
def test_the_tab_key_completes(typing: TypingShell) -> None:
    assert {typed: typing.completed(typed) for typed, _ in CASES} == dict(CASES)


def test_fish_offers_what_fits(home: Path) -> None:
    fish = shell_program("fish")
    scripts = home / ".config/fish/completions"
    scripts.mkdir(parents=True)
    (scripts / "headrace.fish").write_text(script_for("fish", build_parser()))
    # Without a command of that name fish looks for no script.
    (home / "headrace").write_text("#!/bin/sh\n")
    (home / "headrace").chmod(0o700)

    def offered(typed: str) -> str:
        done = subprocess.run(
            [fish, "-c", f'complete -C "headrace {typed}"'],
            env={"PATH": f"{home}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb"},
            cwd=home / "here",
            capture_output=True,
            text=True,
            check=True,
            timeout=WAIT_S,
        )
        (line,) = done.stdout.splitlines()
        before = typed.rpartition(" ")[0]
        return f"{before} {line.split(chr(9))[0]}".strip()

    plain = [(typed, expected) for typed, expected in CASES if "\\" not in typed]
    assert {typed: offered(typed) for typed, _ in plain} == dict(plain)
