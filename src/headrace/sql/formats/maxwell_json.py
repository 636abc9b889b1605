"""Changes as Maxwell writes them: `{"data":{"id":1},"type":"insert"}`."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.formats.json import text_of
from headrace.sql.formats import changes as c
from headrace.sql.formats.change_json import OPTIONS as JSON_OPTIONS
from headrace.sql.formats.change_json import JsonChangeDecoder, JsonChangeEncoder

OPTIONS = JSON_OPTIONS


class MaxwellDecoder(JsonChangeDecoder):
    """The row after a change, or the one that is gone; `old` has the fields that changed."""

    tool = "Maxwell"
    metadata: ClassVar[c.Metadata] = {
        "database": (("database",), text_of),
        "table": (("table",), text_of),
        "primary-key-columns": (("primary_key_columns",), c.texts),
        "ingestion-timestamp": (("ts",), c.seconds),
    }

    def changes_in(self, message: Any) -> list[c.Change]:
        kind = message.get("type")
        if kind not in ("insert", "update", "delete"):
            raise c.unknown("type", kind)
        row = self.read(message.get("data"))
        if kind == "insert":
            return c.inserted(row)
        if kind == "delete":
            return c.deleted(row)
        return c.updated(c.with_unchanged(self.names, row, message.get("old"), self.read), row)


class MaxwellEncoder(JsonChangeEncoder):
    """Messages without the names of table and database."""

    insert = '{"data":%s,"type":"insert"}'
    delete = '{"data":%s,"type":"delete"}'


decoder, encoder = MaxwellDecoder, MaxwellEncoder
