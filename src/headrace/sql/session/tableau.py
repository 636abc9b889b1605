"""Rows as a table on the screen, in Flink's form."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.sql import types as t
from headrace.sql.plan.expressions import Schema
from headrace.sql.session.result import StatementResult
from headrace.sql.types import DataType
from headrace.sql.types.text import sql_text

__all__ = ["Tableau", "column_width", "print_result"]

NULL = "<NULL>"
_MOST_WIDTH = 30
_KINDS = ("+I", "-U", "+U", "-D")


def column_width(type_: DataType, most: int = _MOST_WIDTH) -> int:
    """The width that all values of a type need; `most` where they may be long."""
    if isinstance(type_, t.IntegralType):
        return type_.digits + 1
    if isinstance(type_, t.DecimalType):
        return type_.precision + 2
    if isinstance(type_, t.BooleanType):
        return 5
    if isinstance(type_, t.DateType):
        return 10
    if isinstance(type_, t.TimeType):
        return 8 if type_.precision == 0 else type_.precision + 9
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return 19 if type_.precision == 0 else type_.precision + 20
    return most


class Tableau:
    """Prints rows between lines; `print` shows them as they come, or all at once.

    Args:
        schema: The columns.
        zone: The session's time zone.
        kinds: Whether the first column shows the kind of each row.
        by_type: Widths by type, so that rows can be shown before all are there.
        most_width: No column is wider.
        texts: Whether rows hold the texts of their values already.
        null: What stands for NULL.
    """

    def __init__(
        self,
        schema: Schema,
        zone: str = "UTC",
        kinds: bool = True,
        by_type: bool = True,
        most_width: int = _MOST_WIDTH,
        texts: bool = False,
        null: str = NULL,
    ) -> None:
        self._names = schema.names
        self._kinds = kinds
        self._by_type = by_type
        self._most = most_width
        makers = [
            str if texts else sql_text(x, ZoneInfo(zone), printing=True) for x in schema.types
        ]
        self._texts = [_or(null, x) for x in makers]
        self._types = schema.types

    def print(self, rows: Iterable[tuple[int, Sequence[Any]]], write: Callable[[str], Any]) -> int:
        """Writes rows, each a kind and internal values; gives how many there were."""
        if self._by_type:
            return self._print_streaming(rows, write)
        lines = [(kind, self.cells(row)) for kind, row in rows]
        if not lines:
            write("Empty set")
            return 0
        widths = self._widths_of([cells for _, cells in lines])
        self._frame(widths, write)
        for kind, cells in lines:
            write(self._line(kind, cells, widths))
        write(self._rule(widths))
        self._footer(len(lines), write)
        return len(lines)

    def _print_streaming(
        self, rows: Iterable[tuple[int, Sequence[Any]]], write: Callable[[str], Any]
    ) -> int:
        widths = [
            max(column_width(x, self._most), len(NULL), display_width(name))
            for name, x in zip(self._names, self._types, strict=True)
        ]
        count = 0
        for kind, row in rows:
            if not count:
                self._frame(widths, write)
            write(self._line(kind, self.cells(row), widths))
            count += 1
        if count == 0:
            write("Empty set")
            return 0
        write(self._rule(widths))
        self._footer(count, write)
        return count

    def cells(self, row: Sequence[Any]) -> list[str]:
        """The texts of a row."""
        return [text(v) for text, v in zip(self._texts, row, strict=False)]

    def _widths_of(self, lines: list[list[str]]) -> list[int]:
        widths = [display_width(name) for name in self._names]
        for cells in lines:
            widths = [
                max(w, min(display_width(c), self._most))
                for w, c in zip(widths, cells, strict=True)
            ]
        return widths

    def _rule(self, widths: list[int]) -> str:
        parts = ["-" * (w + 2) for w in widths]
        if self._kinds:
            parts.insert(0, "----")
        return "+" + "+".join(parts) + "+"

    def _frame(self, widths: list[int], write: Callable[[str], Any]) -> None:
        write(self._rule(widths))
        cells = [padded(name, w) for name, w in zip(self._names, widths, strict=True)]
        if self._kinds:
            cells.insert(0, "op")
        write("| " + " | ".join(cells) + " |")
        write(self._rule(widths))

    def _line(self, kind: int, cells: list[str], widths: list[int]) -> str:
        parts = [padded(c, w) for c, w in zip(cells, widths, strict=True)]
        if self._kinds:
            parts.insert(0, _KINDS[kind])
        return "| " + " | ".join(parts) + " |"

    @staticmethod
    def _footer(count: int, write: Callable[[str], Any]) -> None:
        write(f"{count} row in set" if count == 1 else f"{count} rows in set")


def _or(null: str, text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda v: null if v is None else text(v)


def display_width(text: str) -> int:
    """Columns of a terminal: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """Right-aligned, and cut with `...` if it is too long."""
    size = display_width(text)
    if size <= width:
        return " " * (width - size) + text
    cut = ""
    for character in text:
        if display_width(cut + character) > width - 3:
            break
        cut += character
    return " " * (width - display_width(cut) - 3) + cut + "..."


def print_result(result: StatementResult) -> None:
    """Show the rows of a result as a table; of a stream as they come."""
    if result.plain is not None:
        print(result.plain)
        return
    tableau = Tableau(result.schema, result.zone, **result.tableau)
    tableau.print(result.rows(), lambda line: print(line, file=sys.stdout))
    sys.stdout.flush()
