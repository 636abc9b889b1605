"""Counts words that come from one topic of Kafka and writes the counts to another, exactly once.

Needs `pip install 'headrace[kafka]'` and a broker that has both topics (`make kafka` starts one):

    python examples/kafka_word_count.py --servers localhost:9092 --source lines --target counts

Without `--follow` it reads what is in the source now and ends. Read the target with
`isolation.level=read_committed`.
"""

import argparse

from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)


def source(servers: str, topic: str, follow: bool) -> KafkaSource:
    # A new run goes on where the last one ended: checkpoints commit their offsets to the group.
    offsets = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id("word-count")
        .set_starting_offsets(offsets)
        .set_value_only_deserializer(SimpleStringSchema())
    )
    if not follow:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


def sink(servers: str, topic: str) -> KafkaSink:
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("word-count")
        .build()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", default="localhost:9092")
    parser.add_argument("--source", default="lines")
    parser.add_argument("--target", default="counts")
    parser.add_argument("--follow", action="store_true", help="go on with lines that come later")
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1_000)
    read = source(arguments.servers, arguments.source, arguments.follow)
    (
        env.from_source(read, WatermarkStrategy.no_watermarks(), "lines")
        .flat_map(lambda line: [(word, 1) for word in line.lower().split()])
        .key_by(lambda pair: pair[0])
        .sum(1)
        .map(lambda pair: f"{pair[0]} {pair[1]}")
        .sink_to(sink(arguments.servers, arguments.target))
    )
    env.execute("kafka word count")


if __name__ == "__main__":
    main()
