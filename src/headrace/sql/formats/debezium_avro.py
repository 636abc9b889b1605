"""Changes as Debezium writes them in Avro, with a schema registry."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.common.errors import HeadraceError
from headrace.formats.shapes import or_none
from headrace.sql.formats import changes as c
from headrace.sql.formats.avro import avro_schema, from_avro, to_avro
from headrace.sql.formats.base import Encoder, FormatOptions
from headrace.sql.formats.debezium_json import DebeziumDecoder
from headrace.sql.formats.registry_options import OPTIONS as REGISTRY_OPTIONS
from headrace.sql.formats.registry_options import (
    RegisteredReader,
    registered_writer,
    registry_of,
    written_schema,
)
from headrace.sql.types import RowField, RowType
from headrace.sql.types.data_types import DataTypes

OPTIONS = REGISTRY_OPTIONS


def _envelope(row_type: RowType) -> RowType:
    row = row_type.nullable()
    fields = [RowField("before", row), RowField("after", row), RowField("op", DataTypes.STRING())]
    return RowType(fields, False)


class DebeziumAvroDecoder(c.ChangeDecoder):
    """Rows before and after a change."""

    tool = "Debezium"
    metadata: ClassVar[c.Metadata] = {
        key: where for key, where in DebeziumDecoder.metadata.items() if key != "schema"
    }

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options, or_none(from_avro(row_type)))
        written_schema(options, avro_schema(_envelope(row_type)))
        self._record = RegisteredReader(registry_of(options))

    def changes_in(self, message: Any) -> list[c.Change]:
        if message.get("op") == "r":  # read by a snapshot
            return c.inserted(self.read(message.get("after")))
        return self.whole_rows(message, "op", ("c", "u", "d"))

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        try:
            return [row for m in messages if m for row in self.rows_in(self._record(m))]
        except HeadraceError:
            raise
        except Exception as error:
            raise HeadraceError(
                f"Can't deserialize Debezium Avro message: {type(error).__name__}: {error}"
            ) from error


class DebeziumAvroEncoder(Encoder):
    """An update is a row that goes and another one that comes."""

    changes = True

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        schema = written_schema(options, avro_schema(_envelope(row_type)))
        self._message = registered_writer(options, schema)
        self._row = to_avro(row_type)
        self._width = len(row_type)

    def encode(self, rows: list[tuple[Any, ...]]) -> list[bytes]:
        width = self._width
        found = []
        for row in rows:
            goes = len(row) > width and row[width] & 1
            record = self._row(row[:width])
            change = {"before": None, "after": record, "op": "c"}
            if goes:
                change = {"before": record, "after": None, "op": "d"}
            found.append(self._message(change))
        return found


decoder, encoder = DebeziumAvroDecoder, DebeziumAvroEncoder
