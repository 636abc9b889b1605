"""The filesystem connector: files of lines, or of Parquet and Avro, below a directory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.java.patterns import java_pattern
from headrace.common.serialization import BulkWriterFactory
from headrace.common.serialization import Encoder as TextEncoder
from headrace.common.settings.types import MEMORY
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    BulkFormat,
    FileCompactor,
    FileCompactStrategy,
    FileFormat,
    FileSink,
    FileSource,
    FileSourceBuilder,
    RollingPolicy,
    StreamFormat,
)
from headrace.datastream.connectors.file_system.formats import TextBlockFormat
from headrace.datastream.connectors.spark_query import ParquetFiles
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.files.bulk import BULK, reads_utc
from headrace.sql.connectors.files.csv import csv_records
from headrace.sql.connectors.files.overwriting import OverwritingSink
from headrace.sql.connectors.files.parquet_columns import ParquetColumns
from headrace.sql.connectors.files.parquet_scan import parquet_scan
from headrace.sql.connectors.files.partition_commit import (
    PartitionCommitSettings,
    partition_commit_settings,
)
from headrace.sql.connectors.files.partition_writer import PartitionedFileSink
from headrace.sql.connectors.files.partitions import PartitionBuckets, RowEncoder
from headrace.sql.connectors.files.rows import (
    METADATA_TYPES,
    FileLayout,
    RowFiles,
    WithoutFirstLine,
    file_layout,
)
from headrace.sql.connectors.format_options import format_options
from headrace.sql.connectors.legacy_keys import IGNORE_FIRST_LINE
from headrace.sql.connectors.lookup_options import LookupCaching
from headrace.sql.connectors.streams import by_columns, with_operator
from headrace.sql.formats.base import decoder_for, encoder_for
from headrace.sql.formats.csv import csv_dialect, in_files
from headrace.sql.formats.narrow import narrowed
from headrace.sql.lookups.full_cache import SourceRows, WholeTable
from headrace.sql.lookups.tables import LookupLimits, LookupTable
from headrace.sql.operators.specs import DecodeSpec, EncodeSpec
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import CharType, DataType, VarCharType

__all__ = ["FileSystemFactory"]

_OF_MESSAGES = ("avro-confluent", "debezium-avro-confluent", "protobuf")
_OF_SOURCES = ("source.path.regex-pattern", "source.report-statistics")
# Files that stay small are not kept from their readers for longer.
_CHECKPOINTS_BEFORE_COMPACTION = 10


class FileSystemFactory(TableFactory):
    """`'connector' = 'filesystem'` with `path` and `format`."""

    name = "filesystem"

    def metadata_type(self, key: str) -> DataType | None:
        return METADATA_TYPES.get(key)

    def create_source(self, context: TableContext) -> TableSource:
        """Reads all files under `path`, once or, with `source.monitor-interval`, for ever."""
        path, format_ = self._common(context)
        interval = context.duration("source.monitor-interval")
        pattern = _pattern(context)
        layout = file_layout(context)
        caching = LookupCaching.of(context, "FULL")
        if not caching.full:
            raise SqlError(
                f"files have no keys: 'lookup.cache' of table {context.name} can only be FULL"
            )
        _known_sink_options(context)
        if format_ in BULK:
            BULK[format_].codec(context)
            context.check_all_used()
            files, decode = BULK[format_].reader(layout.data_type, context)
            if format_ == "parquet" and layout.data_alone and interval is None and not pattern:
                utc = reads_utc(context)
                return _ParquetTable(path, files, caching, schema=context.schema, utc=utc)
            rows = RowFiles(files, decode, layout)
            return _FileTable(path, rows, caching, interval, pattern=pattern)
        options = format_options(context, format_)
        headed = format_ == "csv" and context.boolean(IGNORE_FIRST_LINE)
        context.check_all_used()
        decoder = decoder_for(format_, layout.data_type, options)
        lines: FileFormat = StreamFormat.text_line_format()
        if format_ == "csv":
            lines = csv_records(csv_dialect(options))
        elif format_ == "json" and layout.data_alone and not decoder.changes:
            lines = TextBlockFormat("utf-8")
        if headed:
            lines = WithoutFirstLine(lines)
        if decoder.changes:
            rows = RowFiles(lines, decoder, layout, changes=True)
            return _FilesOfChanges(path, rows, caching, interval, pattern=pattern)
        if layout.data_alone:
            return _FileTable(path, lines, caching, interval, decoder, pattern)
        rows = RowFiles(lines, decoder, layout)
        return _FileTable(path, rows, caching, interval, pattern=pattern)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes files into the directory `path`, and those of partitions below it."""
        if overwrite and not context.batch:
            raise SqlError(
                f"Streaming mode not support overwrite: INSERT OVERWRITE of {context.name} needs "
                "batch mode"
            )
        path, format_ = self._common(context)
        if context.metadata:
            raise SqlError(f"the metadata columns of {context.name} can be read only: VIRTUAL")
        layout = file_layout(context)
        rolling, check_ms = _rolling(context)
        partitions = partition_commit_settings(context)
        compaction = _compaction(context, format_)
        shuffled = context.boolean("sink.shuffle-by-partition.enable")
        parallelism = context.parallelism("sink.parallelism")
        for key in ("source.monitor-interval", *_OF_SOURCES):
            context.option(key)
        context.option(IGNORE_FIRST_LINE)
        context.with_prefix("lookup.")
        writers: Any = None
        encoder: Any = None
        codec = ""
        if format_ in BULK:
            codec = BULK[format_].codec(context)
            writers = BULK[format_].data_writers(layout, codec)
        else:
            options = format_options(context, format_)
            if format_ == "csv":
                options = in_files(options)
            encoder = encoder_for(format_, layout.data_type, options)
        context.check_all_used()
        buckets = BucketAssigner.base_path_bucket_assigner()
        if layout.partitions:
            buckets = PartitionBuckets(
                tuple(context.schema.names.index(n) for n in context.partition_keys),
                context.partition_keys,
                tuple(
                    context.schema[context.schema.names.index(n)].type
                    for n in context.partition_keys
                ),
                layout.default_name,
            )
        by_partition: tuple[int, ...] = ()
        if (partitions.policies and partitions.needs_one_writer) or shuffled:
            by_partition = tuple(context.schema.names.index(n) for n in context.partition_keys)
        settings = _SinkSettings(
            path, buckets, rolling, check_ms, overwrite, partitions, compaction, by_partition
        )
        columns = format_ == "parquet" and not layout.partitions
        return _FileTableSink(settings, layout, encoder, writers, columns, codec, parallelism)

    def _common(self, context: TableContext) -> tuple[str, str]:
        path, format_ = local_path(context.required("path")), context.required("format")
        if format_ in _OF_MESSAGES:
            raise SqlError(
                f"'{format_}' of table {context.name} is a format of messages, not of files; use "
                "'avro', 'parquet' or 'orc'"
            )
        if format_ == "raw":
            charset = context.option("raw.charset") or "UTF-8"
            physical = [f for i, f in enumerate(context.schema) if i not in context.metadata]
            text = all(
                isinstance(f.type, CharType | VarCharType)
                for f in physical
                if f.name not in context.partition_keys
            )
            if charset.upper() not in ("UTF-8", "UTF8") or not text:
                raise SqlError(
                    f"table {context.name}: lines of files in the format raw are text: the column "
                    "is a STRING, and 'raw.charset' is UTF-8"
                )
        return path, format_


def _pattern(context: TableContext) -> str:
    """The regular expression that the paths of files have to match; none if it is empty."""
    key, statistics = _OF_SOURCES
    # Nobody needs these here.
    context.option(statistics)
    pattern = context.option(key) or ""
    try:
        java_pattern(pattern)
    except re.error as error:
        raise SqlError(f"'{key}' of table {context.name} is no pattern: {error}") from None
    return pattern


def _known_sink_options(context: TableContext) -> None:
    """A table that is read may have options of a sink."""
    for key in context.options:
        if key.startswith(("sink.", "partition.time-extractor.", "auto-compaction", "compaction.")):
            context.option(key)


def _rolling(context: TableContext) -> tuple[RollingPolicy, int]:
    """When files are finished, and how often to look."""

    def millis(key: str, default: int) -> int:
        found = context.duration(key)
        return default if found is None else int(found.total_seconds() * 1000)

    rolling = RollingPolicy.default_rolling_policy(
        _rolling_size(context),
        millis("sink.rolling-policy.rollover-interval", 30 * 60_000),
        millis("sink.rolling-policy.inactivity-interval", 30 * 60_000),
    )
    return rolling, millis("sink.rolling-policy.check-interval", 60_000)


def _rolling_size(context: TableContext) -> int:
    key = "sink.rolling-policy.file-size"
    size = context.option(key)
    return 128 * 1024 * 1024 if size is None else MEMORY.parse(key, size)


def _compaction(
    context: TableContext, format_: str
) -> tuple[FileCompactStrategy, FileCompactor] | None:
    """When files are put together, and how."""
    size = context.option("compaction.file-size")
    context.option("compaction.parallelism")
    if not context.boolean("auto-compaction"):
        return None
    wanted = _rolling_size(context) if size is None else MEMORY.parse("compaction.file-size", size)
    strategy = FileCompactStrategy(wanted, _CHECKPOINTS_BEFORE_COMPACTION)
    if format_ not in BULK:
        return strategy, FileCompactor.concat_file_compactor()
    return strategy, FileCompactor.record_wise_file_compactor(BULK[format_].merge)


def local_path(path: str) -> str:
    """A path without `file://`."""
    parts = urlsplit(path)
    return parts.path if parts.scheme == "file" else path


def clear(path: str) -> None:
    """Files that are there go."""
    for file in (Path(path), *Path(path).rglob("*")):
        if file.is_file():
            file.unlink()


@dataclass
class _FileTable(TableSource):
    """Files of any format, perhaps with columns of their paths and of themselves.

    With a `decoder` the format gives lines, which it makes rows of.
    """

    path: str
    format: FileFormat
    caching: LookupCaching
    interval: timedelta | None = None
    decoder: Any = None
    pattern: str = ""
    looks_up = True
    searches = True
    read_in_spark = True

    @property
    def bounded(self) -> bool:
        return self.interval is None

    def _files(self) -> FileSourceBuilder:
        if isinstance(self.format, BulkFormat):
            return FileSource.for_bulk_file_format(self.format, self.path)
        assert isinstance(self.format, StreamFormat)
        return FileSource.for_record_stream_format(self.format, self.path)

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        builder = self._files()
        if self.interval is not None:
            builder.monitor_continuously(self.interval)
        no_watermarks = WatermarkStrategy.no_watermarks()
        source = replace(builder.build(), pattern=self.pattern)
        stream = env.from_source(source, no_watermarks, "Source: filesystem")
        if self.decoder is None:
            return stream
        return with_operator(stream, "Decode", DecodeSpec(self.decoder))

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        return replace(self, decoder=narrowed(self.decoder, columns))

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        return self.caching.of_all(self.whole_table(configuration), columns, limits)

    def whole_table(self, configuration: Configuration) -> WholeTable:
        files = replace(self._files().build(), pattern=self.pattern)
        source = files.for_configuration(configuration)
        rows = SourceRows(source, list if self.decoder is None else self.decoder.decode)
        return self.caching.whole(rows)


@dataclass
class _FilesOfChanges(_FileTable):
    """Files of a changelog: which rows there are is known only when all of it was read."""

    append_only = False
    looks_up = False
    searches = False
    read_in_spark = False


@dataclass
class _ParquetTable(_FileTable):
    """Parquet files whose columns are those of the table; what it adds is given by keyword."""

    schema: Schema = field(kw_only=True)
    utc: bool = field(kw_only=True)

    def spark_scan(self, columns: Sequence[int]) -> ParquetFiles | None:
        return parquet_scan(self.path, self.schema, columns, self.utc)


@dataclass
class _SinkSettings:
    path: str
    buckets: BucketAssigner
    rolling: RollingPolicy
    check_ms: int
    overwrite: bool
    partitions: PartitionCommitSettings
    compaction: tuple[FileCompactStrategy, FileCompactor] | None
    by_partition: tuple[int, ...]


@dataclass
class _FileTableSink(TableSink):
    settings: _SinkSettings
    layout: FileLayout
    encoder: Any
    writers: BulkWriterFactory | None
    takes_columns: bool = False
    overwrites = True
    compression: str = "SNAPPY"
    parallelism: int | None = None
    truncates = True

    def __post_init__(self) -> None:
        self.accepts_updates = self.encoder is not None and self.encoder.changes

    @property
    def needs_watermarks(self) -> bool:
        partitions = self.settings.partitions
        return partitions.by_watermark and bool(partitions.policies)

    def truncate(self) -> None:
        clear(self.settings.path)

    def attach_columns(self, stream: DataStream[Any], schema: Schema) -> Any:
        wanted = "NONE" if self.compression == "UNCOMPRESSED" else self.compression
        writers = ParquetColumns(self.layout.data_type, wanted)
        return self._sink(stream, FileSink.for_bulk_format(self.settings.path, writers))

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        settings = self.settings
        rows = stream
        if settings.by_partition:
            rows = by_columns(stream, settings.by_partition)
        builder: Any
        if self.writers is not None:
            builder = FileSink.for_bulk_format(settings.path, self.writers)
        elif self.layout.partitions:
            kind = (-1,) if changelog and self.encoder.changes else ()
            lines = RowEncoder(self.encoder, (*self.layout.data, *kind))
            builder = FileSink.for_row_format(settings.path, lines)
        else:
            rows = with_operator(stream, "Encode", EncodeSpec(self.encoder))
            builder = FileSink.for_row_format(settings.path, TextEncoder.simple_string_encoder())
        if self.writers is None:
            builder.with_rolling_policy(settings.rolling)
        return self._sink(rows, builder)

    def _sink(self, rows: DataStream[Any], builder: Any) -> Any:
        settings = self.settings
        builder.with_bucket_assigner(settings.buckets)
        builder.with_bucket_check_interval(settings.check_ms)
        if settings.compaction is not None:
            builder.enable_compact(*settings.compaction)
        sink = builder.build()
        if settings.partitions.policies:
            parts = {f.name: getattr(sink, f.name) for f in fields(sink)}
            sink = PartitionedFileSink(**parts, partitions=settings.partitions)
        if settings.overwrite:
            sink = OverwritingSink(sink, bool(self.layout.partitions))
        return rows.sink_to(sink).name("Sink: filesystem")
