"""Kafka, through keyed state, to Kafka, PostgreSQL and files, for tests that kill parts of it.

`python pipeline_program.py SETTINGS` with a JSON object as in `Pipeline`: prints the processes of
every attempt as `attempt DRIVER SLOT SLOT ...`, and `done` at the end.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder, SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.faults.counting_on_spark import announce

KEYS = 100
PARTITIONS = 4
ROW = Types.ROW([Types.INT(), Types.INT(), Types.INT()])


@dataclass(frozen=True)
class Pipeline:
    """Where records come from and go to."""

    master: str
    checkpoints: str
    restore: str | None
    servers: str
    source_topic: str
    target_topic: str
    files: str
    database: str
    user: str
    password: str
    table: str
    records: int
    epoch_records: int


class Counting(KeyedProcessFunction[int, str, str]):
    """Each record with its number among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value},{ctx.get_current_key()},{count}"


def environment(pipeline: Pipeline) -> StreamExecutionEnvironment:
    given = {
        "spark.master": pipeline.master,
        "execution.checkpointing.interval": "400 ms",
        "execution.checkpointing.dir": pipeline.checkpoints,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.epoch.target": "300 ms",
        "execution.epoch.max-records": str(pipeline.epoch_records),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }
    if pipeline.restore is not None:
        given["execution.state-recovery.path"] = pipeline.restore
    made = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    return made.set_parallelism(2)


def build(pipeline: Pipeline) -> StreamExecutionEnvironment:
    env = environment(pipeline)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(pipeline.servers)
        .set_topics(pipeline.source_topic)
        .set_group_id("pipeline")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.offsets(ends_of(pipeline)))
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    counted = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .uid("numbers")
        .key_by(lambda value: int(value) % KEYS)
        .process(Counting())
        .uid("counting")
    )
    schema = KafkaRecordSerializationSchema.builder().set_topic(pipeline.target_topic)
    schema.set_value_serialization_schema(SimpleStringSchema())
    to_kafka = (
        KafkaSink.builder()
        .set_bootstrap_servers(pipeline.servers)
        .set_record_serializer(schema.build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"pipeline-{pipeline.target_topic}")
        .build()
    )
    counted.sink_to(to_kafka).uid("to-kafka")
    to_files = FileSink.for_row_format(pipeline.files, Encoder.simple_string_encoder())
    counted.sink_to(to_files.build()).uid("to-files")
    rows = counted.map(lambda text: Row(*map(int, text.split(","))), ROW).uid("rows")
    rows.add_sink(to_table(pipeline)).uid("to-table")
    return env


def ends_of(pipeline: Pipeline) -> dict[KafkaTopicPartition, int]:
    """Where each partition ends: number n is in partition n modulo their number."""
    return {
        KafkaTopicPartition(pipeline.source_topic, p): len(range(p, pipeline.records, PARTITIONS))
        for p in range(PARTITIONS)
    }


def to_table(pipeline: Pipeline) -> JdbcSink:
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(pipeline.database)
        .with_user_name(pipeline.user)
        .with_password(pipeline.password)
        .build()
    )
    return JdbcSink.exactly_once_sink(
        f"INSERT INTO {pipeline.table} (number, key, count) VALUES (?, ?, ?)",
        ROW,
        options,
        JdbcExactlyOnceOptions.builder().with_transaction_id_prefix(pipeline.table).build(),
        JdbcExecutionOptions.builder().with_batch_size(1_000).build(),
    )


def main() -> None:
    job = build(Pipeline(**json.loads(sys.argv[1])))._submit("pipeline")
    threading.Thread(target=announce, args=(job,), daemon=True).start()
    job.result_future().result()
    print("done", flush=True)


if __name__ == "__main__":
    main()
