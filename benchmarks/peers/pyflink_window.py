"""The tumbling average as a PyFlink program; prints its steady rate as one JSON line.

    python pyflink_window.py RECORDS KEYS

Runs in the peer's environment, in process mode with PyFlink's defaults. The aggregate notes the
time at every hundredth record in a file of its own, so that no start counts.
"""

import json
import os
import sys
import tempfile
import time

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import AggregateFunction
from pyflink.datastream.window import TumblingEventTimeWindows

PARALLELISM = 2
MARK_EVERY = 100
STEP_MS = 10
SIZE_MS = 10_000


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * STEP_MS


class Average(AggregateFunction):
    def __init__(self, folder):
        self.folder = folder
        self.seen = 0
        self.file = None

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        self.seen += 1
        if self.seen % MARK_EVERY == 0:
            if self.file is None:
                path = os.path.join(self.folder, f"{os.getpid()}-{id(self)}.txt")
                self.file = open(path, "w", buffering=1)  # noqa: SIM115 (open to the end)
            self.file.write(f"{self.seen} {time.time()}\n")
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def main():
    records, keys = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(PARALLELISM)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
        source = NumberSequenceSource(0, records - 1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "sequence")
        averages = (
            stream.assign_timestamps_and_watermarks(strategy)
            .key_by(lambda x: x % keys, Types.LONG())
            .window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE_MS)))
            .aggregate(Average(folder))
        )
        with averages.execute_and_collect() as results:
            for _ in results:
                pass
        print(json.dumps({"rate": steady_rate(folder)}))


def steady_rate(folder):
    """Records per second of all processes after their first tenth."""
    rate = 0.0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as file:
            marks = [(int(seen), float(at)) for seen, at in map(str.split, file)]
        warm = marks[len(marks) // 10 :]
        if len(warm) > 1:
            rate += (warm[-1][0] - warm[0][0]) / (warm[-1][1] - warm[0][1])
    return rate


if __name__ == "__main__":
    main()
