"""Sources and sinks of Kafka while they are built; PyFlink needs Kafka's jar to record this."""

from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber,
    SingleClusterTopicMetadataService,
)
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)

text = SimpleStringSchema()
partition = KafkaTopicPartition("t", 0)
committed = KafkaOffsetsInitializer.committed_offsets


def source():
    made = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    return made.set_value_only_deserializer(text)


def record():
    return KafkaRecordSerializationSchema.builder()


def sink():
    schema = record().set_topic("t").set_value_serialization_schema(text).build()
    return KafkaSink.builder().set_bootstrap_servers("127.0.0.1:1").set_record_serializer(schema)


# --- what can be built
offsets = KafkaOffsetsInitializer.offsets({partition: 5}, KafkaOffsetResetStrategy.LATEST)
bounded = source().set_starting_offsets(KafkaOffsetsInitializer.earliest())
bounded = bounded.set_bounded(KafkaOffsetsInitializer.latest()).set_property("client.id", "c")
print(isinstance(bounded.set_client_id_prefix("c").build(), KafkaSource))
print(isinstance(source().set_starting_offsets(offsets).build(), KafkaSource))
print(isinstance(source().set_group_id("g").set_unbounded(committed()).build(), KafkaSource))
exact = sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
print(isinstance(exact.set_transactional_id_prefix("p").build(), KafkaSink))
print(partition == KafkaTopicPartition("t", 0), partition == "t", len({partition, partition}))
print([(s.name, s.value) for s in KafkaOffsetResetStrategy])

# --- sources that are not complete
raises(
    lambda: KafkaSource.builder().set_topics("t").set_value_only_deserializer(text).build(),
    Exception,
    "Property bootstrap.servers is required but not provided",
)
raises(
    lambda: (
        KafkaSource.builder().set_bootstrap_servers("h:1").set_value_only_deserializer(text).build()
    ),
    Exception,
    "No subscribe mode is specified, should be one of topics, topic pattern and partition set",
)
raises(
    lambda: KafkaSource.builder().set_bootstrap_servers("h:1").set_topics("t").build(),
    Exception,
    "Deserialization schema is required but not provided",
)
words = "Property group.id is required when using committed offset for offsets initializer"
raises(lambda: source().set_starting_offsets(committed()).build(), Exception, words)
raises(lambda: source().set_bounded(committed()).build(), Exception, words)

# --- arguments of sources that are refused
raises(lambda: source().set_topic_pattern("a.*"), Exception)
raises(lambda: source().set_topics("u"), Exception)
raises(lambda: KafkaSource.builder().set_topic_pattern("["), Exception)
raises(lambda: KafkaSource.builder().set_topics(["a"]), Exception)
raises(lambda: KafkaSource.builder().set_topics(5), Exception)
raises(lambda: KafkaSource.builder().set_partitions({1}), Exception)
raises(lambda: source().set_starting_offsets(None), Exception)
raises(lambda: source().set_starting_offsets("earliest"), Exception)
raises(lambda: committed("earliest"), Exception)
raises(lambda: KafkaOffsetsInitializer.timestamp("a"), Exception)
raises(lambda: KafkaOffsetsInitializer.offsets({"t": 5}), Exception)
raises(lambda: KafkaOffsetsInitializer.offsets(None), Exception)
raises(lambda: source().set_properties(None), Exception)
raises(lambda: source().set_value_only_deserializer("x"), Exception)

# --- sinks that are not complete
raises(
    lambda: record().set_value_serialization_schema(text).build(),
    Exception,
    "No topic selector is configured.",
)
raises(lambda: record().set_topic("t").build(), Exception, "No value serializer is configured.")
raises(
    lambda: sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build(),
    Exception,
    "EXACTLY_ONCE delivery guarantee requires a transactionalIdPrefix to be set",
)
raises(lambda: KafkaSink.builder().set_bootstrap_servers("h:1").build(), Exception)

# --- arguments of sinks that are refused
raises(
    lambda: record().set_topic_selector("t"),
    TypeError,
    "topic_selector must be KafkaTopicSelector or a callable",
)
raises(lambda: record().set_topic("t").set_topic("u"), Exception, "Topic selector already set.")
words = "Topic selector already set."
raises(lambda: record().set_topic("t").set_topic_selector(lambda r: "t"), Exception, words)
raises(lambda: record().set_topic(None), Exception)
raises(lambda: record().set_value_serialization_schema(None), Exception)
raises(lambda: sink().set_delivery_guarantee("x"), Exception)
raises(lambda: sink().set_transactional_id_prefix(None), Exception)
raises(lambda: KafkaSink.builder().set_record_serializer(None), Exception)

# --- dynamic sources
service = SingleClusterTopicMetadataService("c", {"bootstrap.servers": "127.0.0.1:1"})
made = (
    DynamicKafkaSource.builder()
    .set_kafka_stream_subscriber(KafkaStreamSetSubscriber({"a"}))
    .set_kafka_metadata_service(service)
    .set_deserializer(KafkaRecordDeserializationSchema.value_only(text))
    .set_bounded(KafkaOffsetsInitializer.latest())
    .set_properties({"client.id": "c"})
)
print(isinstance(made.set_group_id("g").build(), DynamicKafkaSource))
raises(
    lambda: DynamicKafkaSource.builder().build(),
    Exception,
    "Kafka stream subscriber is required but not provided",
)
named = DynamicKafkaSource.builder().set_stream_ids({"s"}).set_value_only_deserializer(text)
raises(named.build, Exception, "Kafka Metadata Service is required but not provided")
raises(lambda: DynamicKafkaSource.builder().set_kafka_stream_subscriber("x"), Exception)
