"""Options of data streams as tables: which stream, from where on, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headrace.common.errors import GraphError, SqlError
from headrace.datastream.connectors.kinesis import (
    KinesisFirehoseSinkBuilder,
    KinesisShardAssigner,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from headrace.datastream.connectors.kinesis.source import seconds_of
from headrace.sql.connectors.base import TableContext
from headrace.sql.types import (
    BooleanType,
    CharType,
    DoubleType,
    FloatType,
    IntegralType,
    VarCharType,
)
from headrace.sql.types.text import java_text

__all__ = [
    "beginning",
    "client_properties",
    "partition_keys",
    "producer_endpoint",
    "reader_properties",
    "set_writing",
    "shard_assigner",
    "skip_reader_options",
    "skip_writer_options",
    "stream_of",
]

_CREDENTIALS = "aws.credentials."
_OF_CLIENTS = (
    "aws.region",
    "aws.endpoint",
    f"{_CREDENTIALS}provider",
    f"{_CREDENTIALS}basic.accesskeyid",
    f"{_CREDENTIALS}basic.secretkey",
    f"{_CREDENTIALS}basic.sessiontoken",
    f"{_CREDENTIALS}profile.name",
)
_TRUST = "aws.trust.all.certificates"

# What an option is called: by Flink's connector of today, and by the older one.
_POSITION = ("source.init.position", "scan.stream.initpos")
_TIMESTAMP = ("source.init.timestamp", "scan.stream.initpos-timestamp")
_PATTERN = ("source.init.timestamp.format", "scan.stream.initpos-timestamp-format")
_ASSIGNER = ("source.shard-assigner", "scan.shard-assigner")
_MOST = ("source.shard.get-records.max-record-count", "scan.shard.getrecords.maxrecordcount")
_PAUSE = "scan.shard.getrecords.intervalmillis"
_DISCOVERY = "source.shard.discovery.interval"
_DISCOVERY_MS = "scan.shard.discovery.intervalmillis"
_READER = ("source.reader.type", "scan.stream.recordpublisher")
_POSITIONS = ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP")

# How Flink's clients repeat requests and keep connections: boto3 has ways of its own.
_TUNING_OF_CLIENTS = ("aws.http.protocol.version", "aws.http-client.", "sink.http-client.")
_TUNING_OF_READERS = (
    "scan.list.shards.",
    "scan.shard.adaptivereads",
    "scan.shard.getiterator.",
    "scan.shard.getrecords.",
    "scan.shard.idle.interval",
    "scan.shard.subscribetoshard.",
    "scan.stream.deregisterstreamconsumer.",
    "scan.stream.describe.",
    "scan.stream.describestreamconsumer.",
    "scan.stream.efo.",
    "scan.stream.registerstreamconsumer.",
    "scan.watermark.lookahead.millis",
    "scan.watermark.sync.",
    "shard.consumer.error.recoverable",
    "source.efo.",
    "source.reader.empty-records-fetch-interval",
)
_PRODUCER = "sink.producer."
_OF_WRITERS = (
    "sink.batch.max-size",
    "sink.fail-on-error",
    "sink.flush-buffer.size",
    "sink.flush-buffer.timeout",
    "sink.parallelism",
    "sink.partitioner",
    "sink.partitioner-field-delimiter",
    "sink.requests.max-buffered",
    "sink.requests.max-inflight",
)
_ARN = re.compile(r"arn:[\w-]+:kinesis:[\w-]+:\d+:stream/[\w.-]+")
_MOST_IN_BATCH = 500
_LONGEST_KEY = 256
_KEY_TYPES = (CharType, VarCharType, BooleanType, IntegralType, FloatType, DoubleType)


def stream_of(context: TableContext) -> str:
    """The stream of a table, by its name or its ARN."""
    name, arn = context.option("stream"), context.option("stream.arn")
    if name is not None and arn is not None:
        raise SqlError(
            f"table {context.name} needs one of the options 'stream' and 'stream.arn', not both"
        )
    if arn is None:
        return context.required("stream.arn") if name is None else name
    if not _ARN.fullmatch(arn):
        raise SqlError(
            f"option 'stream.arn' of table {context.name} is not the ARN of a stream, such as "
            f"'arn:aws:kinesis:eu-west-1:012345678901:stream/orders': '{arn}'"
        )
    return arn


def client_properties(context: TableContext) -> dict[str, str]:
    """Region, endpoint and credentials, by the names that they have in a DataStream."""
    found: dict[str, str] = {}
    for key in _OF_CLIENTS:
        value = context.option(key)
        if value is not None:
            if key.startswith(_CREDENTIALS) and key != f"{_CREDENTIALS}provider":
                key = key.replace(_CREDENTIALS, f"{_CREDENTIALS}provider.")
            found[key] = value
    if context.boolean(_TRUST):
        found[_TRUST] = "true"
    _skip(context, _TUNING_OF_CLIENTS)
    return found


def _skip(context: TableContext, prefixes: Sequence[str]) -> None:
    for prefix in prefixes:
        context.with_prefix(prefix)


def _either(context: TableContext, keys: tuple[str, str]) -> tuple[str, str | None]:
    """An option of two names: the one that is given, and its value."""
    given = [(key, value) for key in keys if (value := context.option(key)) is not None]
    if len(given) == 2:
        raise SqlError(f"'{keys[0]}' and '{keys[1]}' of table {context.name} are one option")
    return given[0] if given else (keys[0], None)


# Reading.


def reader_properties(context: TableContext) -> dict[str, str]:
    """From where on a stream is read and how, by the names that it has in a DataStream."""
    found = client_properties(context)
    if "aws.endpoint" not in found:
        context.required("aws.region")
    key, _ = _either(context, _POSITION)
    position = context.choice(key, "LATEST", _POSITIONS)
    found["flink.stream.initpos"] = position
    key, text = _either(context, _TIMESTAMP)
    _, pattern = _either(context, _PATTERN)
    if position == "AT_TIMESTAMP":
        if not text:
            raise SqlError(f"AT_TIMESTAMP of table {context.name} needs '{key}'")
        try:
            seconds = seconds_of(key, text, pattern)
        except GraphError as error:
            raise SqlError(f"table {context.name}: {error}") from error
        found["flink.stream.initpos.timestamp"] = repr(seconds)
    _, most = _either(context, _MOST)
    pause = context.option(_PAUSE)
    interval = context.option(_DISCOVERY_MS)
    every = context.duration(_DISCOVERY)
    if every is not None:
        interval = str(int(every.total_seconds() * 1000))
    for name, value in (
        ("flink.shard.getrecords.maxrecordcount", most),
        ("flink.shard.getrecords.intervalmillis", pause),
        ("flink.shard.discovery.intervalmillis", interval),
    ):
        if value is not None:
            found[name] = value
    key, _ = _either(context, _READER)
    context.choice(key, "POLLING", ("POLLING", "EFO"))
    _skip(context, _TUNING_OF_READERS)
    return found


def shard_assigner(context: TableContext) -> KinesisShardAssigner:
    """Says which subtask reads a shard."""
    key, _ = _either(context, _ASSIGNER)
    if context.choice(key, "DEFAULT", ("DEFAULT", "UNIFORM")) == "UNIFORM":
        return KinesisShardAssigner.uniform_shard_assigner()
    return KinesisShardAssigner.default_shard_assigner()


def beginning(context: TableContext, millis: int | None) -> dict[str, str]:
    """Options that begin at a moment, or now."""
    position, timestamp = [keys[keys[1] in context.options] for keys in (_POSITION, _TIMESTAMP)]
    if millis is None:
        return {position: "LATEST"}
    return {position: "AT_TIMESTAMP", timestamp: repr(millis / 1000)}


def skip_reader_options(context: TableContext) -> None:
    """A table that is written may have options for reading it."""
    for key in (*_POSITION, *_TIMESTAMP, *_PATTERN, *_ASSIGNER, *_MOST, *_READER):
        context.option(key)
    for key in (_PAUSE, _DISCOVERY, _DISCOVERY_MS):
        context.option(key)
    _skip(context, (*_TUNING_OF_READERS, "scan.watermark."))


# Writing.


def skip_writer_options(context: TableContext) -> None:
    """A table that is read may have options for writing it."""
    for key in _OF_WRITERS:
        context.option(key)
    _skip(context, (_PRODUCER,))


def set_writing(
    context: TableContext, builder: KinesisStreamsSinkBuilder | KinesisFirehoseSinkBuilder
) -> None:
    """What is the same for data streams and Firehose: batches, and what becomes of errors."""
    size = context.integer("sink.batch.max-size")
    if size is not None and not 0 < size <= _MOST_IN_BATCH:
        raise SqlError(
            f"option 'sink.batch.max-size' of table {context.name} is from 1 to {_MOST_IN_BATCH}, "
            f"which is what AWS takes, not {size}"
        )
    for value, setter in (
        (size, builder.set_max_batch_size),
        (context.integer("sink.requests.max-inflight"), builder.set_max_in_flight_requests),
        (context.integer("sink.requests.max-buffered"), builder.set_max_buffered_requests),
        (context.integer("sink.flush-buffer.size"), builder.set_max_batch_size_in_bytes),
        (context.integer("sink.flush-buffer.timeout"), builder.set_max_time_in_buffer_ms),
    ):
        if value is not None:
            setter(value)
    older = context.boolean(f"{_PRODUCER}fail-on-error")
    builder.set_fail_on_error(context.boolean("sink.fail-on-error", older))


def producer_endpoint(context: TableContext) -> dict[str, str]:
    """Where the older connector's producer wrote to, if it was told so."""
    options = context.with_prefix(_PRODUCER)
    found: dict[str, str] = {}
    host, port = options.get("kinesis-endpoint"), options.get("kinesis-port")
    if host is not None:
        found["aws.endpoint"] = f"https://{host}" if port is None else f"https://{host}:{port}"
    if options.get("verify-certificate", "true").lower() == "false":
        found[_TRUST] = "true"
    return found


def partition_keys(context: TableContext) -> PartitionKeyGenerator:
    """By the columns of PARTITIONED BY, or as `sink.partitioner` says."""
    delimiter = context.option("sink.partitioner-field-delimiter", "|") or ""
    if context.partition_keys:
        if context.option("sink.partitioner") is not None:
            raise SqlError(
                "Cannot set sink.partitioner option for a table defined with a PARTITIONED BY "
                f"clause: {context.name}"
            )
        return PartitionKeyGenerator(_OfColumns(*_key_columns(context), delimiter))
    kind = context.choice("sink.partitioner", "RANDOM", ("FIXED", "RANDOM"))
    return PartitionKeyGenerator.fixed() if kind == "FIXED" else PartitionKeyGenerator.random()


def _key_columns(context: TableContext) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    names = context.schema.names
    physical = {name: i for i, name in enumerate(names) if i not in context.metadata}
    missing = [name for name in context.partition_keys if name not in physical]
    if missing:
        raise SqlError(
            f"The following partition keys are not present in the table: {', '.join(missing)}"
        )
    columns = tuple(physical[name] for name in context.partition_keys)
    types = tuple(context.schema[i].type for i in columns)
    wrong = [names[i] for i, t in zip(columns, types, strict=True) if not isinstance(t, _KEY_TYPES)]
    if wrong:
        raise SqlError(
            "The following partition keys have types that are not supported by Kinesis: "
            f"{', '.join(wrong)}. They are texts, numbers (no DECIMAL) or BOOLEAN."
        )
    return columns, types


class _OfColumns:
    """The texts of some columns of a row, as Java writes them."""

    def __init__(self, columns: tuple[int, ...], types: tuple[Any, ...], delimiter: str) -> None:
        self._arguments = (columns, types, delimiter)
        self._columns = [(i, java_text(t)) for i, t in zip(columns, types, strict=True)]
        self._delimiter = delimiter

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def __call__(self, row: Any, subtask: int) -> str:
        return self._delimiter.join([text(row[i]) for i, text in self._columns])[:_LONGEST_KEY]
