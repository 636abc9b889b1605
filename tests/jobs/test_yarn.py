"""A job on a real YARN; asked for with HEADRACE_TEST_YARN=1, since it takes minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from tests.jobs.yarn_cluster import YarnCluster
from tools.kafka_broker import KafkaUnavailableError

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("HEADRACE_TEST_YARN") != "1", reason="HEADRACE_TEST_YARN=1 asks for it"
    ),
]

PROGRAM = """
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
pairs = env.from_collection([i % 7 for i in range(700)]).map(lambda key: (key, 1))
counted = pairs.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
counted.filter(lambda p: p[1] == 100).map(lambda p: f"key {p[0]} has {p[1]}").print()
env.execute("on YARN")
"""


def test_an_application_runs_on_yarn(tmp_path: Path) -> None:
    missing = YarnCluster.missing()
    if missing is not None:
        pytest.skip(missing)
    (tmp_path / "job.py").write_text(PROGRAM)
    try:
        yarn = YarnCluster(tmp_path)
    except KafkaUnavailableError as error:
        pytest.skip(str(error))
    settings = {
        "spark.executor.instances": "2",
        "spark.executor.memory": "512m",
        "spark.yarn.am.memory": "512m",
        # They are on this host already: nothing is to be copied.
        "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent / 'jars'}/*",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
    }
    command = [sys.executable, "-m", "headrace.cluster.cli", "run-application", "--master", "yarn"]
    for key, value in settings.items():
        command += ["-D", f"{key}={value}"]
    try:
        done = subprocess.run(
            [*command, "-p", "2", str(tmp_path / "job.py")],
            env={**os.environ, "HADOOP_CONF_DIR": str(yarn.configuration)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    finally:
        yarn.close()
    assert done.returncode == 0, done.stdout + done.stderr
    for key in range(7):
        assert f"key {key} has 100" in done.stdout
