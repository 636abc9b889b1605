"""Between Kafka's messages and rows: which columns are in the key, the value and the metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.common.serialization import SerializationSchema
from headrace.common.types import RowKind
from headrace.datastream.connectors.base import ColumnRows
from headrace.datastream.connectors.kafka import (
    ConsumerRecord,
    HeaderProvider,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
)
from headrace.datastream.connectors.kafka.records import ManyRecordsSchema, ManyValuesSchema
from headrace.datastream.connectors.kafka.serialization import Messages
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.format_options import format_options
from headrace.sql.connectors.message_parts import Part, PartSchema
from headrace.sql.formats.base import (
    makes_changes,
    metadata_keys,
    option_keys,
    rows_of_columns,
)
from headrace.sql.formats.narrow import narrowed
from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.types.data_types import DataTypes

__all__ = [
    "KafkaLayout",
    "MessageSchema",
    "ValueSchema",
    "kafka_layout",
    "metadata_type",
    "row_serializer",
    "upsert_layout",
]

_METADATA: dict[str, Callable[[ConsumerRecord], Any]] = {
    "topic": lambda r: r.topic,
    "partition": lambda r: r.partition,
    "offset": lambda r: r.offset,
    "timestamp": lambda r: r.timestamp * 1000,
    "headers": lambda r: dict(r.headers),
    "timestamp-type": lambda r: "CreateTime" if r.timestamp >= 0 else "NoTimestampType",
    "leader-epoch": lambda r: None,
}
_TYPES: dict[str, DataType] = {
    "topic": DataTypes.STRING(),
    "partition": DataTypes.INT(),
    "offset": DataTypes.BIGINT(),
    "timestamp": DataTypes.TIMESTAMP_LTZ(3),
    "headers": DataTypes.MAP(DataTypes.STRING(), DataTypes.BYTES()),
    "timestamp-type": DataTypes.STRING(),
    "leader-epoch": DataTypes.INT(),
}
_WRITABLE = ("headers", "timestamp")
_INSERT, _DELETE = RowKind.INSERT.value, RowKind.DELETE.value


def metadata_type(key: str) -> DataType | None:
    """The type of what messages say of themselves; of what formats find in them, that of times."""
    if key.startswith("value.") and key.endswith("timestamp"):
        return DataTypes.TIMESTAMP_LTZ(6)
    return _TYPES.get(key)


@dataclass(frozen=True)
class KafkaLayout:
    """Where each column of a table is in a message.

    Attributes:
        width: How many columns there are.
        value: What is in the value of a message.
        key: What is in its key.
        metadata: Columns that are neither, with the key of what they show.
        changes: Whether messages are changes: rows end with their kind.
        upsert: Whether a message without a value says that the row of its key is gone.
    """

    width: int
    value: Part
    key: Part | None = None
    metadata: dict[int, str] = field(default_factory=dict)
    changes: bool = False
    upsert: bool = False

    @property
    def value_alone(self) -> bool:
        """Whether the value has all columns, in order."""
        kind = (-1,) if self.changes else ()
        return self.key is None and self.value.columns == (*range(self.width), *kind)


def kafka_layout(context: TableContext, reading: bool) -> KafkaLayout:
    """The layout that a table's options ask for."""
    name = context.option("value.format") or context.option("format")
    if name is None:
        context.required("format")
        raise AssertionError
    key_name = context.option("key.format")
    fields = [n.strip() for n in (context.option("key.fields") or "").split(";") if n.strip()]
    if bool(fields) != (key_name is not None):
        raise SqlError(
            "The options 'key.format' and 'key.fields' of table "
            f"{context.name} go together: a key format needs key fields and the other way round."
        )
    if key_name is not None and makes_changes(key_name):
        raise SqlError(
            f"A key format should only deal with INSERT-only records. But {key_name} has a "
            "changelog mode of [INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE]."
        )
    return _layout(context, reading, name, key_name, fields)


def upsert_layout(context: TableContext, reading: bool) -> KafkaLayout:
    """The layout of a table whose messages replace each other: their key is the primary key."""
    formats = {part: context.required(f"{part}.format") for part in ("key", "value")}
    for part, name in formats.items():
        if makes_changes(name):
            raise SqlError(
                f"'upsert-kafka' connector doesn't support '{name}' as {part} format, because "
                f"'{name}' is not in insert-only mode."
            )
    if not context.primary_key:
        raise SqlError(
            "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY "
            "specifies which columns should be read from or write to the Kafka message key. The "
            "PRIMARY KEY also defines records in the 'upsert-kafka' table should update or delete "
            "on which keys."
        )
    layout = _layout(context, reading, formats["value"], formats["key"], context.primary_key)
    return replace(layout, changes=True, upsert=True)


def _layout(
    context: TableContext,
    reading: bool,
    value_format: str,
    key_format: str | None,
    key_fields: Sequence[str],
) -> KafkaLayout:
    physical = [i for i in range(len(context.schema)) if i not in context.metadata]
    key_columns = _key_columns(context, physical, key_fields)
    prefix = context.option("key.fields-prefix") or ""
    include = (context.option("value.fields-include") or "ALL").upper()
    if include not in ("ALL", "EXCEPT_KEY"):
        raise SqlError(f"'value.fields-include' is ALL or EXCEPT_KEY, not '{include}'")
    if prefix and include != "EXCEPT_KEY":
        raise SqlError(
            "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'. Set "
            "it to 'EXCEPT_KEY' instead to avoid field overlaps."
        )
    value_columns = [i for i in physical if include == "ALL" or i not in key_columns]
    of_message, of_value = _metadata(context, value_format, reading)
    value_prefix = "value." if "value.format" in context.options else ""
    value = _part(context, value_format, value_prefix, value_columns, "")
    changes = makes_changes(value_format)
    if reading:
        options = replace(value.options, metadata=tuple(of_value.values()))
        kind = (-1,) if changes else ()
        value = replace(value, options=options, columns=(*value.columns, *of_value, *kind))
    key = None if key_format is None else _part(context, key_format, "key.", key_columns, prefix)
    for part in (value,) if key is None else (value, key):
        # What is wrong with their options shows while the statement is planned.
        _ = part.decoder() if reading else part.encoder()
    return KafkaLayout(len(context.schema), value, key, of_message, changes)


def _metadata(
    context: TableContext, format_: str, reading: bool
) -> tuple[dict[int, str], dict[int, str]]:
    """Metadata columns of the messages, and those that the format finds in the values."""
    of_format = {f"value.{key}": key for key in metadata_keys(format_)}
    known = (*_METADATA, *of_format) if reading else _WRITABLE
    for key in context.metadata.values():
        if key not in known:
            raise SqlError(
                f"Invalid metadata key '{key}' in table {context.name}"
                f"{suggestion(key, known)} "
                f"{'Readable' if reading else 'Writable'} metadata: {', '.join(known)}"
            )
    of_message = {c: key for c, key in context.metadata.items() if key not in of_format}
    return of_message, {c: of_format[k] for c, k in context.metadata.items() if k in of_format}


def _key_columns(context: TableContext, physical: Sequence[int], names: Sequence[str]) -> list[int]:
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
    if "subject" in option_keys(name):
        part = "key" if option_prefix == "key." else "value"
        options.values.setdefault("subject", f"{context.options.get('topic')}-{part}")
    return Part(name, options, tuple(columns), RowType(fields, False))


class ValueSchema(ManyValuesSchema):
    """Rows of values alone; whether a message without one is a row, the format says."""

    def __init__(self, part: Part, needed: Sequence[int] | None = None) -> None:
        self._part = part
        self._needed = needed

    @property
    def imports(self) -> tuple[str, ...]:
        arrow = self._part.format in ("csv", "json")
        return (f"pyarrow.{self._part.format}", "pyarrow.acero") if arrow else ()

    def open(self) -> None:
        decoder = self._part.decoder()
        self._decoder = decoder if self._needed is None else narrowed(decoder, self._needed)

    def probe(self) -> None:
        self._part.probe()

    def of_values(self, values: Sequence[bytes | None]) -> Sequence[Any]:
        there = list(values)
        if not self._decoder.reads_nothing:
            there = [v for v in there if v is not None]
        if not there:
            return []
        columns = self._decoder.columns(there)
        if columns is None:
            return self._decoder.decode_each(there)
        return ColumnRows(columns, rows_of_columns)


class MessageSchema(ManyRecordsSchema):
    """Rows of messages with keys or metadata."""

    def __init__(self, layout: KafkaLayout) -> None:
        self._layout = layout

    def open(self) -> None:
        layout = self._layout
        self._value = layout.value.decoder()
        self._key = None if layout.key is None else layout.key.decoder()
        self._metadata = [(column, _METADATA[name]) for column, name in layout.metadata.items()]

    def probe(self) -> None:
        for part in filter(None, (self._layout.key, self._layout.value)):
            part.probe()

    def of_records(self, records: Sequence[ConsumerRecord]) -> list[Any]:
        there: Sequence[ConsumerRecord] = records
        if not (self._layout.upsert or self._value.reads_nothing):
            there = [r for r in records if r.value is not None]
        if not self._several:
            keys, values = self._keys(there), self._values(there)
            if len(keys) == len(values) == len(there) and not self._several:
                return list(map(self._row, there, keys, values))
        # Which rows belong to which message is clear only if each has one.
        return [row for record in there for row in self._rows(record)]

    @property
    def _several(self) -> bool:
        return self._value.several or (self._key is not None and self._key.several)

    def _rows(self, record: ConsumerRecord) -> Iterator[Any]:
        keys = self._keys([record])
        for value in self._values([record]):
            for key in keys:
                yield self._row(record, key, value)

    def _keys(self, records: Sequence[ConsumerRecord]) -> list[tuple[Any, ...]]:
        """Rows of keys; an empty one of a message without a key."""
        if self._key is None:
            return [()] * len(records)
        keys = [r.key for r in records]
        if None not in keys:
            return self._key.decode(keys)
        if self._layout.upsert:
            raise HeadraceError("it has no key, which says which row of the table it is about")
        decode = self._key.decode
        return [row for key in keys for row in ([()] if key is None else decode([key]))]

    def _values(self, records: Sequence[ConsumerRecord]) -> list[tuple[Any, ...]]:
        """Rows of values; an empty one of a tombstone."""
        values = [r.value for r in records if r.value is not None]
        rows = self._value.decode(values) if values else []
        if len(values) == len(records) or len(rows) < len(values):
            return rows
        following = iter(rows)
        return [() if r.value is None else next(following) for r in records]

    def _row(self, record: ConsumerRecord, key: Sequence[Any], value: Sequence[Any]) -> Any:
        layout = self._layout
        row: list[Any] = [None] * (layout.width + layout.changes)
        if layout.upsert:
            row[-1] = _DELETE if record.value is None else _INSERT
        if layout.key is not None:
            for column, cell in zip(layout.key.columns, key, strict=False):
                row[column] = cell
        for column, cell in zip(layout.value.columns, value, strict=False):
            row[column] = cell
        for column, read in self._metadata:
            row[column] = read(record)
        return tuple(row)


class UpsertSchema(PartSchema):
    """The bytes of some columns; none of a row that goes."""

    def serialize_many(self, elements: Sequence[Any]) -> list[bytes | None]:
        stay = [element for element in elements if not element[-1] & 1]
        messages = super().serialize_many(stay) if stay else []
        if len(stay) == len(elements):
            return messages
        following = iter(messages)
        return [None if element[-1] & 1 else next(following) for element in elements]


class _Headers(HeaderProvider):
    def __init__(self, column: int) -> None:
        self._column = column

    def get_headers(self, element: Any) -> Any:
        return list((element[self._column] or {}).items())


@dataclass(frozen=True)
class _RowSerializer(KafkaRecordSerializationSchema):
    """Messages of rows; the time of a message may be a column."""

    timestamp_column: int | None = None

    def probe(self) -> None:
        for schema in (self.key_schema, self.value_schema):
            if isinstance(schema, PartSchema):
                schema.probe()

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
    topic: str, layout: KafkaLayout, partitioner: KafkaPartitioner | None, kinds: bool
) -> KafkaRecordSerializationSchema:
    """What the sink makes messages with.

    Args:
        topic: Where they go.
        layout: Where columns go.
        partitioner: Chooses their partitions.
        kinds: Whether rows end with their kind.
    """
    value: SerializationSchema = PartSchema(layout.value)
    if kinds and layout.upsert:
        value = UpsertSchema(layout.value)
    elif kinds and layout.changes:
        value = PartSchema(replace(layout.value, columns=(*layout.value.columns, -1)))
    at = {name: column for column, name in layout.metadata.items()}
    return _RowSerializer(
        topic,
        value,
        None if layout.key is None else PartSchema(layout.key),
        partitioner,
        _Headers(at["headers"]) if "headers" in at else None,
        with_timestamps="timestamp" in at,
        timestamp_column=at.get("timestamp"),
    )
