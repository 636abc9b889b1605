"""A program that fault tests run in a process of its own: `python programs.py MASTER`."""

from __future__ import annotations

import os
import sys
import time

from headrace.common.configuration import Configuration
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


def slow(value: int) -> int:
    """A function that the tests have time to kill."""
    time.sleep(120)
    return value


def main() -> None:
    """Run a job after the other, and say who is who, and how each has failed."""
    configuration = Configuration().set_string("spark.master", sys.argv[1])
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    while True:
        environment.from_collection(range(10)).map(slow).print()
        client = environment.execute_async("idle")
        job = client._handle  # the pids of the slots are nobody's business but ours
        while job.status().name != "RUNNING" or len(job.attempt.slot_pids) < 2:
            time.sleep(0.05)
        print("pids", os.getpid(), *job.attempt.slot_pids, flush=True)
        try:
            client.get_job_execution_result().result()
        except Exception as error:
            print("failed", type(error).__name__, str(error).replace("\n", " | "), flush=True)


if __name__ == "__main__":
    main()
