"""Avro with a schema registry: a message begins with the id of the schema it was written with."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import HeadraceError
from headrace.sql.formats.avro import avro_schema, from_avro, to_avro
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.formats.registry_options import OPTIONS as REGISTRY_OPTIONS
from headrace.sql.formats.registry_options import (
    RegisteredReader,
    registered_writer,
    registry_of,
    written_schema,
)
from headrace.sql.types import RowType

OPTIONS = REGISTRY_OPTIONS


class RegistryDecoder(Decoder):
    """Columns by name; a column that the schema of a message does not have is NULL."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        written_schema(options, avro_schema(row_type))
        self._record = RegisteredReader(registry_of(options))
        self._row = from_avro(row_type)

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        record, row = self._record, self._row
        try:
            return [row(record(m)) for m in messages if m]
        except HeadraceError:
            raise
        except Exception as error:
            raise HeadraceError(
                f"Failed to deserialize an Avro record: {type(error).__name__}: {error}"
            ) from error


class RegistryEncoder(Encoder):
    """Records with the schema of the table."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        schema = written_schema(options, avro_schema(row_type))
        self._message = registered_writer(options, schema)
        self._record = to_avro(row_type)

    def encode(self, rows: list[tuple[Any, ...]]) -> list[bytes]:
        message, record = self._message, self._record
        return [message(record(row)) for row in rows]


decoder, encoder = RegistryDecoder, RegistryEncoder
