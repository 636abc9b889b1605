"""Changes as Canal writes them: `{"data":[{"id":"1"}],"type":"INSERT"}`."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from headrace.common.errors import SqlError
from headrace.formats.json import text_of
from headrace.sql.formats import changes as c
from headrace.sql.formats.base import FormatOptions
from headrace.sql.formats.change_json import OPTIONS as JSON_OPTIONS
from headrace.sql.formats.change_json import JsonChangeDecoder, JsonChangeEncoder
from headrace.sql.types import RowType

OPTIONS = ("database.include", "table.include", *JSON_OPTIONS)


def _numbers(values: Any) -> dict[str, int | None]:
    return {k: None if v is None else int(v) for k, v in values.items()}


class CanalDecoder(JsonChangeDecoder):
    """Many rows of one statement; `old` has the fields that an update changed."""

    tool = "Canal"
    metadata: ClassVar[c.Metadata] = {
        "database": (("database",), text_of),
        "table": (("table",), text_of),
        "sql-type": (("sqlType",), _numbers),
        "pk-names": (("pkNames",), c.texts),
        "ingestion-timestamp": (("ts",), c.millis),
        "event-timestamp": (("es",), c.millis),
    }

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        self._wanted = [
            (field, _pattern(key, options.values[key]).fullmatch)
            for field, key in (("database", "database.include"), ("table", "table.include"))
            if key in options.values
        ]

    def changes_in(self, message: Any) -> list[c.Change]:
        if not all(matches(text_of(message[field])) for field, matches in self._wanted):
            return []
        kind = message.get("type")
        if kind == "CREATE":
            return []
        if kind not in ("INSERT", "UPDATE", "DELETE"):
            raise c.unknown("type", kind)
        rows = [self.read(row) for row in message["data"]]
        if kind == "UPDATE":
            pairs = zip(rows, message["old"], strict=True)
            return [x for after, old in pairs for x in self._update(after, old)]
        change = c.inserted if kind == "INSERT" else c.deleted
        return [x for row in rows for x in change(row)]

    def _update(self, after: Any, old: Any) -> list[c.Change]:
        return c.updated(c.with_unchanged(self.names, after, old, self.read), after)


def _pattern(key: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise SqlError(
            f"'canal-json.{key}' is not a regular expression: '{text}': {error}"
        ) from None


class CanalEncoder(JsonChangeEncoder):
    """Messages of one row."""

    insert = '{"data":[%s],"type":"INSERT"}'
    delete = '{"data":[%s],"type":"DELETE"}'


decoder, encoder = CanalDecoder, CanalEncoder
