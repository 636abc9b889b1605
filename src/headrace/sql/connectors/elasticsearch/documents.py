"""Makes actions of rows: documents with the ids of their keys, and deletes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.common.types import RowKind
from headrace.datastream.connectors.elasticsearch import Emitter
from headrace.sql import types as t
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.elasticsearch.index_names import IndexNames
from headrace.sql.formats.base import Encoder
from headrace.sql.types.text import java_text, local_date_time_text

__all__ = ["DocumentIds", "RowEmitter"]

_INSERT = RowKind.INSERT.value
_KEY_TYPES = (
    t.CharType,
    t.VarCharType,
    t.BooleanType,
    t.NumericType,
    t.DateType,
    t.TimeType,
    t.TimestampType,
    t.ZonedTimestampType,
    t.LocalZonedTimestampType,
    t.YearMonthIntervalType,
    t.DayTimeIntervalType,
)


@dataclass(frozen=True)
class DocumentIds:
    """The columns of a key, whose values make ids."""

    columns: tuple[int, ...]
    types: tuple[t.DataType, ...]
    delimiter: str = "_"

    @staticmethod
    def of(context: TableContext) -> DocumentIds | None:
        """The ids of a table's documents; None if it has no key and the server makes them."""
        delimiter = context.option("document-id.key-delimiter", "_") or ""
        columns = tuple(map(context.schema.names.index, context.primary_key))
        types = tuple(context.schema[c].type for c in columns)
        wrong = [x.root for x in types if not isinstance(x, _KEY_TYPES)]
        if wrong:
            raise SqlError(
                "The table has a primary key on columns of illegal types: "
                f"[{', '.join(wrong)}]. The key of table {context.name} makes the ids of documents,"
                " which are text."
            )
        return DocumentIds(columns, types, delimiter) if columns else None

    def maker(self) -> Callable[[Any], str]:
        """What makes the id of a row."""
        parts = list(zip(self.columns, map(_id_text, self.types), strict=True))
        join = self.delimiter.join
        return lambda row: join([text(row[column]) for column, text in parts])


def _id_text(type_: t.DataType) -> Callable[[Any], str]:
    if isinstance(type_, t.LocalZonedTimestampType):
        return local_date_time_text
    if isinstance(type_, t.YearMonthIntervalType):
        # Flink takes the months for days.
        return lambda months: f"P{months}D"
    return java_text(type_)


@dataclass(frozen=True)
class RowEmitter(Emitter):
    """Makes actions of rows, which end with their kinds if they are changes.

    Attributes:
        encoder: Makes documents.
        indexes: Names the index of a row.
        ids: Makes ids; None if the server does.
        doc_type: The type of documents, for Elasticsearch 6.
        replaces: Whether a row that is new replaces a document as a whole, other fields as well.
        changes: Whether rows end with their kinds.
    """

    encoder: Encoder
    indexes: IndexNames
    ids: DocumentIds | None = None
    doc_type: str | None = None
    replaces: bool = False
    changes: bool = False

    def maker(self) -> Callable[[list[Any]], list[bytes]]:
        names = self.indexes.maker()
        key = None if self.ids is None else self.ids.maker()
        ending = "" if self.doc_type is None else f', "_type": {_quoted(self.doc_type)}'

        def actions(values: list[Any]) -> list[bytes]:
            kinds = [v[-1] for v in values] if self.changes else [_INSERT] * len(values)
            rows = [v[:-1] for v in values] if self.changes else values
            kept = [row for kind, row in zip(kinds, rows, strict=True) if not kind & 1]
            documents = iter(self._documents(kept))
            made = []
            for kind, row, name in zip(kinds, rows, names(rows), strict=True):
                about = f'{{"_index": {_quoted(name)}{ending}'
                if key is not None:
                    about += f', "_id": {_quoted(key(row))}'
                if kind & 1:
                    action = f'{{"delete": {about}}}}}\n'
                elif key is None or (self.replaces and kind == _INSERT):
                    action = f'{{"index": {about}}}}}\n{next(documents)}\n'
                else:
                    document = f'{{"doc": {next(documents)}, "doc_as_upsert": true}}'
                    action = f'{{"update": {about}}}}}\n{document}\n'
                made.append(action.encode())
            return made

        return actions

    def _documents(self, rows: list[Any]) -> list[str]:
        """Objects of JSON, each on one line; text in them has no line ends as such."""
        return [_one_line(m) for m in self.encoder.encode(rows)] if rows else []


def _one_line(message: Any) -> str:
    if message is None:
        raise HeadraceError("a row has no document: NULL is none")
    text = message if isinstance(message, str) else bytes(message).decode()
    return text.replace("\n", " ")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
