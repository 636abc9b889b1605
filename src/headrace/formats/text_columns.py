"""Lines of CSV and JSON as columns: Arrow parses many of them in one call.

A reader gives the columns of some lines, or None if any of the lines is not plain enough for Arrow
to read it exactly as the readers of single rows do; these then read the lines, and say what is
wrong with them. So there is one meaning of a text, and this is but the quick way to it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.formats.arrow import arrow_type_of, numbers_of, text_scalar, values_of
from headrace.formats.csv import CsvStyle, field_reader
from headrace.formats.json import UNREADABLE, JsonStyle, reader
from headrace.formats.lines import Lines
from headrace.formats.shapes import TEMPORAL, Convert, Kind, Shape, Values, or_none

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FEW", "Column", "CsvColumns", "JsonColumns", "TextColumns", "joined", "lists_of"]

Column: TypeAlias = "pa.Array | list[Any]"
"""Values as Arrow has them, where it has them as the API does, and as Python has them otherwise."""

FEW = 200
"""A call of Arrow costs as much as reading so many lines one by one."""

_DIRECT = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DOUBLE, Kind.FLOAT, Kind.TEXT})


def joined(messages: Sequence[str | bytes]) -> bytes | None:
    """Messages as the lines of one text; None if reading them one by one is as quick."""
    if len(messages) < FEW:
        return None
    if isinstance(messages, Lines):
        return messages.data
    try:
        if isinstance(messages[0], str):
            return "\n".join(messages).encode()  # type: ignore[arg-type]
        return b"\n".join(messages)  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):
        return None


def lists_of(columns: Iterable[Column]) -> list[list[Any]]:
    """The columns as lists."""
    return [c if isinstance(c, list) else values_of(c) for c in columns]


def _read_texts(texts: pa.Array, read: Convert, shape: Shape) -> list[Any]:
    """The values of texts; a text that comes often is read once, unless its value may change."""
    if not shape.parts:
        encoded = texts.dictionary_encode()
        if len(encoded.dictionary) * 2 < len(texts) and not texts.null_count:
            values = list(map(read, encoded.dictionary.to_pylist()))
            return list(map(values.__getitem__, values_of(encoded.indices)))
    return list(map(read, texts.to_pylist()))


def _arrow_kind(shape: Shape) -> pa.DataType:
    import pyarrow as pa

    exact = shape.kind is Kind.DECIMAL and shape.precision is not None
    if exact or shape.kind is Kind.INTEGER:
        return arrow_type_of(shape)
    kinds = {Kind.BOOLEAN: pa.bool_(), Kind.DOUBLE: pa.float64(), Kind.FLOAT: pa.float64()}
    return kinds.get(shape.kind, pa.string())


def _has_nan(column: pa.Array) -> bool:
    from pyarrow import compute

    found: bool | None = compute.any(compute.is_nan(column)).as_py()
    return bool(found)


class TextColumns(ABC):
    """Reads lines as columns of rows of a shape."""

    def __init__(self, shape: Shape, values: Values) -> None:
        self._names, self._parts = shape.names, shape.parts
        self._make = values.rows(shape.names)

    @abstractmethod
    def read(self, text: bytes | None, count: int) -> list[Column] | None:
        """The columns of so many lines, none of which is blank or a comment."""

    def rows(self, text: bytes | None, count: int) -> list[Any] | None:
        """The rows of such lines."""
        columns = self.read(text, count)
        return None if columns is None else self._make(zip(*lists_of(columns), strict=True))


class CsvColumns(TextColumns):
    """Columns of lines of CSV."""

    def __init__(self, shape: Shape, styles: Sequence[CsvStyle]) -> None:
        """Reads rows of a shape, each column in a style of its own."""
        super().__init__(shape, styles[0].values)
        self._styles = styles
        self._readers = [field_reader(p, s) for p, s in zip(shape.parts, styles, strict=True)]
        dialect = styles[0].dialect
        special = [c for c in (dialect.delimiter, dialect.quote) if c is not None]
        self._plain = all(c.isascii() and c not in "\r\n" for c in special)
        self._plain = self._plain and dialect.delimiter != dialect.quote
        literals = {s.dialect.null_literal for s in styles}
        self._absent = ["", *(x for x in literals if x is not None)]
        self._empty_is_null = styles[0].empty_is_null
        # Nothing is false, unless it is NULL, and another text is NULL.
        self._no_falsehood = len(self._absent) > 1 and not self._empty_is_null
        self._plain = self._plain and len(literals) == 1
        self._quote = None if dialect.quote is None else dialect.quote.encode()
        self._escape = None if dialect.escape is None else dialect.escape.encode()
        self._unquoted = _without_quoted_fields(dialect.delimiter, dialect.quote or "")

    def read(self, text: bytes | None, count: int) -> list[Column] | None:
        """The columns, each with the type that Arrow reads best."""
        if text is None or not self._plain or not _is_lines(text, count):
            return None
        if self._escape is not None and self._escape in text:
            return None
        if self._quote is not None and self._quote in text and self._quote in self._unquoted(text):
            return None
        # Arrow reads whole numbers in hexadecimal, too.
        hexadecimal = b"0x" in text or b"0X" in text
        typed = self._typed(text, count, hexadecimal)
        return self._typed(text, count, None) if typed is None else typed

    def _typed(self, text: bytes, count: int, hexadecimal: bool | None) -> list[Column] | None:
        """With the types that Arrow is trusted with; all columns are read as text if None."""
        import pyarrow as pa

        kinds = [
            pa.string()
            if hexadecimal is None
            or (hexadecimal and part.kind is Kind.INTEGER)
            or (self._no_falsehood and part.kind is Kind.BOOLEAN)
            else _arrow_kind(part)
            for part in self._parts
        ]
        try:
            columns = self._parsed(text, count, kinds)
            if columns is None:
                return None
            return [self._values(i, column) for i, column in enumerate(columns)]
        except (pa.ArrowInvalid, ValueError, ArithmeticError):
            return None

    def _parsed(self, text: bytes, count: int, kinds: list[pa.DataType]) -> list[pa.Array] | None:
        import pyarrow as pa
        from pyarrow import csv

        dialect = self._styles[0].dialect
        names = [str(i) for i in range(len(kinds))]
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=False if dialect.quote is None else dialect.quote,
            ),
            csv.ConvertOptions(
                column_types=dict(zip(names, kinds, strict=True)),
                null_values=self._absent,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )
        columns = [c.combine_chunks() for c in table.columns]
        if table.num_rows != count:
            return None
        nan = any(pa.types.is_floating(c.type) and _has_nan(c) for c in columns)
        return None if nan or any(_is_off(c, text) for c in columns) else columns

    def _values(self, index: int, column: pa.Array) -> Column:
        import pyarrow as pa

        part, read = self._parts[index], self._readers[index]
        if part.kind is Kind.TEXT:
            empty = "" if self._empty_is_null else None
            return _without(column, self._styles[index].dialect.null_literal, empty)
        if part.kind in TEMPORAL:
            times = self._styles[index].read_times(part, _without(column, *self._absent))
            if times is not None:
                return times
        if pa.types.is_string(column.type) and read is not None:
            return _read_texts(column, read, part)
        if part.kind is Kind.FLOAT:
            return list(map(or_none(self._styles[index].values.single), values_of(column)))
        if part.kind is Kind.BOOLEAN and not self._empty_is_null:
            return column.fill_null(False)
        return column


def _without(texts: pa.Array, *absent: str | None) -> pa.Array:
    """The texts with NULL in place of what stands for it."""
    import pyarrow as pa
    from pyarrow import compute

    nothing = pa.nulls(1, pa.string())[0]
    for text in absent:
        if text is not None:
            texts = compute.if_else(compute.equal(texts, text_scalar(text)), nothing, texts)
    return texts


def _is_lines(text: bytes, count: int) -> bool:
    """Whether a text has so many lines, with no other ends than those, and nothing before them."""
    ends = text.count(b"\n") == count - 1 and b"\r" not in text
    return ends and not text.startswith(b"\xef\xbb\xbf")


def _without_quoted_fields(delimiter: str, quote: str) -> Callable[[bytes], bytes]:
    """What removes all fields that are quoted as they should be."""
    d, q = re.escape(delimiter.encode()), re.escape(quote.encode())
    if len(delimiter) != 1 or len(quote) != 1 or not (delimiter + quote).isascii():
        return lambda text: text
    inside = rb"[^%b\n]*+" % q
    field = re.compile(
        rb"(?<![^%b\n])%b%b(?:%b%b%b)*+%b(?![^%b\n])" % (d, q, inside, q, q, inside, q, d)
    )
    return lambda text: field.sub(b"", text)


class JsonColumns(TextColumns):
    """Columns of objects in JSON, one in each line."""

    def __init__(self, shape: Shape, style: JsonStyle) -> None:
        """Reads rows of a shape."""
        super().__init__(shape, style.values)
        self._single = style.values.single
        self._read_times = style.read_times
        flat = shape.kind is Kind.ROW and all(map(_is_flat, shape.parts))
        # Arrow does not tell a field that is missing from one that is null.
        self._plain = flat and not style.fail_on_missing_field
        self._plain = self._plain and len(set(self._names)) == len(self._names) > 0
        self._readers = [reader(p, style) for p in shape.parts] if self._plain else []

    def read(self, text: bytes | None, count: int) -> list[Column] | None:
        """The columns; those that a line does not have are NULL there."""
        import pyarrow as pa

        if text is None or not self._plain or not _is_objects(text, count):
            return None
        try:
            text.decode()
            columns = self._parsed(text, count)
            return columns and [self._values(i, column) for i, column in enumerate(columns)]
        except (pa.ArrowInvalid, *UNREADABLE):
            return None

    def _parsed(self, text: bytes, count: int) -> list[pa.Array] | None:
        import pyarrow as pa
        from pyarrow import json

        kinds = zip(self._names, map(_arrow_kind, self._parts), strict=True)
        table = json.read_json(
            pa.BufferReader(text),
            json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            json.ParseOptions(
                explicit_schema=pa.schema(list(kinds)), unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != count:
            return None
        columns = [table.column(name).combine_chunks() for name in self._names]
        odd = any(_is_odd(c) or _is_off(c, text) for c in columns)
        return None if odd else columns

    def _values(self, index: int, column: pa.Array) -> Column:
        part = self._parts[index]
        if part.kind in TEMPORAL:
            times = self._read_times(part, column)
            return _read_texts(column, self._readers[index], part) if times is None else times
        if part.kind is Kind.FLOAT:
            return list(map(or_none(self._single), values_of(column)))
        return column


def _is_flat(part: Shape) -> bool:
    """Whether Arrow reads such values, or the texts that they are made of."""
    fixed = part.kind is Kind.DECIMAL and part.precision is not None
    return fixed or part.kind in _DIRECT or part.kind in TEMPORAL


# Arrow reads more of such than the standard of JSON and Python have.
_NOT_FINITE = re.compile(rb"[:\[,-]\s*+(?:NaN|Inf)")


def _is_objects(text: bytes, count: int) -> bool:
    """Whether each line is an object, if all of the text is JSON.

    Between `}` and `{` there is no comma, so objects end where lines do. Arrow has to find as many
    objects as there are lines, and then there is one in each.
    """
    import numpy as np

    if not text.startswith(b"{") or not text.endswith(b"}") or b"\r" in text:
        return False
    # A single letter is found many times faster than several.
    named = (b"N" in text and b"NaN" in text) or (b"I" in text and b"Inf" in text)
    if named and _NOT_FINITE.search(text):
        return False
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    if len(ends) != count - 1:
        return False
    return bool((letters[ends - 1] == ord("}")).all() and (letters[ends + 1] == ord("{")).all())


def _is_off(column: pa.Array, text: bytes) -> bool:
    """Whether a column may have a decimal that Arrow reads otherwise.

    It has no negative zero, and takes more digits than there is room for.
    """
    import pyarrow as pa

    if not pa.types.is_decimal(column.type):
        return False
    column.validate(full=True)
    return (b"-0" in text or b"-." in text) and any(number == 0 for number in column.to_pylist())


def _is_odd(column: pa.Array) -> bool:
    """Whether a column may have numbers that were whole ones in JSON and are read otherwise.

    `-0` is 0 there, and a number that is larger than any DOUBLE is an error.
    """
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_floating(column.type):
        return False
    numbers = numbers_of(column.drop_null())
    return bool((np.signbit(numbers) & (numbers == 0)).any() or np.isinf(numbers).any())
