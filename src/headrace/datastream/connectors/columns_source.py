"""Reads columns of Parquet files with Arrow, in the slots; rows are made of them only if needed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.spark_query import ParquetFiles
from headrace.datastream.connectors.spark_query_source import TableEnumerator
from headrace.datastream.formats.columnar import group_range

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnsSource"]

_BATCH_ROWS = 50_000


@dataclass(frozen=True)
class ColumnsSource(Source):
    """Reads columns of files.

    Attributes:
        table: The files. They are cut as Spark would cut them.
        names: Which columns are read; one that a file does not have is left out.
        convert: Makes batches of those of a split.
        records: Makes records of such a batch; without it they remain columns.
        modules: What `convert` imports.
    """

    table: ParquetFiles
    names: tuple[str, ...]
    convert: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    records: Callable[[Any], list[Any]] | None = None
    modules: tuple[str, ...] = ()

    @property
    def bounded(self) -> bool:
        return True

    @property
    def reads_whole_splits(self) -> bool:
        return True

    @property
    def imports(self) -> tuple[str, ...]:
        return (*super().imports, "pyarrow.parquet", *self.modules)

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return TableEnumerator(self.table, parallelism, _Pieces)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _ColumnsReader(self, f"columns-{context.subtask}")


class _Pieces:
    """The partitions of files: pieces of so many bytes, in the order of the files."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        step = int(inputs["bytes"])
        self._pieces = [
            FileSplit(f"{file}:{start}", file, start, start + step)
            for file in inputs["files"]
            for start in range(0, os.path.getsize(file), step)
        ]

    @property
    def partitions(self) -> int:
        return len(self._pieces)

    def split(self, number: int) -> FileSplit:
        return self._pieces[number]


class _ColumnsReader(SourceReader):
    def __init__(self, source: ColumnsSource, split_id: str) -> None:
        self._source = source
        self._split_id = split_id
        self._splits: deque[FileSplit] = deque()
        self._batches: Iterator[pa.RecordBatch] = iter(())

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._splits.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while (batch := next(self._batches, None)) is None:
            if not self._splits:
                return None
            self._batches = self._read(self._splits.popleft())
        records = self._source.records
        if records is None:
            return ReadBatch(self._split_id, [batch], columns=True)
        return ReadBatch(self._split_id, records(batch))

    def _read(self, split: FileSplit) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(split.path, memory_map=True) as file:
                there = file.schema_arrow.names
                # Rows are counted by some column.
                names = [name for name in self._source.names if name in there] or there[:1]
                yield from self._source.convert(
                    file.iter_batches(
                        _BATCH_ROWS,
                        row_groups=group_range(_middles(file.metadata), split),
                        columns=names,
                        # The slots of a machine share its processors as they are.
                        use_threads=False,
                    )
                )
        except pa.ArrowException as error:
            raise HeadraceError(f"{split.path} cannot be read: {error}") from error

    def snapshot(self) -> list[Any]:
        """Nothing: what was given out for an epoch was read in it."""
        return []

    @property
    def exhausted(self) -> bool:
        return True


def _middles(metadata: Any) -> list[int]:
    """The byte in the middle of each group of rows, by which Spark says where it belongs."""
    return [_middle(metadata.row_group(i)) for i in range(metadata.num_row_groups)]


def _middle(group: Any) -> int:
    columns = [group.column(i) for i in range(group.num_columns)]
    first = columns[0]
    starts = (first.dictionary_page_offset or first.data_page_offset, first.data_page_offset)
    return int(min(starts) + sum(c.total_compressed_size for c in columns) // 2)
