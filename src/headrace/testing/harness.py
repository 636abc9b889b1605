"""One operator with its time, its inputs and its output in the hands of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import cloudpickle

from headrace.common.conversion import column_converter
from headrace.common.errors import FunctionTypeError, HeadraceError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.time_domain import TimeDomain
from headrace.graph.ids import OperatorId
from headrace.graph.partitioning import KeyBy, Partitioning, Rebalance
from headrace.graph.shipping import check_shippable
from headrace.graph.specs import OperatorSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch, Element, EndMark, StatusMark, WatermarkMark
from headrace.runtime.exchange.routing import Router, make_router
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.key_groups import OpaqueKey
from headrace.runtime.operator import TaskInfo
from headrace.runtime.slot.deployment import VertexDeployment, single_operator
from headrace.runtime.subtask import Subtask
from headrace.testing.clock import ManualClock
from headrace.testing.recording import Recording, RecordingOutput, RecordingServices
from headrace.testing.snapshots import SubtaskSnapshot, restore_subtask, snapshot_subtask
from headrace.testing.state_view import remember_descriptors, state_of

__all__ = ["OperatorHarness", "TimerInfo", "TwoInputHarness"]

_MAX_PARALLELISM = 128

Timestamps = Iterable[int | None] | Callable[[Any], int | None] | None


class TimerInfo(NamedTuple):
    """A pending timer."""

    timestamp: int
    key: Any
    domain: TimeDomain


class OperatorHarness:
    """Runs one operator.

    Make one with `harness` or `keyed_harness`, and close it or use it in a `with` statement.

    The function is pickled first, as it is for a job: `function` is the object that works, not the
    one that was given. What a function raises comes out of the call that caused it, with a note
    that names the record.
    """

    inputs = 1

    def __init__(
        self,
        spec: OperatorSpec,
        selectors: Sequence[Callable[[Any], Any]] | None = None,
        *,
        parallelism: int = 1,
        max_parallelism: int = _MAX_PARALLELISM,
        output_type: TypeInformation | None = None,
        time: int = 0,
        job_parameters: dict[str, str] | None = None,
    ) -> None:
        check_shippable(spec, spec.kind)
        self._keyed = selectors is not None
        self._partitionings = self._inputs(selectors)
        self._spec = cloudpickle.dumps(spec)
        self._kind = spec.kind
        self._convert = None if output_type is None else column_converter(output_type)
        self._max_parallelism = max_parallelism
        self._job_parameters = job_parameters or {}
        self._clock = ManualClock(time)
        self._services = RecordingServices()
        self._recording = Recording()
        self._descriptors: dict[str, Any] = {}
        self._subtasks: list[Subtask] = []
        self._routers: list[Router] = []
        self._watermarks: dict[int, int] = {}
        self._start(parallelism, ())

    # Input.

    def process(self, value: Any, ts: int | None = None) -> None:
        """Lets the function process one record.

        Args:
            value: The record.
            ts: Its timestamp in milliseconds; None for a record that has none.
        """
        self._take_batch(0, [value], [ts])

    def process_many(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Lets the function process records as one batch, as it happens in a job.

        Args:
            values: The records.
            ts: Their timestamps, or a function that gives the timestamp of a record.
        """
        self._take_batch(0, list(values), ts)

    def watermark(self, ts: int) -> None:
        """Advances event time to `ts`: timers up to it fire."""
        for index in range(self.inputs):
            self._mark(index, WatermarkMark(ts))

    def idle(self, idle: bool = True) -> None:
        """Marks the input as idle, or as active again."""
        for index in range(self.inputs):
            self._mark(index, StatusMark(idle))

    def end_input(self) -> None:
        """Ends the input: all event-time timers fire, and what was kept back is emitted."""
        self.watermark(MAX_TIMESTAMP)
        for index in range(self.inputs):
            self._mark(index, EndMark())

    def advance_time(self, ms: int) -> None:
        """Advances processing time by `ms` milliseconds; timers fire one by one, at their time."""
        until = self._clock() + ms
        while True:
            due = [t for s in self._subtasks if (t := s.wake_up_at()) is not None and t <= until]
            if not due:
                break
            self._clock.advance_to(max(min(due), self._clock()))
            self._tick()
        self._clock.advance_to(until)
        self._tick()

    @property
    def time(self) -> int:
        """The processing time, in milliseconds."""
        return self._clock()

    # Output.

    def output(self) -> list[Any]:
        """The records that were emitted since this was last asked."""
        return [value for value, _ in self.timestamped_output()]

    def timestamped_output(self) -> list[tuple[Any, int | None]]:
        """The same as `output`, as pairs of record and timestamp."""
        emitted, self._recording.main = self._recording.main, []
        return emitted

    def side_output(self, tag: OutputTag) -> list[Any]:
        """The records that were emitted to a side output since this was last asked."""
        if not isinstance(tag, OutputTag):
            raise FunctionTypeError(f"side_output() takes an OutputTag, not {tag!r}")
        values = [value for value, _ in self._recording.side.pop(tag.tag_id, [])]
        convert = column_converter(tag.type_info)
        return values if convert is None else convert(values)

    def watermarks(self) -> list[int]:
        """The watermarks that were emitted since this was last asked."""
        emitted, self._recording.watermarks = self._recording.watermarks, []
        return emitted

    def printed(self) -> list[str]:
        """The lines that a print sink wrote since this was last asked."""
        lines, self._services.printed = self._services.printed, []
        return lines

    # A look inside.

    @property
    def function(self) -> Any:
        """The function object in use; that of the first subtask if there are several."""
        return self.functions[0]

    @property
    def functions(self) -> list[Any]:
        """The function objects of all subtasks."""
        return [getattr(s.head, "function", None) for s in self._subtasks]

    @property
    def current_watermark(self) -> int:
        """Event time of the operator."""
        return min(s.head.watermark for s in self._subtasks)

    def state(self, name: str) -> dict[Any, Any]:
        """The keyed state of this name: values by key; lists for list state, dicts for map state.

        Looking changes nothing: neither the state nor when it expires.
        """
        return state_of(name, self._subtasks, self._descriptors, self._clock)

    def timers(self) -> list[TimerInfo]:
        """The pending timers, by time."""
        found = []
        for subtask in self._subtasks:
            head = subtask.head
            for queue, domain in (
                (head.event_timers, TimeDomain.EVENT_TIME),
                (head.processing_timers, TimeDomain.PROCESSING_TIME),
            ):
                for timestamp, address in queue.snapshot():
                    key = head.key_of_timer(address)
                    key = key.value if isinstance(key, OpaqueKey) else key
                    found.append(TimerInfo(timestamp, key, domain))
        return sorted(found, key=lambda timer: timer.timestamp)

    # Failure and recovery.

    def snapshot(self) -> list[SubtaskSnapshot]:
        """Returns the operator's state as a checkpoint would hold it."""
        snapshots: list[SubtaskSnapshot] = [
            self._guarded(snapshot_subtask, s) for s in self._subtasks
        ]
        return snapshots

    def restore(self, snapshot: Sequence[SubtaskSnapshot], parallelism: int | None = None) -> None:
        """Continues with a fresh function object that has the state of a snapshot.

        Args:
            snapshot: What `snapshot` gave.
            parallelism: Spread keys and lists over so many subtasks; as many as now if left out.
        """
        parallelism = parallelism or len(self._subtasks)
        self._close_subtasks()
        self._start(parallelism, snapshot)

    def snapshot_and_restore(self, parallelism: int | None = None) -> None:
        """Fails and recovers: a fresh function object continues with the state of the old one.

        Args:
            parallelism: Spread keys and lists over so many subtasks; as many as now if left out.
        """
        self.restore(self.snapshot(), parallelism)

    def close(self) -> None:
        """Closes the function. A second call does nothing."""
        self._close_subtasks()

    def __enter__(self) -> Self:
        """Use the harness in a `with` statement."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the function; what that raises does not hide an earlier exception."""
        try:
            self.close()
        except Exception:
            if error is None:
                raise

    # Inside.

    def _inputs(self, selectors: Sequence[Callable[[Any], Any]] | None) -> list[Partitioning]:
        if selectors is None:
            return [Rebalance()] * self.inputs
        return [KeyBy(selector) for selector in selectors]

    def _start(self, parallelism: int, snapshot: Sequence[SubtaskSnapshot]) -> None:
        deployment = self._deployment(parallelism)
        self._recording.follow(parallelism)
        self._routers = [
            make_router(p, 0, 1, parallelism, self._max_parallelism) for p in self._partitionings
        ]
        self._subtasks = []
        for index in range(parallelism):
            task = TaskInfo(
                job_id="0" * 32,
                job_name="harness",
                vertex_name=self._kind,
                subtask=index,
                parallelism=parallelism,
                max_parallelism=self._max_parallelism,
                job_parameters=self._job_parameters,
            )
            subtask = Subtask(deployment, task, self._services, self._clock)
            subtask.head.output = RecordingOutput(self._recording, index, self._convert)
            remember_descriptors(subtask, self._descriptors)
            if snapshot:
                restore_subtask(subtask, snapshot)
            self._guarded(subtask.open)
            subtask.look_for_idleness()
            self._subtasks.append(subtask)
        for index, timestamp in self._watermarks.items():
            # The channels of a recovered subtask are new; what they said last holds for them still.
            for subtask in self._subtasks:
                subtask.gate.on_watermark((index, 0), timestamp)

    def _deployment(self, parallelism: int) -> VertexDeployment:
        return single_operator(
            self._spec,
            self._kind,
            self._partitionings,
            keyed=self._keyed,
            parallelism=parallelism,
            max_parallelism=self._max_parallelism,
            operator_id=OperatorId("harness"),
        )

    def _take_batch(self, index: int, values: list[Any], ts: Timestamps) -> None:
        self._require_open()
        if not values:
            return
        stamps = [ts(v) for v in values] if callable(ts) else list(ts or [None] * len(values))
        if len(stamps) != len(values):
            raise HeadraceError(f"{len(values)} records have {len(stamps)} timestamps")
        known = None if all(s is None for s in stamps) else stamps
        self._guarded(self._route, index, Batch(values, known))

    def _route(self, index: int, batch: Batch) -> None:
        for target, part in self._routers[index](batch):
            self._subtasks[target].take((index, 0), part)
            self._subtasks[target].look_for_idleness()

    def _mark(self, index: int, mark: Element) -> None:
        self._require_open()
        if isinstance(mark, WatermarkMark):
            self._watermarks[index] = max(
                mark.timestamp, self._watermarks.get(index, mark.timestamp)
            )
        for subtask in self._subtasks:
            self._guarded(subtask.take, (index, 0), mark)

    def _tick(self) -> None:
        self._require_open()
        for subtask in self._subtasks:
            self._guarded(subtask.tick)
            self._guarded(subtask.look_for_idleness)

    def _close_subtasks(self) -> None:
        subtasks, self._subtasks = self._subtasks, []
        for subtask in subtasks:
            self._guarded(subtask.close)

    def _require_open(self) -> None:
        if not self._subtasks:
            raise HeadraceError("the harness is closed")

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except UserCodeFailure as raised:
            failure = raised
        # Not inside the except clause: a user wants to see the cause alone.
        raise _noted(failure)


def _noted(failure: UserCodeFailure) -> BaseException:
    """What the function raised, with a note about where."""
    cause = failure.cause
    where = f" in {failure.where}" if failure.where else ""
    record = "" if failure.record is None else f", record {failure.record}"
    cause.add_note(f"raised{where}{record}")
    return cause


class TwoInputHarness(OperatorHarness):
    """Runs an operator with two inputs. Make one with `two_input_harness`."""

    inputs = 2

    def process(self, value: Any, ts: int | None = None) -> None:
        """Refused: choose the input with `process1` or `process2`."""
        raise HeadraceError("there are two inputs: call process1() or process2()")

    def process_many(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Refused: choose the input with `process_many1` or `process_many2`."""
        raise HeadraceError("there are two inputs: call process_many1() or process_many2()")

    def process1(self, value: Any, ts: int | None = None) -> None:
        """Lets the function process one record of the first input."""
        self._take_batch(0, [value], [ts])

    def process2(self, value: Any, ts: int | None = None) -> None:
        """Lets the function process one record of the second input."""
        self._take_batch(1, [value], [ts])

    def process_many1(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Lets the function process records of the first input as one batch."""
        self._take_batch(0, list(values), ts)

    def process_many2(self, values: Iterable[Any], ts: Timestamps = None) -> None:
        """Lets the function process records of the second input as one batch."""
        self._take_batch(1, list(values), ts)

    def watermark1(self, ts: int) -> None:
        """Gives the first input a watermark; event time is the smaller one of both inputs."""
        self._mark(0, WatermarkMark(ts))

    def watermark2(self, ts: int) -> None:
        """Gives the second input a watermark; event time is the smaller one of both inputs."""
        self._mark(1, WatermarkMark(ts))
