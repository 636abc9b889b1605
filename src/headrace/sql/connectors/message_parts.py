"""Parts of messages: a format, and the columns of a table that it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from headrace.common.serialization import SerializationSchema
from headrace.sql.formats.base import (
    Decoder,
    Encoder,
    FormatOptions,
    decoder_for,
    encoder_for,
    option_keys,
)
from headrace.sql.formats.registry_options import registry_of
from headrace.sql.types import RowType

__all__ = ["Part", "PartSchema"]


@dataclass(frozen=True)
class Part:
    """A format and the columns that it reads and writes.

    Attributes:
        format: Its name.
        options: Its options.
        columns: Places in the rows of the table: -1 is the kind of a change.
        row_type: What the format reads and writes, without metadata and kind.
    """

    format: str
    options: FormatOptions
    columns: tuple[int, ...]
    row_type: RowType

    def decoder(self) -> Decoder:
        return decoder_for(self.format, self.row_type, self.options)

    def encoder(self) -> Encoder:
        return encoder_for(self.format, self.row_type, self.options)

    def probe(self) -> None:
        """See whether the registry of its schemas answers, if it has one."""
        if "subject" in option_keys(self.format):
            registry_of(self.options).probe()

    def of(self, rows: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Its columns of some rows."""
        if not self.columns:
            return [()] * len(rows)
        return list(zip(*[map(itemgetter(c), rows) for c in self.columns], strict=True))


class PartSchema(SerializationSchema):
    """The bytes of some columns of a row."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def open(self) -> None:
        self._encoder = self._part.encoder()

    def probe(self) -> None:
        self._part.probe()

    def serialize(self, element: Any) -> bytes | None:
        return self.serialize_many([element])[0]

    def serialize_many(self, elements: Sequence[Any]) -> list[bytes | None]:
        messages = self._encoder.encode(self._part.of(elements))
        return [m.encode() if isinstance(m, str) else m for m in messages]
