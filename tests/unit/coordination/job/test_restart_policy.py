"""Whether and when a failed job starts again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from headrace.coordination.job.restart_policy import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartPolicy,
    restart_policy,
)


def delays(policy: RestartPolicy, *failures_at_s: float) -> list[float | None]:
    return [policy.delay_s(now_s) for now_s in failures_at_s]


def backoff(attempts: int | None = None, jitter: float = 0.0) -> ExponentialDelay:
    """Doubles from 1 s to 8 s, and starts over after 100 s."""
    return ExponentialDelay(1.0, 8.0, 2.0, 100.0, jitter, attempts, lambda low, high: high)


def test_without_restarts_the_first_failure_is_the_last() -> None:
    assert delays(NoRestart(), 0.0) == [None]


def test_a_fixed_number_of_restarts() -> None:
    assert delays(FixedDelay(2, 5.0), 0.0, 1.0, 2.0) == [5.0, 5.0, None]
    assert delays(FixedDelay(0, 5.0), 0.0) == [None]


def test_so_many_failures_in_an_interval_are_forgiven() -> None:
    assert delays(FailureRate(2, 10.0, 5.0), 0, 1, 10) == [5.0, 5.0, None]
    assert delays(FailureRate(2, 10.0, 5.0), 0, 1, 11, 11) == [5.0, 5.0, 5.0, None]


def test_a_backoff_grows_to_its_limit() -> None:
    assert delays(backoff(), 0, 1, 3, 7, 15) == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_a_backoff_starts_over_when_the_job_ran_well() -> None:
    policy = backoff()
    assert delays(policy, 0, 1) == [1.0, 2.0]
    # The job runs again at 3 s; it has to run for 100 s beyond the pause that would come next.
    assert delays(policy, 3 + 100 + 4 - 0.5) == [4.0]
    assert delays(policy, 300) == [1.0]


def test_a_backoff_gives_up_after_its_attempts_unless_it_started_over() -> None:
    policy = backoff(attempts=2)
    assert delays(policy, 0, 1, 2) == [1.0, 2.0, None]
    policy = backoff(attempts=2)
    assert delays(policy, 0, 1, 500, 501, 502) == [1.0, 2.0, 1.0, 2.0, None]


def test_jitter_spreads_restarts_but_not_beyond_the_limit() -> None:
    assert delays(backoff(jitter=0.25), 0, 1, 2, 3) == [1.25, 2.5, 5.0, 8.0]
    policy = ExponentialDelay(1.0, 8.0, 2.0, 100.0, 0.25, None)
    assert 0.75 <= (policy.delay_s(0.0) or 0) <= 1.25


@pytest.mark.parametrize(
    ("strategy", "checkpointing", "kind"),
    [
        (None, True, ExponentialDelay),
        (None, False, NoRestart),
        (RestartStrategies.fall_back_restart(), True, ExponentialDelay),
        (RestartStrategies.no_restart(), True, NoRestart),
        (RestartStrategies.fixed_delay_restart(3, 1_000), False, FixedDelay),
        (
            RestartStrategies.failure_rate_restart(3, timedelta(minutes=1), timedelta(seconds=1)),
            False,
            FailureRate,
        ),
    ],
)
def test_a_strategy_has_its_policy(
    strategy: RestartStrategyConfiguration | None, checkpointing: bool, kind: type[RestartPolicy]
) -> None:
    assert type(restart_policy(strategy, checkpointing)) is kind


def test_times_of_a_strategy_are_taken_over() -> None:
    fixed = restart_policy(RestartStrategies.fixed_delay_restart(1, 2_500), True)
    assert delays(fixed, 0, 1) == [2.5, None]
