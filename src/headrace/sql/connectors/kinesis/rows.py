"""Between messages of data streams and rows: which columns are in the data and the metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.connectors.base import ColumnRows
from headrace.datastream.connectors.kinesis.source import ManyMessagesSchema
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.format_options import format_options
from headrace.sql.connectors.message_parts import Part
from headrace.sql.formats.base import makes_changes, rows_of_columns
from headrace.sql.formats.narrow import narrowed
from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.types.data_types import DataTypes

__all__ = [
    "MessageRows",
    "check_metadata",
    "check_no_metadata",
    "message_part",
    "metadata_type",
]

Message = Mapping[str, Any]

_METADATA: dict[str, Callable[[Message, str], Any]] = {
    # Whole milliseconds, as microseconds.
    "timestamp": lambda message, shard_id: (
        int(message["ApproximateArrivalTimestamp"].timestamp() * 1_000) * 1_000
    ),
    "shard-id": lambda message, shard_id: shard_id,
    "sequence-number": lambda message, shard_id: message["SequenceNumber"],
}
_TYPES: dict[str, DataType] = {
    "timestamp": DataTypes.TIMESTAMP_LTZ(3),
    "shard-id": DataTypes.VARCHAR(128),
    "sequence-number": DataTypes.VARCHAR(128),
}


def metadata_type(key: str) -> DataType | None:
    """The type of what a stream says of its messages."""
    return _TYPES.get(key)


def message_part(context: TableContext) -> Part:
    """The data of a message: all columns that are no metadata."""
    name = context.required("format")
    columns = tuple(i for i in range(len(context.schema)) if i not in context.metadata)
    fields = [RowField(context.schema[i].name, context.schema[i].type) for i in columns]
    return Part(name, format_options(context, name), columns, RowType(fields, False))


def check_metadata(context: TableContext) -> None:
    """Refuses metadata columns of a table that is read, if there is no such metadata."""
    for key in context.metadata.values():
        if key not in _METADATA:
            raise _unknown(context, key, "Readable")


def check_no_metadata(context: TableContext) -> None:
    """Refuses metadata columns of a table that is written, unless they are VIRTUAL."""
    for key in context.metadata.values():
        raise _unknown(context, key, "Writable")


def _unknown(context: TableContext, key: str, kind: str) -> SqlError:
    known = tuple(_METADATA) if kind == "Readable" else ()
    return SqlError(
        f"Invalid metadata key '{key}' in table {context.name}{suggestion(key, known)} {kind} "
        f"metadata: {', '.join(known) or 'none. Declare the column as VIRTUAL.'}"
    )


class MessageRows(ManyMessagesSchema):
    """Rows of messages.

    Args:
        part: What is in their data.
        width: How many columns the table has.
        metadata: Columns that are not in the data, with the key of what they show.
        needed: Columns that somebody looks at, if it is not all.
    """

    def __init__(
        self,
        part: Part,
        width: int,
        metadata: dict[int, str],
        needed: Sequence[int] | None = None,
    ) -> None:
        self._part = part
        self._width = width
        self._metadata = metadata
        self._needed = needed
        self._changes = makes_changes(part.format)

    def narrowed(self, needed: Sequence[int]) -> MessageRows:
        """The same for who looks at some columns only."""
        return MessageRows(self._part, self._width, self._metadata, needed)

    def open(self) -> None:
        decoder = self._part.decoder()
        if self._needed is not None and not self._metadata:
            decoder = narrowed(decoder, self._needed)
        self._decoder = decoder
        self._readers = [(column, _METADATA[key]) for column, key in self._metadata.items()]

    def of_messages(self, messages: Sequence[Message], shard_id: str) -> Sequence[Any]:
        data = [message["Data"] for message in messages]
        if not self._metadata:
            columns = self._decoder.columns(data)
            if columns is None:
                return list(self._decoder.decode_each(data))
            return ColumnRows(columns, rows_of_columns)
        if not self._decoder.several:
            rows = self._decoder.decode(data)
            if len(rows) == len(messages) and not self._decoder.several:
                return [self._row(m, shard_id, r) for m, r in zip(messages, rows, strict=True)]
        # Which rows belong to which message is clear only if each has one.
        return [
            self._row(message, shard_id, row)
            for message in messages
            for row in self._decoder.decode([message["Data"]])
        ]

    def _row(self, message: Message, shard_id: str, cells: Sequence[Any]) -> tuple[Any, ...]:
        row: list[Any] = [None] * (self._width + self._changes)
        for column, cell in zip(self._part.columns, cells, strict=False):
            row[column] = cell
        if self._changes:
            row[-1] = cells[-1]
        for column, read in self._readers:
            row[column] = read(message, shard_id)
        return tuple(row)
