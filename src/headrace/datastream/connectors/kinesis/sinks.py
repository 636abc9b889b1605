"""Data streams and Firehose as sinks: at least once, in batches as large as AWS takes them."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import SerializationSchema
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.batched_writer import (
    BatchedWriter,
    BatchLimits,
    BatchRefusedError,
    Retries,
)
from headrace.datastream.connectors.kinesis.client import (
    aws_client,
    aws_errors,
    checked_properties,
    what_aws_says,
)
from headrace.datastream.connectors.kinesis.shards import shards_of, stream_named

__all__ = [
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
]

_RETRIES = Retries(8, 0.2)
_MB = 1024 * 1024
_STREAM_LIMITS = BatchLimits(500, 5 * _MB)
_FIREHOSE_LIMITS = BatchLimits(500, 4 * _MB)
B = TypeVar("B", bound="_Builder")


@dataclass(frozen=True)
class PartitionKeyGenerator:
    """Gives the partition key of a record.

    Args:
        key_of: Gives the key, a str, of a record and the number of the subtask.
    """

    key_of: Callable[[Any, int], str]

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """One key for each subtask of the sink."""
        return PartitionKeyGenerator(_of_subtask)

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """A random key for each record."""
        return PartitionKeyGenerator(_at_random)


def _of_subtask(record: Any, subtask: int) -> str:
    return str(subtask)


def _at_random(record: Any, subtask: int) -> str:
    return f"{random.getrandbits(128):032x}"


@dataclass(frozen=True)
class _Settings:
    """What both sinks are made of."""

    name: str = ""
    schema: SerializationSchema | None = None
    properties: dict[str, str] = field(default_factory=dict, repr=False)
    fail_on_error: bool = False
    limits: BatchLimits = _STREAM_LIMITS
    max_record_size: int = _MB
    keys: PartitionKeyGenerator | None = None


@dataclass(frozen=True)
class KinesisStreamsSink(Sink):
    """Writes to a data stream, at least once. Make one with `builder()`.

    Example:
        >>> builder = KinesisStreamsSink.builder().set_stream_name("orders")
        >>> builder.set_kinesis_client_properties({"aws.region": "eu-west-1"})
        >>> builder.set_serialization_schema(SimpleStringSchema())
        >>> builder.set_partition_key_generator(PartitionKeyGenerator.random()).build()
    """

    settings: _Settings

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """A builder."""
        return KinesisStreamsSinkBuilder()

    def probe(self) -> str:
        """The shards of the stream can be listed."""
        client = aws_client("kinesis", self.settings.properties, patient=False)
        count = len(shards_of(client, self.settings.name))
        return f"{count} shards of the Kinesis stream {self.settings.name}"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _StreamWriter(self.settings, context)


@dataclass(frozen=True)
class KinesisFirehoseSink(Sink):
    """Writes to a delivery stream of Firehose, at least once. Make one with `builder()`."""

    settings: _Settings

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """A builder."""
        return KinesisFirehoseSinkBuilder()

    def probe(self) -> str:
        """The delivery stream is there."""
        name = self.settings.name
        client = aws_client("firehose", self.settings.properties, patient=False)
        try:
            client.describe_delivery_stream(DeliveryStreamName=name)
        except aws_errors() as error:
            raise what_aws_says(
                error,
                f"the delivery stream {name!r} of Firehose cannot be described; correct its name, "
                "aws.region and the credentials, or create it: `aws firehose "
                f"create-delivery-stream --delivery-stream-name {name}`",
            ) from error
        return f"the delivery stream {name} of Firehose"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _FirehoseWriter(self.settings, context)


class _Builder:
    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def _with(self: B, **changes: Any) -> B:
        self._settings = replace(self._settings, **changes)
        return self

    def _limited(self: B, **changes: Any) -> B:
        return self._with(limits=replace(self._settings.limits, **changes))

    def set_serialization_schema(self: B, serialization_schema: SerializationSchema) -> B:
        """Set what makes the bytes of a record."""
        if not isinstance(serialization_schema, SerializationSchema):
            raise FunctionTypeError(
                f"a SerializationSchema is needed, not {serialization_schema!r}"
            )
        return self._with(schema=serialization_schema)

    def set_fail_on_error(self: B, fail_on_error: bool) -> B:
        """Whether a record that AWS does not take ends the job at once; else it is sent again."""
        return self._with(fail_on_error=bool(fail_on_error))

    def set_max_batch_size(self: B, max_batch_size: int) -> B:
        """Set how many records a request has; AWS takes 500."""
        return self._limited(records=_positive(max_batch_size, "max_batch_size"))

    def set_max_in_flight_requests(self: B, max_in_flight_requests: int) -> B:
        """Accepted as in Flink; a subtask has one request under way."""
        _positive(max_in_flight_requests, "max_in_flight_requests")
        return self

    def set_max_buffered_requests(self: B, max_buffered_requests: int) -> B:
        """Accepted as in Flink; a full batch is sent at once, so no more is kept."""
        _positive(max_buffered_requests, "max_buffered_requests")
        return self

    def set_max_batch_size_in_bytes(self: B, max_batch_size_in_bytes: int) -> B:
        """Set how many bytes a request has."""
        return self._limited(size=_positive(max_batch_size_in_bytes, "max_batch_size_in_bytes"))

    def set_max_time_in_buffer_ms(self: B, max_time_in_buffer_ms: int) -> B:
        """Accepted as in Flink; what an epoch has left is sent at its end."""
        _positive(max_time_in_buffer_ms, "max_time_in_buffer_ms")
        return self

    def set_max_record_size_in_bytes(self: B, max_record_size_in_bytes: int) -> B:
        """Set the most bytes of a record; a larger one ends the job."""
        return self._with(
            max_record_size=_positive(max_record_size_in_bytes, "max_record_size_in_bytes")
        )

    def _checked(self, who: str, name: str) -> _Settings:
        made = self._settings
        if not made.name:
            raise GraphError(f"{who} needs {name}()")
        if made.schema is None:
            raise GraphError(f"{who} needs set_serialization_schema()")
        return replace(made, properties=checked_properties(made.properties, who))


def _positive(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise GraphError(f"{name} must be a positive int, not {value!r}")
    return value


class KinesisStreamsSinkBuilder(_Builder):
    """Builds a `KinesisStreamsSink`."""

    def __init__(self) -> None:
        super().__init__(_Settings())

    def set_stream_name(self, stream_name: str) -> KinesisStreamsSinkBuilder:
        """Set the stream, by its name or its ARN."""
        return self._with(name=stream_name)

    def set_partition_key_generator(
        self, partition_key_generator: PartitionKeyGenerator
    ) -> KinesisStreamsSinkBuilder:
        """Set what gives the partition keys of records."""
        if not isinstance(partition_key_generator, PartitionKeyGenerator):
            raise FunctionTypeError(
                f"a PartitionKeyGenerator is needed, not {partition_key_generator!r}"
            )
        return self._with(keys=partition_key_generator)

    def set_kinesis_client_properties(
        self, kinesis_client_properties: dict[str, str]
    ) -> KinesisStreamsSinkBuilder:
        """Set region, endpoint and credentials, by Flink's names."""
        return self._with(properties=kinesis_client_properties)

    def build(self) -> KinesisStreamsSink:
        """The sink."""
        made = self._checked("KinesisStreamsSink", "set_stream_name")
        if made.keys is None:
            raise GraphError("KinesisStreamsSink needs set_partition_key_generator()")
        return KinesisStreamsSink(made)


class KinesisFirehoseSinkBuilder(_Builder):
    """Builds a `KinesisFirehoseSink`."""

    def __init__(self) -> None:
        super().__init__(_Settings(limits=_FIREHOSE_LIMITS, max_record_size=1000 * 1024))

    def set_delivery_stream_name(self, delivery_stream_name: str) -> KinesisFirehoseSinkBuilder:
        """Set the delivery stream."""
        return self._with(name=delivery_stream_name)

    def set_firehose_client_properties(
        self, firehose_client_properties: dict[str, str]
    ) -> KinesisFirehoseSinkBuilder:
        """Set region, endpoint and credentials, by Flink's names."""
        return self._with(properties=firehose_client_properties)

    def build(self) -> KinesisFirehoseSink:
        """The sink."""
        return KinesisFirehoseSink(self._checked("KinesisFirehoseSink", "set_delivery_stream_name"))


class _AwsWriter(BatchedWriter):
    """Entries of a request that AWS did not take are sent again, the others not."""

    service: str

    def __init__(self, settings: _Settings, context: WriterContext) -> None:
        super().__init__(settings.limits, _RETRIES)
        self._settings = settings
        self._subtask = context.subtask
        self._client: Any = None

    def open(self) -> None:
        assert self._settings.schema is not None
        self._settings.schema.open()
        self._client = aws_client(self.service, self._settings.properties)

    def encode(self, values: list[Any]) -> list[Any]:
        assert self._settings.schema is not None
        entries = []
        for value, data in zip(values, self._settings.schema.serialize_many(values), strict=True):
            if data is None:
                continue
            if len(data) > self._settings.max_record_size:
                raise BatchRefusedError(
                    f"a record has {len(data)} bytes, and max_record_size_in_bytes is "
                    f"{self._settings.max_record_size}"
                )
            entries.append(self.entry(value, data))
        return entries

    def entry(self, value: Any, data: bytes) -> dict[str, Any]:
        """What a request has for a record."""
        return {"Data": data}

    def size_of(self, encoded: Any) -> int:
        return len(encoded["Data"]) + len(encoded.get("PartitionKey", ""))

    @abstractmethod
    def request(self, entries: list[Any]) -> list[dict[str, Any]]:
        """Send entries; gives what AWS says of each."""

    def send(self, batch: Sequence[Any]) -> Sequence[Any]:
        try:
            said = self.request(list(batch))
        except self._client.exceptions.ResourceNotFoundException as error:
            raise BatchRefusedError(f"there is no stream {self._settings.name!r}") from error
        failed = [
            (entry, f"{answer['ErrorCode']}: {answer.get('ErrorMessage')}")
            for entry, answer in zip(batch, said, strict=True)
            if answer.get("ErrorCode")
        ]
        if failed and self._settings.fail_on_error:
            raise BatchRefusedError(
                f"{self._settings.name!r} did not take {len(failed)} of {len(batch)} records; the "
                f"first: {failed[0][1]}"
            )
        return [entry for entry, _ in failed]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class _StreamWriter(_AwsWriter):
    service = "kinesis"

    def entry(self, value: Any, data: bytes) -> dict[str, Any]:
        assert self._settings.keys is not None
        return {"Data": data, "PartitionKey": self._settings.keys.key_of(value, self._subtask)}

    def request(self, entries: list[Any]) -> list[dict[str, Any]]:
        answer = self._client.put_records(**stream_named(self._settings.name), Records=entries)
        records: list[dict[str, Any]] = answer["Records"]
        return records


class _FirehoseWriter(_AwsWriter):
    service = "firehose"

    def request(self, entries: list[Any]) -> list[dict[str, Any]]:
        answer = self._client.put_record_batch(
            DeliveryStreamName=self._settings.name, Records=entries
        )
        responses: list[dict[str, Any]] = answer["RequestResponses"]
        return responses
