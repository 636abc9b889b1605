"""What is said of brokers that do not answer."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.datastream.connectors.kafka import client
from headrace.datastream.connectors.kafka.client import Outage


def test_the_election_of_a_coordinator_is_told_only_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    outage = Outage("broker:9092", "reading", told.append)
    outage.away(KafkaError(KafkaError.NOT_COORDINATOR))
    outage.over()
    assert told == []
    monkeypatch.setattr(client, "_ELECTION_S", 0.0)
    outage.away(KafkaError(KafkaError.NOT_COORDINATOR))
    outage.over()
    assert len(told) == 2
    assert "cannot be reached; waiting for it (Broker: Not coordinator" in told[0]
    assert "is available again" in told[1]


def test_brokers_that_are_away_are_told_at_once() -> None:
    told: list[str] = []
    outage = Outage("broker:9092", "reading", told.append)
    outage.away(KafkaError(KafkaError._TRANSPORT))
    assert "cannot be reached" in told[0]
