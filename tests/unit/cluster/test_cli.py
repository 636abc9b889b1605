"""The command line without Spark: help, errors, exit codes, plans."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import compat
from headrace.cluster.cli import main
from headrace.cluster.commands import COMMANDS
from headrace.datastream import StreamExecutionEnvironment

PROGRAM = """
import sys
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).map(lambda x: x + 1).key_by(lambda x: x).sum(0).print()
print("arguments", *sys.argv[1:])
env.execute("little job")
print("never printed by info")
"""


def _own_path() -> list[str]:
    """The path without what Spark puts there, which an example may be the first to start."""
    return [p for p in sys.path if "/userFiles-" not in p]


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> Iterator[None]:
    before = sys.argv, _own_path(), sys.modules["__main__"]
    logger = logging.getLogger("headrace")
    log_before = logger.level, logger.propagate, list(logger.handlers)
    yield
    compat.uninstall()
    assert (logger.level, logger.propagate, logger.handlers) == log_before
    assert (sys.argv, _own_path(), sys.modules["__main__"]) == before
    assert StreamExecutionEnvironment.command_line == {}
    assert StreamExecutionEnvironment.instead_of_running is None


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "job.py"
    file.write_text(PROGRAM)
    return str(file)


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "job.py"
    file.write_text(text)
    return str(file)


class TestUsage:
    def test_without_a_command_it_shows_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 0
        shown = capsys.readouterr().out
        assert "exit codes" in shown
        assert all(command.NAME in shown for command in COMMANDS)

    @pytest.mark.parametrize("name", [command.NAME for command in COMMANDS])
    def test_every_command_has_help(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([name, "--help"]) == 0
        assert f"usage: headrace {name}" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["rnu"], "did you mean 'run'?"),
            (["frobnicate"], "there are run, run-application, info"),
            (["job.py", "x"], "headrace run job.py x"),
            (["run"], "which program?"),
            (["run", "--nonsense", "job.py"], "headrace run: there is no option --nonsense\n"),
            (["run", "--paralelism=2", "job.py"], "did you mean --parallelism?"),
            (["--nonsense"], "headrace: there is no option --nonsense\n"),
            (["list", "all", "jobs"], "headrace list: too many arguments: all jobs\n"),
            (["top", "-i", "-1"], "headrace top: argument -i/--interval: must be above 0, not -1"),
            (["top", "-n", "x"], "headrace top: argument -n/--times: not a number: 'x'"),
            (
                ["demo", "--seconds", "abc"],
                "headrace demo: argument --seconds: not a number: 'abc'",
            ),
            (["demo", "--rate", "0"], "headrace demo: argument --rate: must be a whole number"),
            (["up", "--minutes", "0"], "headrace up: argument --minutes: must be above 0, not 0"),
            (["run", "no/such/file.py"], "no file 'no/such/file.py'"),
            (["run", "-pym", "no.such.module"], "no module 'no.such.module'"),
            (["run", "-p", "0", __file__], "at least 1"),
            (["run", "-p", "many", __file__], "not a number: 'many'"),
            (["run", "-D", "parallelism.default", __file__], "key=value"),
            (["run", "-D", "parallelism.default=many", __file__], "'parallelism.default'"),
            (["example", "word_cuont"], "did you mean 'word_count'?"),
            (["config", "parallelism.defualt"], "did you mean parallelism.default?"),
        ],
    )
    def test_wrong_use_is_2_and_says_what_to_do(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(arguments) == 2
        shown = capsys.readouterr()
        assert said in shown.err
        assert "Traceback" not in shown.err
        assert shown.out == ""

    def test_a_missing_file_suggests_its_neighbour(
        self, program: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", program.replace("job.py", "jbo.py")]) == 2
        assert f"did you mean {program!r}" in capsys.readouterr().err


class TestRun:
    def test_the_file_is_the_main_program(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "neighbour.py").write_text("NAME = 'next door'\n")
        file = written(
            tmp_path,
            "import sys, pickle, neighbour\n"
            "class Thing: pass\n"
            "print(__name__, sys.argv[1:], neighbour.NAME)\n"
            "print(sys.modules['__main__'].Thing is Thing, __file__ == sys.argv[0])\n"
            "print(type(pickle.loads(pickle.dumps(Thing()))) is Thing)\n",
        )
        assert main(["run", file, "--help", "-p", "3"]) == 0
        sys.modules.pop("neighbour")
        assert capsys.readouterr().out.splitlines() == [
            "__main__ ['--help', '-p', '3'] next door",
            "True True",
            "True",
        ]

    def test_python_option_names_the_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path, "import sys; print(sys.argv[1:])")
        assert main(["run", "-py", file, "a", "--b"]) == 0
        assert capsys.readouterr().out == "['a', '--b']\n"
        # Flink's way: what is no option of the command begins the program's own arguments.
        assert main(["run", "-p", "2", "-py", file, "--input", "x", "-p", "3"]) == 0
        assert capsys.readouterr().out == "['--input', 'x', '-p', '3']\n"

    def test_module_is_run_from_the_working_directory(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "__init__.py").write_text("")
        (tmp_path / "shop" / "prices.py").write_text("EGGS = 3\n")
        (tmp_path / "shop" / "job.py").write_text("from .prices import EGGS\nprint(EGGS)\n")
        monkeypatch.chdir(tmp_path)
        assert main(["run", "--pyModule", "shop.job"]) == 0
        for name in [n for n in sys.modules if n.split(".")[0] == "shop"]:
            del sys.modules[name]
        assert capsys.readouterr().out == "3\n"

    @pytest.mark.parametrize("option", ["--pyFiles", "-pypath"])
    def test_the_program_imports_what_the_command_line_names(
        self, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        library = tmp_path / "library"
        library.mkdir()
        (library / "grain.py").write_text("RYE = 5\n")
        (library / "grain_job.py").write_text("import grain\nprint(grain.RYE + 1)\n")
        (tmp_path / "programs").mkdir()
        file = written(tmp_path / "programs", "import grain; print(grain.RYE)")
        before = list(sys.path)
        assert main(["run", option, str(library), file]) == 0
        assert main(["run", option, str(library), "-pym", "grain_job"]) == 0
        del sys.modules["grain"]
        assert capsys.readouterr().out == "5\n6\n"
        assert sys.path == before

    @pytest.mark.parametrize(
        "options",
        [["-sae"], ["-cm", "LEGACY"], ["-C", "file:///lib/flink-sql-connector-kafka-3.3.0.jar"]],
    )
    def test_options_that_need_no_counterpart_are_accepted(
        self, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", *options, written(tmp_path, "print('ran')")]) == 0
        assert capsys.readouterr().out == "ran\n"

    def test_a_savepoint_to_start_from_reaches_the_environment(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(
            tmp_path,
            "from headrace.datastream import StreamExecutionEnvironment as E\n"
            "c = E.get_execution_environment().get_configuration().to_dict()\n"
            "print(c['execution.state-recovery.path'],"
            " c['execution.state-recovery.ignore-unclaimed-state'])\n",
        )
        assert main(["run", "-s", "/kept/savepoint-1", "-n", file]) == 0
        assert capsys.readouterr().out == "/kept/savepoint-1 true\n"

    def test_settings_reach_the_environment(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(
            tmp_path,
            "from headrace.datastream import StreamExecutionEnvironment as Env\n"
            "env = Env.get_execution_environment()\n"
            "print(env.get_parallelism(), env.get_configuration().to_dict())\n",
        )
        settings = ["-p", "7", "-D", "pipeline.name=mill", "-Dx.y=1", "--master", "local[3]"]
        (tmp_path / "a.py").touch()
        (tmp_path / "b.py").touch()
        files = f"{tmp_path / 'a.py'},{tmp_path / 'b.py'}"
        assert main(["run", *settings, "--pyFiles", files, file]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("7 ")
        for part in ("'pipeline.name': 'mill'", "'x.y': '1'", "local[3]", "a.py"):
            assert part in shown

    @pytest.mark.parametrize(("code", "expected"), [("", 0), ("None", 0), ("5", 5), ("'sorry'", 1)])
    def test_sys_exit_decides_the_code(self, tmp_path: Path, code: str, expected: int) -> None:
        assert main(["run", written(tmp_path, f"import sys; sys.exit({code})")]) == expected

    def test_interrupt_is_130(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", written(tmp_path, "raise KeyboardInterrupt")]) == 130
        assert "interrupted" in capsys.readouterr().err

    def test_users_error_has_only_the_users_frames(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path, "def f():\n    return {}['key']\nf()\n")
        assert main(["run", file]) == 1
        error = capsys.readouterr().err
        assert "line 2, in f" in error
        assert "KeyError: 'key'" in error
        assert "program.py" not in error
        assert main(["run", "--verbose", file]) == 1
        assert "program.py" in capsys.readouterr().err

    def test_building_error_ends_at_the_users_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(
            tmp_path,
            "from headrace.datastream import StreamExecutionEnvironment as Env\n"
            "Env.get_execution_environment().from_collection([1]).map(42)\n",
        )
        assert main(["run", file]) == 1
        error = capsys.readouterr().err
        lines = error.splitlines()
        assert lines[1] == f'  File "{file}", line 2, in <module>'
        assert lines[-1].startswith("FunctionTypeError: ")
        assert "headrace/datastream" not in error

    def test_syntax_error_is_shown_as_python_does(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", written(tmp_path, "x = = 1\n")]) == 1
        error = capsys.readouterr().err
        assert "line 1" in error
        assert "SyntaxError" in error
        assert "Traceback" not in error

    def test_pyflink_program_without_the_option_is_recognized(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path, "import pyflink.datastream\n")
        assert main(["run", file]) == 1
        assert "headrace run --pyflink" in capsys.readouterr().err
        assert main(["run", "--pyflink", file]) == 0

    def test_missing_part_of_pyflink_is_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path, "from pyflink.datastream import Nonsense\n")
        assert main(["run", "--pyflink", file]) == 1
        assert "does not have this name of pyflink.datastream yet" in capsys.readouterr().err
        file = written(tmp_path, "import pyflink.java_gateway\n")
        assert main(["run", "--pyflink", file]) == 1
        error = capsys.readouterr().err
        assert "pyflink.java_gateway talks to Flink's Java side" in error
        assert "alias.py" not in error

    @pytest.mark.parametrize(
        ("use", "instead"),
        [
            ("env._j_stream_execution_environment", "env.configure(configuration)"),
            ("env.from_collection([1])._j_data_stream", "leave it out"),
            ("Types.INT().get_java_type_info()", "leave it out"),
            ("Configuration()._j_configuration", "from_dict()"),
        ],
    )
    def test_what_stands_for_objects_of_java_is_told(
        self, use: str, instead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        program = (
            "from pyflink.common import Configuration, Types\n"
            "from pyflink.datastream import StreamExecutionEnvironment\n"
            f"env = StreamExecutionEnvironment.get_execution_environment()\n{use}\n"
        )
        assert main(["run", "--pyflink", written(tmp_path, program)]) == 1
        error = capsys.readouterr().err
        assert "there is no Java behind headrace" in error
        assert instead in error


class TestInfo:
    def test_text_plan(self, program: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", "-p", "3", program, "x"]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert shown[0] == "arguments x"
        assert shown[1].startswith("Job 'little job': ")
        assert "Level 1" in shown
        assert any("hash from" in line for line in shown)
        assert any("(x3)" in line for line in shown)
        assert "never printed by info" not in shown

    def test_json_plan(self, program: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", "--json", program]) == 0
        text = capsys.readouterr().out.split("\n", 1)[1]
        assert json.loads(text)["nodes"][0]["pact"] == "Data Source"

    def test_a_program_that_catches_everything_is_stopped_all_the_same(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = PROGRAM.replace(
            'env.execute("little job")',
            'try:\n    env.execute("little job")\nexcept Exception:\n    pass',
        )
        assert main(["info", written(tmp_path, text)]) == 0
        assert "never" not in capsys.readouterr().out

    def test_without_execute(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", written(tmp_path, "print('nothing')")]) == 1
        assert "without an execute()" in capsys.readouterr().err

    @pytest.mark.slow
    def test_every_example_has_a_plan(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["example", "--list", "--json"]) == 0
        examples = json.loads(capsys.readouterr().out)
        assert len(examples) >= 7
        for example in examples:
            assert example["summary"].endswith(".")
            assert main(["info", example["path"]]) == 0, example["name"]
            assert "Job '" in capsys.readouterr().out


class TestOthers:
    def test_examples_are_listed_with_their_first_lines(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["example", "--list"]) == 0
        shown = capsys.readouterr().out
        assert "sensor_alarms" in shown
        assert "Counts words: flat_map, key_by, reduce, in batch mode." in shown

    def test_code_of_an_example(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["example", "--show", "word_count"]) == 0
        assert capsys.readouterr().out.startswith('"""Counts words')

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["version", "--json"]) == 0
        assert {"headrace", "python", "pyspark", "java"} <= json.loads(
            capsys.readouterr().out
        ).keys()
        assert main(["version"]) == 0
        assert capsys.readouterr().out.startswith("headrace ")

    def test_config_says_where_a_setting_was_made(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (tmp_path / "headrace.yaml").write_text("parallelism.default: 2\npipeline.name: mill\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HEADRACE_PARALLELISM_DEFAULT", "3")
        assert main(["config"]) == 0
        shown = capsys.readouterr().out
        assert "parallelism.default = 3    (environment)" in shown
        assert "pipeline.name = mill    (headrace.yaml)" in shown
        assert main(["config", "-p", "4", "--json"]) == 0
        settings = json.loads(capsys.readouterr().out)
        assert settings["parallelism.default"] == {"value": "4", "from": "command line"}

    def test_config_reference(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["config", "--options"]) == 0
        assert "execution.epoch.target" in capsys.readouterr().out
        assert main(["config", "--options", "--markdown"]) == 0
        assert "| Key | Type | Default |" in capsys.readouterr().out
        assert main(["config", "execution.epoch.target"]) == 0
        assert "Duration, default 1000 ms" in capsys.readouterr().out
