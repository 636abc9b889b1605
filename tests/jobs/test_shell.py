"""`headrace shell`, with statements that are typed or come from a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STATEMENTS = """\
import pyflink.datastream

def double(n):
    return n * 2

class Named(MapFunction):
    def map(self, n):
        return Row(n, pyflink.datastream.__name__)

sink = s_env.from_collection([1, 2]).map(double).map(Named()).print()
result = s_env.execute("at the prompt")
st_env.from_elements([(1, "a")], ["n", "t"]).select(col("n") + 1, col("t")).execute().print()
1 / 0
st_env.sql_query("SELECT nothing FROM nowhere")
"still", "here"
exit(3)
"""


def test_statements_run_one_by_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace.cluster.cli", "shell", "--pyflink", "-p", "1"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        input=STATEMENTS,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 3, done.stderr
    for printed in (
        "<Row(2, 'headrace.datastream')>\n<Row(4, 'headrace.datastream')>\n",
        "| +I |                    2 |                              a |",
        "('still', 'here')",
    ):
        assert printed in done.stdout
    assert "s_env is a StreamExecutionEnvironment" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "Object 'nowhere' not found" in done.stderr
    # Errors show what was typed, not the prompt's own code.
    assert 'File "<console>", line 1' in done.stderr
    assert "code.py" not in done.stderr
