"""The process of a spare: starts Spark as the next run would, and holds it until told to end."""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession

from headrace.spark.idle.request import SparkRequest
from headrace.spark.session import start_context
from headrace.spark.shared import gateway_of

__all__ = ["main"]


def main() -> None:
    """Read a request, start Spark, say where it is, and wait for the end of standard input.

    The JVM ends with this process: the pipe to it breaks.
    """
    # What the JVM writes, where the user wants to see it, is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = SparkRequest.from_json(json.loads(sys.stdin.readline()))
    context = start_context(request.settings, request.log_limit)
    # The next run may have queries.
    SparkSession(context)
    # The first job of a Spark takes a second or two longer than the next: Python's workers start,
    # and Java loads what schedules and runs tasks.
    pairs = context.range(2, numSlices=2).map(_as_pair)
    pairs.partitionBy(2).collect()
    port, secret = gateway_of(context)
    print(json.dumps({"port": port, "secret": secret}), file=answers, flush=True)
    sys.stdin.read()


def _as_pair(value: int) -> tuple[int, int]:
    return value, value


if __name__ == "__main__":
    main()
