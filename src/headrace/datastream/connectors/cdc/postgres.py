"""Tables of PostgreSQL: what is read of them, in chunks, and what their log needs.

A chunk is read in a transaction that remembers its snapshot: which transactions it sees, by their
numbers. The log names the number of each transaction, so it is known for certain whether a chunk
has its changes already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable, Chunk, Progress
from headrace.datastream.connectors.cdc.chunk_queries import bounds_query, chunk_query
from headrace.datastream.connectors.cdc.log_feed import ChangeLog
from headrace.datastream.connectors.cdc.postgres_log import LogTransaction, PostgresLog, WalPosition
from headrace.datastream.connectors.cdc.postgres_settings import (
    PostgresSettings,
    connected,
    parsed_lsn,
)
from headrace.datastream.connectors.cdc.postgres_slot import (
    check_wal_level,
    drop_slot,
    first_lsn,
    prepare_publication,
    prepare_slot,
    probe_publication,
    probe_slot,
)
from headrace.datastream.connectors.cdc.reader import CapturedDatabase
from headrace.datastream.connectors.cdc.table_columns import chosen_columns, matching_tables
from headrace.datastream.connectors.jdbc.statements import quoted_name

__all__ = ["PostgresDatabase", "TransactionSnapshot"]

# Types whose values Python orders as the database does; texts are compared byte by byte.
_ORDERED = ("int2", "int4", "int8", "numeric", "uuid", "date", "timestamp", "timestamptz", "bytea")
_TEXTS = ("text", "varchar")

_TABLES = """
    SELECT c.oid::bigint, n.nspname, c.relname, c.relreplident = 'f'
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 2, 3
"""
_COLUMNS = """
    SELECT a.attname, a.atttypid::bigint, t.typname
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ORDER BY a.attnum
"""
_KEY = """
    SELECT a.attname
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = %s AND i.indisprimary
    ORDER BY array_position(i.indkey::int2[], a.attnum)
"""


@dataclass(frozen=True)
class TransactionSnapshot:
    """The transactions that a chunk saw: see `pg_current_snapshot()`.

    Attributes:
        first_running: All before this one had ended.
        next: This one and all after it had not begun.
        running: Those in between that had not ended.
        lsn: A place in the log behind all that was seen.
    """

    first_running: int
    next: int
    running: frozenset[int]
    lsn: int

    @classmethod
    def parse(cls, text: str, lsn: int) -> TransactionSnapshot:
        """Of the server's text: `10:20:10,14`."""
        first, following, running = text.split(":")
        numbers = frozenset(int(xid) for xid in running.split(",") if xid)
        return cls(int(first), int(following), numbers, lsn)

    def contains(self, transaction: LogTransaction) -> bool:
        """Whether the chunk saw what a transaction did."""
        if transaction.commit_lsn >= self.lsn:
            return False
        # The log has the lower half of the number; it is near those of the snapshot.
        distance = (transaction.xid - self.next) & 0xFFFFFFFF
        xid = self.next + (distance - (1 << 32) if distance >= 1 << 31 else distance)
        return xid < self.first_running or (xid < self.next and xid not in self.running)

    def is_before(self, position: WalPosition) -> bool:
        """Whether the chunk saw nothing of what follows."""
        return position.lsn >= self.lsn


class PostgresDatabase(CapturedDatabase):
    """The tables of one database."""

    def __init__(self, settings: PostgresSettings) -> None:
        super().__init__()
        self._settings = settings
        self._cancelled = False

    def _new_connection(self) -> Any:
        return connected(self._settings)

    # The beginning.

    def probe(self) -> list[CapturedTable]:
        settings, connection = self._settings, self._connect()
        reads_log = settings.startup.mode != "snapshot"
        if reads_log:
            check_wal_level(connection, settings)
        tables = self._tables()
        if settings.reads_rows:
            for table in tables:
                self._query(table, f"SELECT 1 FROM {self._rows_of(table)} LIMIT 0")
        if reads_log:
            probe_publication(connection, settings, tables)
            probe_slot(connection, settings)
        return tables

    def _begin(self) -> Progress:
        settings = self._settings
        connection = self._connect()
        tables = self._tables()
        reads_log = settings.startup.mode != "snapshot"
        if reads_log:
            check_wal_level(connection, settings)
            # First the publication: the log has changes of a table only from then on.
            prepare_publication(connection, settings, tables)
        chunks = self._chunks(tables) if settings.reads_rows else ()
        # The slot comes last: it makes the server keep its log, also if something failed after it.
        lsn = self._slot() if reads_log else 0
        return Progress(tuple(tables), chunks, position=WalPosition(lsn))

    def _slot(self) -> int:
        """Make the slot, unless nobody waits for it any more; where the log is to be read from."""
        import psycopg

        connection, settings = self._connection, self._settings
        made = not self._cancelled and prepare_slot(connection, settings)
        lsn = 0
        try:
            if not self._cancelled:
                lsn = first_lsn(connection, settings)
        except psycopg.errors.QueryCanceled:
            if not self._cancelled:
                raise
        if self._cancelled:
            # No further request may end this.
            self._connection = None
            with connection:
                if made:
                    drop_slot(connection, settings)
            raise HeadraceError(f"{settings.url}: the job was cancelled before it began to read")
        return lsn

    def cancel(self) -> None:
        import psycopg

        self._cancelled = True
        connection = self._connection
        if connection is not None:
            # It may have ended meanwhile.
            with contextlib.suppress(psycopg.Error):
                connection.cancel()

    def _tables(self) -> list[CapturedTable]:
        settings = self._settings
        found = self._connect().execute(_TABLES).fetchall()
        there = {(schema, name): (oid, full) for oid, schema, name, full in found}
        matching = matching_tables(settings, there)
        bare = [path for path in matching if not there[path][1]]
        if bare and settings.startup.mode != "snapshot":
            commands = [f"ALTER TABLE {self._path(*p)} REPLICA IDENTITY FULL;" for p in bare]
            raise HeadraceError(
                f"{settings.url}: the log does not have the whole row before a change for "
                f"{', '.join(map('.'.join, bare))}. As the owner, run: {' '.join(commands)}"
            )
        return [self._table(there[path][0], *path) for path in matching]

    def _table(self, oid: int, schema: str, name: str) -> CapturedTable:
        connection = self._connect()
        there = {n: (type_, text) for n, type_, text in connection.execute(_COLUMNS, [oid])}
        key_columns = [column for (column,) in connection.execute(_KEY, [oid])]
        texts = {column: text for column, (_, text) in there.items()}
        columns, key = chosen_columns(
            self._settings, f"{schema}.{name}", texts, key_columns, (*_ORDERED, *_TEXTS)
        )
        types = tuple(there[c][0] for c in columns)
        database = self._settings.url.database
        return CapturedTable(database, schema, name, oid, tuple(columns), types, key)

    def _bounds(self, table: CapturedTable) -> list[Any]:
        if table.chunk_key is None:
            return []
        sql = bounds_query(self._rows_of(table), self._key(table), self._settings.chunk_size)
        return [k for (k,) in self._query(table, sql)]

    # Chunks.

    def read_chunk(self, chunk: Chunk) -> tuple[list[tuple[Any, ...]], TransactionSnapshot]:
        table = chunk.table
        connection = self._connect()
        connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            (text,) = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
            rows = self._query(table, *self._select(chunk))
            (lsn,) = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK")
        return rows, TransactionSnapshot.parse(text, parsed_lsn(lsn))

    def _select(self, chunk: Chunk) -> tuple[str, list[Any]]:
        table = chunk.table
        columns = ", ".join(self._name(c) for c in table.columns)
        key = "" if table.chunk_key is None else self._key(table)
        return chunk_query(columns, self._rows_of(table), key, chunk)

    def _query(
        self, table: CapturedTable, sql: str, values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            rows: list[tuple[Any, ...]] = self._connect().execute(sql, list(values)).fetchall()
        except psycopg.errors.InsufficientPrivilege as error:
            user = self._name(self._settings.user_name)
            raise HeadraceError(
                f"{self._settings.url}: {' '.join(str(error).split())}. As the owner of the "
                f"table, run: GRANT SELECT ON {self._path(table.schema, table.name)} TO {user};"
            ) from error
        except psycopg.Error as error:
            raise HeadraceError(
                f"{self._settings.url}: table {table} cannot be read: "
                f"{' '.join(str(error).split())}; the statement is: {sql}"
            ) from error
        return rows

    def log(self, progress: Progress) -> ChangeLog:
        return PostgresLog(self._settings, progress.tables)

    # Names.

    def _name(self, name: str) -> str:
        return quoted_name(self._settings.connection_options, name).replace("%", "%%")

    def _path(self, schema: str, name: str) -> str:
        return f"{self._name(schema)}.{self._name(name)}"

    def _rows_of(self, table: CapturedTable) -> str:
        # Tables that inherit from it have changes of their own in the log. A table that is
        # partitioned has no rows, and is not read itself: its partitions are.
        return f"ONLY {self._path(table.schema, table.name)}"

    def _key(self, table: CapturedTable) -> str:
        assert table.chunk_key is not None
        name = self._name(table.columns[table.chunk_key])
        from psycopg.postgres import types

        info = types.get(table.types[table.chunk_key])
        return f'{name} COLLATE "C"' if info is not None and info.name in _TEXTS else name
