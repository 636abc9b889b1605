"""The connectors of Elasticsearch and OpenSearch: rows as documents, by key where there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common.errors import GraphError, SqlError
from headrace.common.settings.types import MEMORY
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
    FlushBackoffType,
    OpensearchSinkBuilder,
)
from headrace.datastream.data_stream import DataStream
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.elasticsearch.documents import DocumentIds, RowEmitter
from headrace.sql.connectors.elasticsearch.index_names import IndexNames
from headrace.sql.connectors.format_options import format_options
from headrace.sql.connectors.streams import by_columns
from headrace.sql.formats.base import Encoder, encoder_for, makes_changes
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import RowField, RowType

__all__ = [
    "Elasticsearch6Factory",
    "Elasticsearch7Factory",
    "Elasticsearch8Factory",
    "Opensearch2Factory",
    "OpensearchFactory",
]

_MB = 1024 * 1024
_BULK = "sink.bulk-flush"
_BACKOFF = f"{_BULK}.backoff"
_STRATEGIES = {
    "CONSTANT": FlushBackoffType.CONSTANT,
    "EXPONENTIAL": FlushBackoffType.EXPONENTIAL,
    "NONE": FlushBackoffType.NONE,
    "DISABLED": FlushBackoffType.NONE,
}
_GUARANTEES = {
    "AT-LEAST-ONCE": DeliveryGuarantee.AT_LEAST_ONCE,
    "EXACTLY-ONCE": DeliveryGuarantee.EXACTLY_ONCE,
    "NONE": DeliveryGuarantee.NONE,
}


class _DocumentFactory(TableFactory):
    """Makes sinks of one product and version."""

    #: Builds them.
    builder: type[ElasticsearchSinkBuilderBase] = Elasticsearch7SinkBuilder

    #: Whether a row that is new replaces a document as a whole.
    replaces = False

    def create_source(self, context: TableContext) -> TableSource:
        """Refused: documents are written."""
        raise SqlError(
            f"Connector '{self.name}' can only be used as a sink. It cannot be used as a source: "
            f"headrace does not read documents, so table {context.name} is for INSERT alone."
        )

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Adds documents, or with a primary key writes, updates and deletes them by their ids."""
        if context.metadata:
            raise SqlError(f"the {self.name} table {context.name} has no metadata columns")
        ids = DocumentIds.of(context)
        builder = self.builder()
        try:
            builder.set_hosts(_hosts(context))
            indexes = IndexNames.of(context)
            emitter = RowEmitter(_encoder(context), indexes, ids, self.doc_type(context))
            emitter = replace(emitter, replaces=self.replaces)
            _connect(context, builder)
            _set_bulk(context, builder)
            self.set_more(context, builder)
        except GraphError as error:
            raise SqlError(f"table {context.name}: {error}") from None
        parallelism = context.parallelism("sink.parallelism")
        context.with_prefix("lookup.")
        context.check_all_used()
        sink = builder.set_emitter(emitter).build()
        return _DocumentTable(self.name, sink, emitter, parallelism)

    def doc_type(self, context: TableContext) -> str | None:
        """The type of documents, which Elasticsearch had until version 6."""
        return None

    def set_more(self, context: TableContext, builder: Any) -> None:
        """Options that not all versions have: when what is sent again."""
        strategy = context.choice(f"{_BACKOFF}.strategy", "NONE", tuple(_STRATEGIES))
        retries = context.integer(f"{_BACKOFF}.max-retries", 8) or 0
        delay = context.duration(f"{_BACKOFF}.delay")
        if retries < 1:
            raise SqlError(f"'{_BACKOFF}.max-retries' must be at least 1. Got: {retries}")
        millis = 50 if delay is None else int(delay.total_seconds() * 1000)
        builder.set_bulk_flush_backoff_strategy(_STRATEGIES[strategy], retries, millis)


class Elasticsearch6Factory(_DocumentFactory):
    """`'connector' = 'elasticsearch-6'`."""

    name = "elasticsearch-6"

    def doc_type(self, context: TableContext) -> str | None:
        """The option `document-type`."""
        found = context.required("document-type")
        if not found.strip():
            raise SqlError(f"'document-type' must not be empty in table {context.name}")
        return found


class Elasticsearch7Factory(_DocumentFactory):
    """`'connector' = 'elasticsearch-7'`."""

    name = "elasticsearch-7"


class Elasticsearch8Factory(_DocumentFactory):
    """`'connector' = 'elasticsearch-8'`."""

    name = "elasticsearch-8"
    replaces = True

    def set_more(self, context: TableContext, builder: Any) -> None:
        """Options of Flink's queue of requests, which say nothing here."""
        for key in (f"{_BULK}.max-buffered-actions", f"{_BULK}.max-in-flight-actions"):
            context.integer(key)
        builder.set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 50)


class OpensearchFactory(_DocumentFactory):
    """`'connector' = 'opensearch'`."""

    name = "opensearch"
    builder = OpensearchSinkBuilder

    def set_more(self, context: TableContext, builder: Any) -> None:
        """Options that not all versions have."""
        super().set_more(context, builder)
        builder.set_allow_insecure(context.boolean("allow-insecure"))


class Opensearch2Factory(OpensearchFactory):
    """`'connector' = 'opensearch-2'`."""

    name = "opensearch-2"


def _encoder(context: TableContext) -> Encoder:
    name = context.option("format", "json") or ""
    if makes_changes(name):
        raise SqlError(
            f"table {context.name} has documents, and not changes of them: its format is 'json', "
            f"not '{name}'"
        )
    row_type = RowType([RowField(f.name, f.type) for f in context.schema], nullable=False)
    return encoder_for(name, row_type, format_options(context, name))


def _hosts(context: TableContext) -> list[str]:
    hosts = [host.strip() for host in context.required("hosts").split(";")]
    for host in hosts:
        if not host.rpartition(":")[2].strip("/").isdecimal():
            raise SqlError(
                f"Could not parse host '{host}' in option 'hosts' of table {context.name}. It "
                "should follow the format 'http://host_name:port'. Missing port."
            )
    return hosts


def _connect(context: TableContext, builder: ElasticsearchSinkBuilderBase) -> None:
    user, password = context.option("username"), context.option("password")
    if user is not None and user.strip():
        if password is None or not password.strip():
            raise SqlError(
                "'username' and 'password' must be set at the same time. Got: username "
                f"'{user}' and password ''"
            )
        builder.set_connection_username(user).set_connection_password(password)
    builder.set_connection_path_prefix(context.option("connection.path-prefix") or "")
    for key in ("connection.request-timeout", "connection.timeout"):
        context.duration(key)
    timeout = context.duration("socket.timeout")
    if timeout:
        builder.set_socket_timeout(max(int(timeout.total_seconds() * 1000), 1))


def _set_bulk(context: TableContext, builder: ElasticsearchSinkBuilderBase) -> None:
    actions = context.integer(f"{_BULK}.max-actions", 1000) or -1
    if actions < -1:
        raise SqlError(f"'{_BULK}.max-actions' must be at least 1. Got: {actions}")
    builder.set_bulk_flush_max_actions(actions)
    key = f"{_BULK}.max-size"
    text = context.option(key, "2mb") or ""
    size = -_MB if text.strip() == "-1" else MEMORY.parse(key, text)
    if size % _MB:
        raise SqlError(f"'{key}' must be in MB granularity. Got: {text}")
    builder.set_bulk_flush_max_size_mb(size // _MB or -1)
    context.duration(f"{_BULK}.interval")
    context.boolean("sink.flush-on-checkpoint", True)
    guarantee = context.choice("sink.delivery-guarantee", "AT-LEAST-ONCE", tuple(_GUARANTEES))
    builder.set_delivery_guarantee(_GUARANTEES[guarantee])


class _DocumentTable(TableSink):
    """An index, or several, that rows are written into."""

    def __init__(
        self, name: str, sink: ElasticsearchSink, emitter: RowEmitter, parallelism: int | None
    ) -> None:
        self._name, self._sink, self._emitter = name, sink, emitter
        self.parallelism = parallelism
        self.upsert = emitter.ids is not None
        self.accepts_updates = self.upsert and not emitter.indexes.of_now
        self.refusal = (
            "Dynamic indexing based on system time only works on append only stream."
            if emitter.indexes.of_now
            else "please declare primary key for sink table when query contains update/delete "
            "record: it makes the ids of documents"
        )

    def upserts(self, changes: bool) -> bool:
        """As in Flink, it takes what there is, but for rows before an update."""
        return changes and self.upsert

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        emitter = replace(self._emitter, changes=changelog)
        if changelog and emitter.ids is not None:
            # All changes of a document have to go through one writer, in their order.
            stream = by_columns(stream, emitter.ids.columns)
        return stream.sink_to(replace(self._sink, emitter=emitter)).name(f"Sink: {self._name}")
