"""Descriptions of connections appear in messages; their secrets must not."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream.connectors.elasticsearch import ElasticsearchSink
from headrace.datastream.connectors.kinesis.sinks import _Settings
from headrace.datastream.connectors.mongodb import _Collection
from headrace.datastream.connectors.rabbitmq.connection import RMQConnectionConfig
from headrace.datastream.connectors.redis import RedisSink


@pytest.mark.parametrize(
    "described",
    [
        ElasticsearchSink(user="me", password="hidden"),
        _Settings(properties={"aws.credentials.provider.basic.secretkey": "hidden"}),
        _Collection("mongodb://me:hidden@db"),
        RMQConnectionConfig(user_name="me", password="hidden", uri="amqp://me:hidden@db"),
        RedisSink("redis://me:hidden@db", lambda record: ("DEL", record)),
    ],
    ids=lambda described: type(described).__name__,
)
def test_a_description_has_no_secret(described: Any) -> None:
    assert "hidden" not in repr(described)


def test_a_table_of_a_lakehouse_has_no_secret() -> None:
    pytest.importorskip("deltalake", reason="pip install 'headrace[delta]'")
    pytest.importorskip("pyiceberg", reason="pip install 'headrace[iceberg]'")
    from headrace.datastream.connectors.lakehouse import DeltaLakeTable, IcebergTable

    secret = {"secret": "hidden"}
    described = [DeltaLakeTable("s3://bucket/orders", secret), IcebergTable("shop.orders", secret)]
    assert "hidden" not in repr(described)
