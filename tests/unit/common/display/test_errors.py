"""What a user sees of an error, in programs that are really run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from headrace.common.errors import GraphError, JobExecutionError

BUILD = "from headrace.datastream import StreamExecutionEnvironment, KeyedProcessFunction\n"


def run(tmp_path: Path, program: str, *command: str, **environment: str) -> tuple[int, str]:
    file = tmp_path / "job.py"
    file.write_text(BUILD + textwrap.dedent(program))
    ended = subprocess.run(
        [sys.executable, *command, str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **environment},
    )
    return ended.returncode, ended.stderr


WRONG = """
env = StreamExecutionEnvironment.get_execution_environment()
def build():
    env.from_collection([1]).set_parallelism(0)
build()
"""


def test_python_shows_what_the_command_shows(tmp_path: Path) -> None:
    alone = run(tmp_path, WRONG)
    assert alone == run(tmp_path, WRONG, "-m", "headrace.cluster.cli", "run")
    code, shown = alone
    assert code == 1
    lines = shown.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.strip() for line in lines if "File" in line] == [
        f'File "{tmp_path}/job.py", line 6, in <module>',
        f'File "{tmp_path}/job.py", line 5, in build',
    ]
    assert lines[-1].startswith("GraphError: The parallelism")


def test_everything_is_shown_when_asked_for(tmp_path: Path) -> None:
    _, shown = run(tmp_path, WRONG, HEADRACE_FULL_TRACEBACK="1")
    assert "operator_settings.py" in shown


def test_a_hook_of_the_program_stays(tmp_path: Path) -> None:
    program = "import sys\nsys.excepthook = lambda *about: print('mine', file=sys.stderr)\n" + WRONG
    assert run(tmp_path, program) == (1, "mine\n")


def test_other_errors_are_pythons(tmp_path: Path) -> None:
    program = "StreamExecutionEnvironment.get_execution_environment()\n{}['a']"
    _, shown = run(tmp_path, program)
    assert shown.splitlines()[-1] == "KeyError: 'a'"


def test_notebooks_get_the_short_form_from_the_error() -> None:
    failed = JobExecutionError("ValueError: odd", operator_name="Map", subtask=1)
    assert failed._render_traceback_()[:2] == [
        "Job failed: ValueError: odd",
        "  in operator 'Map', subtask 1",
    ]
    with pytest.raises(GraphError) as caught:
        raise GraphError("no")
    assert caught.value._render_traceback_()[-1] == "GraphError: no"


@pytest.mark.slow
def test_a_program_that_never_runs_what_it_built_is_told_so(tmp_path: Path) -> None:
    program = """
    def main():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(str).print()
    main()
    """
    expected = (
        f"headrace: the program ended, but what it built up to {tmp_path}/job.py:5 did not run; "
        "call env.execute() after it\n"
    )
    assert run(tmp_path, program) == (0, expected)
    assert run(tmp_path, program, "-m", "headrace.cluster.cli", "run") == (0, expected)
    # Nothing is missing if the plan was wanted, or an error came before the end.
    assert run(tmp_path, program.replace(".print()", ".print()\n        env.explain()")) == (0, "")
    failing = textwrap.dedent(program) + "\nraise SystemError('early')"
    for command in ((), ("-m", "headrace.cluster.cli", "run")):
        code, shown = run(tmp_path, failing, *command)
        assert code == 1
        assert "did not run" not in shown


def test_state_that_is_asked_for_in_init(tmp_path: Path) -> None:
    program = """
    class Count(KeyedProcessFunction):
        def __init__(self):
            self.count = self.get_runtime_context().get_state(None)
        def process_element(self, value, ctx):
            yield value
    env = StreamExecutionEnvironment.get_execution_environment()
    Count()
    """
    _, shown = run(tmp_path, program)
    assert "job.py" in shown
    assert "ask for state there, not in __init__" in shown.splitlines()[-1]


def test_a_flat_map_that_never_has_a_result(tmp_path: Path) -> None:
    program = """
    env = StreamExecutionEnvironment.get_execution_environment()
    def split(line):
        line.split()
    env.from_collection(["a b"]).flat_map(split).print()
    """
    _, shown = run(tmp_path, program)
    assert f"flat_map: split at {tmp_path}/job.py:4 returns nothing for any record" in shown
