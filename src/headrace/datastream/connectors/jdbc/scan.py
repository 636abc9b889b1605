"""Cutting a query into parts, and reading them."""

from __future__ import annotations

import contextlib
import datetime
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.common.types import Row
from headrace.datastream.connectors.base import ReadBatch, SourceReader, SplitEnumerator
from headrace.datastream.connectors.jdbc.database import Database, ServerAwayError, database_of
from headrace.datastream.connectors.jdbc.splits import JdbcSplit, PartitionColumn
from headrace.datastream.connectors.jdbc.statements import quoted_name

if TYPE_CHECKING:
    from headrace.datastream.connectors.jdbc.source import JdbcSource

__all__ = ["ScanEnumerator", "ScanReader", "ranges"]

_log = logging.getLogger(__name__)
_LOOK_AGAIN_MS = 1_000


class ScanEnumerator(SplitEnumerator):
    """Makes the parts as soon as the database can be asked for the range of values."""

    def __init__(self, source: JdbcSource, parallelism: int) -> None:
        self._source = source
        self._parallelism = parallelism
        self._done = False
        self._told = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if self._done:
            return {}
        try:
            splits = list(map(self._limited, self._splits()))
        except ServerAwayError as error:
            if not self._told:
                _log.warning("the JDBC source waits for its database: %s", error)
            self._told = True
            return {}
        self._done = True
        dealt: dict[int, list[Any]] = {}
        for number, split in enumerate(splits):
            dealt.setdefault(number % self._parallelism, []).append(split)
        return dealt

    def _splits(self) -> list[JdbcSplit]:
        source, column = self._source, self._source.partition_column
        if column is None:
            return [
                JdbcSplit(str(number), source.sql, values)
                for number, values in enumerate(source.parameters)
            ]
        if column.lower is None or column.upper is None:
            column = self._with_bounds(column)
        if column.lower is None:
            # No rows, or none with a value.
            sql = f"SELECT * FROM ({source.sql}) AS headrace_scan"
            return [JdbcSplit("0", sql, source.parameters[0])]
        name = quoted_name(source.connection_options, column.name)
        return _ranged(source.sql, source.parameters[0], column, name)

    def _limited(self, split: JdbcSplit) -> JdbcSplit:
        limit = self._source.limit
        return split if limit is None else replace(split, sql=f"{split.sql} LIMIT {limit}")

    def _with_bounds(self, column: PartitionColumn) -> PartitionColumn:
        options = replace(self._source.connection_options, wait_for_server_s=0)
        database = database_of(options)
        connection = database.connect(lambda text: None)
        name = quoted_name(options, column.name)
        sql = f"SELECT MIN({name}), MAX({name}) FROM ({self._source.sql}) AS headrace_scan"
        try:
            with connection.cursor() as cursor:
                cursor.execute(database.driver_sql(sql), list(self._source.parameters[0]))
                lowest, highest = cursor.fetchone()
        except Exception as error:
            raise HeadraceError(
                f"{options.url} cannot determine the range of partition column {column.name!r}: "
                f"{' '.join(str(error).split())}"
            ) from error
        finally:
            connection.close()
        lower = lowest if column.lower is None else column.lower
        upper = highest if column.upper is None else column.upper
        return replace(column, lower=lower, upper=upper)

    @property
    def finished(self) -> bool:
        return self._done

    def next_discovery(self, now_ms: int) -> int | None:
        return None if self._done else now_ms + _LOOK_AGAIN_MS

    def snapshot(self) -> Any:
        return self._done

    def restore(self, snapshot: Any) -> None:
        self._done = bool(snapshot)


def ranges(lower: Any, upper: Any, count: int) -> list[Any]:
    """The inner bounds that cut a range into parts; fewer if there are not so many values."""
    if isinstance(lower, int) and isinstance(upper, int):
        bounds = [lower + (upper - lower + 1) * i // count for i in range(1, count)]
    elif isinstance(lower, datetime.date) and not isinstance(lower, datetime.datetime):
        first, last = lower.toordinal(), upper.toordinal()
        return [datetime.date.fromordinal(b) for b in ranges(first, last, count)]
    else:
        bounds = [lower + (upper - lower) * i / count for i in range(1, count)]
    return sorted({b for b in bounds if b > lower})


def _ranged(
    sql: str, given: tuple[Any, ...], column: PartitionColumn, name: str
) -> list[JdbcSplit]:
    """Parts that have each row once: those without a value are in the first one, if in any."""
    query = f"SELECT * FROM ({sql}) AS headrace_scan WHERE "
    bounds = ranges(column.lower, column.upper, column.partitions)
    first, last = ([column.lower], [column.upper]) if column.within else ([], [])
    splits = []
    for number in range(len(bounds) + 1):
        low = bounds[number - 1 : number] if number else first
        high = bounds[number : number + 1]
        terms = [f"{name} >= ?" for _ in low] + [f"{name} < ?" for _ in high]
        if not high:
            high = last
            terms += [f"{name} <= ?" for _ in high]
        where = " AND ".join(terms) or "1 = 1"
        if high and not low:
            where = f"({where} OR {name} IS NULL)"
        values = (*given, *low, *high)
        splits.append(JdbcSplit(str(number), f"{query}{where} ORDER BY {name}", values))
    return splits


class ScanReader(SourceReader):
    """Reads one part after the other through a cursor in the server."""

    def __init__(self, source: JdbcSource) -> None:
        self._source = source
        self._database: Database = database_of(source.connection_options)
        self._splits: list[JdbcSplit] = []
        self._finished: list[str] = []
        self._connection: Any = None
        self._cursor: Any = None

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._splits += splits

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._splits:
            split = self._splits[0]
            rows = self._fetch(split, min(max_records, self._source.fetch_size))
            if rows:
                self._splits[0] = replace(split, rows_read=split.rows_read + len(rows))
                values = [Row(*row) for row in rows] if self._source.makes_rows else list(rows)
                return ReadBatch(split.split_id, values)
            self._end_query()
            self._finished.append(split.split_id)
            del self._splits[0]
        return None

    def _fetch(self, split: JdbcSplit, count: int) -> Sequence[Any]:
        try:
            if self._cursor is None:
                self._start_query(split)
            rows: Sequence[Any] = self._cursor.fetchmany(count)
        except HeadraceError:
            raise
        except Exception as error:
            raise HeadraceError(
                f"{self._source.connection_options.url} cannot be read: "
                f"{' '.join(str(error).split())}; the statement is: {split.sql}"
            ) from error
        return rows

    def _start_query(self, split: JdbcSplit) -> None:
        if self._connection is None:
            self._connection = self._database.connect(
                lambda text: _log.warning("JDBC source: %s", text)
            )
        cursor = self._database.open_cursor(self._connection, self._source.fetch_size)
        cursor.execute(self._database.driver_sql(split.sql), list(split.parameters))
        self._cursor = cursor
        left = split.rows_read
        while left > 0 and (skipped := len(cursor.fetchmany(min(left, self._source.fetch_size)))):
            left -= skipped

    def _end_query(self) -> None:
        self._cursor.close()
        self._connection.rollback()
        self._cursor = None

    def snapshot(self) -> list[Any]:
        return list(self._splits)

    def finished_splits(self) -> Iterable[str]:
        finished, self._finished = self._finished, []
        return finished

    @property
    def exhausted(self) -> bool:
        return not self._splits

    def close(self) -> None:
        if self._cursor is not None:
            # The connection may be broken, and the failure that this follows says more.
            with contextlib.suppress(Exception):
                self._cursor.close()
        if self._connection is not None:
            self._connection.close()
