"""Puts small files of formats with a head or a foot together into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from headrace.datastream.formats.parquet import parquet_writer
from headrace.formats.avro import fastavro

__all__ = ["avro", "orc", "parquet"]


def parquet(files: Sequence[str], target: BinaryIO) -> None:
    """Groups of rows of all files, each as it is."""
    import pyarrow.parquet as pq

    writer: Any = None
    for path in files:
        with pq.ParquetFile(path) as file:
            if writer is None:
                writer = parquet_writer(target, file.schema_arrow, "SNAPPY")
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group))
    writer.close()


def avro(files: Sequence[str], target: BinaryIO) -> None:
    """Records of all files, with the schema and the codec of the first."""
    library = fastavro()
    with open(files[0], "rb") as first:
        head = library.reader(first)

    def records() -> Iterator[Any]:
        for path in files:
            with open(path, "rb") as file:
                yield from library.reader(file)

    library.writer(target, head.writer_schema, records(), codec=head.codec)


def orc(files: Sequence[str], target: BinaryIO) -> None:
    """Stripes of all files."""
    import pyarrow as pa
    from pyarrow.orc import ORCFile, ORCWriter

    with ORCWriter(target) as writer:
        for path in files:
            file = ORCFile(path)
            for stripe in range(file.nstripes):
                writer.write(pa.Table.from_batches([file.read_stripe(stripe)]))
