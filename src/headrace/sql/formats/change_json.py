"""Changes of databases in JSON; the tools' own formats build on this."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from headrace.common.errors import HeadraceError
from headrace.formats import json
from headrace.formats.shapes import shape_of
from headrace.sql.formats.base import Encoder, FormatOptions
from headrace.sql.formats.changes import ChangeDecoder
from headrace.sql.formats.json import json_style
from headrace.sql.types import RowType

__all__ = ["OPTIONS", "JsonChangeDecoder", "JsonChangeEncoder"]

OPTIONS = (
    "ignore-parse-errors",
    "timestamp-format.standard",
    "map-null-key.mode",
    "map-null-key.literal",
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
)


class JsonChangeDecoder(ChangeDecoder):
    """Changes of JSON objects."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        style, shape = json_style(options), shape_of(row_type)
        super().__init__(row_type, options, json.reader(shape, style))
        self._ignore = style.ignore_errors
        self._documents = json.Loader(shape)

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        present = [m for m in messages if m and not m.isspace()]
        try:
            documents = self._documents.all(present) if present else []
            if documents is not None:
                return [row for d in documents for row in self.rows_in(d)]
        except json.UNREADABLE:
            pass  # whose message it was is found by looking at each
        return [row for message in present for row in self._rows_of(message)]

    def _rows_of(self, message: Any) -> list[tuple[Any, ...]]:
        try:
            return self.rows_in(self._documents.one(message))
        except json.UNREADABLE as error:
            if self._ignore:
                return []
            text = message if isinstance(message, str) else bytes(message).decode(errors="replace")
            option = f"{self.tool.lower()}-json.ignore-parse-errors"
            raise HeadraceError(
                f"Corrupt {self.tool} JSON message '{text[:500]}': {error}; "
                f"'{option}' = 'true' skips such messages"
            ) from error


class JsonChangeEncoder(Encoder):
    """A message for each change: an update is a row that goes and another one that comes."""

    changes = True
    insert: ClassVar[str]
    delete: ClassVar[str]

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        style = json_style(options)
        self._width = len(row_type)
        self._write: Callable[[Any], str] = json.writer(shape_of(row_type), style)
        self._texts = [self.insert, self.delete]
        if style.skip_null_fields:
            self._texts = [re.sub('"[a-z]+":null,', "", text) for text in self._texts]

    def encode(self, rows: list[tuple[Any, ...]]) -> list[str]:
        write, message = self._write, self._texts
        if rows and len(rows[0]) == self._width:
            return [message[0] % write(row) for row in rows]
        return [message[row[-1] & 1] % write(row) for row in rows]
