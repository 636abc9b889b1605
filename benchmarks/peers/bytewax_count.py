"""The keyed count as a Bytewax dataflow; every process writes its marks to a file.

    python -m bytewax.testing -p 2 -w 1 bytewax_count:flow

Runs in the peer's environment with RECORDS, KEYS and MARKS (a folder) set. The source hands out
batches of integers, which is the fastest way in; the two parts of the sequence are read by the two
processes.
"""

import os
import time

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

RECORDS = int(os.environ["RECORDS"])
KEYS = int(os.environ["KEYS"])
MARKS = os.environ["MARKS"]
PARALLELISM = 2
BATCH = 1_000
EMIT_EVERY = 1_000
MARK_EVERY = 1_000


class Range(StatefulSourcePartition):
    def __init__(self, start, end):
        self.at = start
        self.end = end

    def next_batch(self):
        if self.at >= self.end:
            raise StopIteration
        batch = range(self.at, min(self.at + BATCH, self.end))
        self.at = batch.stop
        return list(batch)

    def snapshot(self):
        return self.at


class Sequence(FixedPartitionedSource):
    def list_parts(self):
        return [str(part) for part in range(PARALLELISM)]

    def build_part(self, step_id, for_part, resume_state):
        size = RECORDS // PARALLELISM
        return Range(int(for_part) * size, (int(for_part) + 1) * size)


class Nothing(StatelessSinkPartition):
    def write_batch(self, items):
        pass


class Discard(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return Nothing()


class Marker:
    """Notes the time at every thousandth record of this process."""

    def __init__(self):
        self.seen = 0
        self.file = None

    def __call__(self):
        self.seen += 1
        if self.seen % MARK_EVERY == 0:
            if self.file is None:
                path = os.path.join(MARKS, f"{os.getpid()}.txt")
                self.file = open(path, "w", buffering=1)  # noqa: SIM115 (open to the end)
            self.file.write(f"{self.seen} {time.time()}\n")


mark = Marker()


def count(state, value):
    mark()
    state = (state or 0) + 1
    return state, ((value, state),) if state % EMIT_EVERY == 0 else ()


flow = Dataflow("keyed_count")
stream = op.input("sequence", flow, Sequence())
keyed = op.key_on("key", stream, lambda x: str(x % KEYS))
counted = op.stateful_flat_map("count", keyed, count)
op.output("discard", counted, Discard())
