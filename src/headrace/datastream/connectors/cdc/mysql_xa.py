"""XA transactions in the log of MySQL and MariaDB.

Their changes are in the log from XA PREPARE on, but a chunk sees them after XA COMMIT alone, and
after XA ROLLBACK nobody does. So they are kept until one of these comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headrace.datastream.connectors.cdc.changes import Change
from headrace.datastream.connectors.cdc.mysql_settings import BinlogPosition

__all__ = ["PreparedTransactions", "xa_command"]

_COMMAND = re.compile(r"\s*XA\s+(START|BEGIN|END|COMMIT|ROLLBACK)\s+(.*?)\s*", re.IGNORECASE)


def xa_command(statement: str) -> tuple[str, str] | None:
    """The command of a statement, and the transaction that it is about."""
    found = _COMMAND.fullmatch(statement)
    return None if found is None else (found[1].upper(), found[2])


@dataclass
class _Prepared:
    begins: BinlogPosition
    changes: list[Change] = field(default_factory=list)


class PreparedTransactions:
    """Those that are prepared, but neither committed nor rolled back."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Prepared] = {}
        self._current: _Prepared | None = None
        self._name = ""

    @property
    def reading(self) -> bool:
        """Whether the log is in the middle of one, before it is prepared."""
        return self._current is not None

    @property
    def oldest(self) -> BinlogPosition | None:
        """Where the first of them begins in the log."""
        begins = [transaction.begins for transaction in self._waiting.values()]
        return min(begins, key=lambda place: place.order, default=None)

    def begin(self, place: BinlogPosition) -> None:
        """One begins at a place in the log."""
        self._current = _Prepared(place)

    def add(self, change: Change) -> None:
        """A change of the one that is read."""
        assert self._current is not None
        self._current.changes.append(change)

    def end(self, name: str) -> None:
        """The name of the one that is read."""
        self._name = name

    def prepare(self) -> str:
        """The one that is read is prepared; its name."""
        # Reading may begin in the middle of one, at a place that the user gives.
        if self._current is not None:
            self._waiting[self._name] = self._current
        self._current = None
        return self._name

    def take(self, name: str) -> list[Change] | None:
        """The changes of one that has ended; None if it was prepared before reading began."""
        transaction = self._waiting.pop(name, None)
        return None if transaction is None else transaction.changes
