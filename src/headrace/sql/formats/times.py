"""Dates and times of tables in JSON and CSV, by the standard of SQL or that of ISO-8601."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.shapes import Kind, Shape
from headrace.sql.functions.builtin.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types.text import date_text, timestamp_text

__all__ = ["read_time", "read_times", "write_time"]


def read_time(iso: bool = False) -> Callable[[Shape], Callable[[str], Any]]:
    """Makes, of a shape, what reads its text; it raises ValueError where that fails."""

    def timestamp(text: str) -> int | None:
        """With what the standard has between date and time: `T` or a blank."""
        return parse_timestamp(text) if ("T" in text) == iso else None

    parsers: dict[Kind, Callable[[str], int | None]] = {
        Kind.DATE: parse_date,
        Kind.TIME: parse_time,
        Kind.TIMESTAMP: timestamp,
        Kind.INSTANT: lambda text: timestamp(text.strip().rstrip("Z")),
    }

    def reader(shape: Shape) -> Callable[[str], Any]:
        parse = parsers[shape.kind]

        def read(text: str) -> int:
            found = parse(text)
            if found is None:
                raise ValueError(f"{text!r} is not of type {shape}")
            return found

        return read

    return reader


_DATE = "^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?$"


def read_times(iso: bool = False) -> Callable[[Shape, Any], Any]:
    """What reads columns of text; None where a text is not written out in full."""

    def read(shape: Shape, texts: Any) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        if shape.kind is Kind.TIME:
            return None
        date = shape.kind is Kind.DATE
        if shape.kind is Kind.INSTANT:
            texts = compute.utf8_rtrim(texts, "Z")
        pattern = f"{_DATE}$" if date else f"{_DATE}{'T' if iso else ' '}{_CLOCK}"
        if not compute.all(compute.match_substring_regex(texts, pattern)).as_py():
            return None
        try:
            times = texts.cast(pa.date32() if date else pa.timestamp("us"))
        except pa.ArrowInvalid:
            return None
        return times.view(pa.int32() if date else pa.int64())

    return read


def write_time(iso: bool = False) -> Callable[[Shape], Callable[[int], str]]:
    """Makes, of a shape, what writes its text: timestamps without zeros at the end."""
    between = "T" if iso else " "

    def writer(shape: Shape) -> Callable[[int], str]:
        if shape.kind is Kind.DATE:
            return date_text
        if shape.kind is Kind.TIME:
            return lambda v: timestamp_text(v, shape.precision or 0).partition(" ")[2]
        zone = "Z" if shape.kind is Kind.INSTANT else ""

        def stamp(micros: int) -> str:
            text = timestamp_text(micros, 6).rstrip("0").rstrip(".")
            return text.replace(" ", between) + zone

        return stamp

    return writer
