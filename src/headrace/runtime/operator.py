"""The life of an operator in a subtask, and what it is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.datastream.state import StateDescriptor
from headrace.graph.ids import CheckpointId
from headrace.metrics import Histogram
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, LatencyMark
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.failure import NO_RECORD, UserCodeFailure
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.operator_state import OperatorStateBackend
from headrace.runtime.time.timers import TimerQueue


@dataclass
class TaskInfo:
    """What is the same for all operators of a subtask."""

    job_id: str
    job_name: str
    vertex_name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    restarts: int = 0
    attempt: int = 1
    checkpointing: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    cached_files: dict[str, str] = field(default_factory=dict)

    @property
    def name_with_subtask(self) -> str:
        return f"{self.vertex_name} ({self.subtask + 1}/{self.parallelism})"


@dataclass
class OperatorContext:
    """What an operator works with."""

    task: TaskInfo
    operator_id: str
    name: str
    uid: str | None
    keyed: bool
    clock: Callable[[], int]
    backend: KeyedStateBackend | None
    accumulators: dict[str, Any]
    metrics: Any
    services: SubtaskServices
    queryable: dict[str, StateDescriptor] = field(default_factory=dict)


class SubtaskServices:
    """What reaches out of a subtask; the slot gives the real ones, tests their own."""

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        """Show lines to the person who started the job."""
        raise NotImplementedError

    def collect(self, collect_id: str, values: list[Any]) -> None:
        """Hand records to an iterator in the program that started the job."""
        raise NotImplementedError

    def data_available(self) -> None:
        """Wake the job master: a reader has new data."""
        raise NotImplementedError


class Operator:
    """Base of all operators.

    The subtask calls `setup`, restores state if there is some, then `open`; then batches and marks
    in order; `end_input` once when nothing follows; `close` at the end, also after a failure.
    """

    context: OperatorContext
    output: OperatorOutput

    #: The input whose records of an epoch are to come before those of the others, if one is.
    first_input: int | None = None

    def __init__(self) -> None:
        self.watermark = MIN_TIMESTAMP
        self.watermark_of: Callable[[int], int] = lambda input_index: self.watermark
        self.records_in = 0
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()
        self.operator_state = OperatorStateBackend()
        self.latencies: dict[str, Histogram] = {}
        self.restored = False
        self.restored_checkpoint: CheckpointId | None = None

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        self.context = context
        self.output = output
        self.operator_state.operator = context.uid or context.name

    def open(self) -> None:
        """Open user functions."""

    def close(self) -> None:
        """Close user functions."""

    def process_batch(self, batch: Batch) -> None:
        raise NotImplementedError

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        """Records of one of several inputs; operators with one input need not care."""
        self.process_batch(batch)

    def process_watermark(self, timestamp: int) -> None:
        """Event time has come to `timestamp`: fire what is due, then tell the operators below."""
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        next_timer = self.event_timers.next_timestamp()
        if next_timer is not None and next_timer <= timestamp:
            self.fire_event_timers(timestamp)
        self.output.watermark(timestamp)

    def process_status(self, idle: bool) -> None:
        self.output.status(idle)

    def process_latency(self, mark: LatencyMark) -> None:
        """A marker of a source: note how long it was on the way, and pass it on."""
        histogram = self.latencies.get(mark.source)
        if histogram is None:
            histogram = self.latencies[mark.source] = Histogram(128)
        histogram.update(max(self.context.clock() - mark.marked_ms, 0))
        self.output.latency(mark)

    def process_time(self, now: int) -> None:
        """Processing time has come to `now`."""
        next_timer = self.processing_timers.next_timestamp()
        if next_timer is not None and next_timer <= now:
            self.fire_processing_timers(now)

    def fire_event_timers(self, until: int) -> None:
        """Fire event-time timers; operators with timers override this."""

    def fire_processing_timers(self, until: int) -> None:
        """Fire processing-time timers; operators with timers override this."""

    def wake_up_at(self) -> int | None:
        """When the operator wants to be called although no data comes."""
        return self.processing_timers.next_timestamp()

    def key_of_timer(self, address: Any) -> Any:
        """The key that a timer belongs to; operators with namespaces of timers override this."""
        return address

    #: Batch mode: whether its keys may come one after the other, each with all of its records, and
    #: `end_keys` after some of them. All that it knows of a key is in its state and timers, or goes
    #: with `end_keys`.
    takes_keys_in_turn = False

    def end_keys(self) -> None:
        """Batch mode: the keys so far have no more records, and their state ends after this.

        All of their timers fire, as at the end of time. Those of processing time that are set
        meanwhile do not.
        """
        self.watermark = MAX_TIMESTAMP
        self.fire_event_timers(MAX_TIMESTAMP)
        times = [timestamp for timestamp, _ in self.processing_timers]
        if times:
            self.fire_processing_timers(times[-1])
            deque(self.processing_timers.pop_due(MAX_TIMESTAMP), maxlen=0)
        self.watermark = MIN_TIMESTAMP

    def end_input_of(self, input_index: int) -> None:
        """One of several inputs has ended."""

    def end_input(self) -> None:
        """Nothing follows. With event time, the maximum watermark was there before."""
        self.finish()
        self.output.end()

    def finish(self) -> None:
        """Emit what is left."""

    changes_records = True
    """Whether its functions get the records themselves and may change them."""

    def look_for_idleness(self) -> None:
        """All input that is there was taken: an operator with watermarks may find it idle."""

    def end_epoch(self) -> None:
        """The epoch is over: nothing may stay in buffers that a reader of the output would miss."""

    def prepare_commit(self, checkpoint: int) -> None:
        """The epoch is to be committed under this number; sinks get ready."""

    def commit(self, checkpoint: int) -> None:
        """Everything prepared up to this number counts; sinks commit it."""

    @property
    def commits(self) -> bool:
        """Whether it has to get ready for commits at all."""
        return False

    @property
    def committables(self) -> int:
        """How many things wait to be committed."""
        return 0

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        """A barrier: bring state up to date, before any state of the subtask is taken."""

    def snapshot(self) -> dict[str, Any]:
        """State of the operator itself, apart from keyed and operator state: picklable.

        Timers of a keyed operator are saved by key group, like its keyed state.
        """
        own: dict[str, Any] = {"watermark": self.watermark}
        if not self.context.keyed:
            own["event_timers"] = self.event_timers.snapshot()
            own["processing_timers"] = self.processing_timers.snapshot()
        return own

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over a snapshot, before `open`.

        Event time goes on where it was, so that a record is late after a recovery if it was late
        before.
        """
        # The end of time must be told again: those who receive from here are new and wait for it.
        self.watermark = min(snapshot["watermark"], MAX_TIMESTAMP - 1)
        self.event_timers.restore(snapshot.get("event_timers", ()))
        self.processing_timers.restore(snapshot.get("processing_timers", ()))

    def notify_checkpoint(self, checkpoint: int, completed: bool) -> None:
        """A checkpoint is complete, or will never be."""

    def failed(
        self, error: BaseException, record: Any = NO_RECORD, *, where: str = ""
    ) -> UserCodeFailure:
        """The failure of a user function of this operator."""
        failure = UserCodeFailure.of(error, record, where)
        return failure.at(self.context.name, self.context.uid)
