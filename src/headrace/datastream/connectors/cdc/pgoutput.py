"""What PostgreSQL's `pgoutput` plugin sends, version 1 of its protocol, as objects.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

__all__ = [
    "UNCHANGED",
    "Begin",
    "Commit",
    "Delete",
    "Insert",
    "Message",
    "Relation",
    "RelationColumn",
    "Truncate",
    "Tuple",
    "Unchanged",
    "Update",
    "decode",
    "lsn_text",
    "unix_ms",
]

_EPOCH_2000_MS = 946_684_800_000


class Unchanged:
    """Stands for a large value that an update has not changed and that is not sent again."""


UNCHANGED: Final = Unchanged()

Tuple = list[bytes | Unchanged | None]
"""The values of a row: text, NULL, or not sent."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction, which is sent as a whole once it has committed at `commit_lsn`."""

    commit_lsn: int
    timestamp_ms: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction; the next one begins at `end_lsn` or later."""

    end_lsn: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column and the number of its type."""

    name: str
    type_oid: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it is for the changes that follow.

    `identity` says what of the row before a change is sent; all of it if it is `f`.
    """

    number: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(slots=True)
class Insert:
    """A new row."""

    relation: int
    after: Tuple


@dataclass(slots=True)
class Update:
    """A changed row.

    `before` is the whole row only with REPLICA IDENTITY FULL.
    """

    relation: int
    before: Tuple | None
    after: Tuple


@dataclass(slots=True)
class Delete:
    """A deleted row."""

    relation: int
    before: Tuple


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables that were emptied at once."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate

_BEGIN = struct.Struct("!qqI")
_COMMIT = struct.Struct("!Bqqq")
_COUNT = struct.Struct("!h")
_NUMBER = struct.Struct("!I")
_LENGTH = struct.Struct("!i")
_COLUMN = struct.Struct("!Ii")
_TRUNCATE = struct.Struct("!iB")


def decode(data: bytes) -> Message | None:
    """The message of some bytes; None if it is of a kind that says nothing about rows."""
    kind = data[:1]
    if kind == b"I":
        after, _ = _tuple(data, 6)
        return Insert(_NUMBER.unpack_from(data, 1)[0], after)
    if kind == b"U":
        relation = _NUMBER.unpack_from(data, 1)[0]
        before, at = None, 5
        if data[5:6] in (b"O", b"K"):
            before, at = _tuple(data, 6)
        after, _ = _tuple(data, at + 1)
        return Update(relation, before, after)
    if kind == b"D":
        before, _ = _tuple(data, 6)
        return Delete(_NUMBER.unpack_from(data, 1)[0], before)
    if kind == b"B":
        commit_lsn, timestamp, xid = _BEGIN.unpack_from(data, 1)
        return Begin(commit_lsn, unix_ms(timestamp), xid)
    if kind == b"C":
        return Commit(_COMMIT.unpack_from(data, 1)[2])
    if kind == b"R":
        return _relation(data)
    if kind == b"T":
        count, _ = _TRUNCATE.unpack_from(data, 1)
        return Truncate(struct.unpack_from(f"!{count}I", data, 1 + _TRUNCATE.size))
    return None


def _tuple(data: bytes, at: int) -> tuple[Tuple, int]:
    """The values from a place on, and the place behind them."""
    (count,) = _COUNT.unpack_from(data, at)
    at += 2
    values: Tuple = []
    append, length_at = values.append, _LENGTH.unpack_from
    for _ in range(count):
        kind = data[at]
        if kind == 0x74:  # t: text
            start = at + 5
            at = start + length_at(data, at + 1)[0]
            append(data[start:at])
        else:  # n: NULL, u: unchanged
            append(None if kind == 0x6E else UNCHANGED)
            at += 1
    return values, at


def _relation(data: bytes) -> Relation:
    (number,) = _NUMBER.unpack_from(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _COUNT.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        column, at = _text(data, at + 1)
        type_, _ = _COLUMN.unpack_from(data, at)
        at += _COLUMN.size
        columns.append(RelationColumn(column, type_))
    # The system's own tables are in a schema without a name.
    return Relation(number, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


def unix_ms(timestamp: int) -> int:
    """Milliseconds since 1970 of PostgreSQL's microseconds since 2000."""
    return timestamp // 1000 + _EPOCH_2000_MS


def lsn_text(lsn: int) -> str:
    """A place in the log, as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
