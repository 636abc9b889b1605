"""Files as a sink."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import BulkWriterFactory, Encoder, SimpleStringEncoder
from headrace.common.time import to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.compacting_writer import (
    CompactingWriter,
    waits_for_compaction,
)
from headrace.datastream.connectors.file_system.compaction import (
    FileCompactor,
    FileCompactStrategy,
)
from headrace.datastream.connectors.file_system.enumeration import (
    file_path,
    is_remote,
    writable,
)
from headrace.datastream.connectors.file_system.file_writer import (
    FileCommitter,
    FileWriter,
    FileWriterSettings,
)
from headrace.datastream.connectors.file_system.output_file import OutputFileConfig
from headrace.datastream.connectors.file_system.rolling import (
    CheckpointRollingPolicy,
    RollingPolicy,
)
from headrace.formats.text import formatter

__all__ = ["FileSink", "StreamingFileSink"]

B = TypeVar("B", bound="_Builder")


class _Builder:
    def __init__(self, settings: FileWriterSettings, sink: type[FileSink]) -> None:
        self._settings = settings
        self._sink = sink
        self._compaction: tuple[FileCompactStrategy, FileCompactor] | None = None

    def with_bucket_check_interval(self: B, interval: int) -> B:
        """Look every so many milliseconds whether files are to be rolled by time."""
        interval_ms = to_millis(interval)
        if interval_ms <= 0:
            raise GraphError(f"the bucket check interval must be positive, not {interval!r}")
        self._settings = replace(self._settings, check_interval_ms=interval_ms)
        return self

    def with_bucket_assigner(self: B, bucket_assigner: BucketAssigner) -> B:
        """Say which directory records go to; by hour of processing time at first."""
        if not isinstance(bucket_assigner, BucketAssigner):
            raise FunctionTypeError(f"a BucketAssigner is needed, not {bucket_assigner!r}")
        self._settings = replace(self._settings, bucket_assigner=bucket_assigner)
        return self

    def with_output_file_config(self: B, output_file_config: OutputFileConfig) -> B:
        """Say how files are named."""
        if not isinstance(output_file_config, OutputFileConfig):
            raise FunctionTypeError(f"an OutputFileConfig is needed, not {output_file_config!r}")
        self._settings = replace(self._settings, output_file=output_file_config)
        return self

    def _set_rolling_policy(self, policy: RollingPolicy) -> None:
        bulk = isinstance(self._settings.encoder, BulkWriterFactory)
        if bulk and not isinstance(policy, CheckpointRollingPolicy):
            raise GraphError(
                "rolling_policy must be OnCheckpointRollingPolicy for bulk format, such as "
                "RollingPolicy.on_checkpoint_rolling_policy(): its files cannot be continued after "
                "a checkpoint"
            )
        if not isinstance(policy, RollingPolicy):
            raise FunctionTypeError(f"a RollingPolicy is needed, not {policy!r}")
        self._settings = replace(self._settings, rolling_policy=policy)


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes records into files below a directory.

    Make one with `for_row_format` for records that are written one by one, or `for_bulk_format`
    for Parquet, ORC, Avro and CSV.

    Each subtask writes files of its own: `<bucket>/part-<id>-<n>`. A file that is being written is
    hidden. When the rolling policy says so or the input has ended it is complete, and it gets its
    final name with the next checkpoint; in a job without checkpoints, at the end of the epoch.

    Example:
        >>> sink = (
        ...     FileSink.for_row_format("/data/out", Encoder.simple_string_encoder())
        ...     .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        ...     .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1024**2))
        ...     .build()
        ... )
    """

    settings: FileWriterSettings
    type_info: TypeInformation | None = None
    compaction: tuple[FileCompactStrategy, FileCompactor] | None = None

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """A builder of a sink that writes records one by one."""
        return FileSink.RowFormatBuilder(_settings(base_path, encoder), FileSink)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> FileSink.BulkFormatBuilder:
        """A builder of a sink in a bulk format, such as `ParquetBulkWriters.for_row_type(...)`.

        Files are finished at each checkpoint, and at the end.
        """
        return FileSink.BulkFormatBuilder(_bulk_settings(base_path, writer_factory), FileSink)

    def get_transformer(self) -> None:
        """Nothing: records need no change before they are written."""
        return None

    def for_configuration(self, configuration: Configuration) -> Sink:
        """With what the job says about file systems other than the machine's own."""
        if not is_remote(self.settings.base_path):
            return self
        from headrace.runtime.storage import Storages

        storages = Storages.from_configuration(configuration)
        return replace(self, settings=replace(self.settings, storages=storages))

    def for_type(self, type_info: TypeInformation | None) -> Sink:
        """Lines of a declared type are written as Flink writes them, others with `str`."""
        return replace(self, type_info=type_info)

    def probe(self) -> str:
        path = self.settings.base_path
        return path if is_remote(path) else f"files at {writable(path)}"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Called in each subtask."""
        settings, encoder = self.settings, self.settings.encoder
        if self.type_info is not None and type(encoder) is SimpleStringEncoder:
            typed = replace(encoder, to_text=formatter(self.type_info))
            settings = replace(settings, encoder=typed)
        compaction = self.compaction
        if compaction is None:
            if not waits_for_compaction(context.restored_state):
                return FileWriter(settings, context)
            # Compaction was disabled: what waited for it comes out as it is.
            compaction = FileCompactStrategy(0), FileCompactor.identical_file_compactor()
        return CompactingWriter(settings, *compaction, context)

    def create_committer(self, context: WriterContext) -> Committer:
        """Called in each subtask."""
        return FileCommitter(self.settings.storages)

    class BaseBuilder(_Builder):
        """What the builders of all formats have."""

        def with_rolling_policy(self: B, rolling_policy: RollingPolicy) -> B:
            """Say when a file is finished and the next one begins."""
            self._set_rolling_policy(rolling_policy)
            return self

        def enable_compact(self: B, strategy: FileCompactStrategy, compactor: FileCompactor) -> B:
            """Put files together before they are seen: fewer and larger ones, but later."""
            if not isinstance(strategy, FileCompactStrategy):
                raise FunctionTypeError(f"a FileCompactStrategy is needed, not {strategy!r}")
            if not isinstance(compactor, FileCompactor):
                raise FunctionTypeError(f"a FileCompactor is needed, not {compactor!r}")
            if is_remote(self._settings.base_path):
                raise GraphError(
                    "files in an object store cannot be merged; a longer checkpoint interval "
                    "gives fewer files"
                )
            encoder = self._settings.encoder
            bulk = isinstance(encoder, BulkWriterFactory) and not encoder.concatenable
            if bulk and compactor.kind == "concat":
                raise GraphError(
                    "files of this format cannot be merged by concatenation; a longer checkpoint "
                    "interval gives fewer files"
                )
            self._compaction = strategy, compactor
            return self

        def disable_compact(self: B) -> B:
            """Put no files together, as at first; those that wait in a savepoint come out."""
            self._compaction = None
            return self

        def build(self) -> FileSink:
            """The sink."""
            return self._sink(self._settings, compaction=self._compaction)

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink that writes records one by one."""

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink in a bulk format."""


class StreamingFileSink(FileSink):
    """The older name of `FileSink`, for `add_sink`."""

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> Any:
        """A builder of a sink that writes records one by one."""
        settings = _settings(base_path, encoder)
        return StreamingFileSink.DefaultRowFormatBuilder(settings, StreamingFileSink)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> Any:
        """A builder of a sink in a bulk format."""
        settings = _bulk_settings(base_path, writer_factory)
        return StreamingFileSink.DefaultBulkFormatBuilder(settings, StreamingFileSink)

    class BaseBuilder(_Builder):
        """What the builders of all formats have."""

        def with_rolling_policy(self: B, policy: RollingPolicy) -> B:
            """Say when a file is finished and the next one begins."""
            self._set_rolling_policy(policy)
            return self

        def build(self) -> FileSink:
            """The sink."""
            return self._sink(self._settings)

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a sink that writes records one by one."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a sink in a bulk format."""


def _bulk_settings(base_path: str, writer_factory: Any) -> FileWriterSettings:
    if not isinstance(writer_factory, BulkWriterFactory):
        raise FunctionTypeError(
            "for_bulk_format takes a BulkWriterFactory, such as "
            f"ParquetBulkWriters.for_row_type(row_type), not {writer_factory!r}"
        )
    return _defaults(base_path, writer_factory, RollingPolicy.on_checkpoint_rolling_policy())


def _settings(base_path: str, encoder: Encoder) -> FileWriterSettings:
    if not isinstance(encoder, Encoder):
        raise FunctionTypeError(
            "for_row_format takes an Encoder, such as Encoder.simple_string_encoder(), not "
            f"{encoder!r}"
        )
    return _defaults(base_path, encoder, RollingPolicy.default_rolling_policy())


def _defaults(base_path: str, writes: Any, policy: RollingPolicy) -> FileWriterSettings:
    return FileWriterSettings(
        file_path(base_path),
        writes,
        BucketAssigner.date_time_bucket_assigner(),
        policy,
        OutputFileConfig.builder().build(),
        60_000,
    )
