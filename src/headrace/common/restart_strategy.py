"""Restart strategies: whether and when a failed job starts again from its last checkpoint."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError
from headrace.common.time import Duration, Time, to_millis

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]

AmountOfTime: TypeAlias = Duration | datetime.timedelta | Time | int


class RestartStrategyConfiguration(ABC):
    """Describes a restart strategy. Equal ones have the same kind and the same numbers."""

    @abstractmethod
    def get_description(self) -> str:
        """One line for the dashboard."""

    def __eq__(self, other: object) -> bool:
        """Same kind and same numbers."""
        if not isinstance(other, RestartStrategyConfiguration):
            return NotImplemented
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash((type(self), tuple(sorted(vars(self).items()))))

    def __repr__(self) -> str:
        """The kind and its numbers."""
        numbers = ", ".join(f"{k.lstrip('_')}={v}" for k, v in vars(self).items())
        return f"{type(self).__name__}({numbers})"


def _interval(value: Any, what: str) -> int:
    millis = to_millis(value, what)
    if millis < 0:
        raise GraphError(f"{what} cannot be negative: {millis} ms")
    return millis


def _count(value: Any, what: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FunctionTypeError(f"{what} must be a whole number, not {value!r}")
    if value < least:
        raise GraphError(f"{what} must be at least {least}, not {value}")
    return value


class RestartStrategies:
    """Makes restart strategies."""

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The first failure ends the job."""

        def get_description(self) -> str:
            """One line for the dashboard."""
            return "Restart deactivated."

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """What `restart-strategy.type` of the cluster says."""

        def get_description(self) -> str:
            """One line for the dashboard."""
            return "Cluster level default restart strategy"

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """So many restarts in all, with a fixed pause before each."""

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: AmountOfTime | None = None,
        ) -> None:
            """Allows `restart_attempts` restarts (default 1), a pause before each (default 1 s)."""
            self._restart_attempts = _count(
                1 if restart_attempts is None else restart_attempts, "restart_attempts"
            )
            self._delay_ms = _interval(
                1000
                if delay_between_attempts_interval is None
                else delay_between_attempts_interval,
                "delay_between_attempts_interval",
            )

        def get_restart_attempts(self) -> int:
            """How often the job may restart."""
            return self._restart_attempts

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            """The pause before each restart."""
            return datetime.timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            """One line for the dashboard."""
            return (
                f"Restart with fixed delay ({self._delay_ms} ms). "
                f"#{self._restart_attempts} restart attempts."
            )

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as failures are not more frequent than a rate."""

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: AmountOfTime | None = None,
            delay_between_attempts_interval: AmountOfTime | None = None,
        ) -> None:
            """Allows so many failures (default 1) in an interval (default 1 min)."""
            self._max_failure_rate = _count(
                1 if max_failure_rate is None else max_failure_rate, "max_failure_rate", least=1
            )
            self._failure_interval_ms = _interval(
                60_000 if failure_interval is None else failure_interval, "failure_interval"
            )
            self._delay_ms = _interval(
                1000
                if delay_between_attempts_interval is None
                else delay_between_attempts_interval,
                "delay_between_attempts_interval",
            )

        def get_max_failure_rate(self) -> int:
            """Maximum number of failures in one interval."""
            return self._max_failure_rate

        def get_failure_interval(self) -> datetime.timedelta:
            """The interval in which failures are counted."""
            return datetime.timedelta(milliseconds=self._failure_interval_ms)

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            """The pause before each restart."""
            return datetime.timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            """One line for the dashboard."""
            return (
                f"Failure rate restart with maximum of {self._max_failure_rate} failures within "
                f"interval {self._failure_interval_ms} ms and fixed delay {self._delay_ms} ms."
            )

    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts with pauses that grow while failures go on."""

        def __init__(
            self,
            initial_backoff: AmountOfTime = 1_000,
            max_backoff: AmountOfTime = 60_000,
            backoff_multiplier: float = 1.5,
            reset_backoff_threshold: AmountOfTime = 3_600_000,
            jitter_factor: float = 0.1,
            attempts_before_reset_backoff: int | None = None,
        ) -> None:
            """Pauses `initial_backoff`, then `backoff_multiplier` times longer each time."""
            self._initial_backoff_ms = _interval(initial_backoff, "initial_backoff")
            self._max_backoff_ms = _interval(max_backoff, "max_backoff")
            self._backoff_multiplier = float(backoff_multiplier)
            self._reset_backoff_threshold_ms = _interval(
                reset_backoff_threshold, "reset_backoff_threshold"
            )
            self._jitter_factor = float(jitter_factor)
            self._attempts = (
                None
                if attempts_before_reset_backoff is None
                else _count(attempts_before_reset_backoff, "attempts_before_reset_backoff")
            )
            if self._backoff_multiplier < 1:
                raise GraphError(f"backoff_multiplier must be at least 1: {backoff_multiplier}")
            if not 0 <= self._jitter_factor < 1:
                raise GraphError(f"jitter_factor must be in [0, 1): {jitter_factor}")

        def get_initial_backoff(self) -> datetime.timedelta:
            """The pause before the first restart."""
            return datetime.timedelta(milliseconds=self._initial_backoff_ms)

        def get_max_backoff(self) -> datetime.timedelta:
            """The longest pause."""
            return datetime.timedelta(milliseconds=self._max_backoff_ms)

        def get_backoff_multiplier(self) -> float:
            """The factor by which each pause is longer than the one before."""
            return self._backoff_multiplier

        def get_reset_backoff_threshold(self) -> datetime.timedelta:
            """How long the job must run without a failure before the pauses start over."""
            return datetime.timedelta(milliseconds=self._reset_backoff_threshold_ms)

        def get_jitter_factor(self) -> float:
            """The share by which a pause is randomly made longer or shorter."""
            return self._jitter_factor

        def get_attempts_before_reset_backoff(self) -> int | None:
            """How many restarts there may be before a long enough good run; None for any number."""
            return self._attempts

        def get_description(self) -> str:
            """One line for the dashboard."""
            return (
                f"Restart with exponential delay: starting at {self._initial_backoff_ms} ms, "
                f"times {self._backoff_multiplier}, up to {self._max_backoff_ms} ms, "
                f"{self._jitter_factor} jitter, reset after {self._reset_backoff_threshold_ms} ms."
            )

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The first failure ends the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """What `restart-strategy.type` of the cluster says."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: AmountOfTime
    ) -> FixedDelayRestartStrategyConfiguration:
        """Allows so many restarts, with a fixed pause (an int is milliseconds) before each."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, delay_between_attempts
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: AmountOfTime, delay_interval: AmountOfTime
    ) -> FailureRateRestartStrategyConfiguration:
        """Restarts unless there are more than `failure_rate` failures in `failure_interval`."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: AmountOfTime,
        max_backoff: AmountOfTime,
        backoff_multiplier: float,
        reset_backoff_threshold: AmountOfTime,
        jitter_factor: float,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Restarts with pauses that grow from `initial_backoff` to `max_backoff`."""
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff,
            max_backoff,
            backoff_multiplier,
            reset_backoff_threshold,
            jitter_factor,
        )

    @staticmethod
    def apply(strategy: RestartStrategyConfiguration, configuration: Configuration) -> None:
        """Writes a strategy into a configuration, from which `from_configuration` reads it."""
        made: dict[options.Option[Any], Any]
        if isinstance(strategy, RestartStrategies.NoRestartStrategyConfiguration):
            made = {options.RESTART_STRATEGY_TYPE: "none"}
        elif isinstance(strategy, RestartStrategies.FixedDelayRestartStrategyConfiguration):
            made = {
                options.RESTART_STRATEGY_TYPE: "fixed-delay",
                options.FIXED_DELAY_ATTEMPTS: strategy.get_restart_attempts(),
                options.FIXED_DELAY_DELAY: strategy.get_delay_between_attempts_interval(),
            }
        elif isinstance(strategy, RestartStrategies.FailureRateRestartStrategyConfiguration):
            made = {
                options.RESTART_STRATEGY_TYPE: "failure-rate",
                options.FAILURE_RATE_MAX_FAILURES: strategy.get_max_failure_rate(),
                options.FAILURE_RATE_INTERVAL: strategy.get_failure_interval(),
                options.FAILURE_RATE_DELAY: strategy.get_delay_between_attempts_interval(),
            }
        elif isinstance(strategy, RestartStrategies.ExponentialDelayRestartStrategyConfiguration):
            made = {
                options.RESTART_STRATEGY_TYPE: "exponential-delay",
                options.EXPONENTIAL_DELAY_INITIAL_BACKOFF: strategy.get_initial_backoff(),
                options.EXPONENTIAL_DELAY_MAX_BACKOFF: strategy.get_max_backoff(),
                options.EXPONENTIAL_DELAY_MULTIPLIER: strategy.get_backoff_multiplier(),
                options.EXPONENTIAL_DELAY_RESET_THRESHOLD: strategy.get_reset_backoff_threshold(),
                options.EXPONENTIAL_DELAY_JITTER: strategy.get_jitter_factor(),
            }
        elif isinstance(strategy, RestartStrategies.FallbackRestartStrategyConfiguration):
            made = {}
            configuration.remove_config(options.RESTART_STRATEGY_TYPE.key)
        else:
            raise FunctionTypeError(
                f"a restart strategy from RestartStrategies is needed, not {strategy!r}"
            )
        for option, value in made.items():
            configuration.set(option, value)

    @staticmethod
    def from_configuration(configuration: Configuration) -> RestartStrategyConfiguration | None:
        """The strategy that `restart-strategy.*` describes; None if no type is set."""
        kind = configuration.get(options.RESTART_STRATEGY_TYPE)
        get = configuration.get
        if kind is None:
            return None
        if kind == "none":
            return RestartStrategies.no_restart()
        if kind == "fixed-delay":
            return RestartStrategies.fixed_delay_restart(
                get(options.FIXED_DELAY_ATTEMPTS), get(options.FIXED_DELAY_DELAY)
            )
        if kind == "failure-rate":
            return RestartStrategies.failure_rate_restart(
                get(options.FAILURE_RATE_MAX_FAILURES),
                get(options.FAILURE_RATE_INTERVAL),
                get(options.FAILURE_RATE_DELAY),
            )
        if kind == "exponential-delay":
            return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
                get(options.EXPONENTIAL_DELAY_INITIAL_BACKOFF),
                get(options.EXPONENTIAL_DELAY_MAX_BACKOFF),
                get(options.EXPONENTIAL_DELAY_MULTIPLIER),
                get(options.EXPONENTIAL_DELAY_RESET_THRESHOLD),
                get(options.EXPONENTIAL_DELAY_JITTER),
                get(options.EXPONENTIAL_DELAY_ATTEMPTS),
            )
        raise ConfigurationError(f"unknown restart strategy {kind!r}")
