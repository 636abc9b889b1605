"""What is told of Spark's errors: the line that matters."""

from __future__ import annotations

import pytest

from headrace.spark.feeds import spark_failure

IN_A_TASK = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times:
Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 1, in main
    process()
ValueError: no such column
and more of it

Driver stacktrace:"""
AT_THE_START = """Job aborted due to stage failure:
Error from python worker:
  Traceback (most recent call last):
    File "/x/pyspark.zip/pyspark/daemon.py", line 129, in manager
      listen_sock.bind(socket_path)
  OSError: AF_UNIX path too long
PYTHONPATH was:
  /x/pyspark.zip
org.apache.spark.SparkException: EOFException occurred"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (IN_A_TASK, "ValueError: no such column"),
        (AT_THE_START, "OSError: AF_UNIX path too long"),
        ("Job 3 was cancelled\n\tat x.Y", "Job 3 was cancelled"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_error_is_told(text: str, told: str) -> None:
    assert spark_failure(RuntimeError(text)) == told
