from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Configuration, Duration, RestartStrategies
from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError
from headrace.common.restart_strategy import RestartStrategyConfiguration

SECOND = timedelta(seconds=1)
ALL = [
    RestartStrategies.no_restart(),
    RestartStrategies.fall_back_restart(),
    RestartStrategies.fixed_delay_restart(3, 10_000),
    RestartStrategies.fixed_delay_restart(4, 10_000),
    RestartStrategies.failure_rate_restart(3, 60_000, 1_000),
    RestartStrategies.exponential_delay_restart(1_000, 60_000, 2.0, 3_600_000, 0.1),
]


def test_fixed_delay() -> None:
    for delay in (10_000, 10 * SECOND, Duration.of_seconds(10)):
        strategy = RestartStrategies.fixed_delay_restart(3, delay)
        assert strategy.get_restart_attempts() == 3
        assert strategy.get_delay_between_attempts_interval() == 10 * SECOND
        assert "#3" in strategy.get_description()


def test_failure_rate() -> None:
    strategy = RestartStrategies.failure_rate_restart(3, 60_000, SECOND)
    assert strategy.get_max_failure_rate() == 3
    assert strategy.get_failure_interval() == 60 * SECOND
    assert strategy.get_delay_between_attempts_interval() == SECOND


@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_identity(strategy: RestartStrategyConfiguration) -> None:
    twin = pickle.loads(pickle.dumps(strategy))
    assert twin == strategy
    assert hash(twin) == hash(strategy)
    assert [other for other in ALL if other == strategy] == [strategy]
    assert strategy.get_description()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"restart-strategy.type": "none"}, RestartStrategies.no_restart()),
        ({"restart-strategy.type": "off"}, RestartStrategies.no_restart()),
        ({"restart-strategy.type": False}, RestartStrategies.no_restart()),
        (
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": 3},
            RestartStrategies.fixed_delay_restart(3, 1_000),
        ),
        (
            {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": "2",
                "restart-strategy.failure-rate.delay": "5 s",
            },
            RestartStrategies.failure_rate_restart(2, 60_000, 5_000),
        ),
        (
            {"restart-strategy.type": "exponential-delay"},
            RestartStrategies.exponential_delay_restart(1_000, 60_000, 1.5, 3_600_000, 0.1),
        ),
    ],
)
def test_from_configuration(settings: dict[str, Any], expected: Any) -> None:
    strategy = RestartStrategies.from_configuration(Configuration.from_dict(settings))
    assert strategy == expected


def test_wrong_values() -> None:
    with pytest.raises(ConfigurationError, match=r"restart-strategy\.type"):
        RestartStrategies.from_configuration(
            Configuration.from_dict({"restart-strategy.type": "hope"})
        )
    with pytest.raises(GraphError):
        RestartStrategies.fixed_delay_restart(-1, 0)
    with pytest.raises(GraphError):
        RestartStrategies.fixed_delay_restart(1, -1)
    with pytest.raises(FunctionTypeError):
        RestartStrategies.fixed_delay_restart("3", 0)  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError):
        RestartStrategies.fixed_delay_restart(3, "1 s")  # type: ignore[arg-type]
    with pytest.raises(GraphError):
        RestartStrategies.failure_rate_restart(0, 1, 1)
    with pytest.raises(GraphError):
        RestartStrategies.exponential_delay_restart(1, 1, 0.5, 1, 0.1)
    with pytest.raises(GraphError):
        RestartStrategies.exponential_delay_restart(1, 1, 2, 1, 1.0)
