"""The binary log of MySQL and MariaDB, and the changes in it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable, Change
from headrace.datastream.connectors.cdc.log_feed import ChangeLog, LogEntry
from headrace.datastream.connectors.cdc.mysql_server import check_position, check_server
from headrace.datastream.connectors.cdc.mysql_settings import (
    BinlogPosition,
    MySqlSettings,
    advised,
    asked,
    connected,
)
from headrace.datastream.connectors.cdc.mysql_values import Converters, converted, of_log

__all__ = ["MySqlLog"]

_MOST_AT_ONCE = 2_000
_HEARTBEAT_S = 0.5
# For as long as nobody takes what the server sends.
_PATIENT = "SET SESSION net_write_timeout = 86400"
# Events with rows that are compressed, or that have parts of JSON documents: those of MySQL, and
# from 165 on those of MariaDB.
_UNREADABLE = {0x27, 0x28, *range(165, 172)}
_DEFINITION = re.compile(r"\s*(?:alter|rename|drop|truncate)\s+table\b", re.IGNORECASE)
_TYPES = """
    SELECT column_name, column_type FROM information_schema.columns
    WHERE table_schema = %s AND table_name = %s
"""


class MySqlLog(ChangeLog):
    """Reads the changes of some tables."""

    def __init__(self, settings: MySqlSettings, tables: Sequence[CapturedTable]) -> None:
        self._settings = settings
        self._tables: dict[tuple[str, str], tuple[CapturedTable, Converters]] = {
            (t.database, t.name): (t, of_log(t.types)) for t in tables
        }
        self._since_s = settings.startup.timestamp_ms / 1000
        self._stream: Any = None
        self._connections = 0
        self._position = BinlogPosition("", 0)
        self._skip = 0

    # Connecting.

    def open(self, position: BinlogPosition) -> None:
        from pymysqlreplication import BinLogStreamReader, event, row_event

        self._position = replace(position, changes=0)
        self._skip = position.changes
        self._check(position)
        options = self._settings.connection_options
        self._stream = BinLogStreamReader(
            connection_settings={
                "host": options.url.host,
                "port": options.url.port,
                "user": options.user_name,
                "password": options.password or "",
                "init_command": _PATIENT,
            },
            server_id=self._settings.server_id or random.randrange(1 << 20, 1 << 31),
            blocking=True,
            resume_stream=True,
            log_file=position.file,
            log_pos=position.offset,
            only_events=[
                row_event.WriteRowsEvent,
                row_event.UpdateRowsEvent,
                row_event.DeleteRowsEvent,
                event.QueryEvent,
                event.XidEvent,
                event.RotateEvent,
                event.HeartbeatLogEvent,
                row_event.PartialUpdateRowsEvent,
                event.NotImplementedEvent,
            ],
            filter_non_implemented_events=False,
            only_schemas=sorted({database for database, _ in self._tables}),
            only_tables=sorted({name for _, name in self._tables}),
            slave_heartbeat=min(self._settings.heartbeat_s, _HEARTBEAT_S),
            enable_logging=False,
            pymysql_wrapper=self._connect,
        )

    def _check(self, position: BinlogPosition) -> None:
        """See whether the log is there, and can be read."""
        connection = connected(self._settings)
        try:
            check_server(self._settings, connection)
            check_position(self._settings, connection, position)
        finally:
            connection.close()

    def _connect(self, **settings: Any) -> Any:
        import pymysql

        # One for the log and one for questions. The reader would go on by itself after a lost
        # connection, but in the middle of a transaction.
        self._connections += 1
        if self._connections > 2:
            raise HeadraceError(f"{self._settings.url}: the connection to the log is lost")
        # The reader's name for it is an old one.
        database = settings.pop("db", None)
        return pymysql.connect(database=database, **settings)

    # Reading.

    def read(self, timeout_s: float) -> list[LogEntry]:
        from pymysqlreplication import event as events

        entries: list[LogEntry] = []
        while len(entries) < _MOST_AT_ONCE:
            event = self._next()
            if isinstance(event, events.HeartbeatLogEvent):
                break
            if isinstance(event, events.RotateEvent):
                if event.next_binlog != self._position.file:
                    self._move_to(BinlogPosition(event.next_binlog, event.position), entries)
            elif isinstance(event, events.XidEvent):
                self._committed(entries)
                break
            elif isinstance(event, events.QueryEvent):
                if self._on_statement(event):
                    self._committed(entries)
                    break
            elif event.event_type in _UNREADABLE:
                raise self._unreadable(event)
            elif not isinstance(event, events.NotImplementedEvent):
                self._on_rows(event, entries)
        return entries

    def _unreadable(self, event: Any) -> HeadraceError:
        return HeadraceError(
            f"{self._settings.url}: the log has an event of type {event.event_type} at "
            f"{self._position.file}:{self._stream.log_pos}, whose rows are compressed or have "
            "parts of JSON documents, and which cannot be read: set log_bin_compress = OFF "
            "(MariaDB), or binlog_transaction_compression = OFF and binlog_row_value_options = '' "
            "(MySQL), for all sessions, and start the job without its state, to read the tables "
            "anew"
        )

    def _next(self) -> Any:
        import pymysql

        try:
            event = self._stream.fetchone()
        except pymysql.MySQLError as error:
            text = f"the log cannot be read: {error.args[-1]}"
            raise advised(self._settings, text, error) from error
        if event is None:
            raise HeadraceError(f"{self._settings.url}: the server has ended the connection")
        return event

    def _committed(self, entries: list[LogEntry]) -> None:
        self._move_to(BinlogPosition(self._position.file, self._stream.log_pos), entries)

    def _move_to(self, position: BinlogPosition, entries: list[LogEntry]) -> None:
        self._position = position
        self._skip = 0
        entries.append((None, position))

    def _on_statement(self, event: Any) -> bool:
        """Look at a statement; whether a transaction ends with it."""
        text = event.query
        if _DEFINITION.match(text):
            for table, _ in self._tables.values():
                if re.search(rf"\b{re.escape(table.name)}\b", text):
                    self._check_columns(table, text)
        return text.strip().upper() != "BEGIN" and not text.upper().startswith("SAVEPOINT")

    def _check_columns(self, table: CapturedTable, statement: str) -> None:
        connection = connected(self._settings)
        try:
            there = dict(asked(self._settings, connection, _TYPES, [table.database, table.name]))
        finally:
            connection.close()
        wrong = [
            f"column {name!r} was dropped or renamed"
            if name not in there
            else f"column {name!r} is now {there[name]}"
            for name, type_ in zip(table.columns, table.types, strict=True)
            if there.get(name) != type_
        ]
        if wrong:
            raise HeadraceError(
                f"{self._settings.url}: table {table} has changed while its changes were read: "
                f"{', '.join(wrong)}, with the statement: {statement}. Correct the declaration of "
                "the table, and start the job without its state, to read the rows anew"
            )

    def _on_rows(self, event: Any, entries: list[LogEntry]) -> None:
        found = self._tables.get((event.schema, event.table))
        if found is None:
            return
        table, converters = found
        place = BinlogPosition(self._position.file, self._stream.log_pos)
        for row in event.rows:
            self._position = replace(self._position, changes=self._position.changes + 1)
            if self._position.changes <= self._skip or event.timestamp < self._since_s:
                continue
            before, after = _image(row, "before_"), _image(row, "after_")
            if before is None and after is None:
                # A row that came or went has one image.
                deleted, image = type(event).__name__ == "DeleteRowsEvent", _image(row, "")
                before, after = (image, None) if deleted else (None, image)
            op = "c" if before is None else "d" if after is None else "u"
            change = Change(
                op,
                table,
                self._values(table, converters, before),
                self._values(table, converters, after),
                event.timestamp * 1000,
                place,
            )
            entries.append((change, self._position))

    def _values(
        self, table: CapturedTable, converters: Converters, image: dict[str, Any] | None
    ) -> tuple[Any, ...] | None:
        if image is None:
            return None
        try:
            return converted([image[c] for c in table.columns], converters)
        except KeyError as error:
            raise HeadraceError(
                f"{self._settings.url}: the log has no column {error} of table {table}; it was "
                "dropped or renamed, or binlog_row_metadata was not FULL"
            ) from None

    def keep_alive(self) -> None:
        pass

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


def _image(row: dict[str, Any], which: str) -> dict[str, Any] | None:
    """The values of a row by column, before or after a change."""
    image: dict[str, Any] | None = row.get(f"{which}values")
    if image is not None:
        # The reader has None for an empty SET as well as for NULL, and says which it is.
        for column, reason in row[f"{which}none_sources"].items():
            if reason == "empty set":
                image[column] = set()
    return image
