"""Writes batches at least once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import SinkWriter, WriterContext
from headrace.datastream.connectors.jdbc.database import Database
from headrace.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
)

__all__ = ["BatchTarget", "BatchWriter", "require_valid"]


class BatchTarget(Protocol):
    """What a writer asks of its sink."""

    @property
    def sql(self) -> str: ...

    @property
    def connection_options(self) -> JdbcConnectionOptions: ...

    @property
    def execution_options(self) -> JdbcExecutionOptions: ...

    @property
    def made_at(self) -> str: ...

    def database(self) -> Database: ...

    def parameters(self, values: Sequence[Any]) -> list[Any]: ...


def require_valid(sink: BatchTarget, connection: Any, database: Database) -> None:
    """Find a missing table or column and wrong SQL before the first record."""
    wrong = database.check(connection, sink.sql)
    if wrong is not None:
        raise HeadraceError(
            f"{sink.connection_options.url} cannot execute the statement of the JDBC sink created "
            f"at {sink.made_at}: {wrong}; correct the statement, or create the table and columns "
            f"that it names; the statement is: {sink.sql}"
        )


class BatchWriter(SinkWriter):
    """Each batch is a transaction. One that fails for a passing reason is written again.

    A batch whose connection breaks in its commit may have arrived, and arrives again: at least
    once.
    """

    def __init__(
        self,
        sink: BatchTarget,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sink = sink
        self._context = context
        self._sleep = sleep
        self._database = sink.database()
        self._sql = self._database.driver_sql(sink.sql)
        self._batch: list[Any] = []
        self._connection: Any = None

    def open(self) -> None:
        self._connection = self._database.connect(self._tell, self._sleep)
        require_valid(self._sink, self._connection, self._database)

    def _tell(self, text: str) -> None:
        self._context.print_lines([f"JDBC sink: {text}"], to_stderr=True)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        size = self._sink.execution_options.batch_size
        self._batch += self._sink.parameters(values)
        while len(self._batch) >= size:
            batch, self._batch = self._batch[:size], self._batch[size:]
            self._write(batch)

    def flush(self, end_of_input: bool) -> None:
        if self._batch:
            batch, self._batch = self._batch, []
            self._write(batch)

    def _write(self, batch: list[Any]) -> None:
        retries = self._sink.execution_options.max_retries
        while True:
            try:
                with self._connection.cursor() as cursor:
                    self._execute(cursor, batch)
                self._connection.commit()
                return
            except Exception as error:
                lost = self._database.is_lost(self._connection, error)
                if not lost:
                    self._connection.rollback()
                if not (lost or self._database.is_transient(error)) or retries <= 0:
                    raise self._failure(error, len(batch)) from error
                retries -= 1
                self._tell(f"a batch of {len(batch)} records is written again: {_one_line(error)}")
                if lost:
                    self._connection = self._database.connect(self._tell, self._sleep)

    def _execute(self, cursor: Any, batch: list[Any]) -> None:
        cursor.executemany(self._sql, batch)

    def _failure(self, error: Exception, records: int) -> HeadraceError:
        return HeadraceError(
            f"{self._sink.connection_options.url} refused a batch of {records} records: "
            f"{_one_line(error)}; filter or change such records before the sink, or let the table "
            f"take them; the JDBC sink was created at {self._sink.made_at} with the statement: "
            f"{self._sink.sql}"
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _one_line(error: Exception) -> str:
    return " ".join(str(error.args[-1] if error.args else error).split())
