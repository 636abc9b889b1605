"""Kafka as a source and a sink, with the names of PyFlink's module.

It needs confluent-kafka: `pip install 'headrace[kafka]'`.
"""

from headrace.datastream.connectors.kafka.client import KafkaError
from headrace.datastream.connectors.kafka.legacy import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from headrace.datastream.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from headrace.datastream.connectors.kafka.records import (
    ConsumerRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors.kafka.serialization import (
    FlinkFixedPartitioner,
    HeaderProvider,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from headrace.datastream.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from headrace.datastream.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from headrace.datastream.connectors.kafka.topics import KafkaTopicPartition

__all__ = [
    "ConsumerRecord",
    "FlinkFixedPartitioner",
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "HeaderProvider",
    "KafkaError",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaPartitioner",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
