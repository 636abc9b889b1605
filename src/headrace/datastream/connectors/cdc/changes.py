"""Changes of tables, and how far a reader of them is.

A reader first reads the rows that are there, in *chunks* of a key, and then the database's log.
Each chunk is read in a transaction of its own, and a *mark* remembers what that transaction saw: a
change in the log is left out if the chunk of its row has it already. So nothing is missing and
nothing comes twice, without a lock and without one long transaction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

__all__ = [
    "CapturedTable",
    "Change",
    "ChangeRecord",
    "Chunk",
    "Deserializer",
    "Mark",
    "Progress",
    "SnapshotMarks",
    "change_records",
]

Values = tuple[Any, ...]


@dataclass(frozen=True)
class CapturedTable:
    """A table whose changes are read.

    Attributes:
        database: Its database.
        schema: Its schema.
        name: Its name.
        number: The database's own number of it.
        columns: The columns that are read, in order.
        types: Their types, as the database numbers or names them.
        chunk_key: The column that chunks are ranges of; None if the table is one chunk.
    """

    database: str
    schema: str
    name: str
    number: int
    columns: tuple[str, ...]
    types: tuple[Any, ...]
    chunk_key: int | None = None

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


class Change(NamedTuple):
    """One row that was there (`r`), came (`c`), changed (`u`) or went (`d`).

    Values are objects of the database's driver, in the order of the table's columns.
    """

    op: str
    table: CapturedTable
    before: Values | None
    after: Values | None
    timestamp_ms: int = 0
    transaction: Any = None


@dataclass(frozen=True)
class ChangeRecord:
    """One row that was there (`r`), came (`c`), changed (`u`) or went (`d`).

    Attributes:
        op: One of these letters.
        before: The row before, by column; None for `r` and `c`.
        after: The row after, by column; None for `d`.
        database: Where it is.
        schema: Where it is.
        table: Where it is.
        timestamp_ms: When the change was committed, in milliseconds since 1970; 0 for `r`.
    """

    op: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    database: str
    schema: str
    table: str
    timestamp_ms: int


Deserializer = Callable[[Change], Iterable[Any]]
"""Makes the records of a change. Picklable.

If it has a method `of_many`, that gets a list of changes instead.
"""


def change_records(change: Change) -> list[ChangeRecord]:
    """A `ChangeRecord` for each change."""
    table = change.table

    def by_column(values: Values | None) -> dict[str, Any] | None:
        return None if values is None else dict(zip(table.columns, values, strict=True))

    before, after = by_column(change.before), by_column(change.after)
    place = (table.database, table.schema, table.name)
    return [ChangeRecord(change.op, before, after, *place, change.timestamp_ms)]


class Mark(Protocol):
    """What the transaction that read a chunk saw."""

    def contains(self, transaction: Any) -> bool:
        """Whether it saw what a transaction in the log did."""

    def is_before(self, position: Any) -> bool:
        """Whether all that follows a position in the log is newer."""


@dataclass(frozen=True)
class Chunk:
    """Rows of a table whose key is at least `low` and less than `high`, where these are given.

    Rows without a key belong to the first chunk.
    """

    table: CapturedTable
    low: Any = None
    high: Any = None

    @staticmethod
    def of_bounds(table: CapturedTable, bounds: Iterable[Any]) -> list[Chunk]:
        """All chunks of a table, cut at these keys."""
        cuts = [None, *bounds, None]
        return [Chunk(table, low, high) for low, high in pairwise(cuts)]


@dataclass(frozen=True)
class Progress:
    """How far the reader is: the one split of a source of changes. Picklable.

    Attributes:
        chunks: Those that are not read yet.
        left: Changes of the last chunk that were not handed out yet.
        marks: Chunks that were read, with what they saw; until the log is past all of them.
        position: Where the log goes on.
    """

    tables: tuple[CapturedTable, ...]
    chunks: tuple[Chunk, ...] = ()
    left: tuple[Change, ...] = ()
    marks: tuple[tuple[Chunk, Mark], ...] = ()
    position: Any = None

    split_id: str = "changes"


@dataclass
class SnapshotMarks:
    """Finds the mark of the chunk that a row belongs to."""

    marks: Iterable[tuple[Chunk, Mark]]
    _by_table: dict[int, tuple[list[Any], list[Mark]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for chunk, mark in self.marks:
            # The chunks of a table were read in the order of their keys.
            lows, marks = self._by_table.setdefault(chunk.table.number, ([], []))
            marks.append(mark)
            if len(marks) > 1:
                lows.append(chunk.low)

    def has(self, table: CapturedTable, row: Values | None, transaction: Any) -> bool:
        """Whether what a transaction did to a row was read with its chunk."""
        found = self._by_table.get(table.number)
        if found is None or row is None:
            return False
        lows, marks = found
        key = None if table.chunk_key is None else row[table.chunk_key]
        return marks[0 if key is None else bisect_right(lows, key)].contains(transaction)

    def reduced(self, change: Change) -> Change | None:
        """What of a change is new; an update may have moved a row from one chunk to another."""
        table, transaction = change.table, change.transaction
        before = None if self.has(table, change.before, transaction) else change.before
        after = None if self.has(table, change.after, transaction) else change.after
        if before is change.before and after is change.after:
            return change
        if before is None and after is None:
            return None
        op = "d" if after is None else "c"
        return Change(op, table, before, after, change.timestamp_ms, transaction)
