"""Rows of a table of a database by key: one query for many keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.jdbc.database import database_of
from headrace.datastream.connectors.jdbc.pool import ConnectionPool
from headrace.datastream.connectors.jdbc.statements import quoted_name, quoted_path
from headrace.runtime.operator import Operator
from headrace.sql.connectors.jdbc.values import DriverRows
from headrace.sql.lookups.tables import Key, KeySource
from headrace.sql.types.values import row_to_external

__all__ = ["JdbcKeys"]


@dataclass
class JdbcKeys(KeySource):
    """A table of a database; a query that fails for now is tried again."""

    rows: DriverRows
    table: str
    columns: tuple[int, ...]
    max_retries: int = 3
    pool: ConnectionPool | None = field(default=None, init=False)

    def open(self, operator: Operator) -> None:
        self.pool = ConnectionPool.of(self.rows.options)
        types = [self.rows.schema[c].type for c in self.columns]
        self._give = row_to_external(types, ZoneInfo(self.rows.zone))

    def rows_of(self, keys: Sequence[Key]) -> list[Any]:
        assert self.pool is not None
        values = [value for key in keys for value in self._give(key)]
        sql = self.pool.database.driver_sql(self.sql(len(keys)))
        try:
            return self.rows(self.pool.query(sql, values, self.max_retries))
        except HeadraceError as error:
            raise HeadraceError(f"{self._failure}: {error}") from error
        except Exception as error:
            raise HeadraceError(f"{self._failure}: {' '.join(str(error).split())}") from error

    @property
    def _failure(self) -> str:
        return f"rows of table {self.table!r} in {self.rows.options.url} cannot be looked up"

    def sql(self, keys: int) -> str:
        """The query for a number of keys."""
        options, schema = self.rows.options, self.rows.schema

        def quoted(column: int) -> str:
            return quoted_name(options, schema[column].name)

        names = ", ".join(map(quoted, range(len(schema))))
        wanted, one = ", ".join(map(quoted, self.columns)), ", ".join("?" * len(self.columns))
        if len(self.columns) > 1:
            wanted, one = f"({wanted})", f"({one})"
        table = quoted_path(options, self.table)
        return f"SELECT {names} FROM {table} WHERE {wanted} IN ({', '.join([one] * keys)})"

    def probe(self) -> str:
        return database_of(self.rows.options).probe(self.sql(keys=1))

    def close(self) -> None:
        if self.pool is not None:
            self.pool.release()
            self.pool = None
