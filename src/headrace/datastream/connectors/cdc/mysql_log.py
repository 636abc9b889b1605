"""The binary log of MySQL and MariaDB, and the changes in it."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable, Change
from headrace.datastream.connectors.cdc.log_feed import ChangeLog, LogEntry
from headrace.datastream.connectors.cdc.mysql_definitions import Definition, definition_in
from headrace.datastream.connectors.cdc.mysql_server import check_position, check_server
from headrace.datastream.connectors.cdc.mysql_settings import (
    BinlogPosition,
    MySqlSettings,
    advised,
    asked,
    connected,
)
from headrace.datastream.connectors.cdc.mysql_values import Converters, converted, of_log
from headrace.datastream.connectors.cdc.mysql_xa import PreparedTransactions, xa_command

__all__ = ["MySqlLog"]

_log = logging.getLogger(__name__)

_MOST_AT_ONCE = 2_000
_HEARTBEAT_S = 0.5
# A server that sends nothing for so long, not even that it is alive, is gone.
_SILENT_S = 30
# For as long as nobody takes what the server sends.
_PATIENT = "SET SESSION net_write_timeout = 86400"
# Events with rows that are compressed, or that have parts of JSON documents: those of MySQL, and
# from 165 on those of MariaDB.
_UNREADABLE = {0x27, 0x28, *range(165, 172)}
# A flag of MariaDB's: an XA transaction begins, which ends with XA PREPARE.
_BEGINS_XA = 0x40
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
        self._stream: Any = None
        self._connections = 0
        # What was handed out, and the last end of a transaction in the log. The log is behind at
        # first if the beginning of a prepared transaction is read again.
        self._position = BinlogPosition("", 0)
        self._boundary = self._position
        self._skip = 0
        self._prepared = PreparedTransactions()

    # Connecting.

    def open(self, position: BinlogPosition) -> None:
        from pymysqlreplication import BinLogStreamReader, event, row_event

        self._position = replace(position, changes=0)
        self._skip = position.changes
        self._boundary = position.since or BinlogPosition(position.file, position.offset)
        self._check(self._boundary)
        options = self._settings.connection_options
        self._stream = BinLogStreamReader(
            connection_settings={
                "host": options.url.host,
                "port": options.url.port,
                "user": options.user_name,
                "password": options.password or "",
                "init_command": _PATIENT,
                "read_timeout": _SILENT_S,
            },
            server_id=self._settings.server_id or random.randrange(1 << 20, 1 << 31),
            blocking=True,
            resume_stream=True,
            log_file=self._boundary.file,
            log_pos=self._boundary.offset,
            only_events=[
                row_event.WriteRowsEvent,
                row_event.UpdateRowsEvent,
                row_event.DeleteRowsEvent,
                event.QueryEvent,
                event.XidEvent,
                event.XAPrepareEvent,
                event.MariadbGtidEvent,
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
                self._move_to(BinlogPosition(event.next_binlog, event.position), entries)
            elif isinstance(event, events.MariadbGtidEvent):
                if event.flags & _BEGINS_XA:
                    self._prepared.begin(self._boundary)
            elif self._ends_transaction(event, entries):
                self._move_to(self._place(), entries)
                break
        return entries

    def _ends_transaction(self, event: Any, entries: list[LogEntry]) -> bool:
        """Take an event; whether a transaction ends with it."""
        from pymysqlreplication import event as events

        if isinstance(event, events.XidEvent):
            return True
        if isinstance(event, events.XAPrepareEvent):
            name = self._prepared.prepare()
            if event.one_phase:
                self._end_xa("COMMIT", name, event, entries)
            return True
        if isinstance(event, events.QueryEvent):
            return self._on_statement(event, entries)
        if event.event_type in _UNREADABLE:
            raise self._unreadable(event)
        if not isinstance(event, events.NotImplementedEvent):
            self._on_rows(event, entries)
        return False

    def _place(self) -> BinlogPosition:
        return BinlogPosition(self._stream.log_file, self._stream.log_pos)

    def _is_known(self, place: BinlogPosition) -> bool:
        """Whether what is there was handed out before a restart."""
        return place.order <= self._position.order

    def _unreadable(self, event: Any) -> HeadraceError:
        return HeadraceError(
            f"{self._settings.url}: the log has an event of type {event.event_type} at "
            f"{self._stream.log_file}:{self._stream.log_pos}, whose rows are compressed or have "
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

    def _move_to(self, place: BinlogPosition, entries: list[LogEntry]) -> None:
        """A transaction ends at a place."""
        self._boundary = place
        if not self._is_known(place):
            self._position = replace(place, since=self._prepared.oldest)
            self._skip = 0
            entries.append((None, self._position))

    def _on_statement(self, event: Any, entries: list[LogEntry]) -> bool:
        """Look at a statement; whether a transaction ends with it."""
        text = event.query.strip()
        found = xa_command(text)
        if found is not None:
            return self._on_xa(*found, event, entries)
        if not self._is_known(self._place()):
            definition = definition_in(text, event.schema.decode())
            if definition is not None:
                for table, _ in self._tables.values():
                    if definition.names(table.database, table.name):
                        self._on_definition(table, definition, text)
        return text.upper() != "BEGIN" and not text.upper().startswith("SAVEPOINT")

    # XA transactions.

    def _on_xa(self, command: str, name: str, event: Any, entries: list[LogEntry]) -> bool:
        if command in ("START", "BEGIN"):
            self._prepared.begin(self._boundary)
        elif command == "END":
            self._prepared.end(name)
        else:
            self._end_xa(command, name, event, entries)
        return command in ("COMMIT", "ROLLBACK")

    def _end_xa(self, command: str, name: str, event: Any, entries: list[LogEntry]) -> None:
        changes, place = self._prepared.take(name), self._place()
        if command == "ROLLBACK" or self._is_known(place):
            return
        if changes is None:
            _log.info("mysql-cdc: %s was prepared before the log was read, ignored", name)
            return
        for change in changes:
            if self._counts(event):
                committed = change._replace(timestamp_ms=event.timestamp * 1000, transaction=place)
                entries.append((committed, self._position))

    # Tables that are defined anew.

    def _on_definition(self, table: CapturedTable, definition: Definition, text: str) -> None:
        if definition.action == "TRUNCATE":
            _log.warning("TRUNCATE of %s is not a change of rows, ignored: %s", table, text)
        elif definition.action in ("DROP", "CREATE"):
            raise HeadraceError(
                f"{self._settings.url}: table {table} was dropped or made anew at "
                f"{self._stream.log_file}:{self._stream.log_pos} while its changes were read, "
                f"with the statement: {text}. Start the job without its state, to read the rows "
                "anew; one that begins with earliest-offset must begin behind this place "
                "(specific-offset)"
            )
        else:
            self._check_columns(table, text)

    def _check_columns(self, table: CapturedTable, statement: str) -> None:
        connection = connected(self._settings)
        try:
            there = dict(asked(self._settings, connection, _TYPES, [table.database, table.name]))
        finally:
            connection.close()
        wrong = [] if there else ["it was dropped or renamed"]
        wrong += [
            f"column {name!r} was dropped or renamed"
            if name not in there
            else f"column {name!r} is now {there[name]}"
            for name, type_ in zip(table.columns, table.types, strict=True)
            if there and there.get(name) != type_
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
        place, prepared = self._place(), self._prepared
        if self._is_known(place) and not prepared.reading:
            return
        for row in event.rows:
            if not prepared.reading and not self._counts(event):
                continue
            before, after = _images(row, deleted=type(event).__name__ == "DeleteRowsEvent")
            change = Change(
                "c" if before is None else "d" if after is None else "u",
                table,
                self._values(table, converters, before),
                self._values(table, converters, after),
                event.timestamp * 1000,
                place,
            )
            if prepared.reading:
                prepared.add(change)
            else:
                entries.append((change, self._position))

    def _counts(self, event: Any) -> bool:
        """Count a change of the next transaction; whether it is to be handed out."""
        self._position = replace(self._position, changes=self._position.changes + 1)
        late = event.timestamp * 1000 >= self._settings.startup.timestamp_ms
        return late and self._position.changes > self._skip

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


Image = dict[str, Any] | None


def _images(row: dict[str, Any], deleted: bool) -> tuple[Image, Image]:
    """A row before and after a change."""
    before, after = _image(row, "before_"), _image(row, "after_")
    if before is not None or after is not None:
        return before, after
    # A row that came or went has one image.
    return (_image(row, ""), None) if deleted else (None, _image(row, ""))


def _image(row: dict[str, Any], which: str) -> Image:
    """The values of a row by column, before or after a change."""
    image: dict[str, Any] | None = row.get(f"{which}values")
    if image is not None:
        # The reader has None for an empty SET as well as for NULL, and says which it is.
        for column, reason in row[f"{which}none_sources"].items():
            if reason == "empty set":
                image[column] = set()
    return image
