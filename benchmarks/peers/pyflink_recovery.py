"""A counting PyFlink job whose Python workers are killed; prints its recovery as one JSON line.

    python pyflink_recovery.py ROUNDS DIRECTORY

Runs in the peer's environment. Checkpoints every half second go to the directory, a failed job
starts again at once, and results are those that `execute_and_collect` hands over. A round is the
time from the `kill -9` of all workers to the first result of the next attempt.
"""

import json
import os
import random
import signal
import sys
import threading
import time

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import KeyedProcessFunction, MapFunction
from pyflink.datastream.state import ValueStateDescriptor

PARALLELISM = 2
KEYS = 100
PAUSE_S = 0.002
LIMIT_S = 300.0


class Slowly(MapFunction):
    """So few records that nothing but the recovery takes time."""

    def map(self, value):
        time.sleep(PAUSE_S)
        return value


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.attempt = runtime_context.get_attempt_number()

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield self.attempt, count


def workers():
    """Processes below this one that run Python functions."""
    parents, found = {}, []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if b"beam_boot" in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return [pid for pid in found if _is_below(pid, os.getpid(), parents)]


def _is_below(pid, top, parents):
    while pid > 1:
        if pid == top:
            return True
        pid = parents.get(pid, 0)
    return False


class Results:
    """When the first result of each attempt came."""

    def __init__(self, iterator):
        self._first = {}
        self._arrived = threading.Condition()
        threading.Thread(target=self._read, args=(iterator,), daemon=True).start()

    def _read(self, iterator):
        # Ends with an error when the job is cancelled.
        for attempt, _ in iterator:
            if attempt not in self._first:
                with self._arrived:
                    self._first[attempt] = time.time()
                    self._arrived.notify_all()

    def first_after(self, attempt):
        """The first result of a later attempt: its number and its time."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: max(self._first, default=-1) > attempt, LIMIT_S):
                raise SystemExit(f"no result after attempt {attempt}; first results {self._first}")
            newest = max(self._first)
            return newest, self._first[newest]


def main():
    rounds, directory = int(sys.argv[1]), sys.argv[2]
    config = Configuration()
    config.set_string("execution.checkpointing.interval", "500 ms")
    config.set_string("execution.checkpointing.dir", f"file://{directory}")
    config.set_string("restart-strategy.type", "fixed-delay")
    config.set_string("restart-strategy.fixed-delay.attempts", "1000000")
    config.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    source = NumberSequenceSource(0, 10**12)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "sequence")
    slow = stream.map(Slowly(), Types.LONG())
    counted = slow.key_by(lambda x: x % KEYS, Types.LONG()).process(
        Count(), Types.TUPLE([Types.INT(), Types.LONG()])
    )
    began = time.time()
    iterator = counted.execute_and_collect()
    results = Results(iterator)
    attempt, first = results.first_after(-1)
    chance, took = random.Random(1), []
    for _ in range(rounds):
        time.sleep(chance.uniform(0.5, 1.5))
        killed = time.time()
        # All of them: one may be left of an attempt before, and nobody would miss it.
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
        attempt, result = results.first_after(attempt)
        took.append(result - killed)
    iterator.close()
    print(json.dumps({"start_s": first - began, "recovery_s": took}))


if __name__ == "__main__":
    main()
