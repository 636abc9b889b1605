"""Jobs of a master or an attempt under test, in this process and on a clock of their own."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from headrace.common import Configuration
from headrace.common.typeinfo import Types
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.job.master import JobMaster
from headrace.coordination.job.options import EpochSummary, JobMasterOptions
from headrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.graph.job_graph import JobGraph
from headrace.testing import ManualClock
from headrace.testing.clock import SimulatedTime
from headrace.testing.local_carrier import LocalCarrier

EPOCH_MS = 1_000


class Sum(KeyedProcessFunction):
    """Prints the sum of all values at each of them; fails at one in its first attempts."""

    _ids = itertools.count()
    _closings: ClassVar[Counter[int]] = Counter()

    def __init__(self, fail_at: int | None = None, failures: int = 1) -> None:
        self._fail_at = fail_at
        self._failures = failures
        self._id = next(self._ids)

    @property
    def closed(self) -> int:
        """How often copies of this one were closed.

        Not those of another test: a job that was left in its middle closes its own when its memory
        is freed.
        """
        return self._closings[self._id]

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self._attempt = runtime_context.get_attempt_number()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if value == self._fail_at and self._attempt < self._failures:
            raise ValueError(f"attempt {self._attempt} does not like {value}")
        self._sum.update((self._sum.value() or 0) + value)
        yield self._sum.value()

    def close(self) -> None:
        self._closings[self._id] += 1


def sums(function: Sum, last: int = 10) -> JobGraph:
    """1 + 2 + ..., in one subtask."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(1)
    numbers = env.from_sequence(1, last)
    numbers.key_by(lambda x: 0).process(function).name("sum").print()
    return env.get_job_graph("sums")


class TwoRecords:
    """A budget."""

    max_records = 2
    max_read_ms = 60_000

    def observe(self, work_s: float, most_read: int) -> None:
        pass


class Job:
    """A master, its carrier, and what it printed. An epoch reads two records and takes a second."""

    def __init__(
        self,
        graph: JobGraph,
        on_epoch: Callable[[EpochSummary], None] = lambda summary: None,
        **options: Any,
    ) -> None:
        self.clock = ManualClock()
        self.carrier = LocalCarrier(self.clock)
        self._on_epoch = on_epoch
        self.master = JobMaster(
            graph,
            self.carrier,
            JobMasterOptions(**options),
            on_epoch=self._epoch_ended,
            budget=TwoRecords(),
            clock=SimulatedTime(self.clock),
        )
        self.steps = self.master.steps()

    def _epoch_ended(self, summary: EpochSummary) -> None:
        self.clock.advance(EPOCH_MS)
        self._on_epoch(summary)

    def run_epochs(self, count: int) -> None:
        """Deploy the job, if it is new, and run so many epochs."""
        if self.master.attempt is None:
            next(self.steps)
        for _ in range(count):
            next(self.steps)

    def finish(self) -> None:
        """Run the job to its end."""
        for _ in self.steps:
            pass
        assert self.master.result_future().done()

    @property
    def printed(self) -> list[int]:
        return [int(line) for line in self.carrier.services.printed]


def every(interval_ms: int, directory: str, **settings: Any) -> CheckpointSettings:
    """Checkpoints that are kept in this process."""
    return CheckpointSettings(
        interval_ms=interval_ms, directory=f"in-process://{directory}", **settings
    )
