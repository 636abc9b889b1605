"""Changes as Debezium writes them: `{"before":null,"after":{"id":1},"op":"c"}`."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.common.errors import SqlError
from headrace.formats.json import text_of
from headrace.formats.shapes import Convert
from headrace.sql.formats import changes as c
from headrace.sql.formats.base import FormatOptions
from headrace.sql.formats.change_json import OPTIONS as JSON_OPTIONS
from headrace.sql.formats.change_json import JsonChangeDecoder, JsonChangeEncoder
from headrace.sql.types import RowType

OPTIONS = ("schema-include", *JSON_OPTIONS)


class DebeziumDecoder(JsonChangeDecoder):
    """Rows before and after a change; with `schema-include` they are in a payload."""

    tool = "Debezium"
    metadata: ClassVar[c.Metadata] = {
        "schema": (("schema",), text_of),
        "ingestion-timestamp": (("ts_ms",), c.millis),
        "source.timestamp": (("source", "ts_ms"), c.millis),
        "source.database": (("source", "db"), text_of),
        "source.schema": (("source", "schema"), text_of),
        "source.table": (("source", "table"), text_of),
        "source.properties": (("source",), c.text_map),
    }

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._in_payload = options.flag("schema-include")
        super().__init__(row_type, options)

    def reader(self, key: str) -> tuple[tuple[str, ...], Convert]:
        path, read = super().reader(key)
        inside = self._in_payload and key != "schema"
        return (("payload", *path) if inside else path), read

    def changes_in(self, message: Any) -> list[c.Change]:
        payload = message["payload"] if self._in_payload else message
        if payload.get("op") == "r":  # read by a snapshot
            return c.inserted(self.read(payload.get("after")))
        return self.whole_rows(payload, "op", ("c", "u", "d"))


class DebeziumEncoder(JsonChangeEncoder):
    """Messages without a schema and without `source`."""

    insert = '{"before":null,"after":%s,"op":"c"}'
    delete = '{"before":%s,"after":null,"op":"d"}'

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        if options.flag("schema-include"):
            raise SqlError(
                "Debezium JSON serialization doesn't support 'debezium-json.schema-include' option "
                "been set to true."
            )
        super().__init__(row_type, options)


decoder, encoder = DebeziumDecoder, DebeziumEncoder
