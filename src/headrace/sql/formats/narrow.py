"""Reading only some fields of messages: nobody looks at the others, nor at what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.text_columns import Column
from headrace.sql.formats.base import Decoder, FormatOptions
from headrace.sql.formats.json import JsonDecoder
from headrace.sql.types import RowType

__all__ = ["narrowed"]


def narrowed(decoder: Any, columns: Sequence[int]) -> Any:
    """A decoder whose rows have NULL in all columns but some, if it reads fields by name."""
    if type(decoder) is not JsonDecoder:
        return decoder
    row_type, options = decoder.arguments
    chosen = tuple(columns) or (0,)
    return decoder if len(chosen) == len(row_type) else _Narrow(row_type, options, chosen)


class _Narrow(Decoder):
    def __init__(self, row_type: RowType, options: FormatOptions, columns: tuple[int, ...]) -> None:
        super().__init__(row_type, options)
        self._places = columns
        self._width = len(row_type)
        self._inner = JsonDecoder(RowType([row_type.fields[i] for i in columns], False), options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Narrow, (*self.arguments, self._places)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        import pyarrow as pa

        found = self._inner.columns(messages)
        if found is None:
            return None
        columns: list[Column] = [pa.nulls(len(found[0]))] * self._width
        for place, column in zip(self._places, found, strict=True):
            columns[place] = column
        return columns

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        rows = []
        for read in self._inner.decode_each(messages):
            row = [None] * self._width
            for place, value in zip(self._places, read, strict=True):
                row[place] = value
            rows.append(tuple(row))
        return rows
