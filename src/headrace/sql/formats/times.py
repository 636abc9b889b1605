"""Dates and times of tables in JSON and CSV, as Flink's formats write and read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.formats.shapes import Kind, Shape
from headrace.sql.functions.builtin.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types.text import date_text, timestamp_text

__all__ = ["CSV", "ISO", "SQL", "TimeStandard", "read_time", "read_times", "write_time"]

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MINUTES = "[0-9]{2}:[0-9]{2}"
_FRACTION = "([.][0-9]{0,9})?"
_CLOCK = f"{_MINUTES}:[0-9]{{2}}{_FRACTION}"
_SHORT_CLOCK = f"{_MINUTES}(:[0-9]{{2}}{_FRACTION})?"


@dataclass(frozen=True)
class TimeStandard:
    """How times are written.

    Attributes:
        patterns: The texts that are read.
        between: What is between date and time.
    """

    patterns: Mapping[Kind, str]
    between: str = " "


SQL = TimeStandard(
    {
        Kind.DATE: _DAY,
        Kind.TIME: _CLOCK,
        Kind.TIMESTAMP: f"{_DAY} {_CLOCK}",
        Kind.INSTANT: f"{_DAY} {_CLOCK}Z",
    }
)
ISO = TimeStandard(
    {
        Kind.DATE: _DAY,
        Kind.TIME: _CLOCK,
        Kind.TIMESTAMP: f"{_DAY}T{_SHORT_CLOCK}",
        Kind.INSTANT: f"{_DAY}T{_SHORT_CLOCK}Z",
    },
    "T",
)
CSV = TimeStandard(
    {
        Kind.DATE: "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
        Kind.TIME: _SHORT_CLOCK,
        Kind.TIMESTAMP: rf"\s*{_DAY} {_CLOCK}\s*",
        Kind.INSTANT: rf"\s*{_DAY} {_CLOCK}Z\s*",
    }
)

_PARSERS: dict[Kind, Callable[[str], int | None]] = {
    Kind.DATE: parse_date,
    Kind.TIME: parse_time,
    Kind.TIMESTAMP: parse_timestamp,
    Kind.INSTANT: lambda text: parse_timestamp(text.strip()[:-1]),
}


def read_time(standard: TimeStandard) -> Callable[[Shape], Callable[[str], Any]]:
    """Makes, of a shape, what reads its text; it raises ValueError where that fails."""

    def reader(shape: Shape) -> Callable[[str], Any]:
        parse, fits = _PARSERS[shape.kind], re.compile(standard.patterns[shape.kind]).fullmatch

        def read(text: str) -> int:
            found = parse(text) if fits(text) else None
            if found is None:
                raise ValueError(f"{text!r} is not of type {shape}")
            return found

        return read

    return reader


_WHOLE_DAY = "^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_WHOLE_CLOCK = f"{_MINUTES}:[0-9]{{2}}([.][0-9]{{1,6}})?"


def read_times(standard: TimeStandard) -> Callable[[Shape, Any], Any]:
    """What reads columns of text; None where a text is not written out in full."""
    moment = f"{_WHOLE_DAY}{standard.between}{_WHOLE_CLOCK}"
    patterns = {
        Kind.DATE: f"{_WHOLE_DAY}$",
        Kind.TIMESTAMP: f"{moment}$",
        Kind.INSTANT: f"{moment}Z$",
    }

    def read(shape: Shape, texts: Any) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        if shape.kind not in patterns:
            return None
        if not compute.all(compute.match_substring_regex(texts, patterns[shape.kind])).as_py():
            return None
        if shape.kind is Kind.INSTANT:
            texts = compute.utf8_rtrim(texts, "Z")
        date = shape.kind is Kind.DATE
        try:
            times = texts.cast(pa.date32() if date else pa.timestamp("us"))
        except pa.ArrowInvalid:
            return None
        return times.view(pa.int32() if date else pa.int64())

    return read


def write_time(standard: TimeStandard) -> Callable[[Shape], Callable[[int], str]]:
    """Makes, of a shape, what writes its text: timestamps without zeros at the end."""
    between = standard.between

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
