"""Writes rows into directories by the values of partition columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, BinaryIO

from headrace.common.serialization import BulkWriter, BulkWriterFactory, LinesEncoder
from headrace.datastream.connectors.file_system import BucketAssigner
from headrace.sql.operators.coding import as_line
from headrace.sql.types import DataType
from headrace.sql.types.text import sql_text

__all__ = ["DataWriters", "PartitionBuckets", "RowEncoder"]

# What may not stand in a directory's name as it is: what Hive, and so Flink and Spark, escape.
_SPECIAL = re.compile("[\x01-\x1f\x7f\"#%'*/:=?\\\\{}\\[\\]^]")
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class PartitionBuckets(BucketAssigner):
    """`key=value/...` of the partition columns."""

    columns: tuple[int, ...]
    names: tuple[str, ...]
    types: tuple[DataType, ...]
    default_name: str
    known: dict[Any, str] = field(default_factory=dict, init=False, compare=False, repr=False)

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        """The directory of a row."""
        return self.buckets_of([element])[0]

    def buckets_of(self, elements: Sequence[Any]) -> list[str]:
        """The directories of rows."""
        keys = _picked(elements, self.columns)
        new = set(keys).difference(self.known)
        if new:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
                new = set(keys)
            self.known.update({key: self._directory(key) for key in new})
        return list(map(self.known.__getitem__, keys))

    def _directory(self, values: tuple[Any, ...]) -> str:
        parts = []
        for value, name, type_ in zip(values, self.names, self.types, strict=True):
            text = "" if value is None else sql_text(type_)(value)
            parts.append(f"{_escaped(name)}={_escaped(text or self.default_name)}")
        return "/".join(parts)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text)


@dataclass(frozen=True)
class RowEncoder(LinesEncoder):
    """A line for each row, without its partition columns."""

    encoder: Any
    columns: tuple[int, ...]

    def encode_all(self, elements: list[Any]) -> bytes:
        """The lines of some rows."""
        lines = self.encoder.encode(_picked(elements, self.columns))
        return "".join([as_line(line) + "\n" for line in lines]).encode()


def _picked(rows: Sequence[Any], columns: Sequence[int]) -> list[tuple[Any, ...]]:
    """Some columns of rows."""
    if not columns:
        return [()] * len(rows)
    return list(zip(*(map(itemgetter(c), rows) for c in columns), strict=True))


@dataclass(frozen=True)
class DataWriters(BulkWriterFactory):
    """Writers of a bulk format that see rows without their partition columns.

    Attributes:
        factory: The format's.
        convert: Makes the format's records of rows.
    """

    factory: BulkWriterFactory
    convert: Any

    def create(self, stream: BinaryIO) -> BulkWriter:
        """Makes the writer of one file."""
        return _DataWriter(self.factory.create(stream), self.convert)


class _DataWriter(BulkWriter):
    def __init__(self, writer: BulkWriter, convert: Any) -> None:
        self._writer = writer
        self._convert = convert

    def add_element(self, element: Any) -> None:
        self._writer.add_element(self._convert(element))

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._writer.add_elements([self._convert(e) for e in elements])

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.finish()
