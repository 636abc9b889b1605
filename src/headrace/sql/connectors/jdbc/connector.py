"""The jdbc connector: the rows of a table, and rows into one, by key where it has one."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSource,
)
from headrace.datastream.connectors.jdbc.database import require_driver
from headrace.datastream.connectors.jdbc.statements import quoted_name, quoted_path
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.jdbc.changes import ChangeSink
from headrace.sql.connectors.jdbc.conditions import DatabaseText
from headrace.sql.connectors.jdbc.lookup import JdbcKeys
from headrace.sql.connectors.jdbc.scan_conditions import ScanCondition, ScanConditions
from headrace.sql.connectors.jdbc.values import DriverRows, OfMySql
from headrace.sql.connectors.lookup_options import LookupCaching
from headrace.sql.connectors.streams import by_columns, internal_rows
from headrace.sql.lookups.full_cache import SourceRows, WholeTable
from headrace.sql.lookups.tables import LookupLimits, LookupTable
from headrace.sql.plan.expressions import Expression, Schema, columns_used, expression_text
from headrace.sql.types import DateType, IntegralType, TimestampType

__all__ = ["JdbcFactory"]

_SCAN = "scan.partition"
_FILTERS = "filter.handling.policy"
_OF_SINKS = (
    "sink.buffer-flush.max-rows",
    "sink.buffer-flush.interval",
    "sink.max-retries",
    "sink.parallelism",
)
_OF_SOURCES = (
    f"{_SCAN}.column",
    f"{_SCAN}.num",
    f"{_SCAN}.lower-bound",
    f"{_SCAN}.upper-bound",
    "scan.fetch-size",
    "scan.auto-commit",
    _FILTERS,
)


class JdbcFactory(TableFactory):
    """`'connector' = 'jdbc'`."""

    name = "jdbc"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads the rows that are there, in one part or, by a column, in several."""
        options, table = self._common(context, _OF_SINKS)
        builder = (
            JdbcSource.builder()
            .set_connection_options(options)
            .set_sql(_select(options, table, context.schema.names))
            .set_result_set_fetch_size(context.integer("scan.fetch-size") or 1000)
        )
        context.boolean("scan.auto-commit")
        policy = context.choice(_FILTERS, "ALWAYS", ("ALWAYS", "NEVER"))
        parts = _parts(context)
        if parts is not None:
            builder.set_partition_column(*parts, within=True)
        caching = LookupCaching.of(context)
        retries = context.integer("lookup.max-retries", 3) or 0
        context.check_all_used()
        require_driver(options)
        rows = DriverRows(options, context.schema, context.zone)
        return _JdbcTable(
            builder.build(), rows, table, caching, retries, pushes_down=policy == "ALWAYS"
        )

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Inserts rows, or with a primary key inserts, updates and deletes them."""
        options, table = self._common(context, _OF_SOURCES)
        execution = (
            JdbcExecutionOptions.builder()
            .with_batch_size(context.integer("sink.buffer-flush.max-rows", 100) or 1)
            .with_max_retries(context.integer("sink.max-retries", 3) or 0)
        )
        context.option("sink.buffer-flush.interval")
        parallelism = context.parallelism("sink.parallelism")
        context.with_prefix("lookup.")
        context.check_all_used()
        sink = ChangeSink(
            options,
            execution.build(),
            table,
            tuple(context.schema.names),
            tuple(context.schema.types),
            context.primary_key,
            context.zone,
        )
        sink.check()
        return _JdbcTableSink(sink, bool(context.primary_key), parallelism)

    def _common(
        self, context: TableContext, others: tuple[str, ...]
    ) -> tuple[JdbcConnectionOptions, str]:
        """The database and the table; a table may have options for what it is not used as."""
        if context.metadata:
            raise SqlError(f"the jdbc table {context.name} has no metadata columns")
        for key in ("connection.max-retries", *others):
            context.option(key)
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        builder.with_url(context.required("url"))
        table = context.required("table-name")
        driver, user = context.option("driver"), context.option("username")
        password = context.option("password")
        wait = context.duration("connection.max-retry-timeout")
        if driver is not None:
            builder.with_driver_name(driver)
        if user is not None:
            builder.with_user_name(user)
        if password is not None:
            builder.with_password(password)
        if wait is not None:
            builder.with_wait_for_server(wait.total_seconds())
        return builder.build(), table


def _parts(context: TableContext) -> tuple[str, int, Any, Any] | None:
    """The column of `scan.partition.*`, the number of parts and the bounds between them."""
    column = context.option(f"{_SCAN}.column")
    count = context.integer(f"{_SCAN}.num")
    texts = [context.option(f"{_SCAN}.lower-bound"), context.option(f"{_SCAN}.upper-bound")]
    given = [column, count, *texts]
    if all(x is None for x in given):
        return None
    if column is None or count is None or None in texts:
        raise SqlError(
            f"table {context.name}: either all or none of '{_SCAN}.column', '{_SCAN}.num', "
            f"'{_SCAN}.lower-bound' and '{_SCAN}.upper-bound' must be given"
        )
    names = context.schema.names
    if column not in names:
        raise SqlError(
            f"'{_SCAN}.column' names no column of {context.name}: "
            f"'{column}'{suggestion(column, names)}"
        )
    type_ = context.schema[names.index(column)].type
    lower, upper = (_bound(type_, text or "", context) for text in texts)
    if lower > upper:
        raise SqlError(
            f"'{_SCAN}.lower-bound'='{lower}' must not be larger than "
            f"'{_SCAN}.upper-bound'='{upper}'."
        )
    return column, max(count, 1), lower, upper


def _bound(type_: Any, text: str, context: TableContext) -> Any:
    """A bound as a value of the column: of milliseconds where it has a time, as in Flink."""
    try:
        number = int(text)
    except ValueError:
        raise SqlError(
            f"the bounds of '{_SCAN}' of table {context.name} are numbers, not {text!r}; for times "
            "milliseconds since 1970, for dates days"
        ) from None
    epoch = datetime.datetime(1970, 1, 1)
    if isinstance(type_, TimestampType):
        return epoch + datetime.timedelta(milliseconds=number)
    if isinstance(type_, DateType):
        return epoch.date() + datetime.timedelta(days=number)
    if isinstance(type_, IntegralType):
        return number
    raise SqlError(
        f"'{_SCAN}.column' of table {context.name} is a number, a date or a timestamp, not "
        f"{type_.sql_text()}"
    )


def _select(
    options: JdbcConnectionOptions, table: str, names: Sequence[str], left_out: Collection[str] = ()
) -> str:
    """A query of all columns; those that nobody looks at are NULL."""
    columns = [
        f"NULL AS {quoted_name(options, x)}" if x in left_out else quoted_name(options, x)
        for x in names
    ]
    return f"SELECT {', '.join(columns)} FROM {quoted_path(options, table)}"


@dataclass
class _JdbcTable(TableSource):
    """A table of a database.

    The database gives `columns`, all if it is None, of rows that satisfy `conditions`, which go
    with what EXPLAIN shows of them, and of each part `limit` rows at most.
    """

    source: JdbcSource
    rows: DriverRows
    table: str
    caching: LookupCaching
    retries: int
    columns: tuple[int, ...] | None = None
    conditions: tuple[tuple[str, ScanCondition], ...] = ()
    limit: int | None = None
    pushes_down: bool = True
    looks_up = True
    read_in_spark = True

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        no_watermarks = WatermarkStrategy.no_watermarks()
        schema = self._read_schema()
        rows = env.from_source(self._scanned(), no_watermarks, "Source: jdbc")
        if self.source.connection_options.url.product != "postgresql":
            rows = rows.map(OfMySql(tuple(schema.types))).name("Values of MySQL")
        return internal_rows(rows, schema, False, self.rows.zone)

    def _scanned(self) -> JdbcSource:
        names, part = self.rows.schema.names, self.source.partition_column
        read = range(len(names)) if self.columns is None else self.columns
        left_out = set(names) - {names[i] for i in read} - {part.name if part else None}
        sql = _select(self.rows.options, self.table, names, left_out)
        where = " AND ".join(condition.sql for _, condition in self.conditions)
        values = tuple(value for _, condition in self.conditions for value in condition.values)
        sql = f"{sql} WHERE {where}" if where else sql
        return replace(self.source, sql=sql, parameters=(values,), limit=self.limit)

    def _read_schema(self) -> Schema:
        """The columns, where those that nobody looks at may be NULL."""
        schema, read = self.rows.schema, self.columns
        return Schema(
            tuple(
                f if read is None or i in read else replace(f, type=f.type.nullable())
                for i, f in enumerate(schema)
            )
        )

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        return replace(self, columns=tuple(columns))

    def filtered(self, conditions: Sequence[Expression]) -> tuple[TableSource, list[Expression]]:
        schema = self.rows.schema
        writer = ScanConditions(self.rows.options, schema, self.rows.zone)
        found, left = list(self.conditions), []
        for e in conditions:
            condition = writer.of(e)
            if condition is None:
                left.append(e)
            else:
                found.append((expression_text(e, schema.names), condition))
        return (
            self if len(left) == len(conditions) else replace(self, conditions=tuple(found))
        ), left

    def limited(self, rows: int) -> TableSource:
        return replace(self, limit=rows)

    def describe(self) -> list[str]:
        parts = []
        if self.conditions:
            parts.append(f"filter=[{' AND '.join(shown for shown, _ in self.conditions)}]")
        if self.columns is not None:
            names = self.rows.schema.names
            parts.append(f"project=[{', '.join(names[i] for i in self.columns)}]")
        return parts if self.limit is None else [*parts, f"limit=[{self.limit}]"]

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        table = self.whole_table(configuration)
        if table is not None:
            return self.caching.of_all(table, columns, limits)
        keys = JdbcKeys(self.rows, self.table, tuple(columns), self.retries)
        return self.caching.of_keys(keys, columns, limits)

    def whole_table(self, configuration: Configuration) -> WholeTable | None:
        if not self.caching.full:
            return None
        return self.caching.whole(SourceRows(self.source, self.rows))

    @property
    def searches(self) -> bool:  # type: ignore[override]
        return self.caching.full


class _JdbcTableSink(TableSink):
    truncates = True
    changes_rows = True
    refusal = "please declare primary key for sink table when query contains update/delete record."

    def __init__(self, sink: ChangeSink, upsert: bool, parallelism: int | None) -> None:
        self._sink = sink
        self.parallelism = parallelism
        self.accepts_updates = self.upsert = upsert

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        sink = replace(self._sink, changelog=changelog)
        if changelog and sink.keys:
            # All changes of a key have to go through one writer, in their order.
            stream = by_columns(stream, [schema.names.index(k) for k in sink.keys])
        return stream.sink_to(sink).name("Sink: jdbc")

    def truncate(self) -> None:
        self._run(f"TRUNCATE TABLE {self._table()}", [])

    def delete_rows(self, condition: Expression | None) -> int:
        text = self._expressions()
        where = "" if condition is None else f" WHERE {text.text(condition)}"
        return self._run(f"DELETE FROM {self._table()}{where}", text.values)

    def update_rows(self, values: Mapping[int, Expression], condition: Expression | None) -> int:
        if self._mysql:
            _check_order(values, self._sink.names)
        text, names, types = self._expressions(), self._names(), self._sink.types
        assigned = ", ".join(
            [f"{names[c]} = {text.assigned(e, types[c])}" for c, e in values.items()]
        )
        where = "" if condition is None else f" WHERE {text.text(condition)}"
        return self._run(f"UPDATE {self._table()} SET {assigned}{where}", text.values)

    def _table(self) -> str:
        return quoted_path(self._sink.connection_options, self._sink.table)

    def _names(self) -> list[str]:
        return [quoted_name(self._sink.connection_options, name) for name in self._sink.names]

    def _expressions(self) -> DatabaseText:
        return DatabaseText(self._names(), self._sink.zone, self._mysql)

    @property
    def _mysql(self) -> bool:
        return self._sink.connection_options.url.product != "postgresql"

    def _run(self, sql: str, values: Sequence[Any]) -> int:
        """One statement in a transaction of its own."""
        database = self._sink.database()
        connection = database.connect(lambda line: None)
        try:
            with connection.cursor() as cursor:
                cursor.execute(database.driver_sql(sql), tuple(values))
                rows = int(cursor.rowcount)
            connection.commit()
            return rows
        except Exception as error:
            raise SqlError(f"{self._sink.connection_options.url} refused {sql}: {error}") from error
        finally:
            connection.close()


def _check_order(values: Mapping[int, Expression], names: Sequence[str]) -> None:
    """MySQL assigns one column after the other, and reads what it has assigned."""
    before: set[int] = set()
    for column, value in values.items():
        for read in sorted(before & columns_used(value)):
            raise SqlError(
                f"'{names[column]}' would get the new value of '{names[read]}', which MySQL "
                f"assigns before: put the assignment of '{names[column]}' before that of "
                f"'{names[read]}', or where both need the old values use a query and INSERT"
            )
        before.add(column)
