"""Slots whose frames are carried by one job that outlives epochs.

An epoch is then a word to the slots and their reports: nothing is started for it. Between two
epochs no frame is on its way, so there the job that carries them can end and another one can begin,
and an epoch can be carried in another way.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import ConfigurationError, HeadraceError
from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.coordination.slots.processes import ProcessCarrier, SlotProcesses
from headrace.graph.ids import SlotId
from headrace.runtime.epoch import EpochPlan
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import Carriage, SlotAddress

_log = logging.getLogger(__name__)

_WAY_S = 600.0
"""How long others that start at the same time are waited for, where nothing else is possible."""
_CONNECT_S = 120.0
_PROBE_S = 60.0
_END_S = 20.0
_REASON_S = 0.3
_AGAIN_S = 30.0
"""How long epochs are carried one by one after the job could not be had; each time twice that."""
_MOST_AGAIN_S = 600.0
_ROLL_S = 3600.0
"""How long one job carries frames: Spark's books on it should stay small."""


@dataclass(frozen=True)
class LiveSettings:
    """How a job is carried live.

    Attributes:
        demanded: Whether it is an error where that is not possible.
        idle_s: How long the job that carries frames stays without an epoch.
    """

    demanded: bool = False
    idle_s: float = 60.0


class NotLiveError(HeadraceError):
    """Frames cannot be carried live just now."""


class LiveCarrier(ProcessCarrier):
    """Starts processes as slots, and carries their frames while they are made."""

    def __init__(self, live: LiveSettings) -> None:
        self.live = live
        self.was_live = False
        """Whether an epoch was carried live, in this attempt or in one before it."""

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LiveSlots:
        """The slots of an attempt."""
        return LiveSlots(self, wanted, listener, self.live)

    @abstractmethod
    def hosts(self, slots: int) -> tuple[int, ...]:
        """The number of the task for each slot: slots that are at one place share one."""

    def make_way(self, carriage: Carriage, wanted: Callable[[], bool]) -> None:
        """Wait for what `carry` needs, as long as it is wanted. Raises if it cannot be had."""

    @abstractmethod
    def carry(self, carriage: Carriage) -> None:
        """Carry frames until all slots have hung up. Raises if that could not be done."""

    def connected(self, carriage: Carriage) -> None:
        """All tasks of `carry` have called their slots."""

    @abstractmethod
    def cancel_carriage(self) -> None:
        """End what `carry` does, from another thread."""


class LiveSlots(SlotProcesses):
    """The processes of one attempt, and the job that carries their frames."""

    def __init__(
        self,
        carrier: LiveCarrier,
        wanted: SlotsWanted,
        listener: SlotListener,
        settings: LiveSettings,
    ) -> None:
        super().__init__(carrier, wanted, listener)
        self._live_carrier = carrier
        self._settings = settings
        self._subtasks = sum(map(len, wanted.physical.levels))
        # Whoever ends or starts the job that carries frames does so alone.
        self._changing = threading.Lock()
        self._news = threading.Condition()
        # Guarded by the condition.
        self._number = 0
        self._wanted_number = 0
        self._starts = False
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._ends = False
        self._connected: set[tuple[SlotId, str]] = set()
        self._probed = 0
        self._epoch = 0
        self._reported = 0
        self._busy = False
        self._began_at = 0.0
        # The last epoch, if there was one.
        self._ended_at: float | None = None
        self._not_before = 0.0
        self._refusals = 0
        self._proven = False
        self._live = False

    def start(self) -> None:
        super().start()
        # It comes up while functions open.
        with self._changing:
            self._start_carriage()

    def goes_live(self) -> bool:
        self._live = self._go_live()
        return self._live

    def run_epoch(self, plan: EpochPlan) -> None:
        if not self._live:
            super().run_epoch(plan)
            return
        with self._news:
            self._epoch, self._reported = plan.epoch, 0
        try:
            self._server.broadcast(m.RunEpoch(plan))
            self._await(lambda: self._reported >= self._subtasks, None)
        except NotLiveError as error:
            # Where a slot is gone others lose their connections, and may say so before its end is
            # noticed, which is the reason.
            with self._news:
                self._news.wait_for(lambda: self._cancelled, _REASON_S)
            # Frames may be lost with the job.
            raise HeadraceError(str(error)) from error
        finally:
            with self._news:
                self._busy, self._ended_at = False, time.monotonic()

    def cancel(self) -> None:
        super().cancel()
        with self._news:
            self._news.notify_all()
        self._live_carrier.cancel_carriage()

    def close(self) -> None:
        super().close()
        self._wanted_number = 0
        # What ends because it was idle is waited for here, too.
        with self._changing:
            if self._thread is not None:
                self._await_end(self._thread)

    # The job that carries frames.

    def _go_live(self) -> bool:
        """Have that job up for an epoch; whether it is."""
        now = time.monotonic()
        with self._news:
            self._busy = True
            up = self._is_up and now - self._began_at < _ROLL_S
        if up and self._proven:
            return True
        if now < self._not_before:
            return False
        try:
            with self._changing:
                # One that came up with the slots and is gone was refused: that is said first.
                if not up and (self._thread is None or self._proven):
                    self._end_carriage()
                    self._start_carriage()
                self._prove_carriage()
        except NotLiveError as error:
            if self._cancelled:
                raise
            self._refused(error)
            return False
        self._live_carrier.was_live = True
        self._refusals = 0
        return True

    @property
    def _must_be_live(self) -> bool:
        """Whether it is an error if the job cannot be live now."""
        return self._settings.demanded and not self._live_carrier.was_live

    def _refused(self, error: NotLiveError) -> None:
        if self._must_be_live:
            raise ConfigurationError(
                f"the job cannot run live, as execution.carrier demands: {error}",
                key="execution.carrier",
            ) from None
        if self._refusals == 0:
            _log.warning("epochs of the job are carried one by one: %s", error)
        pause_s = min(_AGAIN_S * 2**self._refusals, _MOST_AGAIN_S)
        self._refusals += 1
        self._not_before = time.monotonic() + pause_s

    @property
    def _is_up(self) -> bool:
        alive = self._thread is not None and self._thread.is_alive()
        return alive and self._error is None and not self._ends

    def _start_carriage(self) -> None:
        hellos, slots = self._server.hellos, self._wanted.physical.slots
        hosts = self._live_carrier.hosts(slots)
        with self._news:
            self._number += 1
            self._wanted_number = self._number
            self._error = None
            self._ends = False
            self._connected.clear()
            self._probed = 0
            self._proven = self._starts = False
            self._began_at = time.monotonic()
        self._carriage = Carriage(
            self._number,
            self._wanted.attempt,
            self._token,
            tuple(
                SlotAddress(hellos[slot].data_address, hellos[slot].tcp_address)
                for slot in map(SlotId, range(slots))
            ),
            tuple(tuple(int(p.slot) for p in level) for level in self._wanted.physical.levels),
            hosts,
        )
        self._server.broadcast(m.GoLive(self._number, hosts))
        self._thread = threading.Thread(
            target=self._carry, args=(self._carriage,), daemon=True, name="headrace-live"
        )
        self._thread.start()

    def _prove_carriage(self) -> None:
        """See that tasks have called all slots, and that frames come through."""
        slots = self._wanted.physical.slots
        try:
            self._await(lambda: self._starts, _WAY_S if self._must_be_live else _CONNECT_S)
            self._await(lambda: self._all_connected, _CONNECT_S)
            # What works once works: that frames come through, and at once, however small.
            self._server.broadcast(m.Probe(self._number))
            self._await(lambda: self._probed == slots, _PROBE_S)
            self._proven = True
        except NotLiveError:
            self._live_carrier.cancel_carriage()
            self._end_carriage()
            raise

    def _carry(self, carriage: Carriage) -> None:
        try:
            self._live_carrier.make_way(
                carriage, lambda: not self._cancelled and self._wanted_number == carriage.number
            )
            with self._news:
                self._starts = True
                self._news.notify_all()
            self._live_carrier.carry(carriage)
            error = NotLiveError("the Spark job that carries frames has ended")
        except Exception as raised:  # noqa: BLE001 - a thread's top: the next epoch sees it
            error = NotLiveError(str(raised))
        with self._news:
            if self._number == carriage.number:
                self._error = error
            self._news.notify_all()

    def _end_carriage(self) -> None:
        """Let that job end, between two epochs, and wait for its end."""
        thread = self._thread
        if thread is None:
            return
        self._wanted_number = 0
        self._server.broadcast(m.HangUp(self._number))
        self._await_end(thread)
        self._thread = None

    def _await_end(self, thread: threading.Thread) -> None:
        """Of the job whose slots have hung up. A broken one would try its lost tasks again."""
        if self._error is None:
            thread.join(_END_S)
        if thread.is_alive():
            self._live_carrier.cancel_carriage()
            thread.join(_END_S)

    def _await(self, done: Callable[[], bool], timeout_s: float | None) -> None:
        with self._news:
            self._news.wait_for(
                lambda: done() or self._cancelled or self._error is not None, timeout_s
            )
            if done():
                return
            if self._cancelled:
                raise NotLiveError("the job was cancelled")
            raise self._error or NotLiveError(
                f"the Spark job that carries frames did not come up within {timeout_s:.0f} s"
            )

    # On other threads.

    @property
    def _all_connected(self) -> bool:
        return len(self._connected) == 2 * self._wanted.physical.slots

    def _on_message(self, message: Any) -> None:
        super()._on_message(message)
        connected = None
        if isinstance(message, m.Reported | m.Connected | m.Probed | m.Disconnected):
            with self._news:
                if isinstance(message, m.Reported):
                    self._reported += sum(r.epoch == self._epoch for r in message.reports)
                elif message.number != self._number:
                    return
                elif isinstance(message, m.Probed):
                    self._probed += 1
                elif isinstance(message, m.Connected):
                    self._connected.add((message.slot, message.role))
                    connected = self._carriage if self._all_connected else None
                else:
                    self._error = self._error or NotLiveError(message.why)
                # In an epoch it is waited for the reports of all: one wake-up does.
                if not isinstance(message, m.Reported) or self._reported >= self._subtasks:
                    self._news.notify_all()
        if connected is not None:
            # Others that want to start need not wait for functions that open.
            self._live_carrier.connected(connected)

    def _on_tick(self) -> None:
        super()._on_tick()
        if not self._changing.acquire(blocking=False):
            return
        if not self._is_idle():
            self._changing.release()
            return
        # Heartbeats do not wait for that.
        threading.Thread(target=self._end_idle, daemon=True, name="headrace-live-end").start()

    def _end_idle(self) -> None:
        """For who has taken the lock and goes on."""
        try:
            self._end_carriage()
        finally:
            self._changing.release()

    def _is_idle(self) -> bool:
        with self._news:
            if self._busy or not self._is_up or self._ended_at is None:
                return False
            if time.monotonic() - self._ended_at < self._settings.idle_s:
                return False
            # An epoch that begins meanwhile finds that there is no job, and waits to start one.
            self._ends = True
            return True
