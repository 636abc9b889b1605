"""Where a server listens: the address and the port that its settings name."""

from __future__ import annotations

import pytest

from headrace.cluster.door import Door
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError


def door_of(**settings: str) -> Door:
    """The door of a JobManager with some settings, whose names have dots."""
    given = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    return Door.of(
        Configuration.from_dict(given),
        "a JobManager",
        options.REST_BIND_ADDRESS,
        options.REST_BIND_PORT,
        otherwise=(options.REST_ADDRESS, options.REST_PORT),
    )


def test_the_port_of_clients_counts_where_no_other_is_named() -> None:
    assert door_of().ports == "8081"
    assert door_of(rest_port="8090").ports == "8090"
    assert door_of(rest_port="8090", rest_bind__port="8100-8105").ports == "8100-8105"


def test_everybody_needs_a_token_to_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_CLUSTER_TOKEN", raising=False)
    assert door_of(rest_address="far.example").is_loopback
    with pytest.raises(ConfigurationError, match="HEADRACE_CLUSTER_TOKEN"):
        door_of(rest_bind__address="0.0.0.0")
