"""The kinesis connector: a stream's messages as rows; and firehose, which takes rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import GraphError, SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisShardAssigner,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.kinesis.options import (
    beginning,
    client_properties,
    partition_keys,
    producer_endpoint,
    reader_properties,
    set_writing,
    shard_assigner,
    skip_reader_options,
    skip_writer_options,
    stream_of,
)
from headrace.sql.connectors.kinesis.rows import (
    MessageRows,
    check_metadata,
    check_no_metadata,
    message_part,
    metadata_type,
)
from headrace.sql.connectors.message_parts import Part, PartSchema
from headrace.sql.connectors.watermark_options import WatermarkOptions, watermark_options
from headrace.sql.formats.base import makes_changes
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType

__all__ = ["FirehoseFactory", "KinesisFactory"]


class KinesisFactory(TableFactory):
    """`'connector' = 'kinesis'`, and `'kinesis-legacy'`."""

    name = "kinesis"

    def metadata_type(self, key: str) -> DataType | None:
        return metadata_type(key)

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        return beginning(context, millis)

    def create_source(self, context: TableContext) -> TableSource:
        """Reads a stream, from a position on and without an end."""
        stream = stream_of(context)
        properties = reader_properties(context)
        assigner = shard_assigner(context)
        part = message_part(context)
        check_metadata(context)
        watermarks = watermark_options(context)
        skip_writer_options(context)
        context.check_all_used()
        # What is wrong with the options of a format shows while the statement is planned.
        _ = part.decoder()
        kind = (-1,) if makes_changes(part.format) else ()
        part = replace(part, columns=(*part.columns, *kind))
        rows = MessageRows(part, len(context.schema), context.metadata)
        table = _StreamTable(stream, rows, properties, assigner, not kind, watermarks)
        try:
            table.source()
        except GraphError as error:
            raise SqlError(f"table {context.name}: {error}") from error
        return table

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes messages into a stream."""
        check_no_metadata(context)
        builder = KinesisStreamsSink.builder().set_stream_name(stream_of(context))
        properties = {**producer_endpoint(context), **client_properties(context)}
        if "aws.endpoint" not in properties:
            context.required("aws.region")
        builder.set_kinesis_client_properties(properties)
        builder.set_partition_key_generator(partition_keys(context))
        return _written(context, builder, self.name)


class FirehoseFactory(TableFactory):
    """`'connector' = 'firehose'`."""

    name = "firehose"

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes records into a delivery stream."""
        check_no_metadata(context)
        if context.partition_keys:
            raise SqlError(
                f"Table '{context.name}' is a partitioned table, but Firehose has no partitions; "
                "leave PARTITIONED BY out."
            )
        builder = KinesisFirehoseSink.builder()
        builder.set_delivery_stream_name(context.required("delivery-stream"))
        properties = client_properties(context)
        if "aws.endpoint" not in properties:
            context.required("aws.region")
        builder.set_firehose_client_properties(properties)
        return _written(context, builder, self.name)


def _written(
    context: TableContext,
    builder: KinesisStreamsSinkBuilder | KinesisFirehoseSinkBuilder,
    connector: str,
) -> TableSink:
    part = message_part(context)
    parallelism = context.parallelism("sink.parallelism")
    try:
        set_writing(context, builder)
        skip_reader_options(context)
        context.check_all_used()
        _ = part.encoder()
        builder.set_serialization_schema(PartSchema(part)).build()
    except GraphError as error:
        raise SqlError(f"table {context.name}: {error}") from error
    accepts_updates = makes_changes(part.format)
    return _StreamTableSink(f"Sink: {connector}", builder, part, accepts_updates, parallelism)


@dataclass
class _StreamTable(TableSource):
    """A stream that is read."""

    stream: str
    rows: MessageRows
    properties: dict[str, str]
    assigner: KinesisShardAssigner
    append_only: bool
    watermark_options: WatermarkOptions

    takes_watermarks = True

    @property
    def bounded(self) -> bool:
        return False

    def source(self) -> FlinkKinesisConsumer:
        """What reads it."""
        made = FlinkKinesisConsumer(self.stream, self.rows, self.properties)
        return made.set_shard_assigner(self.assigner)

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        return replace(self, rows=self.rows.narrowed(columns))

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        return self.build_with_watermarks(env, WatermarkStrategy.no_watermarks())

    def build_with_watermarks(
        self, env: StreamExecutionEnvironment, strategy: WatermarkStrategy
    ) -> DataStream[Any]:
        return env.from_source(self.source(), strategy, "Source: kinesis")


@dataclass
class _StreamTableSink(TableSink):
    """A stream that is written."""

    name: str
    builder: KinesisStreamsSinkBuilder | KinesisFirehoseSinkBuilder
    part: Part
    accepts_updates: bool
    parallelism: int | None = None

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        part = self.part
        if changelog:
            part = replace(part, columns=(*part.columns, -1))
        sink = self.builder.set_serialization_schema(PartSchema(part)).build()
        return stream.sink_to(sink).name(self.name)
