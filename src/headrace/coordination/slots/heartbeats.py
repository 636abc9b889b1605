"""Watches the slots of an attempt: one that is silent for too long counts as lost.

A process that was killed is noticed at once, because its connection breaks. One that hangs, is
stopped, or whose host has gone away keeps its connection, and only its silence tells.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headrace.graph.ids import SlotId

_log = logging.getLogger(__name__)

_LONGEST_TICK_S = 1.0


@dataclass(frozen=True)
class HeartbeatSettings:
    """How often slots are asked, and how long they may be silent."""

    interval_s: float = 10.0
    timeout_s: float = 50.0


class Heartbeats:
    """A thread that asks slots for a sign of life, and calls `on_tick` every second or so."""

    def __init__(
        self,
        settings: HeartbeatSettings,
        ask: Callable[[], None],
        on_silent: Callable[[SlotId, float], None],
        on_tick: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._ask = ask
        self._on_silent = on_silent
        self._on_tick = on_tick
        self._clock = clock
        self._heard: dict[SlotId, float] = {}
        self._asked = self._ticked = clock()
        self._ended = threading.Event()

    def start(self) -> None:
        """Watch until `stop`."""
        threading.Thread(target=self._run, daemon=True, name="headrace-heartbeats").start()

    def stop(self) -> None:
        """Stop expecting answers from any slot."""
        self._ended.set()

    def heard(self, slot: SlotId) -> None:
        """A slot said something; whatever it was, it lives."""
        self._heard[slot] = self._clock()

    def _run(self) -> None:
        tick_s = min(_LONGEST_TICK_S, self._settings.interval_s / 2)
        while not self._ended.wait(tick_s):
            self.tick()

    def tick(self) -> None:
        """Ask if it is time, and look who has not answered."""
        now = self._clock()
        if now - self._ticked > self._settings.timeout_s / 2:
            # It was this process that slept: the slots get another chance to answer.
            self._heard = dict.fromkeys(self._heard, now)
        self._ticked = now
        if now - self._asked >= self._settings.interval_s:
            self._asked = now
            self._ask()
        for slot, heard in list(self._heard.items()):
            if now - heard > self._settings.timeout_s:
                del self._heard[slot]
                self._on_silent(slot, now - heard)
        self._on_tick()
