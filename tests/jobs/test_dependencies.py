"""What the user ships with a job reaches the functions: modules, requirements, archives, files."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import ConfigurationError
from headrace.datastream.functions import MapFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def tiny_wheel(directory: Path) -> None:
    directory.mkdir()
    with zipfile.ZipFile(directory / "shipped_dep-1.0-py3-none-any.whl", "w") as file:
        about = "shipped_dep-1.0.dist-info"
        file.writestr("shipped_dep.py", "def exclaim(text):\n    return text + '!'\n")
        file.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: shipped-dep\nVersion: 1.0\n"
        )
        file.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{about}/RECORD", "")


class UsesEverything(MapFunction):
    def open(self, runtime_context: Any) -> None:
        # None of these is there where the program is built.
        import shipped_dep
        import shipped_module

        self.exclaim = shipped_dep.exclaim
        self.greeting = shipped_module.GREETING
        self.name = Path("data/name.txt").read_text()
        cached = runtime_context.get_distributed_cache().get_file("suffix")
        self.suffix = Path(cached).read_text()

    def map(self, value: int) -> str:
        return self.exclaim(f"{self.greeting} {self.name}{self.suffix} {value}")


def test_all_that_is_shipped_reaches_the_functions(env: Any, tmp_path: Path) -> None:
    (tmp_path / "shipped_module.py").write_text("GREETING = 'hello'\n")
    tiny_wheel(tmp_path / "packages")
    (tmp_path / "requirements.txt").write_text("shipped-dep\n")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as file:
        file.writestr("name.txt", "world")
    (tmp_path / "suffix.txt").write_text(",")

    env.add_python_file(str(tmp_path / "shipped_module.py"))
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    env.add_python_archive(str(tmp_path / "data.zip"), "data")
    env.register_cached_file(str(tmp_path / "suffix.txt"), "suffix")
    rows = env.from_collection([1, 2]).map(UsesEverything()).execute_and_collect()
    assert sorted(rows) == ["hello world, 1!", "hello world, 2!"]
    assert "shipped_module" not in sys.modules


def test_the_next_job_has_none_of_it(env: Any) -> None:
    def find(value: str) -> bool:
        import importlib.util

        return importlib.util.find_spec(value) is not None

    stream = env.from_collection(["shipped_module", "shipped_dep", "json"]).map(find)
    assert sorted(stream.execute_and_collect()) == [False, False, True]


def test_a_missing_file_is_an_error_before_anything_runs(env: Any) -> None:
    env.add_python_file("/no/such/module.py")
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"python\.files: .*/no/such/module\.py"):
        env.execute()


PROGRAM = """\
import os, sys
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

config = Configuration.from_dict({"python.executable": sys.argv[1], "spark.master": "local[1]"})
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1).from_collection([1]).map(lambda v: os.environ.get("CHOSEN")).print()
env.execute()
"""


def test_slots_run_with_the_interpreter_that_is_asked_for(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nCHOSEN=yes exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(python)]
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ran.stdout == "yes\n", ran.stderr
