"""One attempt at a job: its slots from their start to their end, and the epochs that they run.

When anything fails the attempt is over. Its slots are let go, and the next attempt starts with
new ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import Carrier, SlotsWanted
from headrace.coordination.job.clock import JobClock
from headrace.coordination.slots.observations import Observations
from headrace.coordination.slots.state_queries import StateQueries
from headrace.graph.ids import CheckpointId, SlotId
from headrace.runtime.epoch import CheckpointRequest, EpochPlan, EpochReport, SubtaskKey
from headrace.runtime.failure import FailureReport
from headrace.runtime.slot import messages as m
from headrace.runtime.snapshot_files import SnapshotRef

_REPORT_WAIT_S = 60.0
"""Reports overtake the end of an epoch; what is missing then was lost with its slot."""
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


class JobAttempt:
    """The slots of one attempt. Methods are called by the job master's thread; `cancel` by any.

    It is the listener of its slots, whose messages come on other threads, or on the master's own if
    the carrier has no others.
    """

    def __init__(
        self,
        wanted: SlotsWanted,
        carrier: Carrier,
        on_output: Callable[[m.Printed | m.Collected], None],
        on_snapshot: Callable[[m.Snapshotted], None],
        on_committed: Callable[[CheckpointId], None] = lambda checkpoint: None,
        cancellation: m.Close | None = None,
        on_tick: Callable[[], None] = lambda: None,
        clock: JobClock | None = None,
    ) -> None:
        self.number = wanted.attempt
        self._physical = wanted.physical
        self._on_output = on_output
        self._on_snapshot = on_snapshot
        self._on_committed = on_committed
        self.on_tick = on_tick
        self._close = cancellation or m.Close()
        self._clock = clock or JobClock()
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
        self._slots = carrier.slots(wanted, self)
        self.queries = StateQueries(wanted.physical, self._slots.send)
        self.observations = Observations(wanted.physical, self._slots.send)

    @property
    def slot_pids(self) -> list[int]:
        """The processes of the slots."""
        return [hello.pid for hello in self._slots.hellos.values()]

    @property
    def slots(self) -> Mapping[SlotId, m.Hello]:
        """The slots that have called, and where they are."""
        return dict(self._slots.hellos)

    def slot_of(self, vertex: str, subtask: int) -> m.Hello | None:
        """Where a subtask lives."""
        slot = self.queries.slot_of(vertex, subtask)
        return None if slot is None else self._slots.hellos.get(slot)

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
        hello = None if self._failed_slot is None else self._slots.hellos.get(self._failed_slot)
        return f"{hello.host}:{hello.pid}" if hello is not None else None

    # Life.

    def deploy(self, job: bytes, restore: dict[str, list[list[SnapshotRef]]]) -> None:
        """Start the slots and have them build, restore and open their subtasks."""
        self.check()
        try:
            self._slots.start()
        except HeadraceError as error:
            self.check()
            raise AttemptFailedError(str(error)) from error
        self.check()
        self._slots.broadcast(m.Deploy(job, restore))
        self._wait(lambda: len(self._ready) == self._physical.slots, None, "open their functions")

    def goes_live(self) -> bool:
        """Whether the next epoch is carried live."""
        self.check()
        return self._slots.goes_live()

    def run_epoch(self, plan: EpochPlan) -> tuple[EpochReport, ...]:
        """Run an epoch to its end."""
        with self._changed:
            self._woken = False
        self.check()
        self._slots.run_epoch(plan)
        expected = sum(map(len, self._physical.levels))
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
        self._slots.broadcast(m.TakeSnapshot(request))

    def checkpoint_ended(self, checkpoint: CheckpointId, completed: bool) -> None:
        """Tell the slots at once what became of a checkpoint: sinks commit it if it is complete.

        Called by any thread.
        """
        ended = (checkpoint,)
        self._slots.broadcast(
            m.CheckpointsEnded(completed=ended) if completed else m.CheckpointsEnded(aborted=ended)
        )

    def commit(self, number: CheckpointId) -> None:
        """Have sinks commit an epoch that succeeded, of a job without checkpoints."""
        self._slots.broadcast(m.Commit(number))

    def wait_for_commit(self, checkpoint: CheckpointId) -> None:
        """Wait until a completed checkpoint is committed in all slots."""
        self._wait(lambda: self._committed_last >= checkpoint, None, "commit")

    def wait_until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait for something that a message of a slot brings about; whether it came in time."""
        with self._changed:
            done = self._clock.wait(
                self._changed,
                lambda: condition() or self._failure is not None or self._cancelled,
                timeout_s,
            )
        self.check()
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
                self._clock.wait(
                    self._changed, lambda: self._disturbed or self._rescheduled, timeout_s
                )
                again = self._rescheduled and not self._disturbed
        self.check()

    @property
    def woken(self) -> bool:
        """Whether somebody has called `wake`, or has data, since the last epoch began."""
        return self._woken

    @property
    def _disturbed(self) -> bool:
        return self._woken or self._cancelled or self._failure is not None

    def wait_for(self, done: Future[Any], timeout_s: float | None) -> None:
        """Sleep until something is done or the time is over; raises if the attempt fails."""
        done.add_done_callback(lambda _: self._notify())
        with self._changed:
            self._clock.wait(
                self._changed,
                lambda: done.done() or self._failure is not None or self._cancelled,
                timeout_s,
            )
        self.check()

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
        """What the carrier runs, and user code that may sleep in a slot."""
        self._slots.cancel()
        self._slots.broadcast(self._close)

    def close(self) -> list[m.Closed]:
        """Close the functions and let the slots go; their last words."""
        self.queries.close()
        self._slots.broadcast(self._close)
        timeout_s = self._close.timeout_s
        with self._changed:
            expected = set(self._slots.hellos)
            self._clock.wait(
                self._changed,
                lambda: expected <= set(self._closed),
                None if timeout_s is None else timeout_s + _CLOSE_WAIT_S,
            )
        # Not before: a slot that is silent, or whose host is gone, is not waited for.
        self._slots.close()
        return list(self._closed.values())

    # What the carrier tells of the slots.

    def on_message(self, message: Any) -> None:
        """A slot said something."""
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
                for report in message.reports:
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

    def on_lost(self, slot: SlotId, why: str) -> None:
        """A slot is gone."""
        with self._changed:
            self._closed.setdefault(slot, m.Closed(slot))
        self.fail(why, slot)

    def on_error(self, error: Exception) -> None:
        """A slot's message was too much for this process."""
        self.fail(f"the driver could not handle a slot's message: {type(error).__name__}: {error}")

    # Waiting and failing.

    def _wait(self, condition: Callable[[], bool], timeout_s: float | None, what: str) -> None:
        if not self.wait_until(condition, timeout_s):
            raise AttemptFailedError(
                f"the slots of the job did not {what} within {timeout_s:.0f} s"
            )

    def check(self) -> None:
        """Raise if the attempt has failed or was cancelled."""
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
