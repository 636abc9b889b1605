"""The keyed count from Kafka to Kafka as a PyFlink program.

    python pyflink_kafka.py JAR SERVERS SOURCE TARGET

Runs in the peer's environment, in process mode, with every other setting at its default. The rate
is read from the timestamps of the messages in the target.
"""

import sys
from pathlib import Path

from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

PARALLELISM = 2
KEYS = 1_000


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()},{count}"


def main():
    jar, servers, source, target = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_jars(Path(jar).as_uri())
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(2_000)
    read = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source)
        .set_group_id("pyflink")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    schema = KafkaRecordSerializationSchema.builder().set_topic(target)
    write = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    stream = env.from_source(read, WatermarkStrategy.no_watermarks(), "numbers")
    counted = stream.key_by(lambda value: int(value) % KEYS, Types.LONG()).process(
        Count(), Types.STRING()
    )
    counted.sink_to(write)
    env.execute("kafka to kafka")


if __name__ == "__main__":
    main()
