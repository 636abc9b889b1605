"""A query over a table that Spark runs inside of epochs, described by texts of Spark's SQL.

It is what the Table API makes of the parts of its plans that Spark's JVM runs. The table is cut
into partitions once; each epoch runs the query on some of them, and a checkpoint knows which ones
were given out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.file_system.enumeration import (
    FileSplit,
    files_under,
)
from headrace.datastream.connectors.read_alone import all_splits

__all__ = [
    "UNSCALED",
    "ArrowRows",
    "GroupBy",
    "ParquetFiles",
    "PythonStep",
    "Relation",
    "RowNumbers",
    "SourceSplits",
    "SparkQuery",
    "SparkTable",
    "TaskPlace",
]

UNSCALED = "headrace_unscaled"
"""A function in texts: the digits of a decimal of up to 18 of them, as a BIGINT."""

_MIB = 1 << 20
_FIRST_BYTES = 64 * _MIB
_FIRST_ROWS = 4_000_000
_ROWS = 1_000_000
_MOST_TASKS = 8
_MANY_ROWS = 10_000


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files.

    Attributes:
        path: A file or a directory.
        columns: Names and types of columns in the files, as Spark's DDL writes them.
        texts: Names and texts of the columns that the query starts with.
    """

    path: str
    columns: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]

    def probe(self) -> str:
        """Look whether there are files: see `Source.probe`."""
        return f"{len(list(files_under(os.path.abspath(self.path))))} files at {self.path}"

    def cut(self, parallelism: int) -> dict[str, Any]:
        """What is read: files, and how many bytes of them make a partition."""
        files = list(files_under(os.path.abspath(self.path)))
        size = sum(map(os.path.getsize, files))
        # Enough partitions that all subtasks have something to do.
        each = -(-size // (4 * parallelism * _MIB))
        return {"files": files, "bytes": max(1, min(16, each)) * _MIB}

    def first_parts(self, inputs: dict[str, Any]) -> int:
        """How many partitions a subtask gets in the first epoch."""
        return max(1, _FIRST_BYTES // int(inputs["bytes"]))


@dataclass(frozen=True)
class RowNumbers:
    """Rows that are made of their number, the column `id`.

    Attributes:
        count: How many there are.
        texts: Names and texts of the columns that the query starts with.
    """

    count: int
    texts: tuple[tuple[str, str], ...]

    def probe(self) -> str:
        """There is nothing to reach."""
        return ""

    def cut(self, parallelism: int) -> dict[str, Any]:
        """What is read: how many partitions there are, as many for each subtask."""
        rounds = max(1, -(-self.count // (_ROWS * parallelism)))
        return {"partitions": rounds * parallelism, "rows": self.count}

    def first_parts(self, inputs: dict[str, Any]) -> int:
        """How many partitions a subtask gets in the first epoch."""
        return max(1, _FIRST_ROWS * int(inputs["partitions"]) // max(1, int(inputs["rows"])))


@dataclass(frozen=True)
class ArrowRows:
    """Rows that a program has, as an Arrow stream."""

    data: bytes = field(repr=False)
    count: int = 0


@dataclass(frozen=True)
class TaskPlace:
    """Where a function in Python runs.

    Attributes:
        number: The number of the partition.
        parallelism: How many subtasks the source of the query has.
        attempt: How often the task was started before.
    """

    number: int
    parallelism: int
    attempt: int


@dataclass(frozen=True)
class PythonStep:
    """A query whose rows a function in Python makes new ones of, in Arrow batches.

    Attributes:
        text: The query.
        function: Makes batches of batches.
        columns: Names and types of what comes out, as Spark's DDL writes them.
        computed: The expressions that the function computes, for EXPLAIN.
    """

    text: str
    function: Callable[[Iterator[Any], TaskPlace], Iterator[Any]]
    columns: tuple[tuple[str, str], ...]
    computed: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceSplits:
    """A bounded source whose splits are read by headrace's reader, in tasks of Spark.

    Attributes:
        source: The source.
        function: Makes Arrow batches of splits.
        columns: Names and types of what comes out, as Spark's DDL writes them.
        texts: Names and texts of the columns that the query starts with.
        size: About how many bytes there are, if statistics of the table say so.
    """

    source: Source
    function: Callable[[list[Any], TaskPlace], Iterator[Any]]
    columns: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]
    size: int | None = None

    def probe(self) -> str:
        """As the source: see `Source.probe`."""
        return self.source.probe()

    def cut(self, parallelism: int) -> dict[str, Any]:
        """What is read: the splits of each task, and their size in bytes if that is known."""
        splits = all_splits(self.source, parallelism)
        tasks = max(1, min(len(splits), _MOST_TASKS * parallelism))
        return {"splits": [splits[i::tasks] for i in range(tasks)], "size": self._bytes(splits)}

    def _bytes(self, splits: list[Any]) -> int | None:
        return self.size if self.size is not None else _size(splits)


@dataclass(frozen=True)
class SparkTable:
    """A table that Spark knows by name.

    Attributes:
        name: Its name.
        texts: Names and texts of the columns that the query starts with.
        options: Of Spark's reader.
    """

    name: str
    texts: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...] = ()

    def probe(self) -> str:
        """Spark has said what columns it has while the query was planned."""
        return f"table {self.name} of Spark's catalog"

    def cut(self, parallelism: int) -> dict[str, Any]:
        """Nothing: Spark knows what is there."""
        return {}


Part = ParquetFiles | RowNumbers | SourceSplits | SparkTable | ArrowRows | PythonStep | str
"""A table that is read, or a query."""


@dataclass(frozen=True)
class Relation:
    """A whole plan over some tables, where the input ends.

    Attributes:
        parts: Names with tables, or with queries over the names before them; the last one is what
            is read.
        ordered: Whether its rows have an order, and so only one subtask may read them.
    """

    parts: tuple[tuple[str, Part], ...]
    ordered: bool

    def cut(self, parallelism: int) -> dict[str, Any]:
        """What is read of each table."""
        return {name: table.cut(parallelism) for name, table in self.tables.items()}

    @property
    def reads_much(self) -> bool:
        """Whether it reads a table, or more rows of the program than are computed sooner here."""
        rows = sum(x.count for _, x in self.parts if isinstance(x, ArrowRows))
        return bool(self.tables) or rows >= _MANY_ROWS

    @property
    def tables(self) -> dict[str, ParquetFiles | RowNumbers | SourceSplits | SparkTable]:
        """What is read, by name."""
        kinds = ParquetFiles | RowNumbers | SourceSplits | SparkTable
        return {name: x for name, x in self.parts if isinstance(x, kinds)}


@dataclass(frozen=True)
class GroupBy:
    """An aggregation of each partition by itself.

    Attributes:
        keys: Texts of what is grouped by.
        aggregates: Texts of aggregates.
    """

    keys: tuple[str, ...]
    aggregates: tuple[str, ...]


@dataclass(frozen=True)
class SparkQuery:
    """What is read and what is done with it.

    Attributes:
        table: What is read.
        steps: A condition, or names and texts of new columns, in order.
        outputs: Texts of the columns that come out, without an aggregation.
        types: Types of what comes out, in Spark's SQL.
        group_by: The aggregation at the end, if there is one.
    """

    table: ParquetFiles | RowNumbers | Relation
    steps: tuple[str | tuple[tuple[str, str], ...], ...]
    outputs: tuple[str, ...]
    types: tuple[str, ...]
    group_by: GroupBy | None = None


def _size(splits: list[Any]) -> int | None:
    """Bytes of pieces of files."""
    size = 0
    for split in splits:
        found = split.size if isinstance(split, FileSplit) else None
        if found is None:
            return None
        size += found
    return size
