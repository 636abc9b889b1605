"""Kafka as a source and a sink, with the names of PyFlink's module.

It needs confluent-kafka: `pip install 'headrace[kafka]'`.
"""

from headrace.datastream.connectors.kafka.client import KafkaError
from headrace.datastream.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from headrace.datastream.connectors.kafka.records import (
    ConsumerRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from headrace.datastream.connectors.kafka.topics import KafkaTopicPartition

__all__ = [
    "ConsumerRecord",
    "KafkaError",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]
