"""Slots that are processes of their own, on this host or on others."""

from __future__ import annotations

import logging
import os
import queue
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.files.scratch import ScratchDirectory
from headrace.coordination.carrier import EpochRun, PartitionRun, SlotListener, SlotsWanted
from headrace.coordination.slots.control import ControlServer
from headrace.coordination.slots.heartbeats import Heartbeats
from headrace.graph.ids import SlotId
from headrace.runtime.epoch import EpochPlan
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import SlotLaunch

_log = logging.getLogger(__name__)

_START_S = 120.0
"""The hosts of a cluster may have to unpack the environment of a job first."""
_LOOK_S = 1.0
_LOG_LINES = 5


class ProcessCarrier(ABC):
    """Starts processes as slots, and carries frames between them from level to level."""

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> SlotProcesses:
        """The slots of an attempt."""
        return SlotProcesses(self, wanted, listener)

    @abstractmethod
    def start_slots(self, launches: list[SlotLaunch]) -> dict[int, int]:
        """Start a process for each launch, spread over the hosts.

        Returns when they are started: the process ids by slot of those on this host.
        """

    @abstractmethod
    def run_epoch(self, run: EpochRun) -> None:
        """Run an epoch to its end. Raises if a part of it could not be run."""

    @abstractmethod
    def cancel(self) -> None:
        """End what is running, from another thread."""

    def control_address(self) -> tuple[str, int] | None:
        """Where the control server should listen for slots to reach it; None for a local socket."""
        return None


class SlotProcesses:
    """The processes of one attempt, their connections, and their signs of life."""

    def __init__(
        self, carrier: ProcessCarrier, wanted: SlotsWanted, listener: SlotListener
    ) -> None:
        self._carrier = carrier
        self._wanted = wanted
        self._listener = listener
        self._token = secrets.token_hex(16)
        self._scratch = ScratchDirectory("slots", sockets=True)
        self._directory = str(self._scratch.path)
        self._called = threading.Condition()
        self._cancelled = False
        self._snapshots: queue.SimpleQueue[m.Snapshotted | None] = queue.SimpleQueue()
        self._snapshot_teller = threading.Thread(
            target=self._tell_of_snapshots, daemon=True, name="headrace-snapshots"
        )
        address = carrier.control_address() or os.path.join(self._directory, "control")
        self._server = ControlServer(
            address,
            self._token,
            wanted.attempt,
            self._on_message,
            self._on_lost,
            listener.on_error,
        )
        self._heartbeats = Heartbeats(
            wanted.heartbeats,
            lambda: self._server.broadcast(m.Ping()),
            self._on_silent,
            self._on_tick,
        )

    @property
    def hellos(self) -> Mapping[SlotId, m.Hello]:
        return self._server.hellos

    def start(self) -> None:
        environment = self._wanted.environment
        launches = [
            SlotLaunch(
                slot,
                self._wanted.attempt,
                self._server.address,
                self._token,
                self._directory,
                environment.python_path,
                environment.preload,
                first_python_path=environment.first_python_path,
                working_directory=environment.working_directory,
                modules=environment.modules,
            )
            for slot in range(self._wanted.physical.slots)
        ]
        self._wait_for_hellos(self._carrier.start_slots(launches))
        self._heartbeats.start()
        self._snapshot_teller.start()

    def send(self, slot: SlotId, message: Any) -> None:
        self._server.send(slot, message)

    def broadcast(self, message: Any) -> None:
        self._server.broadcast(message)

    def goes_live(self) -> bool:
        return False

    def run_epoch(self, plan: EpochPlan) -> None:
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
            for partitions in self._wanted.physical.levels
        )
        self._carrier.run_epoch(
            EpochRun(plan.epoch, self._wanted.attempt, self._token, levels, plan.splits)
        )

    def cancel(self) -> None:
        with self._called:
            self._cancelled = True
            self._called.notify_all()
        self._carrier.cancel()

    def close(self) -> None:
        self._heartbeats.stop()
        self._server.close()
        self._snapshots.put(None)
        if self._snapshot_teller.is_alive():
            # What follows from the last ones does not meet the next attempt.
            self._snapshot_teller.join()
        self._scratch.remove()

    # On other threads.

    def _on_message(self, message: Any) -> None:
        self._heartbeats.heard(message.slot)
        if isinstance(message, m.Hello):
            with self._called:
                self._called.notify_all()
        if isinstance(message, m.Snapshotted):
            self._snapshots.put(message)
        else:
            self._listener.on_message(message)

    def _tell_of_snapshots(self) -> None:
        """With the last one files are written: what a slot says next does not wait for that."""
        while (message := self._snapshots.get()) is not None:
            try:
                self._listener.on_message(message)
            except Exception as error:  # noqa: BLE001 - the job fails with it
                _log.exception("could not handle the snapshot of a slot")
                self._listener.on_error(error)

    def _on_tick(self) -> None:
        self._listener.on_tick()

    def _on_lost(self, slot: SlotId) -> None:
        self._listener.on_lost(
            slot,
            f"{self._place_of(slot)} ended unexpectedly: it was killed, ran out of memory, or its "
            "executor is gone; see the cluster's logs",
        )

    def _on_silent(self, slot: SlotId, silence_s: float) -> None:
        self._listener.on_lost(
            slot,
            f"{self._place_of(slot)} has not answered for {silence_s:.0f} s: it hangs or its host "
            "cannot be reached (heartbeat.timeout)",
        )

    def _place_of(self, slot: SlotId) -> str:
        hello = self._server.hellos[slot]
        return f"slot {slot} (process {hello.pid} on {hello.host})"

    # The start.

    def _wait_for_hellos(self, processes: dict[int, int]) -> None:
        """Wait until all slots have called; one whose process has ended will not any more."""
        deadline = time.monotonic() + _START_S
        while missing := self._missing():
            # Before the look at who has called: who calls and ends then counts as lost.
            ended = [slot for slot in missing if slot in processes and _ended(processes[slot])]
            with self._called:
                self._called.wait_for(lambda: self._cancelled or not self._missing(), _LOOK_S)
            if self._cancelled:
                raise HeadraceError("the start of the slots was cancelled")
            dead = [slot for slot in ended if slot in self._missing()]
            if dead or (self._missing() and time.monotonic() > deadline):
                raise HeadraceError(self._no_start(dead or self._missing(), processes))

    def _missing(self) -> list[int]:
        slots = range(self._wanted.physical.slots)
        return [slot for slot in slots if slot not in self._server.hellos]

    def _no_start(self, slots: list[int], processes: dict[int, int]) -> str:
        slot = slots[0]
        process = f" (process {processes[slot]})" if slot in processes else ""
        return f"slot {slot}{process} did not start{self._log_of(slot)}"

    def _log_of(self, slot: int) -> str:
        """The last lines that a slot wrote before it could reach us."""
        log = Path(self._directory, f"slot-{slot}.log")
        text = log.read_text(errors="replace") if log.exists() else ""
        lines = [line.strip() for line in text.splitlines()[-_LOG_LINES:]]
        return ": " + " | ".join(lines) if lines else ""


def _ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False
