"""A table that is small enough to be read as a whole, and again from time to time."""

from __future__ import annotations

import datetime
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.datastream.connectors.base import Source
from headrace.runtime.operator import Operator
from headrace.sql.lookups.tables import Found, Key, LookupTable, Row, by_key

__all__ = ["AllRows", "FullTable", "MemoryRows", "Reload", "SourceRows"]

_log = logging.getLogger(__name__)
_DAY_MS = 86_400_000
_AT_ONCE = 10_000


class AllRows(ABC):
    """Where all rows of a table come from. Picklable."""

    @abstractmethod
    def read(self) -> Iterable[Row]:
        """The rows as they are now, in internal form."""


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
        enumerator = self.source.create_enumerator(1)
        reader = self.source.create_reader(_Alone())
        try:
            reader.open()
            while not enumerator.finished:
                reader.add_splits([s for dealt in enumerator.discover(0).values() for s in dealt])
            while (batch := reader.poll(_AT_ONCE)) is not None or not reader.exhausted:
                if batch is not None:
                    yield from self.convert(batch.values)
        finally:
            reader.close()
            enumerator.close()


class _Alone:
    """What a reader may use that reads everything by itself."""

    subtask = 0
    parallelism = 1
    runtime_context = None
    finds_idleness = False

    def now_ms(self) -> int:
        return 0

    def data_available(self) -> None:
        pass

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        return False


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


class FullTable(LookupTable):
    """All rows by key, in each subtask; they are read again between two batches."""

    def __init__(
        self, rows: AllRows, columns: Sequence[int], reload: Reload, name: str = ""
    ) -> None:
        self._rows = rows
        self._columns = tuple(columns)
        self._reload = reload
        self._name = name
        self._found: Found = {}
        self._due_ms: int | None = None

    def open(self, operator: Operator) -> None:
        self._clock = operator.context.clock
        self._found = by_key(self._rows.read(), self._columns)
        now = self._clock()
        self._due_ms = self._reload.next_after(now, now)

    def find(self, keys: Sequence[Key]) -> Found:
        now = self._clock()
        if self._due_ms is not None and now >= self._due_ms:
            self._read_again(self._due_ms)
        found = self._found
        return {key: found[key] for key in keys if key in found}

    def _read_again(self, due_ms: int) -> None:
        try:
            self._found = by_key(self._rows.read(), self._columns)
        except Exception as error:
            # What is known is of more use than nothing; the next time may succeed.
            _log.warning("table %s cannot be read again: %s", self._name, error)
        self._due_ms = self._reload.next_after(due_ms, self._clock())

    def close(self) -> None:
        self._found = {}
