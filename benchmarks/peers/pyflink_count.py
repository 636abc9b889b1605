"""The keyed count as a PyFlink program; prints its steady rate as one JSON line.

    python pyflink_count.py RECORDS KEYS [CHECKPOINT_MS]

Runs in the peer's environment, with worker processes; other settings are PyFlink's defaults. The
function notes the time at every hundredth record, so that neither the start of the cluster nor
that of the Python workers counts.
"""

import json
import sys
import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

PARALLELISM = 2
MARK_EVERY = 100


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.seen = 0

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen += 1
        if self.seen % MARK_EVERY == 0:
            yield self.subtask, self.seen, time.time()


def steady_rate(marks, warm_up):
    """Records per second of all subtasks while every one of them was running and warm."""
    subtasks = {}
    for subtask, seen, at in marks:
        subtasks.setdefault(subtask, []).append((at, seen))
    warm = {s: [m for m in ms if m[1] >= warm_up] for s, ms in subtasks.items()}
    start = max(ms[0][0] for ms in warm.values())
    end = min(ms[-1][0] for ms in warm.values())
    records = 0
    for marks_of_one in warm.values():
        inside = [seen for at, seen in marks_of_one if start <= at <= end]
        records += inside[-1] - inside[0]
    return records / (end - start), records


def main():
    records, keys = int(sys.argv[1]), int(sys.argv[2])
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(PARALLELISM)
    if len(sys.argv) > 3:
        env.enable_checkpointing(int(sys.argv[3]))
    source = NumberSequenceSource(0, records - 1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "sequence")
    counted = stream.key_by(lambda x: x % keys, Types.LONG()).process(Count())
    began = time.time()
    with counted.execute_and_collect() as results:
        marks = list(results)
    whole = time.time() - began
    rate, measured = steady_rate(marks, warm_up=records // PARALLELISM // 10)
    print(json.dumps({"rate": rate, "measured_records": measured, "whole_seconds": whole}))


if __name__ == "__main__":
    main()
