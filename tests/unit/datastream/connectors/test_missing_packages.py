"""A connector whose library is not installed says how to install it, where the program names it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.common.serialization import SimpleStringSchema


def kafka_source() -> Any:
    from headrace.datastream.connectors.kafka import KafkaSource

    return (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:9092")
        .set_topics("orders")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def kafka_sink() -> Any:
    from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink

    schema = KafkaRecordSerializationSchema.builder().set_topic("orders")
    schema.set_value_serialization_schema(SimpleStringSchema())
    return (
        KafkaSink.builder()
        .set_bootstrap_servers("localhost:9092")
        .set_record_serializer(schema.build())
        .build()
    )


def avro_schema() -> Any:
    from headrace.datastream.formats.avro import AvroSchema

    return AvroSchema.parse_string('"int"')


def protobuf_class() -> Any:
    from headrace.formats.protobuf import message_class

    return message_class("shop.orders_pb2.Order")


def mysql_changes() -> Any:
    from headrace.datastream.connectors.cdc import MySqlSource

    return MySqlSource.builder().table_list("shop.orders").username("reader").build()


def pulsar_sink() -> Any:
    from headrace.datastream.connectors.pulsar import PulsarSink

    return PulsarSink.builder().set_topics("orders").build()


def mongodb_sink() -> Any:
    from headrace.datastream.connectors.mongodb import MongoSink

    return MongoSink.builder().build()


@pytest.mark.parametrize(
    ("make", "package", "extra"),
    [
        (kafka_source, "confluent_kafka", "kafka"),
        (kafka_sink, "confluent_kafka", "kafka"),
        (avro_schema, "fastavro", "avro"),
        (protobuf_class, "google.protobuf.message", "protobuf"),
        (pulsar_sink, "pulsar", "pulsar"),
        (mongodb_sink, "pymongo", "mongodb"),
        (mysql_changes, "pymysqlreplication", "mysql-cdc"),
    ],
)
def test_the_error_has_the_line_to_type(
    make: Callable[[], Any], package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HeadraceError, match=rf"pip install 'headrace\[{extra}\]'"):
        make()
