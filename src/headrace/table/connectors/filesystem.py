"""The filesystem connector: files of JSON, CSV, raw lines or Parquet, in directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.common.errors import SqlError
from headrace.common.serialization import Encoder as TextEncoder
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.connectors.spark_query import ParquetFiles
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.expressions import Schema
from headrace.sql.formats.base import FormatOptions, decoder_for, encoder_for, option_keys
from headrace.sql.specs import DecodeSpec, EncodeSpec
from headrace.table.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.table.connectors.streams import with_operator

__all__ = ["FileSystemFactory"]


class FileSystemFactory(TableFactory):
    """`'connector' = 'filesystem'` with `path` and `format`."""

    name = "filesystem"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads all files under `path`, once or, with `source.monitor-interval`, for ever."""
        path, format_ = self._common(context)
        interval = context.duration("source.monitor-interval")
        if context.partition_keys or context.metadata:
            raise SqlError(
                "partitions and metadata columns of the filesystem connector are not supported yet"
            )
        if format_ == "parquet":
            context.check_all_used()
            return _ParquetTable(path, context.schema)
        options = _format_options(context, format_)
        context.check_all_used()
        decoder = decoder_for(format_, context.schema.row_type, options)
        return _TextTable(path, decoder, interval)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes files into the directory `path`."""
        path, format_ = self._common(context)
        if context.partition_keys:
            raise SqlError("partitions of the filesystem connector are not supported yet")
        for key in ("sink.rolling-policy.file-size", "sink.rolling-policy.rollover-interval"):
            context.option(key)
        if format_ == "parquet":
            context.check_all_used()
            return _ParquetSink(path, context.schema, overwrite)
        options = _format_options(context, format_)
        context.check_all_used()
        encoder = encoder_for(format_, context.schema.row_type, options)
        return _TextSink(path, encoder, overwrite)

    def _common(self, context: TableContext) -> tuple[str, str]:
        return local_path(context.required("path")), context.required("format")


def _format_options(context: TableContext, name: str) -> FormatOptions:
    for key in option_keys(name):
        context.option(f"{name}.{key}")
    values = {
        key: context.options[f"{name}.{key}"]
        for key in option_keys(name)
        if f"{name}.{key}" in context.options
    }
    return FormatOptions(values, context.zone)


def local_path(path: str) -> str:
    """A path without `file://`."""
    parts = urlsplit(path)
    return parts.path if parts.scheme == "file" else path


def clear(path: str) -> None:
    """INSERT OVERWRITE: files that are there go before the job starts."""
    for file in Path(path).rglob("*") if Path(path).is_dir() else ():
        if file.is_file():
            file.unlink()


@dataclass
class _TextTable(TableSource):
    path: str
    decoder: Any
    interval: Any

    @property
    def bounded(self) -> bool:
        return self.interval is None

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), self.path)
        if self.interval is not None:
            from headrace.common.time import Duration

            millis = int(self.interval.total_seconds() * 1000)
            builder.monitor_continuously(Duration.of_millis(millis))
        source = builder.build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "Source: filesystem")
        return with_operator(lines, "Decode", DecodeSpec(self.decoder))


@dataclass
class _ParquetTable(TableSource):
    path: str
    schema: Schema

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        from headrace.table.connectors.parquet_rows import ParquetRows

        format_ = ParquetRows(tuple(self.schema.names), tuple(self.schema.types))
        source = FileSource.for_bulk_file_format(format_, self.path).build()
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "Source: filesystem")

    def spark_scan(self, columns: Sequence[int]) -> ParquetFiles | None:
        from headrace.table.connectors.parquet_scan import parquet_scan

        return parquet_scan(self.path, self.schema, columns)


@dataclass
class _TextSink(TableSink):
    path: str
    encoder: Any
    overwrite: bool

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        if self.overwrite:
            clear(self.path)
        lines = with_operator(stream, "Encode", EncodeSpec(self.encoder))
        sink = FileSink.for_row_format(self.path, TextEncoder.simple_string_encoder()).build()
        return lines.sink_to(sink).name("Sink: filesystem")


@dataclass
class _ParquetSink(TableSink):
    path: str
    schema: Schema
    overwrite: bool

    takes_columns = True

    def attach_columns(self, stream: DataStream[Any], schema: Schema) -> Any:
        from headrace.table.connectors.parquet_columns import ParquetColumns

        if self.overwrite:
            clear(self.path)
        writer = ParquetColumns(self.schema.row_type)
        return stream.sink_to(FileSink.for_bulk_format(self.path, writer).build()).name(
            "Sink: filesystem"
        )

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        from headrace.datastream.formats.parquet import ParquetBulkWriters
        from headrace.table.connectors.streams import external_rows

        if self.overwrite:
            clear(self.path)
        rows = external_rows(stream, self.schema, changelog=False)
        writer = ParquetBulkWriters.for_row_type(self.schema.row_type)
        return rows.sink_to(FileSink.for_bulk_format(self.path, writer).build()).name(
            "Sink: filesystem"
        )
