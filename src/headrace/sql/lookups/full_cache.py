"""A table that is small enough to be read as a whole, and again from time to time."""

from __future__ import annotations

import datetime
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.read_alone import all_splits, read_splits
from headrace.runtime.operator import Operator
from headrace.sql.lookups.tables import Found, Key, LookupTable, Row, by_key

__all__ = ["AllRows", "FullTable", "Kept", "MemoryRows", "Reload", "SourceRows", "WholeTable"]

_log = logging.getLogger(__name__)
_DAY_MS = 86_400_000

T = TypeVar("T")


class AllRows(ABC):
    """Where all rows of a table come from. Picklable."""

    @abstractmethod
    def read(self) -> Iterable[Row]:
        """The rows as they are now, in internal form."""

    def probe(self) -> str:
        """Look whether they can be reached from here: see `Source.probe`."""
        return ""


@dataclass(frozen=True)
class MemoryRows(AllRows):
    """Rows that the program has."""

    rows: tuple[Row, ...]

    def read(self) -> Iterable[Row]:
        return self.rows


@dataclass(frozen=True)
class SourceRows(AllRows):
    """Reads a bounded source to its end, inside of the subtask.

    Attributes:
        source: The source.
        convert: Makes internal rows of its records.
    """

    source: Source
    convert: Callable[[list[Any]], list[Row]] = field(default=list)

    def read(self) -> Iterable[Row]:
        for batch in read_splits(self.source, all_splits(self.source)):
            yield from self.convert(batch.values)

    def probe(self) -> str:
        return self.source.probe()


@dataclass(frozen=True)
class Reload:
    """When a table is read again: every so often, or at a time of some days.

    Attributes:
        interval_ms: How long its rows are believed; None for ever.
        fixed_rate: Whether that counts from when reading was due, rather than from its end.
        at: The time of day, in UTC unless it says otherwise.
        days: Every how many days, at that time.
    """

    interval_ms: int | None = None
    fixed_rate: bool = False
    at: datetime.time | None = None
    days: int = 1

    def next_after(self, due_ms: int, now_ms: int) -> int | None:
        """When it is to be read after it was due and now has been."""
        if self.at is not None:
            return self._next_time(now_ms)
        if self.interval_ms is None:
            return None
        if not self.fixed_rate:
            return now_ms + self.interval_ms
        return due_ms + ((now_ms - due_ms) // self.interval_ms + 1) * self.interval_ms

    def _next_time(self, now_ms: int) -> int:
        assert self.at is not None
        zone = self.at.tzinfo or datetime.UTC
        now = datetime.datetime.fromtimestamp(now_ms / 1000, zone)
        due = datetime.datetime.combine(now.date(), self.at, zone)
        if due <= now:
            due += datetime.timedelta(days=self.days)
        return int(due.timestamp() * 1000)


@dataclass(frozen=True)
class WholeTable:
    """A table that is read as a whole.

    Attributes:
        rows: Where its rows come from.
        reload: When they are read again.
        name: The table's name, for messages.
    """

    rows: AllRows
    reload: Reload = field(default_factory=Reload)
    name: str = ""


class Kept(Generic[T]):
    """What a subtask makes of all rows of a table, and rebuilds between two batches."""

    def __init__(self, table: WholeTable, make: Callable[[Iterable[Row]], T]) -> None:
        self._table = table
        self._make = make

    def open(self, operator: Operator) -> None:
        """Read the table."""
        self._clock = operator.context.clock
        self._made = self._make(self._table.rows.read())
        now = self._clock()
        self._due_ms = self._table.reload.next_after(now, now)

    def current(self) -> T:
        """What is made of the rows that are believed now."""
        if self._due_ms is not None and self._clock() >= self._due_ms:
            self._read_again(self._due_ms)
        return self._made

    def _read_again(self, due_ms: int) -> None:
        try:
            self._made = self._make(self._table.rows.read())
        except Exception as error:  # noqa: BLE001 - the next time may succeed
            # What is known is of more use than nothing; the next time may succeed.
            _log.warning("table %s cannot be read again: %s", self._table.name, error)
        self._due_ms = self._table.reload.next_after(due_ms, self._clock())


class FullTable(LookupTable):
    """All rows by key, in each subtask."""

    def __init__(self, table: WholeTable, columns: Sequence[int]) -> None:
        self._rows = table.rows
        self._found = Kept(table, partial(by_key, columns=tuple(columns)))

    def open(self, operator: Operator) -> None:
        self._found.open(operator)

    def find(self, keys: Sequence[Key]) -> Found:
        found = self._found.current()
        return {key: found[key] for key in keys if key in found}

    def probe(self) -> str:
        return self._rows.probe()

    def close(self) -> None:
        pass
