"""Test functions and whole programs without Spark and without other processes.

`harness`, `keyed_harness`, `two_input_harness` and `broadcast_harness` put one function into the
operator that runs it in a job, with time, watermarks and failures in the hands of the test.
`collect` and `run_in_process` run a whole program in this process, through the same operators and
exchanges as on a cluster.

Example:
    >>> with keyed_harness(RisingAlarm(), key=lambda reading: reading.channel) as h:
    ...     h.process(Reading("north", 2.5), ts=1_000)
    ...     h.snapshot_and_restore()
    ...     h.watermark(11_000)
    ...     assert h.output() == ["north: rising"]
"""

from headrace.testing.broadcast import BroadcastHarness, broadcast_harness
from headrace.testing.clock import ManualClock
from headrace.testing.factories import harness, keyed_harness, two_input_harness
from headrace.testing.harness import OperatorHarness, TimerInfo, TwoInputHarness
from headrace.testing.in_process import RunResult, collect, run_in_process
from headrace.testing.runner import MiniRunner

__all__ = [
    "BroadcastHarness",
    "ManualClock",
    "MiniRunner",
    "OperatorHarness",
    "RunResult",
    "TimerInfo",
    "TwoInputHarness",
    "broadcast_harness",
    "collect",
    "harness",
    "keyed_harness",
    "run_in_process",
    "two_input_harness",
]
