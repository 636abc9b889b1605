"""Files as source and sink.

`FileSource` reads text, and with the formats of `headrace.datastream.formats` JSON lines, CSV,
Avro, Parquet and ORC. `FileSink` writes records one by one (`for_row_format`) or in one of those
formats (`for_bulk_format`).

Example:
    >>> lines = FileSource.for_record_stream_format(
    ...     StreamFormat.text_line_format(), "/data/in"
    ... ).build()
    >>> sink = FileSink.for_row_format("/data/out", Encoder.simple_string_encoder()).build()
    >>> stream = env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines")
    >>> stream.sink_to(sink)
"""

from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.compaction import (
    FileCompactor,
    FileCompactStrategy,
)
from headrace.datastream.connectors.file_system.enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from headrace.datastream.connectors.file_system.file_sink import FileSink, StreamingFileSink
from headrace.datastream.connectors.file_system.file_source import FileSource, FileSourceBuilder
from headrace.datastream.connectors.file_system.formats import (
    BulkFormat,
    FileFormat,
    SplitRecords,
    StreamFormat,
)
from headrace.datastream.connectors.file_system.output_file import OutputFileConfig
from headrace.datastream.connectors.file_system.rolling import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    PartFileInfo,
    RollingPolicy,
)

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "CheckpointRollingPolicy",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileFormat",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
    "SplitRecords",
    "StreamFormat",
    "StreamingFileSink",
]
