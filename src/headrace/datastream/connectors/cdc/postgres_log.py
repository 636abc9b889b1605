"""The log of PostgreSQL: a replication connection, and the changes that come over it."""

from __future__ import annotations

import logging
import select
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc import pgoutput as pg
from headrace.datastream.connectors.cdc.changes import CapturedTable, Change
from headrace.datastream.connectors.cdc.log_feed import ChangeLog, LogEntry
from headrace.datastream.connectors.cdc.postgres_settings import PostgresSettings, connected
from headrace.datastream.connectors.cdc.postgres_slot import (
    SLOT_PAUSE_S,
    check_publication,
    check_slot,
    missing_tables,
    slot_in_use,
)

__all__ = ["LogTransaction", "PostgresLog", "WalPosition"]

_log = logging.getLogger(__name__)

_MOST_AT_ONCE = 2_000
_DATA_HEADER = 25  # w, start, end, time
_KEEP_ALIVE = struct.Struct("!qqB")
_STATUS = struct.Struct("!cqqqqB")
_MICROS_2000 = 946_684_800_000_000
_IN_USE = b"55006"
_SQLSTATE = 67  # where a result has the code of its error
_PRESENT = """
    SELECT c.oid::bigint, n.nspname, c.relname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s::oid[])
"""


class LogTransaction(NamedTuple):
    """A transaction in the log; `xid` is the lower half of its number."""

    xid: int
    commit_lsn: int


class WalPosition(NamedTuple):
    """How far the log was read.

    Attributes:
        lsn: All transactions that end before this place were read.
        xid: The transaction after it, if some of its changes were read.
        changes: How many.
    """

    lsn: int
    xid: int = 0
    changes: int = 0


@dataclass
class _Relation:
    """How the rows of a table are read from the log."""

    table: CapturedTable
    columns: tuple[tuple[int, Callable[[Any], Any]], ...]

    def values(self, sent: pg.Tuple, before: pg.Tuple | None = None) -> tuple[Any, ...]:
        """A row; large values that an update left alone are those before it."""
        if pg.UNCHANGED in sent:
            there = repeat(None) if before is None else before
            pairs = zip(sent, there, strict=False)
            sent = [b if s is pg.UNCHANGED else s for s, b in pairs]
        return tuple([None if (v := sent[p]) is None else load(v) for p, load in self.columns])


class PostgresLog(ChangeLog):
    """Reads the changes of some tables from a replication slot."""

    def __init__(self, settings: PostgresSettings, tables: Sequence[CapturedTable]) -> None:
        self._settings = settings
        self._tables = {table.number: table for table in tables}
        self._relations: dict[int, _Relation | None] = {}
        self._connection: Any = None
        self._pg: Any = None
        self._base_types: dict[int, int] = {}
        self._position = WalPosition(0)
        self._confirmed = 0
        self._told_at = 0.0
        self._transaction: pg.Begin | None = None
        self._in_log = LogTransaction(0, 0)
        self._skip = 0

    # Connecting.

    def open(self, position: WalPosition) -> None:
        self._position = position
        self._confirmed = position.lsn
        self._check(position)
        self._connection = connected(self._settings, replication=True)
        self._pg = self._connection.pgconn
        from psycopg.pq import ExecStatus

        command = (
            f'START_REPLICATION SLOT "{self._settings.slot}" LOGICAL {pg.lsn_text(position.lsn)} '
            f"(proto_version '1', publication_names '{self._publication()}')"
        ).encode()
        deadline = time.monotonic() + self._settings.wait_for_slot_s
        while (result := self._pg.exec_(command)).status != ExecStatus.COPY_BOTH:
            # The server may not have noticed yet that the reader before us is gone.
            if result.error_field(_SQLSTATE) != _IN_USE or time.monotonic() > deadline:
                raise self._refused(result)
            time.sleep(SLOT_PAUSE_S)
        self._tell()

    def _check(self, position: WalPosition) -> None:
        settings, tables = self._settings, list(self._tables.values())
        with connected(settings) as connection:
            check_slot(connection, settings, position.lsn)
            found = connection.execute(_PRESENT, [list(self._tables)]).fetchall()
            present = {oid: (schema, name) for oid, schema, name in found}
            for table in tables:
                if present.get(table.number) != (table.schema, table.name):
                    raise self._changed(table, ["it was renamed, or dropped and made anew"])
            missing = missing_tables(connection, settings.publication, tables)
            if missing:
                raise HeadraceError(
                    f"{settings.url}: publication {settings.publication!r} does not have "
                    f"{', '.join(map(str, missing))} any more, so changes are lost: add the "
                    "tables, and start the job without its state"
                )
            check_publication(connection, settings, tables)
            types = [t for table in tables for t in table.types]
            sql = "SELECT oid::bigint, typbasetype::bigint FROM pg_type WHERE oid = ANY(%s::oid[])"
            rows = connection.execute(sql, [types]).fetchall()
        self._base_types = {oid: base or oid for oid, base in rows}

    def _publication(self) -> str:
        name = self._settings.publication.replace('"', '""')
        return f'"{name}"'.replace("'", "''")

    def _refused(self, result: Any) -> HeadraceError:
        settings = self._settings
        if result is None:
            return HeadraceError(f"{settings.url}: the server has ended the connection")
        text = " ".join(result.get_error_message().split())
        if result.error_field(_SQLSTATE) == _IN_USE:
            return slot_in_use(settings, text)
        return HeadraceError(f"{settings.url}: the log cannot be read: {text}")

    # Reading.

    def read(self, timeout_s: float) -> list[LogEntry]:
        import psycopg

        try:
            return self._read(timeout_s)
        except psycopg.OperationalError as error:
            text = " ".join(str(error).split())
            raise HeadraceError(f"{self._settings.url}: the log cannot be read: {text}") from error

    def _read(self, timeout_s: float) -> list[LogEntry]:
        entries: list[LogEntry] = []
        waited = False
        while len(entries) < _MOST_AT_ONCE:
            size, data = self._pg.get_copy_data(1)
            if size > 0:
                self._on_message(bytes(data), entries)
            elif size < 0:
                raise self._refused(self._pg.get_result())
            elif entries or waited:
                break
            else:
                waited = True
                if select.select([self._pg.socket], [], [], timeout_s)[0]:
                    self._pg.consume_input()
        self.keep_alive()
        return entries

    def _on_message(self, data: bytes, entries: list[LogEntry]) -> None:
        if data[0] == 0x77:  # w: a message of pgoutput
            message = pg.decode(data[_DATA_HEADER:])
            if message is not None:
                self._on_log(message, entries)
        elif data[0] == 0x6B:  # k: the server is alive, and has sent all up to a place
            end, _, wants_answer = _KEEP_ALIVE.unpack_from(data, 1)
            if self._transaction is None and end > self._position.lsn:
                # Of a transaction that was read in part, the rest may be still to come.
                self._position = self._position._replace(lsn=end)
                entries.append((None, self._position))
            if wants_answer:
                self._tell()

    def _on_log(self, message: pg.Message, entries: list[LogEntry]) -> None:
        if isinstance(message, pg.Update | pg.Insert | pg.Delete):
            relation = self._relations[message.relation]
            if relation is not None:
                self._on_change(message, relation, entries)
        elif isinstance(message, pg.Begin):
            self._transaction = message
            self._in_log = LogTransaction(message.xid, message.commit_lsn)
            self._skip = self._position.changes if message.xid == self._position.xid else 0
            self._position = WalPosition(self._position.lsn, message.xid)
        elif isinstance(message, pg.Commit):
            self._transaction = None
            self._position = WalPosition(message.end_lsn)
            entries.append((None, self._position))
        elif isinstance(message, pg.Relation):
            self._relations[message.number] = self._relation(message)
        else:
            names = [str(self._tables[r]) for r in message.relations if r in self._tables]
            if names:
                _log.warning("TRUNCATE of %s is not a change of rows, ignored", ", ".join(names))

    def _on_change(
        self,
        message: pg.Insert | pg.Update | pg.Delete,
        relation: _Relation,
        entries: list[LogEntry],
    ) -> None:
        assert self._transaction is not None
        lsn, xid, done = self._position
        done += 1
        self._position = WalPosition(lsn, xid, done)
        if done <= self._skip:
            return
        before = after = None
        if isinstance(message, pg.Insert):
            op, after = "c", relation.values(message.after)
        elif isinstance(message, pg.Delete):
            op, before = "d", relation.values(message.before)
        else:
            assert message.before is not None, "sent with this replica identity"
            op, before = "u", relation.values(message.before)
            after = relation.values(message.after, message.before)
        timestamp = self._transaction.timestamp_ms
        change = Change(op, relation.table, before, after, timestamp, self._in_log)
        entries.append((change, self._position))

    def _relation(self, message: pg.Relation) -> _Relation | None:
        """How rows are read, if the table is one of ours and has the columns that it had."""
        from psycopg.adapt import Transformer
        from psycopg.pq import Format

        table = self._tables.get(message.number)
        if table is None:
            for other in self._tables.values():
                if (other.schema, other.name) == (message.schema, message.name):
                    raise self._changed(other, ["it was dropped or renamed, and made anew"])
            return None
        if message.identity != "f":
            raise HeadraceError(
                f"{self._settings.url}: the log does not have the row before a change of {table} "
                f"any more: run ALTER TABLE {table} REPLICA IDENTITY FULL, and start the job "
                "without its state, to read the tables anew"
            )
        there = {c.name: (place, c.type_oid) for place, c in enumerate(message.columns)}
        wrong = []
        if (message.schema, message.name) != (table.schema, table.name):
            wrong.append(f"it is now called {message.schema}.{message.name}")
        for name, type_ in zip(table.columns, table.types, strict=True):
            if name not in there:
                wrong.append(f"column {name!r} was dropped or renamed")
            elif there[name][1] != type_:
                wrong.append(f"column {name!r} has another type")
        if wrong:
            raise self._changed(table, wrong)
        transformer = Transformer(self._connection)
        loaders = [
            transformer.get_loader(self._base_types.get(type_, type_), Format.TEXT).load
            for type_ in table.types
        ]
        places = [there[c][0] for c in table.columns]
        return _Relation(table, tuple(zip(places, loaders, strict=True)))

    def _changed(self, table: CapturedTable, wrong: Sequence[str]) -> HeadraceError:
        return HeadraceError(
            f"{self._settings.url}: table {table} has changed while its changes were read: "
            f"{', '.join(wrong)}. Correct the declaration of the table, and start the job "
            "without its state, to read the rows anew"
        )

    # Telling the server how far we are.

    def keep_alive(self) -> None:
        if time.monotonic() - self._told_at >= self._settings.heartbeat_s:
            self._tell()

    def confirm(self, position: WalPosition) -> None:
        if position.lsn > self._confirmed:
            self._confirmed = position.lsn
            self._tell()

    def _tell(self) -> None:
        now = time.time_ns() // 1000 - _MICROS_2000
        read = max(self._position.lsn, self._confirmed)
        self._pg.put_copy_data(_STATUS.pack(b"r", read, self._confirmed, self._confirmed, now, 0))
        self._pg.flush()
        self._told_at = time.monotonic()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
