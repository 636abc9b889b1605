"""Writes rows and changes of rows into a table of a database, in batches, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    upsert_statement,
)
from headrace.datastream.connectors.jdbc.database import Database, database_of, require_driver
from headrace.datastream.connectors.jdbc.statements import quoted_name, quoted_path
from headrace.datastream.connectors.jdbc.writer import BatchWriter
from headrace.sql.types import DataType
from headrace.sql.types.values import row_to_external

__all__ = ["ChangeSink"]


@dataclass(frozen=True)
class ChangeSink(Sink):
    """A table as a sink: its columns, and the keys by which rows are updated and deleted."""

    connection_options: JdbcConnectionOptions
    execution_options: JdbcExecutionOptions
    table: str
    names: tuple[str, ...]
    types: tuple[DataType, ...]
    keys: tuple[str, ...] = ()
    zone: str = "UTC"
    changelog: bool = False

    @property
    def sql(self) -> str:
        """The statement that writes a row."""
        if self.keys:
            return upsert_statement(self.connection_options, self.table, self.names, self.keys)
        names = ", ".join(quoted_name(self.connection_options, n) for n in self.names)
        values = ", ".join("?" * len(self.names))
        return f"INSERT INTO {self._table()} ({names}) VALUES ({values})"

    @property
    def delete_sql(self) -> str:
        """The statement that deletes the row of a key."""
        keys = [f"{quoted_name(self.connection_options, k)} = ?" for k in self.keys]
        return f"DELETE FROM {self._table()} WHERE {' AND '.join(keys)}"

    def _table(self) -> str:
        return quoted_path(self.connection_options, self.table)

    @property
    def made_at(self) -> str:
        """For messages: the table."""
        return f"the declaration of table {self.table!r}"

    def check(self) -> None:
        """Find a missing driver when the statement is planned."""
        require_driver(self.connection_options)

    def database(self) -> Database:
        """The database."""
        return database_of(self.connection_options)

    def parameters(self, values: Sequence[Any]) -> list[Any]:
        """The rows as the driver takes them, without their kinds."""
        convert = row_to_external(list(self.types), ZoneInfo(self.zone))
        return [tuple(convert(v[:-1] if self.changelog else v)) for v in values]

    def probe(self) -> str:
        return self.database().probe(self.sql)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Called in each subtask."""
        return ChangeWriter(self, context)


class ChangeWriter(BatchWriter):
    """Batches of rows; of changes the last one of each key."""

    def __init__(self, sink: ChangeSink, context: WriterContext) -> None:
        super().__init__(sink, context)
        self._changes = sink
        self._key_columns = [sink.names.index(k) for k in sink.keys]
        self._by_key: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
        self._delete_sql = self._database.driver_sql(sink.delete_sql) if sink.keys else ""

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if not self._changes.keys:
            super().write(values, timestamps)
            return
        kinds = [v[-1] for v in values] if self._changes.changelog else [0] * len(values)
        for kind, row in zip(kinds, self._changes.parameters(values), strict=True):
            key = tuple([row[c] for c in self._key_columns])
            # The row before an update goes, too: the row after it may have another key.
            self._by_key.pop(key, None)
            self._by_key[key] = None if kind & 1 else row
        if len(self._by_key) >= self._changes.execution_options.batch_size:
            self.flush(False)

    def flush(self, end_of_input: bool) -> None:
        if self._by_key:
            changes, self._by_key = self._by_key, {}
            self._write(list(changes.items()))
        super().flush(end_of_input)

    def _execute(self, cursor: Any, batch: list[Any]) -> None:
        if not self._changes.keys:
            super()._execute(cursor, batch)
            return
        gone = [key for key, row in batch if row is None]
        kept = [row for _, row in batch if row is not None]
        if gone:
            cursor.executemany(self._delete_sql, gone)
        if kept:
            cursor.executemany(self._sql, kept)
