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

from headrace.datastream.connectors.file_system.enumeration import files_under

__all__ = [
    "ArrowRows",
    "GroupBy",
    "ParquetFiles",
    "PythonStep",
    "Relation",
    "RowNumbers",
    "SparkQuery",
]

_MIB = 1 << 20
_FIRST_BYTES = 64 * _MIB
_FIRST_ROWS = 4_000_000
_ROWS = 1_000_000


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


@dataclass(frozen=True)
class PythonStep:
    """A query whose rows a function in Python makes new ones of, in Arrow batches.

    Attributes:
        text: The query.
        function: Makes batches of batches.
        columns: Names and types of what comes out, as Spark's DDL writes them.
    """

    text: str
    function: Callable[[Iterator[Any]], Iterator[Any]]
    columns: tuple[tuple[str, str], ...]


Part = ParquetFiles | RowNumbers | ArrowRows | PythonStep | str
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
    def tables(self) -> dict[str, ParquetFiles | RowNumbers]:
        """What is read, by name."""
        return {name: x for name, x in self.parts if isinstance(x, ParquetFiles | RowNumbers)}


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
