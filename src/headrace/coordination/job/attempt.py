"""One attempt at a job: its slots from their start to their end, and the epochs that they run.

When anything fails the attempt is over. Its slots are let go, and the next attempt starts with
new ones.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.scratch import ScratchDirectory
from headrace.coordination.carrier import Carrier, EpochRun, PartitionRun
from headrace.coordination.slots.control import ControlServer
from headrace.coordination.slots.heartbeats import Heartbeats, HeartbeatSettings
from headrace.coordination.slots.observations import Observations
from headrace.coordination.slots.state_queries import StateQueries
from headrace.graph.ids import CheckpointId, SlotId
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport, SubtaskKey
from headrace.runtime.failure import FailureReport
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import SlotLaunch
from headrace.runtime.snapshot_files import SnapshotRef

_SLOT_START_S = 120.0
_SLOT_LOOK_S = 1.0
_REPORT_WAIT_S = 60.0
_CLOSE_WAIT_S = 10.0
"""What a slot needs beyond its own time limit to say that it has ended."""

Failure = FailureReport | str
"""What a slot reported, or what became of a slot."""


class AttemptFailedError(HeadraceError):
    """The attempt cannot go on; `failure` says why as far as a slot knew it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure if isinstance(failure, str) else failure.message)
        self.failure = failure


class AttemptCancelledError(HeadraceError):
    """The attempt was told to end."""


@dataclass(frozen=True)
class SlotEnvironment:
    """What all slots of a job start with."""

    python_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    first_python_path: tuple[str, ...] = ()
    working_directory: str | None = None
    modules: tuple[str, ...] = ()


class JobAttempt:
    """Slots of one incarnation. Methods are called by the job master's thread; `cancel` by any."""

    def __init__(
        self,
        incarnation: int,
        physical: PhysicalGraph,
        carrier: Carrier,
        environment: SlotEnvironment,
        on_output: Callable[[m.Printed | m.Collected], None],
        on_snapshot: Callable[[m.Snapshotted], None],
        on_committed: Callable[[CheckpointId], None] = lambda checkpoint: None,
        heartbeats: HeartbeatSettings | None = None,
        cancellation: m.Close | None = None,
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.incarnation = incarnation
        self._physical = physical
        self._carrier = carrier
        self._environment = environment
        self._on_output = on_output
        self._on_snapshot = on_snapshot
        self._on_committed = on_committed
        self._close = cancellation or m.Close()
        self._committed: dict[SlotId, CheckpointId] = {}
        self._committed_last = 0
        self._changed = threading.Condition()
        self._failure: Failure | None = None
        self._failed_slot: SlotId | None = None
        self._cancelled = False
        self._woken = False
        self._rescheduled = False
        self._ready: set[SlotId] = set()
        self._closed: dict[SlotId, m.Closed] = {}
        self.reports: dict[SubtaskKey, EpochReport] = {}
        self._token = secrets.token_hex(16)
        self._scratch = ScratchDirectory("slots")
        self._directory = str(self._scratch.path)
        address = carrier.control_address() or os.path.join(self._directory, "control")
        self._server = ControlServer(
            address, self._token, incarnation, self._on_message, self._on_lost, self._on_error
        )
        self._heartbeats = Heartbeats(
            heartbeats or HeartbeatSettings(),
            lambda: self._server.broadcast(m.Ping()),
            self._on_silent,
            on_tick,
        )
        self.queries = StateQueries(physical, self._server.send)
        self.observations = Observations(physical, self._server.send)

    @property
    def slot_pids(self) -> list[int]:
        """The processes of the slots."""
        return [hello.pid for hello in self._server.hellos.values()]

    @property
    def slots(self) -> dict[SlotId, m.Hello]:
        """The slots that have called, and where they are."""
        return dict(self._server.hellos)

    def slot_of(self, vertex: str, subtask: int) -> m.Hello | None:
        """Where a subtask lives."""
        slot = self.queries.slot_of(vertex, subtask)
        return None if slot is None else self._server.hellos.get(slot)

    @property
    def failed_task(self) -> str | None:
        """The subtask that failed, if it was one: `name (1/2)`, as Flink writes it."""
        failure = self._failure
        if not isinstance(failure, FailureReport) or failure.subtask is None:
            return None
        return f"{failure.vertex_name} ({failure.subtask + 1}/{failure.parallelism})"

    @property
    def failed_location(self) -> str | None:
        """The process in which the attempt failed, as `host:process id`, if it was a slot's."""
        if self._failed_slot is None:
            return None
        hello = self._server.hellos[self._failed_slot]
        return f"{hello.host}:{hello.pid}"

    # Life.

    def deploy(self, job: bytes, restore: dict[str, list[list[SnapshotRef]]]) -> None:
        """Start the slots and have them build, restore and open their subtasks."""
        slots = self._physical.slots
        launches = [
            SlotLaunch(
                slot,
                self.incarnation,
                self._server.address,
                self._token,
                self._directory,
                self._environment.python_path,
                self._environment.preload,
                first_python_path=self._environment.first_python_path,
                working_directory=self._environment.working_directory,
                modules=self._environment.modules,
            )
            for slot in range(slots)
        ]
        self._check()
        self._carrier.start_slots(launches)
        self._wait_for_hellos(slots)
        self._server.broadcast(m.Deploy(job, restore))
        self._heartbeats.start()
        self._wait(lambda: len(self._ready) == slots, None, "open their functions")

    def run_epoch(self, plan: EpochPlan) -> tuple[EpochReport, ...]:
        """Run an epoch to its end."""
        with self._changed:
            self._woken = False
        self._server.broadcast(m.BeginEpoch(plan))
        hellos = self._server.hellos
        levels = tuple(
            tuple(
                PartitionRun(
                    p.vertex,
                    p.subtask,
                    hellos[p.slot].data_address,
                    hellos[p.slot].tcp_address,
                    p.slot,
                )
                for p in partitions
            )
            for partitions in self._physical.levels
        )
        self._check()
        self._carrier.run_epoch(
            EpochRun(plan.epoch, self.incarnation, self._token, levels, plan.splits)
        )
        expected = sum(map(len, levels))
        self._wait(
            lambda: (
                len(self.reports) == expected
                and all(r.epoch == plan.epoch for r in self.reports.values())
            ),
            _REPORT_WAIT_S,
            f"report on epoch {plan.epoch}",
        )
        return tuple(self.reports.values())

    def take_snapshots(self, request: CheckpointRequest) -> None:
        """Have all subtasks take a snapshot, between two epochs."""
        self._server.broadcast(m.TakeSnapshot(request))

    def checkpoint_ended(self, checkpoint: CheckpointId, completed: bool) -> None:
        """Tell the slots at once what became of a checkpoint: sinks commit it if it is complete.

        Called by any thread.
        """
        ended = (checkpoint,)
        self._server.broadcast(
            m.CheckpointsEnded(completed=ended) if completed else m.CheckpointsEnded(aborted=ended)
        )

    def commit(self, number: CheckpointId) -> None:
        """Have sinks commit an epoch that succeeded, of a job without checkpoints."""
        self._server.broadcast(m.Commit(number))

    def wait_for_commit(self, checkpoint: CheckpointId) -> None:
        """Wait until a completed checkpoint is committed in all slots."""
        self._wait(lambda: self._committed_last >= checkpoint, None, "commit")

    def wait_until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait for something that a message of a slot brings about; whether it came in time."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: condition() or self._failure is not None or self._cancelled, timeout_s
            )
        self._check()
        return done

    @property
    def committed(self) -> int:
        """The last checkpoint that is committed in all slots."""
        with self._changed:
            return self._committed_everywhere

    @property
    def _committed_everywhere(self) -> int:
        slots = map(SlotId, range(self._physical.slots))
        return min((self._committed.get(slot, 0) for slot in slots), default=0)

    def wait(self, time_left_s: Callable[[], float | None]) -> None:
        """Sleep until the time is over, or somebody calls `wake`, or the attempt fails.

        The time is asked for again when a snapshot has come: it may have been the last one that
        the next checkpoint waits for.
        """
        again = True
        while again:
            with self._changed:
                self._rescheduled = False
            timeout_s = time_left_s()
            with self._changed:
                self._changed.wait_for(lambda: self._disturbed or self._rescheduled, timeout_s)
                again = self._rescheduled and not self._disturbed
        self._check()

    @property
    def _disturbed(self) -> bool:
        return self._woken or self._cancelled or self._failure is not None

    def wait_for(self, done: Future[Any], timeout_s: float | None) -> None:
        """Sleep until something is done or the time is over; raises if the attempt fails."""
        done.add_done_callback(lambda _: self._notify())
        with self._changed:
            self._changed.wait_for(
                lambda: done.done() or self._failure or self._cancelled, timeout_s
            )
        self._check()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def wake(self) -> None:
        """There is something to do."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def cancel(self) -> None:
        """End what runs."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
        self._end_what_runs()

    def fail(self, failure: Failure, slot: SlotId | None = None) -> None:
        """Something went wrong: the first failure is the one that counts."""
        with self._changed:
            if self._failure is None:
                self._failure, self._failed_slot = failure, slot
            self._changed.notify_all()
        self._end_what_runs()

    def _end_what_runs(self) -> None:
        """The Spark job, and user code that may sleep in a slot."""
        self._carrier.cancel()
        self._server.broadcast(self._close)

    def close(self) -> list[m.Closed]:
        """Close the functions and let the slots go; their last words."""
        self.queries.close()
        self._server.broadcast(self._close)
        timeout_s = self._close.timeout_s
        with self._changed:
            expected = set(self._server.hellos)
            self._changed.wait_for(
                lambda: expected <= set(self._closed),
                None if timeout_s is None else timeout_s + _CLOSE_WAIT_S,
            )
        # Not before: a slot that is silent, or whose host is gone, is not waited for.
        self._heartbeats.stop()
        self._server.close()
        self._scratch.remove()
        return list(self._closed.values())

    # Messages of slots, on the threads of their connections.

    def _on_message(self, message: Any) -> None:
        self._heartbeats.heard(message.slot)
        if isinstance(message, m.Printed | m.Collected):
            self._on_output(message)
            return
        if isinstance(message, m.Snapshotted):
            self._on_snapshot(message)
            with self._changed:
                self._rescheduled = True
                self._changed.notify_all()
            return
        if isinstance(message, m.Committed):
            self._take_commit(message)
            return
        if isinstance(message, m.StateRead):
            self.queries.answered(message)
            return
        if isinstance(message, m.StacksSampled):
            self.observations.stacks_sampled(message)
            return
        if isinstance(message, m.ThreadsDumped):
            self.observations.threads_dumped(message)
            return
        if isinstance(message, m.RecordsPeeked):
            self.observations.records_peeked(message)
            return
        if isinstance(message, m.Failed):
            self.fail(message.failure, message.slot)
            return
        with self._changed:
            if isinstance(message, m.Ready):
                self._ready.add(message.slot)
            elif isinstance(message, m.Reported):
                report = message.report
                self.reports[report.vertex, report.subtask] = report
            elif isinstance(message, m.DataAvailable):
                self._woken = True
            elif isinstance(message, m.Closed):
                self._closed[message.slot] = message
            self._changed.notify_all()

    def _take_commit(self, message: m.Committed) -> None:
        with self._changed:
            before = self._committed_everywhere
            self._committed[message.slot] = message.checkpoint
            now = self._committed_everywhere
        if now > before:
            self._on_committed(CheckpointId(now))
        with self._changed:
            self._committed_last = max(self._committed_last, now)
            self._changed.notify_all()

    def _on_lost(self, slot: SlotId) -> None:
        hello = self._server.hellos[slot]
        with self._changed:
            self._closed.setdefault(slot, m.Closed(slot))
        self.fail(
            f"slot {slot} (process {hello.pid} on {hello.host}) ended unexpectedly: it was "
            "killed, ran out of memory, or its executor is gone; see the cluster's logs",
            slot,
        )

    def _on_error(self, error: Exception) -> None:
        self.fail(f"the driver could not handle a slot's message: {type(error).__name__}: {error}")

    def _on_silent(self, slot: SlotId, silence_s: float) -> None:
        hello = self._server.hellos[slot]
        with self._changed:
            self._closed.setdefault(slot, m.Closed(slot))
        self.fail(
            f"slot {slot} (process {hello.pid} on {hello.host}) has not answered for "
            f"{silence_s:.0f} s: it hangs or its host cannot be reached (heartbeat.timeout)",
            slot,
        )

    # Waiting and failing.

    def _wait(self, condition: Callable[[], bool], timeout_s: float | None, what: str) -> None:
        if not self.wait_until(condition, timeout_s):
            raise AttemptFailedError(
                f"the slots of the job did not {what} within {timeout_s:.0f} s{self._slot_logs()}"
            )

    def _wait_for_hellos(self, slots: int) -> None:
        """Wait until all slots have called; one that wrote an error instead will not any more."""
        deadline = time.monotonic() + _SLOT_START_S
        while len(self._server.hellos) < slots:
            with self._changed:
                self._changed.wait_for(
                    lambda: (
                        len(self._server.hellos) == slots
                        or self._failure is not None
                        or self._cancelled
                    ),
                    _SLOT_LOOK_S,
                )
            self._check()
            missing = [s for s in range(slots) if s not in self._server.hellos]
            dead = [s for s in missing if "Error" in self._slot_log(s)]
            if dead or (missing and time.monotonic() > deadline):
                raise AttemptFailedError(
                    f"slot {(dead or missing)[0]} did not start{self._slot_logs()}"
                )

    def _slot_log(self, slot: int) -> str:
        """What a slot wrote before it could reach us."""
        log = Path(self._directory, f"slot-{slot}.log")
        return log.read_text(errors="replace") if log.exists() else ""

    def _slot_logs(self) -> str:
        """The last lines that slots wrote before they could reach us."""
        logs = map(self._slot_log, range(self._physical.slots))
        lines = [line.strip() for log in logs for line in log.splitlines()[-5:]]
        return ": " + " | ".join(lines) if lines else ""

    def _check(self) -> None:
        if self._failure is not None:
            raise AttemptFailedError(self._failure)
        if self._cancelled:
            raise AttemptCancelledError("the job was cancelled")

    def reason_of(self, raised: BaseException) -> BaseException:
        """What ended the attempt: a slot's report says more than what the carrier made of it."""
        if isinstance(raised, AttemptFailedError | AttemptCancelledError):
            return raised
        if self._failure is not None:
            return AttemptFailedError(self._failure)
        return AttemptCancelledError("the job was cancelled") if self._cancelled else raised
