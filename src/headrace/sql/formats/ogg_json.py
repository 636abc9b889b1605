"""Changes as Oracle GoldenGate writes them: `{"after":{"id":1},"op_type":"I"}`."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.formats.json import text_of
from headrace.sql.formats import changes as c
from headrace.sql.formats.change_json import OPTIONS as JSON_OPTIONS
from headrace.sql.formats.change_json import JsonChangeDecoder, JsonChangeEncoder
from headrace.sql.functions.builtin.times import parse_timestamp

OPTIONS = JSON_OPTIONS


def _moment(value: Any) -> int:
    found = parse_timestamp(text_of(value))
    if found is None:
        raise ValueError(f"{value!r} is not a timestamp")
    return found


class OggDecoder(JsonChangeDecoder):
    """Rows before and after a change."""

    tool = "Ogg"
    metadata: ClassVar[c.Metadata] = {
        "table": (("table",), text_of),
        "primary-keys": (("primary_keys",), c.texts),
        "ingestion-timestamp": (("current_ts",), _moment),
        "event-timestamp": (("op_ts",), _moment),
    }

    def changes_in(self, message: Any) -> list[c.Change]:
        return self.whole_rows(message, "op_type", ("I", "U", "D"))


class OggEncoder(JsonChangeEncoder):
    """Messages without the name of the table."""

    insert = '{"before":null,"after":%s,"op_type":"I"}'
    delete = '{"before":%s,"after":null,"op_type":"D"}'


decoder, encoder = OggDecoder, OggEncoder
