"""How Spark is started: its settings arrive, and secrets among them are not for everybody."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from pathlib import Path
from headrace.spark.session import get_or_create_session
session = get_or_create_session(
    {
        "spark.master": "local[1]",
        "spark.hadoop.fs.s3a.secret.key": "hidden",
        "spark.my.own": "shown",
    }
)
context = session.sparkContext
print(context.getConf().get("spark.hadoop.fs.s3a.secret.key"))
print(context._jsc.hadoopConfiguration().get("fs.s3a.secret.key"))
commands = [
    path.read_text().replace(chr(0), " ")
    for path in Path("/proc").glob("[0-9]*/cmdline")
    if f"{context._gateway.proc.pid}" in path.parts
]
print(commands)
"""


def test_secrets_are_not_on_the_command_line_of_the_jvm() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    in_spark, in_hadoop, commands = done.stdout.splitlines()[-3:]
    assert in_spark == in_hadoop == "hidden"
    assert "spark.my.own=shown" in commands
    assert "hidden" not in commands
