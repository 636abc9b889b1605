"""The tumbling average as a Bytewax dataflow; every process writes its marks to a file.

    python -m bytewax.testing -p 2 -w 1 bytewax_window:flow

Runs in the peer's environment with RECORDS, KEYS and MARKS (a folder) set.
"""

from datetime import UTC, datetime, timedelta

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.operators.windowing import EventClock, TumblingWindower
from bytewax_count import KEYS, Discard, Sequence, mark

STEP_MS = 10
SIZE_MS = 10_000
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def add(accumulator, value):
    mark()
    return accumulator[0] + value, accumulator[1] + 1


def merge(one, other):
    return one[0] + other[0], one[1] + other[1]


clock = EventClock(
    ts_getter=lambda x: EPOCH + timedelta(milliseconds=x * STEP_MS),
    wait_for_system_duration=timedelta(0),
)
windower = TumblingWindower(align_to=EPOCH, length=timedelta(milliseconds=SIZE_MS))

flow = Dataflow("tumbling_average")
stream = op.input("sequence", flow, Sequence())
keyed = op.key_on("key", stream, lambda x: str(x % KEYS))
folded = win.fold_window("average", keyed, clock, windower, lambda: (0, 0), add, merge)
averages = op.map("result", folded.down, lambda kv: (kv[0], kv[1][1][0] / kv[1][1][1]))
op.output("discard", averages, Discard())
