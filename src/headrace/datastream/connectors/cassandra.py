"""Apache Cassandra as a sink. It needs cassandra-driver: `pip install 'headrace[cassandra]'`.

Records are written at least once; as rows of Cassandra are replaced by their key, that gives exact
results. With the write-ahead log a checkpoint's records are written when it is complete, so
programs whose results differ from run to run leave no rows of a run that failed.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.time import Duration
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.batched_writer import BatchedWriter, BatchLimits, Retries
from headrace.datastream.connectors.client_library import client_library
from headrace.datastream.connectors.write_ahead import CheckpointCommitter, GenericWriteAheadSink

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]

_BATCH = 1_000
_CONCURRENT = 100
_NAME = re.compile(r"\w+")


class ConsistencyLevel(Enum):
    """How many replicas have to have taken a row."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions:
    """Settings of statements.

    In Flink they are for objects of Java classes. Here the consistency level, tracing and fields
    that are None count for all statements; TTL, timestamp and IF NOT EXISTS are part of the query.
    """

    def __init__(self) -> None:
        self.level: ConsistencyLevel | None = None
        self.traces = False
        self.null_fields = True

    def ttl(self, ttl: int) -> MapperOptions:
        """Accepted as in Flink; write `USING TTL` in the query."""
        return self

    def timestamp(self, timestamp: int) -> MapperOptions:
        """Accepted as in Flink; write `USING TIMESTAMP` in the query."""
        return self

    def consistency_level(self, cl: ConsistencyLevel) -> MapperOptions:
        """Set how many replicas have to have taken a row."""
        if not isinstance(cl, ConsistencyLevel):
            raise FunctionTypeError(f"a ConsistencyLevel is needed, not {cl!r}")
        self.level = cl
        return self

    def tracing(self, enabled: bool) -> MapperOptions:
        """Set whether Cassandra traces the statements."""
        self.traces = bool(enabled)
        return self

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        """Set whether a field that is None deletes what is in the column."""
        self.null_fields = bool(enabled)
        return self

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        """Accepted as in Flink; write `IF NOT EXISTS` in the query."""
        return self


@dataclass(frozen=True)
class ClusterBuilder:
    """Makes the connection to a cluster.

    Args:
        build: Gives a `cassandra.cluster.Cluster`, in the process that writes. Picklable.
    """

    build: Callable[[], Any]


@dataclass(frozen=True)
class _Host:
    host: str
    port: int

    def __call__(self) -> Any:
        cluster = client_library("cassandra.cluster", "cassandra-driver", "cassandra")
        return cluster.Cluster([self.host], port=self.port)


class CassandraCommitter(CheckpointCommitter):
    """Keeps in a table of Cassandra which checkpoints were written."""

    def __init__(self, builder: ClusterBuilder, key_space: str) -> None:
        super().__init__()
        self._builder = builder
        self._key_space = key_space
        self._cluster: Any = None
        self._session: Any = None

    @staticmethod
    def default_checkpoint_committer(
        builder: ClusterBuilder, key_space: str | None = None
    ) -> CassandraCommitter:
        """With a table in a key space of its own, `flink_auxiliary` unless another is given."""
        if not isinstance(builder, ClusterBuilder):
            raise FunctionTypeError(f"a ClusterBuilder is needed, not {builder!r}")
        name = key_space or "flink_auxiliary"
        if not _NAME.fullmatch(name):
            raise GraphError(f"the name of a key space has letters and digits, not {name!r}")
        return CassandraCommitter(builder, name)

    @property
    def _table(self) -> str:
        return f"{self._key_space}.checkpoints_{self.job_id}"

    def create_resource(self) -> None:
        self._cluster = self._builder.build()
        self._session = self._cluster.connect()
        self._session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {self._key_space} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        self._session.execute(
            f"CREATE TABLE IF NOT EXISTS {self._table} (sink_id text, sub_id int, "
            "checkpoint_id bigint, PRIMARY KEY (sink_id, sub_id))"
        )

    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        self._session.execute(
            f"INSERT INTO {self._table} (sink_id, sub_id, checkpoint_id) VALUES (%s, %s, %s)",
            (self.operator_id, subtask_idx, checkpoint_id),
        )

    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        found = self._session.execute(
            f"SELECT checkpoint_id FROM {self._table} WHERE sink_id = %s AND sub_id = %s",
            (self.operator_id, subtask_idx),
        ).one()
        return found is not None and bool(found.checkpoint_id >= checkpoint_id)

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.shutdown()


@dataclass(frozen=True)
class CassandraFailureHandler:
    """What to do about records that could not be written.

    Args:
        on_failure: Given the exception; what it raises ends the job.
    """

    on_failure: Callable[[Exception], None]

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """Ends the job, as without a handler."""
        return CassandraFailureHandler(_end_the_job)


def _end_the_job(error: Exception) -> None:
    raise error


@dataclass(frozen=True)
class _Settings:
    """What a sink is made of."""

    query: str = ""
    cluster: ClusterBuilder | None = None
    handler: CassandraFailureHandler = CassandraFailureHandler(_end_the_job)
    level: ConsistencyLevel | None = None
    traces: bool = False
    null_fields: bool = True
    concurrent: int = _CONCURRENT


class CassandraSink:
    """A sink that was added to a stream; made by `CassandraSink.add_sink(stream)`.

    Example:
        >>> CassandraSink.add_sink(stream).set_query(
        ...     "INSERT INTO shop.orders (id, amount) VALUES (?, ?)"
        ... ).set_host("localhost").build()
    """

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def name(self, name: str) -> CassandraSink:
        """Set the name."""
        self._sink.name(name)
        return self

    def uid(self, uid: str) -> CassandraSink:
        """Set the id that savepoints know it by."""
        self._sink.uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        """Set the hash of the id."""
        self._sink.set_uid_hash(uid_hash)
        return self

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        """Set the number of subtasks."""
        self._sink.set_parallelism(parallelism)
        return self

    def disable_chaining(self) -> CassandraSink:
        """Give it a task of its own."""
        self._sink.disable_chaining()
        return self

    def slot_sharing_group(self, slot_sharing_group: str) -> CassandraSink:
        """Set its slot sharing group."""
        self._sink.slot_sharing_group(slot_sharing_group)
        return self

    @staticmethod
    def add_sink(input: Any) -> CassandraSink.CassandraSinkBuilder:
        """Begin to describe where the tuples or rows of a stream go."""
        return CassandraSink.CassandraSinkBuilder(input)

    class CassandraSinkBuilder:
        """Describes a sink; `build` adds it to the stream."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream
            self._settings = _Settings()
            self._committer: CheckpointCommitter | None = None
            self._logged = False

        def set_query(self, query: str) -> CassandraSink.CassandraSinkBuilder:
            """Set the statement, with a `?` for each field of a record."""
            return self._with(query=query)

        def set_host(self, host: str, port: int = 9042) -> CassandraSink.CassandraSinkBuilder:
            """Set a node of the cluster."""
            return self._with(cluster=ClusterBuilder(_Host(host, port)))

        def set_cluster_builder(
            self, builder: ClusterBuilder
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set what makes the connection."""
            if not isinstance(builder, ClusterBuilder):
                raise FunctionTypeError(f"a ClusterBuilder is needed, not {builder!r}")
            return self._with(cluster=builder)

        def enable_write_ahead_log(
            self, committer: CassandraCommitter | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Write the records of a checkpoint when it is complete."""
            self._logged, self._committer = True, committer
            return self

        def set_mapper_options(self, options: MapperOptions) -> CassandraSink.CassandraSinkBuilder:
            """Set consistency level, tracing and what becomes of None."""
            return self._with(
                level=options.level, traces=options.traces, null_fields=options.null_fields
            )

        def set_failure_handler(
            self, failure_handler: CassandraFailureHandler
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set what to do about records that could not be written."""
            return self._with(handler=failure_handler)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Duration | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set how many statements are under way at a time; there is no limit of waiting."""
            if not isinstance(max_concurrent_requests, int) or max_concurrent_requests <= 0:
                raise GraphError(
                    f"max_concurrent_requests is a positive int, not {max_concurrent_requests!r}"
                )
            return self._with(concurrent=max_concurrent_requests)

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            """Leave columns alone whose fields are None."""
            return self._with(null_fields=False)

        def build(self) -> CassandraSink:
            """Add the sink to the stream."""
            made = self._settings
            if not made.query:
                raise GraphError("Query must not be null or empty: call set_query()")
            if made.cluster is None:
                raise GraphError("Cassandra host information must be supplied: call set_host()")
            sink: Sink = _Plain(made)
            if self._logged:
                committer = self._committer
                if committer is None:
                    committer = CassandraCommitter.default_checkpoint_committer(made.cluster)
                sink = _Logged(made, committer)
            return CassandraSink(self._stream.add_sink(sink).name("Cassandra Sink"))

        def _with(self, **changes: Any) -> CassandraSink.CassandraSinkBuilder:
            self._settings = replace(self._settings, **changes)
            return self


class _Statement:
    """A prepared statement, and the connection that it is for."""

    def __init__(self, settings: _Settings) -> None:
        driver = client_library("cassandra", "cassandra-driver", "cassandra")
        concurrent = client_library("cassandra.concurrent", "cassandra-driver", "cassandra")
        query = client_library("cassandra.query", "cassandra-driver", "cassandra")
        assert settings.cluster is not None
        self._settings = settings
        self._execute = concurrent.execute_concurrent_with_args
        self._unset = query.UNSET_VALUE
        self._cluster = settings.cluster.build()
        try:
            self._session = self._cluster.connect()
            self._prepared = self._session.prepare(settings.query)
        except Exception as error:
            self._cluster.shutdown()
            raise HeadraceError(
                f"Cassandra cannot be reached, or refuses the query {settings.query!r}: {error}; "
                "see whether it runs at set_host(), and create the keyspace and the table"
            ) from error
        if settings.level is not None:
            self._prepared.consistency_level = getattr(driver.ConsistencyLevel, settings.level.name)

    @property
    def place(self) -> str:
        """The nodes that the driver knows, and the query."""
        nodes = ", ".join(sorted(str(h.endpoint) for h in self._cluster.metadata.all_hosts()))
        return f"Cassandra at {nodes}, which takes {self._settings.query!r}"

    def write(self, values: Sequence[Any]) -> None:
        """Write records and wait for them; the handler hears of one that failed."""
        results = self._execute(
            self._session,
            self._prepared,
            list(map(self._parameters, values)),
            concurrency=self._settings.concurrent,
            raise_on_first_error=False,
        )
        for success, result in results:
            if not success:
                self._settings.handler.on_failure(result)

    def _parameters(self, record: Any) -> tuple[Any, ...]:
        if self._settings.null_fields:
            return tuple(record)
        return tuple(self._unset if value is None else value for value in record)

    def close(self) -> None:
        """Close the connection."""
        self._cluster.shutdown()


def _probe(settings: _Settings) -> str:
    with contextlib.closing(_Statement(settings)) as statement:
        return statement.place


@dataclass(frozen=True)
class _Plain(Sink):
    settings: _Settings

    def probe(self) -> str:
        return _probe(self.settings)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _RowWriter(self.settings)


class _RowWriter(BatchedWriter):
    def __init__(self, settings: _Settings) -> None:
        # The driver itself tries again what may be tried again.
        super().__init__(BatchLimits(_BATCH), Retries(0))
        self._settings = settings
        self._statement: _Statement | None = None

    def open(self) -> None:
        self._statement = _Statement(self._settings)

    def encode(self, values: list[Any]) -> list[Any]:
        return values

    def send(self, batch: Sequence[Any]) -> Sequence[Any]:
        assert self._statement is not None
        self._statement.write(batch)
        return ()

    def close(self) -> None:
        if self._statement is not None:
            self._statement.close()


class _Logged(GenericWriteAheadSink[Any]):
    def __init__(self, settings: _Settings, committer: CheckpointCommitter) -> None:
        # As in Flink, each program has its own: checkpoints of another have the same numbers.
        super().__init__(committer, uuid.uuid4().hex)
        self._settings = settings
        self._statement: _Statement | None = None

    def probe(self) -> str:
        return _probe(self._settings)

    def open(self) -> None:
        self._statement = _Statement(self._settings)

    def send_values(self, values: Sequence[Any], checkpoint_id: int, timestamp: int) -> bool:
        assert self._statement is not None
        self._statement.write(values)
        return True

    def close(self) -> None:
        if self._statement is not None:
            self._statement.close()
