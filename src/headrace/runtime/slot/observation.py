"""Looking into a slot while it works, for somebody who asked: stacks and records.

Nothing here runs unless it is asked for. Stacks are sampled by a thread that ends by itself;
records are seen by one more receiver of an operator's output, which is taken away afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from headrace.common.errors import shorten_repr
from headrace.graph.ids import SlotId
from headrace.runtime.batch import Batch, LatencyMark
from headrace.runtime.epoch import SubtaskKey
from headrace.runtime.operator import Operator
from headrace.runtime.slot import messages as m
from headrace.runtime.subtask import Subtask

__all__ = ["RecordTaps", "StackSampler"]

_INTERVAL_S = 0.01
_LONGEST_S = 30.0
_MOST_STACKS = 5_000
_DEEPEST = 100
_LONGEST_TEXT = 1_000


class StackSampler:
    """Samples what the main thread does, for the subtask that it does it for."""

    def __init__(
        self,
        slot: SlotId,
        send: Callable[[Any], None],
        current: Callable[[], SubtaskKey | None],
        thread: int,
    ) -> None:
        self._slot = slot
        self._send = send
        self._current = current
        self._thread = thread

    def start(self, request: m.SampleStacks) -> None:
        """Sample for a while, on a thread of its own, and send what was found."""
        threading.Thread(
            target=self._run, args=(request,), daemon=True, name="stack-sampler"
        ).start()

    def _run(self, request: m.SampleStacks) -> None:
        found = self._sample(request.vertex, min(request.seconds, _LONGEST_S))
        with contextlib.suppress(OSError):
            self._send(m.StacksSampled(self._slot, request.request, found))

    def _sample(self, vertex: str, seconds: float) -> dict[tuple[int, bool, m.Stack], int]:
        """Counts by subtask, whether the thread was on a CPU, and stack."""
        counts: dict[tuple[int, bool, m.Stack], int] = {}
        cpu_time = _cpu_clock(self._thread)
        until = time.monotonic() + seconds
        now, used = time.monotonic(), cpu_time()
        while now < until:
            time.sleep(_INTERVAL_S)
            before, used_before = now, used
            now, used = time.monotonic(), cpu_time()
            key = self._current()
            frame = sys._current_frames().get(self._thread)
            if key is None or key[0] != vertex or frame is None:
                continue
            on_cpu = used - used_before > (now - before) / 2
            sample = (key[1], on_cpu, _stack(frame))
            if sample in counts or len(counts) < _MOST_STACKS:
                counts[sample] = counts.get(sample, 0) + 1
        return counts


def _cpu_clock(thread: int) -> Callable[[], float]:
    """A clock of the CPU time of a thread; of elapsed time where that cannot be measured."""
    try:
        clock = time.pthread_getcpuclockid(thread)
    except AttributeError:
        return time.monotonic
    return lambda: time.clock_gettime(clock)


def _stack(frame: FrameType | None) -> m.Stack:
    """From the subtask down to where it is; what calls the subtask is always the same."""
    names: list[str] = []
    while frame is not None and len(names) < _DEEPEST:
        code, module = frame.f_code, frame.f_globals.get("__name__", "?")
        names.append(f"{module}.{code.co_qualname}:{frame.f_lineno}")
        if code.co_name == "run_epoch" and module == Subtask.__module__:
            break
        frame = frame.f_back
    return tuple(reversed(names))


class RecordTaps:
    """Shows the next records of an operator. All on the slot's main thread."""

    def __init__(self, slot: SlotId, send: Callable[[Any], None]) -> None:
        self._slot = slot
        self._send = send
        self._taps: dict[int, list[_Tap]] = {}

    def start(self, request: m.PeekRecords, subtasks: dict[SubtaskKey, Subtask]) -> None:
        """Look at what an operator emits from now on; at what it takes, if it emits nothing."""
        taps = self._taps[request.request] = []
        for (vertex, index), subtask in subtasks.items():
            for operator in subtask.operators.values():
                if vertex == request.vertex and operator.context.operator_id == request.operator:
                    taps.append(_Tap(operator, index, request, self._tell))

    def _tell(self, request: int, records: list[m.PeekedRecord]) -> None:
        self._send(m.RecordsPeeked(self._slot, request, tuple(records)))

    def stop(self, request: int) -> None:
        """Look away."""
        for tap in self._taps.pop(request, ()):
            tap.remove()


class _Tap:
    """One more receiver of an operator's output, until it has seen enough."""

    def __init__(
        self,
        operator: Operator,
        subtask: int,
        request: m.PeekRecords,
        tell: Callable[[int, list[m.PeekedRecord]], None],
    ) -> None:
        self._operator = operator
        self._subtask = subtask
        self._request = request.request
        self._left = request.limit
        self._tell = tell
        self._emits = operator.output.has_receivers
        if self._emits:
            operator.output.tap(self)
        else:
            # A sink: records are seen on their way in.
            self._process = operator.process_batch
            operator.process_batch = self._take  # type: ignore[method-assign]

    def remove(self) -> None:
        if self._emits:
            self._operator.output.untap(self)
        else:
            self._operator.__dict__.pop("process_batch", None)

    def _take(self, batch: Batch) -> None:
        self.process_batch(batch)
        self._process(batch)

    def process_batch(self, batch: Batch) -> None:
        if self._left <= 0:
            return
        seen = []
        for position, value in enumerate(batch.values[: self._left]):
            stamps, keys = batch.timestamps, batch.keys
            seen.append(
                m.PeekedRecord(
                    self._subtask,
                    shorten_repr(value, _LONGEST_TEXT),
                    None if stamps is None else stamps[position],
                    None if keys is None else shorten_repr(keys[position], _LONGEST_TEXT),
                )
            )
        self._left -= len(seen)
        if seen:
            self._tell(self._request, seen)

    def process_watermark(self, timestamp: int) -> None:
        pass

    def process_status(self, idle: bool) -> None:
        pass

    def process_latency(self, mark: LatencyMark) -> None:
        pass

    def end_input(self) -> None:
        pass
