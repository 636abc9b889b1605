"""A subtask: one parallel instance of a vertex, alive from the start of the job to its end."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.conversion import column_converter
from headrace.common.crash_points import crash_point
from headrace.graph.ids import CheckpointId, NodeId
from headrace.graph.job_graph import ChainedOperator, JobEdge, JobVertex
from headrace.runtime.batch import (
    Batch,
    Element,
    EndMark,
    LatencyMark,
    Receiver,
    StatusMark,
    WatermarkMark,
)
from headrace.runtime.epoch import (
    ChannelReport,
    CheckpointRequest,
    EpochPlan,
    EpochReport,
    OperatorReport,
    SplitReport,
)
from headrace.runtime.exchange.carry_over import CarriedEdge, Cutoff, is_carried
from headrace.runtime.exchange.frame_queue import FrameMemory
from headrace.runtime.exchange.input_gate import ChannelKey, InputGate
from headrace.runtime.exchange.isolation import isolate
from headrace.runtime.exchange.live import LiveExchange
from headrace.runtime.exchange.output import (
    ChannelBuffer,
    Converter,
    ExchangeWriter,
    OperatorOutput,
)
from headrace.runtime.exchange.routing import connected_receivers, connected_senders, make_router
from headrace.runtime.exchange.wire import FrameHeader
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.functions.dead_letters import LenientOutput
from headrace.runtime.operator import Operator, OperatorContext, SubtaskServices, TaskInfo
from headrace.runtime.operators import build_operator
from headrace.runtime.operators.sorted_input import SortedInput
from headrace.runtime.operators.source import SourceOperator
from headrace.runtime.slot.deployment import VertexDeployment
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.factory import StateBackends
from headrace.runtime.subtask_figures import MetricSettings, SubtaskFigures
from headrace.runtime.subtask_input import SubtaskInput
from headrace.runtime.time.timer_state import TimerState

_SPLITS_REPORTED = 20


class Subtask:
    """Runs its share of every epoch; `send` takes the frames it produces."""

    def __init__(
        self,
        deployment: VertexDeployment,
        task: TaskInfo,
        services: SubtaskServices,
        clock: Callable[[], int],
        track_changes: bool = False,
        state_backends: StateBackends | None = None,
        metrics: MetricSettings | None = None,
        memory: FrameMemory | None = None,
    ) -> None:
        self.task = task
        self.vertex: JobVertex = deployment.unpacked()
        self.finished = False
        self.last_checkpoint = CheckpointId(0)
        self.accumulators: dict[str, Any] = {}
        self.backends: dict[str, KeyedStateBackend] = {}
        self.timers: dict[str, TimerState] = {}
        self._deployment = deployment
        self._services = services
        self._clock = clock
        self._track_changes = track_changes
        self._state_backends = state_backends or StateBackends()
        self._send: Callable[[bytes], None] = _refuse
        self._bytes_out = 0
        self._writers: list[ExchangeWriter] = []
        self.operators: dict[NodeId, Operator] = {}
        self.figures = SubtaskFigures(task, metrics or MetricSettings())
        self._build()
        self.head = self.operators[self.vertex.operators[0].node]
        self.gate = self._build_gate()
        if self.gate.channels:
            self.head.watermark_of = self.gate.watermark_of
        self.input = SubtaskInput(
            self.gate,
            {e.index for e in self.vertex.in_edges if is_carried(e.partitioning)},
            self.head.first_input,
            memory or FrameMemory(),
            self.take,
            self.tick,
        )
        backend = self.head.context.backend
        self._sorted: SortedInput | None = None
        if self.vertex.batch and backend is not None:
            by_key = self.head.takes_keys_in_turn and len(self.backends) == 1
            self._sorted = SortedInput(backend, by_key=by_key)

    # Building.

    def _build(self) -> None:
        """Operators from the end of the chain to its head, since an output needs its receivers."""
        for chained in reversed(self.vertex.operators):
            operator = build_operator(chained.spec)
            operator.setup(self._context(chained), self._output(chained))
            self.operators[chained.node] = operator
            if chained.keyed:
                self.timers[chained.operator_id] = TimerState(
                    {"event": operator.event_timers, "processing": operator.processing_timers},
                    operator.key_of_timer,
                    self.task.max_parallelism,
                    self._track_changes,
                )

    def _context(self, chained: ChainedOperator) -> OperatorContext:
        backend = None
        metrics = self.figures.group(chained.operator_id, chained.name)
        if chained.keyed:
            backend = self._state_backends.create(
                self.task.max_parallelism,
                self._clock,
                self._track_changes,
                operator_uid=chained.uid,
                subtask=self.task.subtask,
                metrics=metrics,
            )
            self.backends[chained.operator_id] = backend
        return OperatorContext(
            task=self.task,
            operator_id=chained.operator_id,
            name=chained.name,
            uid=chained.uid,
            keyed=chained.keyed,
            clock=self._clock,
            backend=backend,
            accumulators=self.accumulators,
            metrics=metrics,
            services=self._services,
        )

    def _output(self, chained: ChainedOperator) -> OperatorOutput:
        main: list[Receiver] = []
        side: dict[str, list[Receiver]] = {}
        side_types: dict[str, Any] = {}
        receivers: list[tuple[Any, Receiver]] = [
            (e.tag, self.operators[e.target])
            for e in self.vertex.chained_edges
            if e.source == chained.node
        ]
        receivers += [
            (e.tag, self._writer(e)) for e in self.vertex.out_edges if e.source_node == chained.node
        ]
        for tag, receiver in self._isolated(receivers):
            if tag is None:
                main.append(receiver)
            else:
                side.setdefault(tag.tag_id, []).append(receiver)
                side_types[tag.tag_id] = tag.type_info
        convert = None if chained.convert_to is None else _converter(chained, chained.convert_to)
        converters = {t: c for t, info in side_types.items() if (c := _converter(chained, info))}
        error_tag = getattr(chained.spec, "error_tag", None)
        if error_tag is not None:
            return LenientOutput(main, dict(side), convert, converters, error_tag, chained.name)
        return OperatorOutput(main, dict(side), convert, converters)

    def _isolated(self, receivers: list[tuple[Any, Receiver]]) -> list[tuple[Any, Receiver]]:
        if len(receivers) < 2 or self.vertex.object_reuse:
            return receivers
        return isolate(
            [(t, r, isinstance(r, Operator) and r.changes_records) for t, r in receivers]
        )

    def _writer(self, edge: JobEdge) -> ExchangeWriter:
        to = self._deployment.receivers[edge.index]
        sender, senders, receivers = self.task.subtask, self.task.parallelism, len(to.locations)
        channels = {
            target: ChannelBuffer(
                FrameHeader(
                    to.locations[target].level,
                    to.locations[target].partition,
                    edge.index,
                    sender,
                    0,
                ),
                self._send_frame,
            )
            for target in connected_receivers(edge.partitioning, sender, senders, receivers)
        }
        router = make_router(edge.partitioning, sender, senders, receivers, to.max_parallelism)
        writer = ExchangeWriter(router, channels)
        self._writers.append(writer)
        return writer

    def _build_gate(self) -> InputGate:
        gate = InputGate()
        for edge in self.vertex.in_edges:
            senders = self._deployment.senders[edge.index].parallelism
            for sender in connected_senders(
                edge.partitioning, self.task.subtask, senders, self.task.parallelism
            ):
                gate.add_channel((edge.index, sender), edge.input_index)
        return gate

    @property
    def in_edges(self) -> list[tuple[JobEdge, CarriedEdge]]:
        """The exchanges that lead here, and how a snapshot names them."""
        senders = self._deployment.senders
        return [
            (e, CarriedEdge.of(e, senders[e.index].operator_id, senders[e.index].parallelism))
            for e in self.vertex.in_edges
        ]

    @property
    def fed(self) -> bool:
        """Whether this is a source whose records Spark reads."""
        return isinstance(self.head, SourceOperator) and self.head.fed

    # Life.

    def open(self) -> None:
        """Open all functions, the last of the chain first: a record finds everybody ready."""
        if self._sorted is not None:
            self._sorted.open()
        for operator in self.operators.values():
            operator.open()
        for backend in self.backends.values():
            backend.detach()

    def before_snapshot(self, checkpoint: int) -> None:
        """A barrier: whatever is held outside of state is written to it."""
        if self._sorted is not None:
            self._sorted.store()
        for operator in reversed(self.operators.values()):
            operator.before_snapshot(checkpoint, operator.context.clock())

    def close(self) -> None:
        """Close all functions, also when one of them fails; the first failure is then raised."""
        first: BaseException | None = None
        for operator in reversed(self.operators.values()):
            try:
                operator.close()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - raised when all are closed
                first = first or error
        for backend in self.backends.values():
            backend.dispose()
        if first is not None:
            raise first

    def run_epoch(
        self,
        plan: EpochPlan,
        frames: Iterable[bytes],
        send: Callable[[bytes], None],
        at_barrier: Callable[[CheckpointRequest, ChannelReport | None], None] | None = None,
        live: LiveExchange | None = None,
        cutoff: Cutoff | None = None,
    ) -> EpochReport:
        """Take part in an epoch.

        Args:
            plan: What to do in it.
            frames: The input.
            send: Takes the output.
            at_barrier: Called at its end if a checkpoint is due, with what the channels were like.
            live: What carries the frames while they are made, if they are: receivers then learn
                from barriers that they have all of them.
            cutoff: When to carry over to the next epoch what was not processed.
        """
        started, waited_s = time.perf_counter(), live.waited_s if live else 0.0
        use = live.begin() if live else None
        self._send, self._bytes_out, bytes_in, read_before = send, 0, 0, self.head.records_in
        crash_point("epoch-begun")
        for writer in self._writers:
            writer.start_epoch()
        self.tick()
        if isinstance(self.head, SourceOperator):
            self.figures.send_mark(self.head, self._clock())
            self._read(self.head, plan, frames, cutoff)
        else:
            bytes_in = self.input.consume(frames, cutoff, use)
        self.tick()
        if plan.max_records and not (cutoff is not None and cutoff.reached()):
            self.look_for_idleness()
        for operator in reversed(self.operators.values()):
            operator.end_epoch()
        for writer in self._writers:
            writer.flush(last=live is not None)
        if use is not None and cutoff is not None:
            use.cut = cutoff.reached()
        channels = use.report(len(self.gate.channels), self._channels_out) if use else None
        if plan.checkpoint is not None and at_barrier is not None:
            at_barrier(plan.checkpoint, channels)
        elif plan.commit is not None:
            self.last_checkpoint = plan.commit
            for operator in reversed(self.operators.values()):
                operator.prepare_commit(plan.commit)
        for backend in self.backends.values():
            backend.epoch_end()
        for timers in self.timers.values():
            timers.epoch_end()
        self._send = _refuse
        waited_s = live.waited_s - waited_s if live else 0.0
        busy_ms = (time.perf_counter() - started - waited_s) * 1000
        read = self.head.records_in - read_before
        return self._report(plan, busy_ms, bytes_in, read, channels)

    def commit(self, number: CheckpointId) -> None:
        """Have the sinks commit an epoch that succeeded everywhere."""
        for operator in self.operators.values():
            operator.commit(number)

    def checkpoint_ended(self, checkpoint: CheckpointId, completed: bool) -> None:
        """Tell backends and functions what became of a checkpoint, between two epochs."""
        if completed:
            self.checkpoint_can_be_base(checkpoint)
        else:
            for backend in self.backends.values():
                backend.notify_checkpoint_aborted(checkpoint)
            for timers in self.timers.values():
                timers.abort(checkpoint)
        for operator in self.operators.values():
            operator.notify_checkpoint(checkpoint, completed)
        crash_point("functions-notified")

    def checkpoint_can_be_base(self, checkpoint: CheckpointId) -> None:
        """A checkpoint is complete: changes count from it on. A second call does nothing wrong."""
        for backend in self.backends.values():
            backend.notify_checkpoint_complete(checkpoint)
        for timers in self.timers.values():
            timers.complete(checkpoint)

    def has_at_most(self, entries: int, base: CheckpointId | None) -> bool:
        """Whether so few entries and timers are there, or changed since a checkpoint."""
        count = 0
        parts: list[KeyedStateBackend | TimerState] = [*self.backends.values()]
        for part in (*parts, *self.timers.values()):
            changes = None if base is None else part.changes_since(base)
            known = part.known_size() if changes is None else changes
            if known is None:
                return False
            count += known
        return count <= entries

    def _read(
        self,
        source: SourceOperator,
        plan: EpochPlan,
        frames: Iterable[bytes],
        cutoff: Cutoff | None,
    ) -> None:
        if self.finished:
            return
        if plan.drain:
            source.drain()
            self.finished = source.ended
            return
        key = (self.vertex.id, self.task.subtask)
        source.add_splits(plan.splits.get(key, ()), self.vertex.id in plan.no_more_splits)
        if source.fed:
            source.feed(iter(frames))
        if source.reads_whole_splits:
            # The splits of this epoch are its length: what they have is taken now.
            source.read(sys.maxsize, math.inf, self.tick)
        else:
            deadline = time.monotonic() + plan.max_read_ms / 1000
            if cutoff is not None:
                deadline = min(deadline, cutoff.at)
            limit = plan.max_watermarks.get(self.vertex.id)
            source.read(plan.max_records, deadline, self.tick, limit, plan.brief)
        self.finished = source.ended

    def take(self, channel: ChannelKey, element: Element) -> None:
        """Process one element of an input channel."""
        gate, head = self.gate, self.head
        if isinstance(element, Batch):
            if element.keys:
                self.figures.sample_keys(element.keys)
            # Broadcast records have no key, and come before those that are sorted.
            if self._sorted is not None and element.keys is not None:
                self._sorted.add(gate.input_of(channel), element)
                return
            head.process_batch_of(gate.input_of(channel), element)
            for backend in self.backends.values():
                backend.after_batch(len(element.values))
        elif type(element) is WatermarkMark:
            self._advance(gate.on_watermark(channel, element.timestamp))
        elif type(element) is StatusMark:
            watermark, idle = gate.on_status(channel, element.idle)
            if idle is not None:
                head.process_status(idle)
            self._advance(watermark)
        elif type(element) is EndMark:
            self._end(*gate.on_end(channel))
        elif type(element) is LatencyMark:
            head.process_latency(element)

    def _advance(self, watermark: int | None) -> None:
        if watermark is not None and self._sorted is None:
            self.head.process_watermark(watermark)

    def _end(self, input_index: int, input_ended: bool, all_ended: bool) -> None:
        if input_ended:
            self.head.end_input_of(input_index)
        if all_ended and not self.finished:
            self._give_sorted()
            # Timers of processing time that are due fire; those of the future end with the job.
            self.tick()
            self.finished = True
            self.head.end_input()

    def _give_sorted(self) -> None:
        held, self._sorted = self._sorted, None
        if held is not None:
            for given in held.drain():
                if given is None:
                    self._end_keys()
                else:
                    self.head.process_batch_of(*given)
            self._advance(self.gate.watermark)

    def _end_keys(self) -> None:
        self.head.end_keys()
        for backend in self.backends.values():
            backend.forget_all()

    def tick(self) -> None:
        """Let processing time pass."""
        if self.finished:
            return
        now = self._clock()
        for operator in reversed(self.operators.values()):
            operator.process_time(now)

    def look_for_idleness(self) -> None:
        """Say that all input that is there was taken: nothing waits in a source or on its way."""
        if not self.finished:
            for operator in reversed(self.operators.values()):
                operator.look_for_idleness()

    def wake_up_at(self) -> int | None:
        """When an operator wants to be called although no data comes."""
        if self.finished:
            return None
        if self.input.carried:
            return self._clock()
        times = [o.wake_up_at() for o in self.operators.values()]
        return min((t for t in times if t is not None), default=None)

    def _aligned_watermark(self) -> int | None:
        return self.head.aligned_watermark if isinstance(self.head, SourceOperator) else None

    def _send_frame(self, frame: bytes) -> None:
        self._bytes_out += len(frame)
        self._send(frame)

    def _report(
        self,
        plan: EpochPlan,
        busy_ms: float,
        bytes_in: int,
        read: int,
        channels: ChannelReport | None,
    ) -> EpochReport:
        operators = list(reversed(self.operators.values()))
        return EpochReport(
            vertex=self.vertex.id,
            subtask=self.task.subtask,
            epoch=plan.epoch,
            finished=self.finished,
            operators=tuple(
                OperatorReport(o.context.name, o.records_in, o.output.records_out, o.watermark)
                for o in operators
            ),
            source=self.vertex.is_source,
            records_read=read,
            records_sent=sum(o.output.records_sent for o in operators),
            bytes_in=bytes_in,
            bytes_out=self._bytes_out,
            busy_ms=busy_ms,
            watermark=self.head.watermark,
            wake_up_at=self.wake_up_at(),
            commits=any(o.commits for o in operators),
            committables=sum(o.committables for o in operators),
            aligned_watermark=self._aligned_watermark(),
            exhausted=isinstance(self.head, SourceOperator) and self.head.exhausted,
            accumulators=dict(self.accumulators),
            metrics=self.figures.metrics(),
            latencies=self.figures.latencies(operators),
            more=isinstance(self.head, SourceOperator) and self.head.has_backlog,
            splits=self._split_reports(),
            hot_key=self.figures.hot_key(),
            channels=channels,
        )

    @property
    def _channels_out(self) -> int:
        return sum(writer.channel_count for writer in self._writers)

    def _split_reports(self) -> tuple[SplitReport, ...]:
        if not isinstance(self.head, SourceOperator):
            return ()
        return tuple(SplitReport(*s) for s in self.head.split_watermarks(_SPLITS_REPORTED))


def _converter(chained: ChainedOperator, type_info: Any) -> Converter | None:
    """Converts to a declared type; a value that does not fit is the failure of the operator."""
    convert = column_converter(type_info)
    if convert is None:
        return None

    def guarded(values: list[Any]) -> list[Any]:
        try:
            return convert(values)
        except Exception as error:
            failure = UserCodeFailure.of(error, where=f"converting to {type_info}")
            raise failure.at(chained.name, chained.uid) from error

    return guarded


def _refuse(frame: bytes) -> None:
    raise RuntimeError("a record was emitted outside an epoch")
