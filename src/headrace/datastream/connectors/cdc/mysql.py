"""Tables of MySQL and MariaDB: what is read of them, in chunks, and what their log needs.

A chunk is read in a transaction whose place in the log is known, so a change is in the chunk if
it is before that place.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable, Chunk, Progress
from headrace.datastream.connectors.cdc.chunk_queries import bounds_query, chunk_query
from headrace.datastream.connectors.cdc.log_feed import ChangeLog
from headrace.datastream.connectors.cdc.mysql_log import MySqlLog
from headrace.datastream.connectors.cdc.mysql_server import check_server, oldest_log
from headrace.datastream.connectors.cdc.mysql_settings import (
    BinlogPosition,
    MySqlSettings,
    asked,
    connected,
    says_mariadb,
)
from headrace.datastream.connectors.cdc.mysql_values import converted, of_queries
from headrace.datastream.connectors.cdc.reader import CapturedDatabase
from headrace.datastream.connectors.cdc.table_columns import chosen_columns, matching_tables

__all__ = ["MySqlDatabase"]

_log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.2
_SAY_EVERY_S = 10.0

_OWN = ("information_schema", "mysql", "performance_schema", "sys")
# Types whose values Python orders as the database does; texts are compared byte by byte.
_NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal")
_ORDERED = (*_NUMBERS, "date", "datetime", "timestamp")
_TEXTS = ("char", "varchar")

_TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT column_name, data_type, column_type FROM information_schema.columns
    WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_KEY = """
    SELECT column_name FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index
"""


class MySqlDatabase(CapturedDatabase):
    """The tables of one server."""

    def __init__(self, settings: MySqlSettings) -> None:
        super().__init__()
        self._settings = settings
        self._cancelled = False

    def _new_connection(self) -> Any:
        return connected(self._settings)

    def _ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return asked(self._settings, self._connect(), sql, values)

    # The beginning.

    def probe(self) -> list[CapturedTable]:
        tables = self._tables()
        check_server(self._settings, self._connection)
        for table in tables:
            self._ask(f"SELECT 1 FROM {_path(table)} LIMIT 0")
        self._now()
        return tables

    def _begin(self) -> Progress:
        startup = self._settings.startup
        tables = self._tables()
        check_server(self._settings, self._connection)
        position = self._now()
        if startup.mode in ("earliest-offset", "timestamp"):
            position = oldest_log(self._settings, self._connection)
        elif startup.mode == "specific-offset":
            position = BinlogPosition(startup.file, startup.position)
        else:
            self._await_prepared()
        chunks = self._chunks(tables) if self._settings.reads_rows else ()
        return Progress(tuple(tables), chunks, position=position)

    def _await_prepared(self) -> None:
        """Wait for the end of all XA transactions whose changes the log has before its place."""
        waited_for, say_at = self._prepared(), 0.0
        while waited_for:
            if self._cancelled:
                raise HeadraceError(
                    f"{self._settings.url}: the job was cancelled before it began to read"
                )
            if time.monotonic() >= say_at:
                _log.warning(
                    "mysql-cdc: waiting for the end of %d XA transactions that are prepared; "
                    "XA RECOVER shows them",
                    len(waited_for),
                )
                say_at = time.monotonic() + _SAY_EVERY_S
            time.sleep(_LOOK_AGAIN_S)
            waited_for &= self._prepared()

    def _prepared(self) -> set[tuple[Any, ...]]:
        try:
            return set(self._ask("XA RECOVER"))
        except HeadraceError as error:
            # MySQL shows them to users with a privilege of its own alone.
            _log.warning(
                "mysql-cdc: changes of XA transactions that are prepared now are not read, "
                "because the user cannot see them (GRANT XA_RECOVER_ADMIN): %s",
                error,
            )
            return set()

    def cancel(self) -> None:
        self._cancelled = True

    def _now(self) -> BinlogPosition:
        """The end of the log."""
        version = str(self._connection.get_server_info())
        # MySQL 8.4 knows the new words alone.
        old = says_mariadb(self._connection) or version.startswith(("5.", "8.0."))
        [row] = self._ask("SHOW MASTER STATUS" if old else "SHOW BINARY LOG STATUS")
        return BinlogPosition(str(row[0]), int(row[1]))

    def _tables(self) -> list[CapturedTable]:
        there = [(database, name) for database, name in self._ask(_TABLES) if database not in _OWN]
        matching = matching_tables(self._settings, there)
        return [self._table(number, *path) for number, path in enumerate(matching)]

    def _table(self, number: int, database: str, name: str) -> CapturedTable:
        there = {c: (kind, type_) for c, kind, type_ in self._ask(_COLUMNS, database, name)}
        kinds = {column: kind for column, (kind, _) in there.items()}
        columns, key = chosen_columns(
            self._settings,
            f"{database}.{name}",
            kinds,
            [column for (column,) in self._ask(_KEY, database, name)],
            (*_ORDERED, *_TEXTS),
        )
        types = tuple(there[c][1] for c in columns)
        return CapturedTable(database, database, name, number, tuple(columns), types, key)

    def _bounds(self, table: CapturedTable) -> list[Any]:
        if table.chunk_key is None:
            return []
        sql = bounds_query(_path(table), _key(table), self._settings.chunk_size)
        keys = of_queries([table.types[table.chunk_key]])
        rows = [converted(row, keys) for row in self._ask(sql)]
        return [k.decode() if isinstance(k, bytes) else k for (k,) in rows]

    # Chunks.

    def read_chunk(self, chunk: Chunk) -> tuple[list[tuple[Any, ...]], BinlogPosition]:
        position = self._begin_snapshot()
        try:
            table = chunk.table
            columns = ", ".join(map(_column, table.columns, table.types))
            key = "" if table.chunk_key is None else _key(table)
            sql, values = chunk_query(columns, _path(table), key, chunk)
            rows = self._ask(sql, *values)
        finally:
            self._ask("ROLLBACK")
        converters = of_queries(table.types)
        return [converted(row, converters) for row in rows], position

    def _begin_snapshot(self) -> BinlogPosition:
        """Begin a transaction, and find its place in the log."""
        self._ask("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
        if says_mariadb(self._connection):
            self._ask(begin)
            there = sorted(self._ask("SHOW STATUS LIKE 'binlog_snapshot_%%'"))
            [(_, file), (_, offset)] = there[:2]
            # It logs an XA COMMIT a moment before the rows can be seen.
            [(_, commits)] = self._ask("SHOW GLOBAL STATUS LIKE 'Com_xa_commit'")
            if int(commits) == 0:
                return BinlogPosition(str(file), int(offset))
            self._ask("ROLLBACK")
        # MySQL does not say where a snapshot is in the log, so nobody may write for a moment.
        self._ask("FLUSH TABLES WITH READ LOCK")
        try:
            self._ask(begin)
            return self._now()
        finally:
            self._ask("UNLOCK TABLES")

    def log(self, progress: Progress) -> ChangeLog:
        return MySqlLog(self._settings, progress.tables)


def _name(name: str) -> str:
    return f"`{name.replace('`', '``')}`".replace("%", "%%")


def _path(table: CapturedTable) -> str:
    return f"{_name(table.database)}.{_name(table.name)}"


def _column(name: str, type_: str) -> str:
    # As text, a FLOAT has fewer digits than in the log.
    return f"{_name(name)} + 0E0" if type_.startswith("float") else _name(name)


def _key(table: CapturedTable) -> str:
    assert table.chunk_key is not None
    name, type_ = _name(table.columns[table.chunk_key]), table.types[table.chunk_key]
    # In the order of code points, as Python has it, whatever the collation of the column is.
    return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)" if type_.startswith(_TEXTS) else name
