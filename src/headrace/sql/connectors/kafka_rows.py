"""Between Kafka's messages and rows: which columns are in the key, the value and the metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.serialization import SerializationSchema
from headrace.datastream.connectors.kafka import (
    ConsumerRecord,
    HeaderProvider,
    KafkaPartitioner,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
)
from headrace.datastream.connectors.kafka.records import ManyValuesSchema
from headrace.datastream.connectors.kafka.serialization import Messages
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.format_options import format_options
from headrace.sql.formats.base import (
    Decoder,
    Encoder,
    FormatOptions,
    decoder_for,
    encoder_for,
)
from headrace.sql.types import RowField, RowType

__all__ = ["KafkaLayout", "MessageSchema", "ValueSchema", "kafka_layout", "row_serializer"]

_METADATA: dict[str, Callable[[ConsumerRecord], Any]] = {
    "topic": lambda r: r.topic,
    "partition": lambda r: r.partition,
    "offset": lambda r: r.offset,
    "timestamp": lambda r: r.timestamp * 1000,
    "headers": lambda r: dict(r.headers),
    "timestamp-type": lambda r: "CreateTime" if r.timestamp >= 0 else "NoTimestampType",
    "leader-epoch": lambda r: None,
}
_WRITABLE = ("headers", "timestamp")


@dataclass(frozen=True)
class Part:
    """A format and the columns that it reads and writes."""

    format: str
    options: FormatOptions
    columns: tuple[int, ...]
    row_type: RowType

    def decoder(self) -> Decoder:
        return decoder_for(self.format, self.row_type, self.options)

    def encoder(self) -> Encoder:
        return encoder_for(self.format, self.row_type, self.options)

    def of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([row[c] for c in self.columns])


@dataclass(frozen=True)
class KafkaLayout:
    """Where each column of a table is in a message."""

    width: int
    value: Part
    key: Part | None = None
    metadata: dict[int, str] = field(default_factory=dict)

    @property
    def value_alone(self) -> bool:
        """Whether the value has all columns, in order."""
        return self.key is None and self.value.columns == tuple(range(self.width))


def kafka_layout(context: TableContext, reading: bool) -> KafkaLayout:
    """The layout that a table's options ask for."""
    name = context.option("value.format") or context.option("format")
    if name is None:
        context.required("format")
        raise AssertionError
    physical = [i for i in range(len(context.schema)) if i not in context.metadata]
    key_name = context.option("key.format")
    key_columns = _key_columns(context, physical, key_name)
    prefix = context.option("key.fields-prefix") or ""
    include = (context.option("value.fields-include") or "ALL").upper()
    if include not in ("ALL", "EXCEPT_KEY"):
        raise SqlError(f"'value.fields-include' is ALL or EXCEPT_KEY, not '{include}'")
    value_columns = [i for i in physical if include == "ALL" or i not in key_columns]
    if prefix and include != "EXCEPT_KEY":
        raise SqlError(
            "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'. Set "
            "it to 'EXCEPT_KEY' instead to avoid field overlaps."
        )
    for metadata in context.metadata.values():
        known = tuple(_METADATA) if reading else _WRITABLE
        if metadata not in known:
            raise SqlError(
                f"Invalid metadata key '{metadata}' in table {context.name}"
                f"{suggestion(metadata, known)} "
                f"{'Readable' if reading else 'Writable'} metadata: {', '.join(known)}"
            )
    value_prefix = "value." if "value.format" in context.options else ""
    value = _part(context, name, value_prefix, value_columns, "")
    key = None if key_name is None else _part(context, key_name, "key.", key_columns, prefix)
    return KafkaLayout(len(context.schema), value, key, dict(context.metadata))


def _key_columns(
    context: TableContext, physical: Sequence[int], key_format: str | None
) -> list[int]:
    names = [n.strip() for n in (context.option("key.fields") or "").split(";") if n.strip()]
    if bool(names) != (key_format is not None):
        raise SqlError(
            "The options 'key.format' and 'key.fields' of table "
            f"{context.name} go together: a key format needs key fields and the other way round."
        )
    there = {context.schema.names[i]: i for i in physical}
    for name in names:
        if name not in there:
            raise SqlError(
                f"Could not find the field '{name}' in the table schema for usage in the key "
                f"format{suggestion(name, there)} A key field must be a regular, physical column."
            )
    return [there[n] for n in names]


def _part(
    context: TableContext, name: str, option_prefix: str, columns: Sequence[int], name_prefix: str
) -> Part:
    fields = []
    for column in columns:
        declared = context.schema[column]
        if not declared.name.startswith(name_prefix):
            raise SqlError(
                f"All fields in 'key.fields' must be prefixed with '{name_prefix}' when option "
                f"'key.fields-prefix' is set but field '{declared.name}' is not prefixed."
            )
        fields.append(RowField(declared.name.removeprefix(name_prefix), declared.type))
    options = format_options(context, name, option_prefix)
    return Part(name, options, tuple(columns), RowType(fields, False))


class ValueSchema(ManyValuesSchema):
    """Rows of values alone; a message without one is not a row."""

    def __init__(self, part: Part) -> None:
        self._part = part

    @property
    def imports(self) -> tuple[str, ...]:
        arrow = self._part.format in ("csv", "json")
        return (f"pyarrow.{self._part.format}",) if arrow else ()

    def open(self) -> None:
        self._decoder = self._part.decoder()

    def of_values(self, values: Sequence[bytes | None]) -> list[Any]:
        there = [v for v in values if v is not None]
        return self._decoder.decode(there) if there else []


class MessageSchema(KafkaRecordDeserializationSchema):
    """Rows of messages with keys or metadata."""

    def __init__(self, layout: KafkaLayout) -> None:
        self._layout = layout

    def open(self) -> None:
        layout = self._layout
        self._value = layout.value.decoder()
        self._key = None if layout.key is None else layout.key.decoder()
        self._metadata = [(column, _METADATA[name]) for column, name in layout.metadata.items()]

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        if record.value is None:
            return
        for value in self._value.decode([record.value]):
            row: list[Any] = [None] * self._layout.width
            if self._key is not None and self._layout.key is not None and record.key is not None:
                for key in self._key.decode([record.key]):
                    for column, cell in zip(self._layout.key.columns, key, strict=True):
                        row[column] = cell
            for column, cell in zip(self._layout.value.columns, value, strict=True):
                row[column] = cell
            for column, read in self._metadata:
                row[column] = read(record)
            yield tuple(row)


class PartSchema(SerializationSchema):
    """The bytes of some columns of a row."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def open(self) -> None:
        self._encoder = self._part.encoder()

    def serialize(self, element: Any) -> bytes:
        [message] = self._encoder.encode([self._part.of(element)])
        return message.encode() if isinstance(message, str) else message


class _Headers(HeaderProvider):
    def __init__(self, column: int) -> None:
        self._column = column

    def get_headers(self, element: Any) -> Any:
        return list((element[self._column] or {}).items())


@dataclass(frozen=True)
class _RowSerializer(KafkaRecordSerializationSchema):
    """Messages of rows; the time of a message may be a column."""

    timestamp_column: int | None = None

    def messages(
        self,
        values: Sequence[Any],
        timestamps: Sequence[int | None] | None,
        partitions_of: Callable[[str], Sequence[int]],
    ) -> Iterator[Messages]:
        stamps = timestamps
        if self.timestamp_column is not None:
            column = self.timestamp_column
            stamps = [None if r[column] is None else r[column] // 1000 for r in values]
        yield from super().messages(values, stamps, partitions_of)


def row_serializer(
    topic: str, layout: KafkaLayout, partitioner: KafkaPartitioner | None
) -> KafkaRecordSerializationSchema:
    """What the sink makes messages with."""
    at = {name: column for column, name in layout.metadata.items()}
    return _RowSerializer(
        topic,
        PartSchema(layout.value),
        None if layout.key is None else PartSchema(layout.key),
        partitioner,
        _Headers(at["headers"]) if "headers" in at else None,
        with_timestamps="timestamp" in at,
        timestamp_column=at.get("timestamp"),
    )
