"""Kafka, through keyed state, to Kafka, files and, if asked for, PostgreSQL, to be killed in part.

`python -m tests.faults.chaos_job SETTINGS` with a JSON object as in `Pipeline`: prints the
processes of every attempt as `attempt DRIVER SLOT SLOT ...`, and `finished RESTARTS` at the end.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.faults.counting_on_spark import announce
from tests.faults.laden import laden

KEYS = 100
PARTITIONS = 4
# So much state that a snapshot of it takes a moment, in which whoever writes it can be killed.
BALLAST = 500
ROW = Types.ROW([Types.INT(), Types.INT(), Types.INT()])


@dataclass(frozen=True)
class Database:
    """A table for the results, beside Kafka and files."""

    url: str
    user: str
    password: str
    table: str


@dataclass(frozen=True)
class Pipeline:
    """Where records come from and go to."""

    master: str
    backend: str
    directory: str
    servers: str
    source_topic: str
    target_topic: str
    records: int
    epoch_records: int
    database: Database | None = None
    restore: str | None = None


class Counting(KeyedProcessFunction[int, str, str]):
    """Each record with its number among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.ballast = runtime_context.get_map_state(MapStateDescriptor("ballast"))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1:
            self.ballast.put_all({number: "ballast" for number in range(BALLAST)})
        yield f"{value},{ctx.get_current_key()},{count}"


def environment(pipeline: Pipeline) -> StreamExecutionEnvironment:
    given = {
        "spark.master": pipeline.master,
        "state.backend.type": pipeline.backend,
        "execution.checkpointing.interval": "400 ms",
        "execution.checkpointing.dir": f"{pipeline.directory}/checkpoints",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.epoch.target": "300 ms",
        "execution.epoch.max-records": str(pipeline.epoch_records),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000000",
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
    counted = laden(counted)
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
    files = f"{pipeline.directory}/files"
    to_files = FileSink.for_row_format(files, Encoder.simple_string_encoder())
    counted.sink_to(to_files.build()).uid("to-files")
    if pipeline.database is not None:
        rows = counted.map(lambda text: Row(*map(int, text.split(","))), ROW).uid("rows")
        rows.add_sink(to_table(pipeline.database)).uid("to-table")
    return env


def ends_of(pipeline: Pipeline) -> dict[KafkaTopicPartition, int]:
    """Where each partition ends: number n is in partition n modulo their number."""
    return {
        KafkaTopicPartition(pipeline.source_topic, p): len(range(p, pipeline.records, PARTITIONS))
        for p in range(PARTITIONS)
    }


def to_table(database: Database) -> JdbcSink:
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(database.url)
        .with_user_name(database.user)
        .with_password(database.password)
        .build()
    )
    return JdbcSink.exactly_once_sink(
        f"INSERT INTO {database.table} (number, key, count) VALUES (?, ?, ?)",
        ROW,
        options,
        JdbcExactlyOnceOptions.builder().with_transaction_id_prefix(database.table).build(),
        JdbcExecutionOptions.builder().with_batch_size(1_000).build(),
    )


def main() -> None:
    # Most of these JVMs do not live long enough to gain from their best compiler.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    given = json.loads(sys.argv[1])
    database = given.pop("database")
    pipeline = Pipeline(**given, database=database and Database(**database))
    job: Any = build(pipeline).execute_async("chaos")._handle
    threading.Thread(target=announce, args=(job,), daemon=True).start()
    job.result_future().result()
    print("finished", job.restarts, flush=True)


if __name__ == "__main__":
    main()
