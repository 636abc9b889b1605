"""A query as a bounded source, read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import RowTypeInfo, TypeInformation
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.jdbc.database import database_of, require_driver
from headrace.datastream.connectors.jdbc.options import JdbcConnectionOptions
from headrace.datastream.connectors.jdbc.scan import ScanEnumerator, ScanReader
from headrace.datastream.connectors.jdbc.splits import JdbcSplit, PartitionColumn
from headrace.datastream.connectors.jdbc.statements import count_placeholders

__all__ = ["JdbcSource", "JdbcSplit", "PartitionColumn"]


@dataclass(frozen=True)
class JdbcSource(Source):
    """Reads the result of a query. Make one with `JdbcSource.builder()`.

    After a failure a part is queried again and the rows that were read are skipped. So the rows
    must come in the same order: parts by a partition column are sorted by it, and if its values are
    unique each row is read once. Other queries should have an ORDER BY.

    Example:
        >>> source = (
        ...     JdbcSource.builder()
        ...     .set_connection_options(shop)
        ...     .set_sql("SELECT id, amount FROM orders")
        ...     .set_type_information(Types.ROW([Types.LONG(), Types.DOUBLE()]))
        ...     .set_partition_column("id", 8)
        ...     .build()
        ... )
        >>> env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    """

    sql: str
    connection_options: JdbcConnectionOptions
    type_info: TypeInformation | None = None
    parameters: tuple[tuple[Any, ...], ...] = ((),)
    partition_column: PartitionColumn | None = None
    fetch_size: int = 1000
    #: How many rows of each part are read at most; the planner of SQL sets it.
    limit: int | None = None

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """A builder."""
        return JdbcSourceBuilder()

    @property
    def bounded(self) -> bool:
        """Always: the rows that are there when a part is queried."""
        return True

    @property
    def produced_type(self) -> TypeInformation | None:
        return self.type_info

    @property
    def makes_rows(self) -> bool:
        """Whether records are of class `Row`; they are tuples otherwise."""
        return isinstance(self.type_info, RowTypeInfo)

    def probe(self) -> str:
        return database_of(self.connection_options).probe(self.sql)

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return ScanEnumerator(self, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return ScanReader(self)


@dataclass
class JdbcSourceBuilder:
    """Builds a `JdbcSource`; the query and the database are needed."""

    _sql: str | None = None
    _connection_options: JdbcConnectionOptions | None = None
    _url: Any = field(default_factory=JdbcConnectionOptions.JdbcConnectionOptionsBuilder)
    _source: dict[str, Any] = field(default_factory=dict)

    def set_sql(self, sql: str) -> JdbcSourceBuilder:
        """The query."""
        if not isinstance(sql, str) or not sql.strip():
            raise FunctionTypeError(f"a JDBC source needs a query, not {sql!r}")
        self._sql = sql.strip().rstrip(";")
        return self

    def set_connection_options(self, options: JdbcConnectionOptions) -> JdbcSourceBuilder:
        """The database."""
        if not isinstance(options, JdbcConnectionOptions):
            raise FunctionTypeError(f"JdbcConnectionOptions are needed, not {options!r}")
        self._connection_options = options
        return self

    def set_db_url(self, url: str) -> JdbcSourceBuilder:
        """The database, in place of connection options."""
        self._url.with_url(url)
        return self

    def set_username(self, username: str) -> JdbcSourceBuilder:
        """The user, in place of connection options."""
        self._url.with_user_name(username)
        return self

    def set_password(self, password: str) -> JdbcSourceBuilder:
        """The password, in place of connection options."""
        self._url.with_password(password)
        return self

    def set_type_information(self, type_info: TypeInformation) -> JdbcSourceBuilder:
        """The type of the records; they are of class `Row` with `Types.ROW`, else tuples."""
        if not isinstance(type_info, TypeInformation):
            raise FunctionTypeError(f"a TypeInformation is needed, not {type_info!r}")
        self._source["type_info"] = type_info
        return self

    def set_result_set_fetch_size(self, rows: int) -> JdbcSourceBuilder:
        """How many rows are fetched at once."""
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise GraphError(f"the fetch size must be a positive int, not {rows!r}")
        self._source["fetch_size"] = rows
        return self

    def set_parameter_values(self, values: Sequence[Sequence[Any]]) -> JdbcSourceBuilder:
        """Run the query once for each list of values of its placeholders (?)."""
        self._source["parameters"] = tuple(tuple(each) for each in values)
        return self

    def set_partition_column(
        self,
        name: str,
        partitions: int,
        lower: Any = None,
        upper: Any = None,
        within: bool = False,
    ) -> JdbcSourceBuilder:
        """Cut the result into ranges of a column; see `PartitionColumn`."""
        if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
            raise GraphError(f"the number of partitions must be a positive int, not {partitions!r}")
        self._source["partition_column"] = PartitionColumn(name, partitions, lower, upper, within)
        return self

    def build(self) -> JdbcSource:
        """The source."""
        if self._sql is None:
            raise GraphError("a JDBC source needs a query: call set_sql()")
        options = self._connection_options or self._url.build()
        require_driver(options)
        source = replace(JdbcSource(self._sql, options), **self._source)
        expected = count_placeholders(self._sql)
        if source.partition_column is not None and expected:
            raise GraphError(
                "a query with a partition column cannot have placeholders (?) of its own"
            )
        for values in source.parameters:
            if len(values) != expected:
                raise GraphError(
                    f"the query has {expected} placeholders (?) but is given {len(values)} values: "
                    f"{list(values)}"
                )
        return source
