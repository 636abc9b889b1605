"""The paced keyed count as a PyFlink program; prints percentiles of ages as one JSON line.

    python pyflink_latency.py RATE SECONDS process|thread

PyFlink has no sources in Python: a process of its own feeds Flink's socket source, which emits each
line at once, with parallelism 1. Bundles and buffers wait 5 and 1 ms at most.
"""

import multiprocessing
import os
import socket
import sys
import tempfile
import time

from ages import Ages, saved, summary
from pyflink.common import Configuration, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import FlatMapFunction, KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

KEYS = 1000


def feed(listener, rate, seconds):
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    start, sent, step = time.time_ns(), 0, 1e9 / rate
    while time.time_ns() - start < seconds * 1e9:
        due = int((time.time_ns() - start) / step) + 1
        if due > sent:
            lines = [f"{n * 7919 % KEYS} {start + int(n * step)}\n" for n in range(sent, due)]
            connection.sendall("".join(lines).encode())
            sent = due
        time.sleep(0.001)
    connection.close()


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value


class NoteAge(FlatMapFunction):
    def __init__(self, directory, warm_s):
        self.directory, self.warm_ns = directory, int(warm_s * 1e9)

    def open(self, runtime_context):
        self.ages = None
        self.subtask = runtime_context.get_index_of_this_subtask()

    def flat_map(self, value):
        due = int(value.split()[1])
        if self.ages is None:
            self.ages, self.saved = Ages(self.directory, due + self.warm_ns), time.monotonic()
        self.ages.add(due)
        # PyFlink may end its worker without a call of close().
        if time.monotonic() - self.saved > 0.5:
            self.ages.save(self.subtask)
            self.saved = time.monotonic()
        return []


def main():
    rate, seconds, mode = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    directory = tempfile.mkdtemp(prefix="pyflink-latency-")
    listener = socket.create_server(("127.0.0.1", 0))
    context = multiprocessing.get_context("fork")
    context.Process(target=feed, args=(listener, rate, seconds), daemon=True).start()
    conf = Configuration()
    conf.set_string("python.execution-mode", mode)
    conf.set_string("python.fn-execution.bundle.time", "5")
    conf.set_string("python.fn-execution.bundle.size", "1000")
    conf.set_string("execution.buffer-timeout.interval", "1 ms")
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(2)
    java = env._j_stream_execution_environment
    lines = DataStream(java.socketTextStream("127.0.0.1", listener.getsockname()[1]))
    keyed = lines.key_by(lambda v: int(v.split()[0]), Types.LONG())
    counted = keyed.process(Count(), Types.STRING())
    counted.flat_map(NoteAge(directory, seconds / 2), Types.STRING()).print()
    env.add_python_file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ages.py"))
    env.execute("latency")
    print(summary(saved(directory), seconds / 2))


main()
