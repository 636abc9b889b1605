"""Messages of tools that capture the changes of databases: rows, and what happened to them.

A tool differs from the others in where in a message the rows are, and in how it names changes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from headrace.common.types import RowKind
from headrace.formats.json import text_of
from headrace.formats.shapes import Convert, or_none
from headrace.sql.formats.base import Decoder, FormatOptions
from headrace.sql.types import RowType

__all__ = [
    "Change",
    "ChangeDecoder",
    "Metadata",
    "deleted",
    "inserted",
    "millis",
    "seconds",
    "text_map",
    "texts",
    "unknown",
    "updated",
    "with_unchanged",
]

Change = tuple[tuple[Any, ...], int]
"""A row, and what happened to it."""

Metadata = Mapping[str, tuple[tuple[str, ...], Convert]]
"""Where in a message something is, and what makes a value of it."""

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = [kind.value for kind in RowKind]


class ChangeDecoder(Decoder):
    """Rows with their kinds.

    Subclasses find the changes in a message, and have in `metadata` where what else it says is.
    `read` makes a row of an object in a message, and None of None.
    """

    changes = several = True
    tool: ClassVar[str]
    metadata: ClassVar[Metadata]

    def __init__(self, row_type: RowType, options: FormatOptions, read: Convert) -> None:
        super().__init__(row_type, options)
        self.names = tuple(row_type.names)
        self.read = read
        self._metadata = [(path, or_none(r)) for path, r in map(self.reader, options.metadata)]

    def reader(self, key: str) -> tuple[tuple[str, ...], Convert]:
        """Where in a message a piece of metadata is, and what makes a value of it."""
        return self.metadata[key]

    @abstractmethod
    def changes_in(self, message: Any) -> list[Change]:
        """The changes that a parsed message is about."""

    def rows_in(self, message: Any) -> list[tuple[Any, ...]]:
        """The rows of a parsed message, with metadata and kinds."""
        changes = self.changes_in(message)
        if not self._metadata:
            return [(*row, kind) for row, kind in changes]
        found = [read(_at(path, message)) for path, read in self._metadata]
        return [(*row, *found, kind) for row, kind in changes]

    def whole_rows(
        self, message: Any, field: str, operations: tuple[str, str, str]
    ) -> list[Change]:
        """The change of a message that has the whole rows before and after it.

        Args:
            message: The message.
            field: The field that says what happened.
            operations: What it says of a row that came, changed, or went.
        """
        insert, update, delete = operations
        operation = message.get(field)
        if operation == insert:
            return inserted(self.read(message.get("after")))
        if operation not in (update, delete):
            raise unknown(field, operation)
        before = self.read(message.get("before"))
        if before is None:
            what = "UPDATE" if operation == update else "DELETE"
            raise ValueError(
                f'The "before" field of {what} message is null, if you are using {self.tool} '
                "Postgres Connector, please check the Postgres table has been set REPLICA IDENTITY "
                "to FULL level"
            )
        if operation == delete:
            return deleted(before)
        return updated(before, self.read(message.get("after")))


def _at(path: Iterable[str], message: Any) -> Any:
    for name in path:
        message = None if message is None else message.get(name)
    return message


# Changes of rows that a tool has written as a whole.


def inserted(row: Any) -> list[Change]:
    """A row that came."""
    return [(_there(row, "after"), _INSERT)]


def updated(before: Any, after: Any) -> list[Change]:
    """A row that is different now."""
    return [(_there(before, "before"), _UPDATE_BEFORE), (_there(after, "after"), _UPDATE_AFTER)]


def deleted(row: Any) -> list[Change]:
    """A row that is gone."""
    return [(_there(row, "before"), _DELETE)]


def _there(row: Any, field: str) -> Any:
    if row is None:
        raise ValueError(f"it has no row {field} the change")
    return row


def unknown(field: str, operation: Any) -> ValueError:
    """An operation that is not a change of rows."""
    return ValueError(f'Unknown "{field}" value "{operation}"')


def with_unchanged(names: tuple[str, ...], after: Any, old: Any, read: Convert) -> tuple[Any, ...]:
    """The row before a change, of an object with the fields that the change concerned."""
    before = read(_there(old, "before"))
    return tuple([b if n in old else a for n, a, b in zip(names, after, before, strict=True)])


# Metadata.


def millis(value: Any) -> int:
    """A timestamp of milliseconds."""
    return int(value) * 1000


def seconds(value: Any) -> int:
    """A timestamp of seconds."""
    return int(value) * 1_000_000


def texts(values: Any) -> tuple[str | None, ...]:
    """An array of texts."""
    return tuple([None if v is None else text_of(v) for v in values])


def text_map(values: Any) -> dict[str, str | None]:
    """A map of texts."""
    return {k: None if v is None else text_of(v) for k, v in values.items()}
