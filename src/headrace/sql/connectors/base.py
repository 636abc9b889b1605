"""What a connector of tables is: a factory that makes sources and sinks of a table's options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.spark_query import ParquetFiles, RowNumbers, SparkTable
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.catalog.declared_options import DeclaredOptions
from headrace.sql.connectors.watermark_options import WatermarkOptions
from headrace.sql.discovery import find_by_option
from headrace.sql.lookups.full_cache import WholeTable
from headrace.sql.lookups.search import SearchOrder
from headrace.sql.lookups.tables import LookupLimits, LookupTable
from headrace.sql.plan.expressions import Expression, Schema
from headrace.sql.types import DataType
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits

__all__ = ["TableContext", "TableFactory", "TableSink", "TableSource", "find_factory"]

_FACTORIES: dict[str, str] = {
    "datagen": "headrace.sql.connectors.datagen:DataGenFactory",
    "print": "headrace.sql.connectors.printing:PrintFactory",
    "blackhole": "headrace.sql.connectors.blackhole:BlackHoleFactory",
    "delta": "headrace.sql.connectors.lakehouse:DeltaFactory",
    "elasticsearch-6": "headrace.sql.connectors.elasticsearch.connector:Elasticsearch6Factory",
    "elasticsearch-7": "headrace.sql.connectors.elasticsearch.connector:Elasticsearch7Factory",
    "elasticsearch-8": "headrace.sql.connectors.elasticsearch.connector:Elasticsearch8Factory",
    "filesystem": "headrace.sql.connectors.files.connector:FileSystemFactory",
    "iceberg": "headrace.sql.connectors.lakehouse:IcebergFactory",
    "jdbc": "headrace.sql.connectors.jdbc.connector:JdbcFactory",
    "kafka": "headrace.sql.connectors.kafka.connector:KafkaFactory",
    "upsert-kafka": "headrace.sql.connectors.kafka.upsert:UpsertKafkaFactory",
    "kinesis": "headrace.sql.connectors.kinesis.connector:KinesisFactory",
    "kinesis-legacy": "headrace.sql.connectors.kinesis.connector:KinesisFactory",
    "firehose": "headrace.sql.connectors.kinesis.connector:FirehoseFactory",
    "opensearch": "headrace.sql.connectors.elasticsearch.connector:OpensearchFactory",
    "opensearch-2": "headrace.sql.connectors.elasticsearch.connector:Opensearch2Factory",
    "mysql-cdc": "headrace.sql.connectors.cdc.mysql:MySqlCdcFactory",
    "postgres-cdc": "headrace.sql.connectors.cdc.postgres:PostgresCdcFactory",
    "spark": "headrace.sql.connectors.spark:SparkFactory",
    "python": "headrace.sql.connectors.python:PythonFactory",
}


@dataclass
class TableContext(DeclaredOptions):
    """A table as a connector sees it; options that were read are remembered.

    Attributes:
        path: Its full name.
        schema: Physical and metadata columns, in order.
        options: Of WITH and of hints.
        metadata: Columns that are metadata: position to key.
        partition_keys: Names of columns.
        primary_key: Names of columns.
        batch: Whether the session is in batch mode.
        zone: The session's time zone.
        object: What a program registered as the table, if it did.
    """

    path: tuple[str, ...]
    schema: Schema
    options: dict[str, str]
    metadata: dict[int, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    batch: bool = False
    zone: str = "UTC"
    object: Any = None
    _used: set[str] = field(default_factory=lambda: {"connector"})

    def choice(self, key: str, default: str, known: Sequence[str]) -> str:
        """An option that is one of some words, whose case does not matter."""
        value = (self.option(key) or default).upper()
        if value not in known:
            raise SqlError(
                f"option '{key}' of table {self.name} is one of {', '.join(known)}, not '{value}'"
            )
        return value

    def parallelism(self, key: str) -> int | None:
        """A number of subtasks, if one is given."""
        value = self.integer(key)
        if value is not None and value < 1:
            raise SqlError(f"option {key!r} of table {self.name} is positive, not {value}")
        return value


class TableSource(ABC):
    """Reads a table: makes a stream of rows as tuples, in the order of the context's schema."""

    #: Whether rows only ever come; otherwise they end with their kind.
    append_only = True

    #: Whether the new row alone says that a row has changed; they belong together by primary key.
    upsert = False

    #: Whether rows that delete others by key have nothing but the key.
    deletes_by_key = False

    #: Whether it makes watermarks by itself, for each of its splits: see `build_with_watermarks`.
    takes_watermarks = False

    #: Whether it can find the rows of a key: see `lookup`.
    looks_up = False

    #: Whether several lookups of it can run at the same time.
    looks_up_asynchronously = False

    #: Whether it can find the rows whose vectors are like others: see `vector_search`.
    searches = False

    #: Whether several searches of it can run at the same time.
    searches_asynchronously = False

    #: Whether tasks of Spark may read it, in batch mode: nothing happens where it is read, and it
    #: may be read again, in part, if a task fails.
    read_in_spark = False

    #: Whether it reads less if it is `narrowed`, `filtered` or `limited`, and describes that.
    pushes_down = False

    #: What a table that makes watermarks says about them.
    watermark_options = WatermarkOptions()

    @property
    def bounded(self) -> bool:
        """Whether the table comes to an end."""
        return True

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        """The same table for who looks at some columns only; others may be NULL."""
        return self

    @abstractmethod
    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        """The stream."""

    def build_with_watermarks(
        self, env: StreamExecutionEnvironment, strategy: WatermarkStrategy
    ) -> DataStream[Any]:
        """The stream with watermarks, where the source takes them."""
        raise NotImplementedError(f"{type(self).__name__} does not produce watermarks")

    def filtered(self, conditions: Sequence[Expression]) -> tuple[TableSource, list[Expression]]:
        """The same table with fewer rows, and those of the conditions still to be looked at."""
        return self, list(conditions)

    def limited(self, rows: int) -> TableSource:
        """The same table for who takes any so many rows of it; it may give more."""
        return self

    def describe(self) -> list[str]:
        """What EXPLAIN shows of how it was narrowed, filtered and limited."""
        return []

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        """How a slot finds the rows whose columns have given values, if it `looks_up`.

        Args:
            columns: The columns, by their place in the context's schema.
            limits: How asynchronous lookups run, and how often keys without rows are tried.
            configuration: That of the job.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot look up rows")

    def whole_table(self, configuration: Configuration) -> WholeTable | None:
        """How a slot reads all rows, if the table is small enough for that."""
        return None

    def vector_search(
        self, search: SearchOrder, limits: CallLimits, configuration: Configuration
    ) -> BatchTableFunction:
        """How a slot finds the rows whose vectors are most like others, if it `searches`.

        A table that is read as a whole compares all vectors.

        Args:
            search: What is searched for.
            limits: How asynchronous searches run.
            configuration: That of the job.
        """
        table = self.whole_table(configuration)
        assert table is not None, f"{type(self).__name__} cannot search vectors"
        # Late: numpy is slow to load, and few programs search.
        from headrace.sql.lookups.exact_search import ExactSearch

        return ExactSearch(table, search)

    def spark_scan(self, columns: Sequence[int]) -> ParquetFiles | RowNumbers | None:
        """How Spark's JVM can read these columns in internal form; None if it cannot."""
        return None

    def spark_table(self, columns: Sequence[int]) -> SparkTable | None:
        """The same for a table that Spark knows, in batch mode."""
        return None


class TableSink(ABC):
    """Writes a table."""

    #: Whether it takes updates and deletes.
    accepts_updates = False

    #: Whether it wants rows without UPDATE_BEFORE, by key.
    upsert = False

    #: Whether the key is all that it wants of a row that is deleted.
    deletes_by_key = False

    #: Whether INSERT OVERWRITE can replace what is there.
    overwrites = False

    #: Whether it takes Arrow batches of internal values as well as rows.
    takes_columns = False

    #: Of the sink's own subtasks, if the table says so.
    parallelism: int | None = None

    #: Whether it can let all rows go: see `truncate`.
    truncates = False

    #: Whether it can put its small files together: see `compact`.
    compacts = False

    #: Whether it can delete and update the rows that are there: see `delete_rows`.
    changes_rows = False

    #: Why it takes no updates, if there is more to say than that it does not.
    refusal = ""

    @property
    def needs_watermarks(self) -> bool:
        """Whether it looks at the watermarks that come with rows."""
        return False

    def upserts(self, changes: bool) -> bool:
        """Whether it is written by key, if rows of the query change or if they only come."""
        return self.upsert

    @abstractmethod
    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        """Adds the sink to a stream of rows; those of a changelog end with their kind."""

    def attach_columns(self, stream: DataStream[Any], schema: Schema) -> Any:
        """Adds the sink to a stream of Arrow batches of internal values, if it takes them."""
        raise NotImplementedError(f"{type(self).__name__} takes rows")

    def truncate(self) -> None:
        """Lets all rows go, at once."""
        raise NotImplementedError(f"{type(self).__name__} cannot be truncated")

    def compact(self) -> None:
        """Puts small files together; the rows stay the same."""
        raise NotImplementedError(f"{type(self).__name__} cannot be compacted")

    def delete_rows(self, condition: Expression | None) -> int:
        """Deletes the rows that satisfy a condition over the columns of the context, at once.

        Returns:
            How many they were.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot delete rows")

    def update_rows(self, values: Mapping[int, Expression], condition: Expression | None) -> int:
        """Gives columns of the rows that satisfy a condition other values, at once.

        Returns:
            How many they were.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot update rows")


class TableFactory(ABC):
    """Makes sources and sinks of one connector."""

    name: str

    def metadata_type(self, key: str) -> DataType | None:
        """The type that metadata has here, which is cast to the declared one; None: that one."""
        return None

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        """Options of a table that is read for what came since a moment, or comes from now on.

        Returns:
            None if there are none.
        """
        return None

    def create_source(self, context: TableContext) -> TableSource:
        raise SqlError(
            f"Connector '{self.name}' can only be used as a sink. It cannot be used as a source."
        )

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        raise SqlError(
            f"Connector '{self.name}' can only be used as a source. It cannot be used as a sink."
        )


def find_factory(options: dict[str, str], table: str) -> TableFactory:
    """The factory that a table's options name."""
    factory: TableFactory = find_by_option(
        _FACTORIES, options, "connector", f"Table options of {table}"
    )()
    return factory
