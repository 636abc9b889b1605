"""Names of indexes: `orders`, `orders-{city}`, `orders-{at|yyyy-MM-dd}`, `orders-{now()|yyyy}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import GraphError, SqlError
from headrace.common.java.time_patterns import time_formatter
from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.functions.builtin.times import DAY, format_moment, now_local, to_local
from headrace.sql.types.text import local_date_time_text

__all__ = ["IndexNames"]

_VARIABLE = re.compile(r"\{([^{}]+)(\}?)")
_NOW = re.compile(r"\s*(now\(\s*\)|NOW\(\s*\)|current_timestamp|CURRENT_TIMESTAMP)\s*")
_PATTERNS: dict[type[t.DataType], str] = {
    t.DateType: "yyyy_MM_dd",
    t.TimeType: "HH_mm_ss",
    t.TimestampType: "yyyy_MM_dd_HH_mm_ss",
    t.LocalZonedTimestampType: "yyyy_MM_dd_HH_mm_ssX",
}
_PLAIN: tuple[type[t.DataType], ...] = (
    t.VarCharType,
    t.CharType,
    t.TinyIntType,
    t.IntType,
    t.BigIntType,
)


@dataclass(frozen=True)
class IndexNames:
    """What is before and after the part that depends on a row, and that part, if there is one.

    Attributes:
        before: The whole name, if it is the same for all rows.
        after: What follows.
        column: The column that the part is made of; None for the time of writing.
        type: The column's type.
        pattern: How a time is written; None for a value as it is.
        zone: The session's time zone.
    """

    before: str
    after: str = ""
    column: int | None = None
    type: t.DataType | None = None
    pattern: str | None = None
    zone: str = "UTC"

    @staticmethod
    def of(context: TableContext) -> IndexNames:
        """The names that the option `index` asks for."""
        text = context.required("index")
        if not text:
            raise SqlError(f"'index' must not be empty in table {context.name}")
        found = list(_VARIABLE.finditer(text))
        if not found:
            return IndexNames(text)
        if len(found) > 1:
            raise SqlError(
                f"Chaining dynamic index pattern {text} is not supported, only support single "
                f"dynamic index pattern. Give table {context.name} a column with the whole name."
            )
        [variable] = found
        if not variable[2]:
            raise SqlError(f"'index' of table {context.name} has a '{{' without a '}}': {text!r}")
        name, bar, pattern = variable[1].partition("|")
        names = IndexNames(text[: variable.start()], text[variable.end() :], zone=context.zone)
        if bar and _NOW.fullmatch(name):
            return names._timed(context, pattern or _PATTERNS[t.LocalZonedTimestampType])
        known = context.schema.names
        if name not in known:
            raise SqlError(
                f"Unknown field '{name}' in index pattern '{text}', please check the field name"
                f"{suggestion(name, known)}"
            )
        column = known.index(name)
        type_ = context.schema[column].type
        if not isinstance(type_, (*_PLAIN, *_PATTERNS)):
            raise SqlError(
                f"Unsupported type {type_.root} of index field '{name}', Supported types are: "
                f"{', '.join(x.root for x in (*_PATTERNS, *_PLAIN))}"
            )
        names = replace(names, column=column, type=type_)
        if not bar:
            return names
        if type(type_) not in _PATTERNS:
            raise SqlError(
                f"Unsupported type '{type_.sql_text()}' found in Elasticsearch dynamic index field "
                f"'{name}', time-related pattern only support types are: DATE,TIME,TIMESTAMP."
            )
        return names._timed(context, pattern or _PATTERNS[type(type_)])

    def _timed(self, context: TableContext, pattern: str) -> IndexNames:
        try:
            time_formatter(pattern)
        except GraphError as error:
            raise SqlError(f"'index' of table {context.name}: {error}") from None
        return replace(self, pattern=pattern)

    @property
    def of_now(self) -> bool:
        """Whether the time of writing is in the name."""
        return self.column is None and self.pattern is not None

    def maker(self) -> Callable[[Sequence[Any]], Iterable[str]]:
        """What makes the names of the indexes of some rows."""
        before, after, column = self.before, self.after, self.column
        if column is None:
            return lambda rows: repeat(before + self._now() + after, len(rows))
        value = self._text()

        def names(rows: Sequence[Any]) -> Iterable[str]:
            parts = [row[column] for row in rows]
            return [f"{before}{'null' if p is None else value(p)}{after}" for p in parts]

        return names

    def _now(self) -> str:
        if self.pattern is None:
            return ""
        return format_moment(now_local(ZoneInfo(self.zone)), self.pattern)

    def _text(self) -> Callable[[Any], str]:
        """What makes text of a value, as Flink does."""
        type_, pattern = self.type, self.pattern
        timestamp = isinstance(type_, t.TimestampType | t.LocalZonedTimestampType)
        if pattern is None:
            if isinstance(type_, t.TimeType):
                return lambda micros: str(micros // 1000)
            return local_date_time_text if timestamp else str
        if isinstance(type_, t.DateType):
            return lambda days: format_moment(days * DAY, pattern)
        if isinstance(type_, t.LocalZonedTimestampType):
            zone = ZoneInfo(self.zone)
            return lambda micros: format_moment(to_local(zone, micros), pattern)
        return lambda micros: format_moment(micros, pattern)
