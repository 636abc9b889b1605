"""Whether and when a failed job starts again."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from headrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration


class RestartPolicy(Protocol):
    """Asked after every failure."""

    def delay_s(self, now_s: float) -> float | None:
        """Seconds to wait before the restart; None if the job is not to be restarted."""


class NoRestart:
    """Fails the job."""

    def delay_s(self, now_s: float) -> float | None:
        return None


class FixedDelay:
    """So many restarts, each after the same pause."""

    def __init__(self, attempts: int, delay_s: float) -> None:
        self._left = attempts
        self._delay_s = delay_s

    def delay_s(self, now_s: float) -> float | None:
        self._left -= 1
        return self._delay_s if self._left >= 0 else None


class FailureRate:
    """Restarts unless there were too many failures in an interval."""

    def __init__(self, max_failures: int, interval_s: float, delay_s: float) -> None:
        self._max_failures = max_failures
        self._interval_s = interval_s
        self._delay_s = delay_s
        self._failures: deque[float] = deque()

    def delay_s(self, now_s: float) -> float | None:
        self._failures.append(now_s)
        while self._failures[0] < now_s - self._interval_s:
            self._failures.popleft()
        return self._delay_s if len(self._failures) <= self._max_failures else None


class ExponentialDelay:
    """Waits longer after each failure, and starts over when the job ran well for a while."""

    def __init__(
        self,
        initial_s: float,
        maximum_s: float,
        multiplier: float,
        reset_s: float,
        jitter: float,
        attempts: int | None,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._initial_s = initial_s
        self._maximum_s = maximum_s
        self._multiplier = multiplier
        self._reset_s = reset_s
        self._jitter = jitter
        self._attempts = attempts
        self._uniform = uniform
        self._current_s = initial_s
        self._failures = 0
        self._last_restart_s: float | None = None

    def delay_s(self, now_s: float) -> float | None:
        ran_s = 0.0 if self._last_restart_s is None else now_s - self._last_restart_s
        if ran_s >= self._reset_s + self._current_s:
            self._current_s, self._failures = self._initial_s, 0
        self._failures += 1
        if self._attempts is not None and self._failures > self._attempts:
            return None
        delay_s = self._current_s
        self._current_s = min(self._current_s * self._multiplier, self._maximum_s)
        self._last_restart_s = now_s + delay_s
        spread = delay_s * self._jitter
        return min(max(delay_s + self._uniform(-spread, spread), 0.0), self._maximum_s)


def restart_policy(
    strategy: RestartStrategyConfiguration | None, checkpointing: bool
) -> RestartPolicy:
    """The policy of a strategy.

    Without one: exponential delay with checkpoints, no restart without, as in Flink.
    """
    kinds = RestartStrategies
    if strategy is None or isinstance(strategy, kinds.FallbackRestartStrategyConfiguration):
        return ExponentialDelay(1.0, 60.0, 1.5, 3600.0, 0.1, None) if checkpointing else NoRestart()
    if isinstance(strategy, kinds.FixedDelayRestartStrategyConfiguration):
        return FixedDelay(
            strategy.get_restart_attempts(),
            strategy.get_delay_between_attempts_interval().total_seconds(),
        )
    if isinstance(strategy, kinds.FailureRateRestartStrategyConfiguration):
        return FailureRate(
            strategy.get_max_failure_rate(),
            strategy.get_failure_interval().total_seconds(),
            strategy.get_delay_between_attempts_interval().total_seconds(),
        )
    if isinstance(strategy, kinds.ExponentialDelayRestartStrategyConfiguration):
        return ExponentialDelay(
            strategy.get_initial_backoff().total_seconds(),
            strategy.get_max_backoff().total_seconds(),
            strategy.get_backoff_multiplier(),
            strategy.get_reset_backoff_threshold().total_seconds(),
            strategy.get_jitter_factor(),
            strategy.get_attempts_before_reset_backoff(),
        )
    return NoRestart()
