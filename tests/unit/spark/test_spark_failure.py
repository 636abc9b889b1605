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

NO_MODULE = """Job aborted due to stage failure: Task 0 failed: org.apache.spark.SparkException:
Error from python worker:
  /x/python3: Error while finding module specification for 'headrace.spark.python_daemon'
PYTHONPATH was:
  /x/pyspark.zip"""

LOST = "Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, most recent failure: "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (IN_A_TASK, "ValueError: no such column"),
        (AT_THE_START, "OSError: AF_UNIX path too long"),
        (
            NO_MODULE,
            "/x/python3: Error while finding module specification for "
            "'headrace.spark.python_daemon'",
        ),
        ("Job 3 was cancelled\n\tat x.Y", "Job 3 was cancelled"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_error_is_told(text: str, told: str) -> None:
    assert spark_failure(RuntimeError(text)) == told


@pytest.mark.parametrize(
    ("task", "said", "remedy"),
    [
        (
            "Lost task 1.0 in stage 0.0 (TID 1) (localhost executor driver): ",
            "java.io.IOException: No space left on device",
            "'spark.local.dir'",
        ),
        (
            "Lost task 1.3 in stage 0.0 (TID 9) (127.0.0.1 executor 10): ",
            "ExecutorLostFailure (executor 10 exited caused by one of the running tasks) "
            "Reason: Command exited with code 137",
            "'spark.executor.memory'",
        ),
        (
            "Lost task 1.0 in stage 0.0 (TID 1) (localhost executor driver): ",
            "java.lang.OutOfMemoryError: Java heap space",
            "'spark.driver.memory'",
        ),
    ],
)
def test_what_a_machine_lacks_is_told_with_what_to_do(task: str, said: str, remedy: str) -> None:
    told = spark_failure(RuntimeError(f"{LOST}{task}{said}\n\tat x.Y"))
    assert told.endswith(f" ({said})")
    assert remedy in told
    assert "Lost task" not in told
