"""A table as a sink."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.jdbc.database import Database, database_of, require_driver
from headrace.datastream.connectors.jdbc.exactly_once import TransactionCommitter, TransactionWriter
from headrace.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from headrace.datastream.connectors.jdbc.statements import count_placeholders
from headrace.datastream.connectors.jdbc.writer import BatchWriter

__all__ = ["JdbcSink"]

# An id has 64 bytes, and behind the prefix comes what tells the job's sinks apart.
_LONGEST_XA_PREFIX = 46
_PACKAGE = str(Path(__file__).parents[3])


@dataclass(frozen=True)
class JdbcSink(Sink):
    """Writes records with a SQL statement. Make one with `sink` or `exactly_once_sink`.

    `sink` writes at least once: after a failure, records since the last checkpoint are written
    again, which a statement of `upsert_statement` makes harmless. `exactly_once_sink` writes into
    transactions that are committed with the checkpoint.

    Example:
        >>> stream.add_sink(
        ...     JdbcSink.sink(
        ...         "INSERT INTO orders (id, amount) VALUES (?, ?)",
        ...         Types.ROW([Types.LONG(), Types.DOUBLE()]),
        ...         connection_options,
        ...         JdbcExecutionOptions.builder().with_batch_size(1000).build(),
        ...     )
        ... )
    """

    sql: str
    type_info: TypeInformation
    connection_options: JdbcConnectionOptions
    execution_options: JdbcExecutionOptions
    made_at: str
    exactly_once: JdbcExactlyOnceOptions | None = None

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that writes at least once.

        Args:
            sql: A statement with a `?` for each field of a record.
            type_info: The type of the records: a row, or a tuple.
            jdbc_connection_options: The database.
            jdbc_execution_options: Size of batches and number of retries.
        """
        return _make(sql, type_info, jdbc_connection_options, jdbc_execution_options, None)

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that writes exactly once, with transactions that wait for the checkpoint.

        PostgreSQL needs `max_prepared_transactions` of at least twice the sink's parallelism, MySQL
        5.7.7 or MariaDB 10.5.2 is needed for XA. Between two checkpoints rows are locked as in any
        transaction.

        Args:
            sql: A statement with a `?` for each field of a record.
            type_info: The type of the records: a row, or a tuple.
            jdbc_connection_options: The database.
            jdbc_exactly_once_options: How transactions are named.
            jdbc_execution_options: Size of batches. A batch is not tried again by itself: what the
                transaction had is lost with it, so the job goes back to its last checkpoint.
        """
        given = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        made = _make(sql, type_info, jdbc_connection_options, jdbc_execution_options, given)
        prefix = given.transaction_id_prefix or ""
        xa = jdbc_connection_options.url.product != "postgresql"
        if xa and len(prefix.encode()) > _LONGEST_XA_PREFIX:
            raise GraphError(
                f"with MySQL a transaction id prefix has {_LONGEST_XA_PREFIX} bytes at most, "
                f"unlike {prefix!r}"
            )
        return made

    def probe(self) -> str:
        return self.database().probe(self.sql)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self.exactly_once is not None:
            return TransactionWriter(self, self.exactly_once, context)
        return BatchWriter(self, context)

    def create_committer(self, context: WriterContext) -> Committer | None:
        if self.exactly_once is None:
            return None
        return TransactionCommitter(self.connection_options, context)

    def database(self) -> Database:
        """The database."""
        return database_of(self.connection_options)

    def parameters(self, values: Sequence[Any]) -> list[Any]:
        """The values of the statement's placeholders for each record."""
        return (
            list(values) if isinstance(self.type_info, TupleTypeInfo) else list(map(tuple, values))
        )


def _make(
    sql: str,
    type_info: Any,
    connection: Any,
    execution: Any,
    exactly_once: JdbcExactlyOnceOptions | None,
) -> JdbcSink:
    if not isinstance(sql, str) or not sql.strip():
        raise FunctionTypeError(f"a JDBC sink needs a SQL statement, not {sql!r}")
    if not isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        raise FunctionTypeError(
            "a JDBC sink needs the type of its records: Types.ROW([...]) or Types.TUPLE([...]), "
            f"not {type_info!r}"
        )
    if not isinstance(connection, JdbcConnectionOptions):
        raise FunctionTypeError(f"JdbcConnectionOptions are needed, not {connection!r}")
    if execution is not None and not isinstance(execution, JdbcExecutionOptions):
        raise FunctionTypeError(f"JdbcExecutionOptions are needed, not {execution!r}")
    placeholders, fields = count_placeholders(sql), len(type_info.get_field_types())
    if placeholders != fields:
        raise GraphError(
            f"the statement has {placeholders} placeholders (?) but a record has {fields} fields: "
            f"{sql}"
        )
    require_driver(connection)
    return JdbcSink(
        sql,
        type_info,
        connection,
        execution or JdbcExecutionOptions.defaults(),
        _users_line(),
        exactly_once,
    )


def _users_line() -> str:
    """Where the program made the sink."""
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(_PACKAGE)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown line"
