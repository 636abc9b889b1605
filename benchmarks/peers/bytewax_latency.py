"""The paced keyed count as a Bytewax dataflow; every worker saves the ages of its records.

    RATE=20000 SECONDS=20 AGES=/tmp/ages python -m bytewax.testing -p 2 -w 1 bytewax_latency:flow

Each of the two parts of the source wakes every millisecond for what is due.
"""

import os
import time
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
from ages import Ages
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

RATE, SECONDS = float(os.environ["RATE"]), float(os.environ["SECONDS"])
START_NS = int(os.environ["START_NS"])
AGES = os.environ["AGES"]
KEYS = 1000
PARALLELISM = 2


class Paced(StatefulSourcePartition):
    def __init__(self):
        self.read, self.step = 0, PARALLELISM * 1e9 / RATE
        self.awake = datetime.now(UTC)

    def next_batch(self):
        now, first = time.time_ns(), self.read
        if now > START_NS + SECONDS * 1e9:
            raise StopIteration
        self.awake = datetime.now(UTC) + timedelta(milliseconds=1)
        self.read = max(first, int((now - START_NS) / self.step) + 1)
        return [(n * 7919 % KEYS, START_NS + int(n * self.step)) for n in range(first, self.read)]

    def next_awake(self):
        return self.awake

    def snapshot(self):
        return self.read


class PacedSource(FixedPartitionedSource):
    def list_parts(self):
        return [str(part) for part in range(PARALLELISM)]

    def build_part(self, step_id, for_part, resume_state):
        return Paced()


class AgesOfWorker(StatelessSinkPartition):
    def __init__(self, worker):
        self.worker = worker
        self.ages = Ages(AGES, START_NS + int(SECONDS * 0.5e9))

    def write_batch(self, items):
        for _, (_, due) in items:
            self.ages.add(due)

    def close(self):
        self.ages.save(self.worker)


class AgesSink(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return AgesOfWorker(worker_index)


def count(state, record):
    return (state or 0) + 1, (record,)


flow = Dataflow("paced_count")
stream = op.input("paced", flow, PacedSource())
keyed = op.key_on("key", stream, lambda record: str(record[0]))
counted = op.stateful_flat_map("count", keyed, count)
op.output("ages", counted, AgesSink())
