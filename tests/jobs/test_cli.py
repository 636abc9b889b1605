"""The command line with real jobs, in child processes as a user would start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEADRACE = [sys.executable, "-m", "headrace.cluster.cli"]

FAILING = """
from headrace.datastream import StreamExecutionEnvironment

def halve(x):
    return 12 // x

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([3, 0]).map(halve).name("halving").print()
env.execute("division")
"""

# The job's functions are in a module of their own, which a slot imports by its name.
PYFLINK_MODULE = """
from pyflink.common import Row
from pyflink.datastream.functions import MapFunction

class Label(MapFunction):
    def map(self, value):
        import pyflink.datastream
        return Row(pyflink.datastream.__name__, value)
"""
PYFLINK_PROGRAM = """
import sys
from pyflink.datastream import StreamExecutionEnvironment
from labels import Label

class Doubled:
    def __init__(self, x):
        self.x = x

env = StreamExecutionEnvironment.get_execution_environment()
print("parallelism", env.get_parallelism(), "arguments", sys.argv[1:])
doubled = env.from_collection([1, 2]).map(lambda x: Doubled(x * 2)).key_by(lambda d: d.x)
doubled.map(lambda d: d.x).map(Label()).print()
env.execute()
"""


def headrace(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HEADRACE, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=240
    )


INSERT = """
import sys
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import udf

@udf(result_type=DataTypes.INT())
def halve(x):
    return 12 // x

table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
table_env.get_config().set("parallelism.default", "1")
table_env.create_temporary_function("halve", halve)
table_env.execute_sql("CREATE TABLE halves (x INT) WITH ('connector' = 'print')")
rows = f"(VALUES (3), ({sys.argv[1]})) t (x)"
table_env.execute_sql(f"INSERT INTO halves SELECT halve(x) FROM {rows}")
sys.exit(0)
"""


def test_run_waits_for_a_job_that_the_program_does_not_wait_for(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(INSERT)
    done = headrace("run", "job.py", "2", cwd=tmp_path)
    assert done.stdout.splitlines() == ["+I[4]", "+I[6]"]
    assert done.stderr == "the program has ended, its job goes on; Ctrl+C cancels\n"
    assert done.returncode == 0
    failed = headrace("run", "job.py", "0", cwd=tmp_path)
    assert "ZeroDivisionError" in failed.stderr
    assert failed.returncode == 1


def test_failed_job_shows_the_users_side(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(FAILING)
    done = headrace("run", "-p", "1", "job.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "operator 'halving'" in done.stderr
    assert "while processing 0" in done.stderr
    assert "job.py" in done.stderr
    assert "line 5, in halve" in done.stderr
    assert "coordination/job/master.py" not in done.stderr
    assert "java" not in done.stderr.lower()


@pytest.mark.parametrize(
    ("master", "reason"),
    [
        ("yarn", "either HADOOP_CONF_DIR or YARN_CONF_DIR must be set"),
        ("k8s://https://127.0.0.1:1", "Connection refused"),
    ],
)
def test_a_cluster_that_is_not_there_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, reason: str
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "job.py").write_text(FAILING)
    image = "spark.kubernetes.container.image=headrace:1"
    done = headrace("run", "-m", "local", "--master", master, "-D", image, "job.py", cwd=tmp_path)
    assert f"Spark does not start on {master}: " in done.stderr
    assert reason in done.stderr
    assert "\tat " not in done.stderr, "a trace of Java"
    assert done.returncode == 1


def test_pyflink_program_with_modules_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "labels.py").write_text(PYFLINK_MODULE)
    (tmp_path / "program.py").write_text(PYFLINK_PROGRAM)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = headrace("run", "--pyflink", "-p", "1", "../program.py", "-p", "9", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    assert first == "parallelism 1 arguments ['-p', '9']"
    assert rows == [
        "<Row('headrace.datastream', 2)>",
        "<Row('headrace.datastream', 4)>",
    ]
