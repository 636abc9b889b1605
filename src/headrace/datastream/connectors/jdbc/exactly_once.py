"""Writes into transactions that are committed with the checkpoint."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import (
    Committer,
    RetriableCommitError,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
)
from headrace.datastream.connectors.jdbc.prepared import PreparedTransaction, transactions_of
from headrace.datastream.connectors.jdbc.writer import require_valid

if TYPE_CHECKING:
    from headrace.datastream.connectors.jdbc.sink import JdbcSink

__all__ = ["TransactionCommitter", "TransactionWriter"]


class TransactionWriter(SinkWriter):
    """One transaction for each checkpoint, begun with its first record.

    At the barrier it is prepared: durable, without a connection, and invisible until it is
    committed.
    """

    def __init__(
        self, sink: JdbcSink, options: JdbcExactlyOnceOptions, context: WriterContext
    ) -> None:
        self._sink = sink
        self._context = context
        self._transactions = transactions_of(sink.connection_options)
        self._database = self._transactions.database
        self._sql = self._database.driver_sql(sink.sql)
        self._batch: list[Any] = []
        self._open: str | None = None
        self._connection: Any = None
        self._prefix = f"{options.transaction_id_prefix or f'headrace-{context.job_id}'}:"
        self._operator = f"{self._prefix}{context.operator_id[:16]}:"

    def open(self) -> None:
        self._connection = self._database.connect(self._tell)
        require_valid(self._sink, self._connection, self._database)
        self._transactions.require(self._connection)
        self._connection.rollback()
        if self._context.subtask == 0:
            self._clean_up()

    def _clean_up(self) -> None:
        """Roll back what failed attempts have prepared; those of other subtasks begin later."""
        keep = {transaction.name for transaction in self._context.restored_committables}
        prefixes = {self._operator, *self._context.restored_state}
        with self._database.connect(self._tell, autocommit=True) as connection:
            stale = self._transactions.roll_back_stale(connection, sorted(prefixes), keep)
        if stale:
            self._tell(f"rolled back {len(stale)} transactions of failed attempts")

    def _tell(self, text: str) -> None:
        self._context.print_lines([f"JDBC sink: {text}"], to_stderr=True)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._batch += self._sink.parameters(values)
        if len(self._batch) >= self._sink.execution_options.batch_size:
            self.flush(end_of_input=False)

    def flush(self, end_of_input: bool) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        try:
            if self._open is None:
                self._begin()
            with self._connection.cursor() as cursor:
                cursor.executemany(self._sql, batch)
        except Exception as error:
            raise HeadraceError(
                f"{self._sink.connection_options.url} refused a batch of {len(batch)} records: "
                f"{' '.join(str(error).split())}; the JDBC sink was created at "
                f"{self._sink.made_at} with the statement: {self._sink.sql}"
            ) from error

    def _begin(self) -> None:
        if self._connection is None:
            self._connection = self._database.connect(self._tell)
        name = f"{self._operator}{self._context.subtask}-{secrets.token_hex(8)}"
        self._transactions.begin(self._connection, name)
        self._open = name

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[PreparedTransaction]:
        name, self._open = self._open, None
        if name is None:
            return []
        prepared = self._transactions.prepare(self._connection, name)
        if self._transactions.keeps_connection:
            self._connection.close()
            self._connection = None
        return [prepared]

    def snapshot(self) -> list[str]:
        """What the names begin with: another job that goes on from here cleans up after us."""
        return [self._operator] if self._context.subtask == 0 else []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class TransactionCommitter(Committer):
    """Commits transactions that wait."""

    def __init__(self, options: JdbcConnectionOptions, context: WriterContext) -> None:
        self._transactions = transactions_of(options)
        self._context = context
        self._connection: Any = None

    def commit(self, committables: list[PreparedTransaction]) -> None:
        try:
            if self._connection is None:
                database = self._transactions.database
                self._connection = database.connect(self._tell, autocommit=True)
            for transaction in committables:
                self._transactions.commit(self._connection, transaction)
        except self._transactions.passing_errors() as error:
            self.close()
            raise RetriableCommitError(" ".join(str(error).split())) from error

    def _tell(self, text: str) -> None:
        self._context.print_lines([f"JDBC sink: {text}"], to_stderr=True)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
