"""Tables that give the rows of keys, in a slot."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.runtime.operator import Operator
from headrace.sql.udf.batch_table import CallLimits, parts, together

__all__ = [
    "AskedTable",
    "Found",
    "Key",
    "KeySource",
    "LookupLimits",
    "LookupTable",
    "RetriedTable",
    "Row",
    "by_key",
]

Key = tuple[Any, ...]
Row = tuple[Any, ...]
Found = dict[Key, list[Row]]
"""Rows by key; a key without rows may be missing."""


class LookupTable(ABC):
    """A table of which one wants the rows of some keys. Picklable until it is opened."""

    @abstractmethod
    def open(self, operator: Operator) -> None:
        """Called once in each subtask, before the first key."""

    @abstractmethod
    def find(self, keys: Sequence[Key]) -> Found:
        """The rows of different keys, none of which has a NULL, in internal form."""

    def probe(self) -> str:
        """Look whether the table can be reached from here: see `Source.probe`."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Called once in each subtask, also after a failure."""


class KeySource(ABC):
    """Whatever knows the rows of keys: a database, or a user's object."""

    #: How many keys it is asked for at once.
    keys_per_call = 1000

    #: Whether `rows_of` is a coroutine.
    asynchronous = False

    @abstractmethod
    def open(self, operator: Operator) -> None:
        """Called once in each subtask."""

    @abstractmethod
    def rows_of(self, keys: Sequence[Key]) -> Any:
        """The rows of keys in any order, or a coroutine that gives them."""

    def probe(self) -> str:
        """Look whether it can be reached from here: see `Source.probe`."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Called once in each subtask."""


@dataclass(frozen=True)
class LookupLimits(CallLimits):
    """How asynchronous lookups run, and how often those are repeated that found nothing.

    Attributes:
        attempts: How often a key is looked up at most, until it has a row.
        retry_delay_ms: How long the next attempt waits.
    """

    concurrent: int = 100
    attempts: int = 1
    retry_delay_ms: int = 0


class AskedTable(LookupTable):
    """Asks a source, for many keys at once; the calls of a coroutine run at the same time."""

    def __init__(self, source: KeySource, columns: Sequence[int], limits: LookupLimits) -> None:
        self._source = source
        self._columns = tuple(columns)
        self._limits = limits
        self._runner: asyncio.Runner | None = None

    def open(self, operator: Operator) -> None:
        if self._source.asynchronous:
            self._runner = asyncio.Runner()
        self._source.open(operator)

    def find(self, keys: Sequence[Key]) -> Found:
        asked = parts(keys, self._source.keys_per_call)
        answers: Iterable[Iterable[Row]]
        if self._runner is not None:
            answers = self._runner.run(together(self._source.rows_of, asked, self._limits))
        else:
            answers = map(self._source.rows_of, asked)
        return by_key((row for rows in answers for row in rows), self._columns)

    def probe(self) -> str:
        return self._source.probe()

    def close(self) -> None:
        self._source.close()
        if self._runner is not None:
            self._runner.close()


def by_key(rows: Iterable[Row], columns: Sequence[int]) -> Found:
    """Rows by the values of some columns."""
    found: Found = {}
    for row in rows:
        found.setdefault(tuple([row[c] for c in columns]), []).append(row)
    return found


class RetriedTable(LookupTable):
    """Looks keys without rows up again after a while: their rows may come late."""

    def __init__(
        self,
        table: LookupTable,
        limits: LookupLimits,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._table = table
        self._limits = limits
        self._sleep = sleep

    def open(self, operator: Operator) -> None:
        self._table.open(operator)

    def find(self, keys: Sequence[Key]) -> Found:
        found = self._table.find(keys)
        for _ in range(self._limits.attempts - 1):
            missing = [key for key in keys if not found.get(key)]
            if not missing:
                break
            self._sleep(self._limits.retry_delay_ms / 1000)
            found |= self._table.find(missing)
        return found

    def probe(self) -> str:
        return self._table.probe()

    def close(self) -> None:
        self._table.close()
