"""How a job runs: its last epochs with their phases, and the rates of its subtasks.

An epoch adds a line here and a sample for each subtask; everything else is computed when somebody
asks.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headrace.coordination.bodies.jobs import Epoch, Moment, Phase
from headrace.coordination.job.timeline import Timeline
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.epoch import EpochPlan, EpochReport, SubtaskKey

__all__ = ["EpochTimes", "JobFigures", "SubtaskRates", "known_watermark"]

KEPT_EPOCHS = 300
_WINDOW_S = 10.0
_MOST_SAMPLES = 64
_SAMPLE_S = _WINDOW_S / _MOST_SAMPLES
_LINE_MS = 100.0
"""Epochs of a live job take milliseconds: those of so long are one line."""


def known_watermark(watermark: int) -> int | None:
    """A watermark as it is shown: None before the first one and at the end of time."""
    return None if watermark in (MIN_TIMESTAMP, MAX_TIMESTAMP) else watermark


@dataclass(frozen=True)
class EpochTimes:
    """When an epoch was planned, run and over, by the monotonic clock, in seconds.

    Records have come `since` then: since the epoch before began, if the job had no rest in between.
    """

    since: float
    started: float
    planned: float
    ran: float
    ended: float


@dataclass(frozen=True)
class SubtaskRates:
    """What a subtask did lately: per second, and shares of its time."""

    records_in: float = 0.0
    records_out: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    busy: float = 0.0
    back_pressured: float = 0.0

    @property
    def idle(self) -> float:
        """The share of time in which there was nothing to do."""
        return max(1.0 - self.busy - self.back_pressured, 0.0)


@dataclass(frozen=True)
class SubtaskTotals:
    """What a subtask did since its attempt started, in milliseconds and counts."""

    at: float
    busy_ms: float = 0.0
    back_pressured_ms: float = 0.0
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class JobFigures:
    """Written by the job master's thread, read by any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._epochs: deque[Epoch] = deque(maxlen=KEPT_EPOCHS)
        self._timeline = Timeline()
        self._samples: dict[SubtaskKey, deque[SubtaskTotals]] = {}
        self._levels: tuple[tuple[SubtaskKey, ...], ...] = ()
        self._attempt = 0
        self._attempt_start = self._last_end = clock()
        self._running = False
        self._began = 0.0
        self.epochs_run = 0

    def attempt_started(self, attempt: int, physical: PhysicalGraph) -> None:
        """New subtasks, which begin to count at zero."""
        now = self._clock()
        with self._lock:
            self._attempt = attempt
            self._levels = tuple(
                tuple((p.vertex, int(p.subtask)) for p in level) for level in physical.levels
            )
            self._samples = {
                key: deque([SubtaskTotals(now)], maxlen=_MOST_SAMPLES)
                for level in self._levels
                for key in level
            }
            self._attempt_start = self._last_end = now
            self._running = False

    def epoch_started(self) -> None:
        """Until it has ended, nothing is known of the time that it takes."""
        with self._lock:
            self._running = True
            self._began = time.monotonic()

    @property
    def epoch_age_s(self) -> float:
        """For how long the current epoch has been running; 0 between epochs."""
        with self._lock:
            return time.monotonic() - self._began if self._running else 0.0

    def attempt_ended(self) -> None:
        """Nothing runs any more."""
        with self._lock:
            self._running = False

    def epoch_ended(
        self, plan: EpochPlan, times: EpochTimes, reports: Sequence[EpochReport]
    ) -> None:
        """Take in what an epoch was like."""
        by_key = {(r.vertex, r.subtask): r for r in reports}
        work = [max(by_key[key].busy_ms for key in level) for level in self._levels]
        more = any(r.more for r in reports)
        duration_ms = (times.ended - times.started) * 1000
        watermark = lowest_watermark(reports)
        with self._lock:
            wait_ms = max(times.started - self._last_end, 0.0) * 1000
            self._note(
                Epoch(
                    int(plan.epoch),
                    self._attempt,
                    int(time.time() * 1000 - duration_ms),
                    duration_ms,
                    wait_ms,
                    sum(r.records_read for r in reports if r.source),
                    more,
                    None if plan.checkpoint is None else int(plan.checkpoint.checkpoint),
                    watermark,
                    _phases(times, work),
                )
            )
            waited_ms = (times.started - times.since) * 1000
            now_ms = int(time.time() * 1000)
            self._timeline.add(now_ms, waited_ms, duration_ms, reports, watermark)
            self._last_end = times.ended
            self._running = False
            self.epochs_run += 1
            for number, level in enumerate(self._levels):
                below_ms = sum(work[number + 1 :]) if more else 0.0
                for key in level:
                    self._add_sample(key, by_key[key], times.ended, below_ms)

    def _note(self, epoch: Epoch) -> None:
        last = self._epochs[-1] if self._epochs else None
        if (
            last is not None
            and last.attempt == epoch.attempt
            and last.checkpoint is None
            and epoch.start_time + epoch.duration - last.start_time <= _LINE_MS
        ):
            self._epochs[-1] = _as_one(last, epoch)
        else:
            self._epochs.append(epoch)

    def _add_sample(
        self, key: SubtaskKey, report: EpochReport, now: float, below_ms: float
    ) -> None:
        """Back-pressured is the time in which later levels worked while sources had more."""
        samples = self._samples[key]
        last = samples[-1]
        samples.append(
            SubtaskTotals(
                now,
                last.busy_ms + report.busy_ms,
                last.back_pressured_ms + below_ms,
                report.operators[0].records_in,
                report.records_sent,
                last.bytes_in + report.bytes_in,
                last.bytes_out + report.bytes_out,
            )
        )
        if len(samples) > 2 and now - samples[-3].at < _SAMPLE_S:
            # Epochs are short: the newest sample takes the place of the one before.
            del samples[-2]
        # One sample at or beyond the window stays, so that rates cover all of it.
        while len(samples) > 2 and now - samples[1].at >= _WINDOW_S:
            samples.popleft()

    # Asking.

    def epochs(self, limit: int = KEPT_EPOCHS, after: int = 0) -> list[Epoch]:
        """The last epochs, the newest at the end."""
        with self._lock:
            found = [e for e in self._epochs if e.id > after]
        return found[-limit:]

    def moments(self) -> tuple[Moment, ...]:
        """The last seconds in which there were epochs."""
        with self._lock:
            return self._timeline.moments()

    def totals(self, key: SubtaskKey) -> SubtaskTotals:
        """What a subtask did since its attempt started."""
        with self._lock:
            samples = self._samples.get(key)
            return samples[-1] if samples else SubtaskTotals(self._clock())

    def age_ms(self) -> float:
        """How long the attempt has been there: the time that totals are to be seen against."""
        with self._lock:
            return max(self._end() - self._attempt_start, 0.0) * 1000

    def rates(self, key: SubtaskKey) -> SubtaskRates:
        """What a subtask did in the last seconds."""
        with self._lock:
            samples = self._samples.get(key)
            if not samples:
                return SubtaskRates()
            end = self._end()
            recent = [s for s in samples if end - s.at <= _WINDOW_S]
            first = recent[0] if len(recent) > 1 else samples[0]
            last = samples[-1]
        elapsed = end - first.at
        if elapsed <= 0:
            return SubtaskRates()
        busy = min((last.busy_ms - first.busy_ms) / elapsed / 1000, 1.0)
        waiting = (last.back_pressured_ms - first.back_pressured_ms) / elapsed / 1000
        return SubtaskRates(
            (last.records_in - first.records_in) / elapsed,
            (last.records_out - first.records_out) / elapsed,
            (last.bytes_in - first.bytes_in) / elapsed,
            (last.bytes_out - first.bytes_out) / elapsed,
            busy,
            min(waiting, 1.0 - busy),
        )

    def _end(self) -> float:
        """Time counts while the job sleeps, but not yet the part of an epoch that runs."""
        return self._last_end if self._running else self._clock()


def _as_one(first: Epoch, second: Epoch) -> Epoch:
    phases = zip(first.phases, second.phases, strict=True)
    return replace(
        second,
        start_time=first.start_time,
        duration=first.duration + second.duration,
        wait_before=first.wait_before + second.wait_before,
        records=first.records + second.records,
        phases=tuple(Phase(one.name, one.ms + other.ms) for one, other in phases),
    )


def lowest_watermark(reports: Sequence[EpochReport]) -> int | None:
    """Event time of the subtask that is furthest behind."""
    found = [w for r in reports if (w := known_watermark(r.watermark)) is not None]
    return min(found, default=None)


def _phases(times: EpochTimes, work: list[float]) -> tuple[Phase, ...]:
    """What took the time. Spark's part is what its job took beyond the work in the slots."""
    run_ms = (times.ran - times.planned) * 1000
    return (
        Phase("plan", (times.planned - times.started) * 1000),
        Phase("spark", max(run_ms - sum(work), 0.0)),
        *(Phase(f"level {number}", ms) for number, ms in enumerate(work)),
        Phase("commit", (times.ended - times.ran) * 1000),
    )
