"""Windows in Spark's SQL: the slice that a row is in, and the columns of its window."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from headrace.sql.codegen.column_calls import FLOOR_DIVIDE, ColumnAt, ColumnCall, ColumnValue
from headrace.sql.plan import nodes as n
from headrace.sql.segments.aggregates import LocalPlace
from headrace.sql.segments.column_reading import NULL_TIME
from headrace.sql.segments.expressions import UnsupportedBySparkError, column_name, quoted
from headrace.sql.types import BigIntType

__all__ = [
    "WINDOW_TEXTS",
    "check_clock",
    "is_utc",
    "millis_value",
    "present_text",
    "rows_in_windows",
    "session_places",
    "slice_end_text",
    "slice_end_value",
    "window_column_texts",
    "window_column_values",
]

WINDOW_TEXTS = {
    "start": "(window_from * 1000L)",
    "end": "(window_to * 1000L)",
    "time": "((window_to - 1L) * 1000L)",
}
"""Of a row in `rows_in_windows`: its window's start, end and time, in microseconds."""


def is_utc(zone: str) -> bool:
    """Whether the clock of a zone is the one that Spark has."""
    return zone in ("UTC", "Etc/UTC", "Z")


def slice_end_text(window: n.Window) -> str:
    """The end of a row's slice, in milliseconds.

    Rows of a slice are less than the gap of a session apart, so they are in the same one.
    """
    step, millis = _step(window), _millis(window)
    return f"({millis} - pmod({millis} - {window.offset}L, {step}L) + {step}L)"


def _step(window: n.Window) -> int:
    slide = window.slide or window.size
    return gcd(window.size, slide) if window.kind == "HOP" else slide


def _millis(window: n.Window) -> str:
    time = column_name(window.time)
    return f"(({time} - pmod({time}, 1000L)) div 1000L)"


def session_places(window: n.Window) -> list[LocalPlace]:
    """The first and the last time of some rows, in milliseconds."""
    millis = _millis(window)
    return [LocalPlace(f"{name}({millis})", BigIntType()) for name in ("min", "max")]


def window_column_texts(window: n.Window) -> tuple[str, str, str]:
    """window_start, window_end and window_time of a row, in microseconds.

    Raises:
        UnsupportedBySparkError: A row may be in several windows.
    """
    if window.kind != "TUMBLE" or not window.event_time:
        raise UnsupportedBySparkError(f"rows of {window.kind}")
    end = slice_end_text(window)
    return f"({end} - {window.size}L) * 1000L", f"{end} * 1000L", f"({end} - 1L) * 1000L"


def check_clock(window: n.Window, zone: str) -> None:
    """Refuses windows of another clock than Spark's."""
    if not window.event_time or (window.zoned and not is_utc(zone)):
        raise UnsupportedBySparkError(f"windows of {window.kind} on another clock")


def rows_in_windows(
    window: n.Window, columns: str, rows: str, zone: str, keys: Sequence[int]
) -> str:
    """Each row once for every window that it is in, with its start and end in milliseconds.

    Args:
        window: The windows.
        columns: The columns of the rows.
        rows: What is read.
        zone: The session's time zone.
        keys: Columns that have sessions of their own.

    Raises:
        UnsupportedBySparkError: The windows depend on another clock.
    """
    check_clock(window, zone)
    if window.kind == "SESSION":
        return _rows_in_sessions(window, columns, rows, keys)
    time = _millis(window)
    slide = window.slide if window.kind == "HOP" else window.size
    first = f"({time} - pmod({time} - {window.offset}L, {slide}L))"
    count, start, end = 1, first, f"({first} + {window.size}L)"
    if window.kind == "HOP":
        count = -(-window.size // slide)
        start = f"({first} - part * {slide}L)"
        end = f"({start} + {window.size}L)"
    elif window.kind == "CUMULATE":
        count = window.size // window.slide
        end = f"({first} + (part + 1L) * {window.slide}L)"
    source = f"{rows} LATERAL VIEW explode(sequence(0L, {count - 1}L)) AS part"
    return (
        f"SELECT {columns}, {start} AS window_from, {end} AS window_to FROM {source} "
        f"WHERE {end} > {time}"
    )


def _rows_in_sessions(window: n.Window, columns: str, rows: str, keys: Sequence[int]) -> str:
    """A session begins with a row that is more than the gap behind the one before it.

    Rows of the same time have the same number, in whatever order they come.
    """
    names = [column_name(i) for i in keys]
    by = f"PARTITION BY {', '.join(names)} " if names else ""
    time, present = _millis(window), present_text(window.time)
    lagged = (
        f"SELECT {columns}, {time} AS at, lag({time}) OVER ({by}ORDER BY {time}) AS earlier "
        f"FROM {rows} WHERE {present}"
    )
    numbered = (
        f"SELECT {columns}, at, sum(CASE WHEN at - earlier <= {window.size}L THEN 0 ELSE 1 END) "
        f"OVER ({by}ORDER BY at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session "
        f"FROM ({lagged})"
    )
    same = f"OVER (PARTITION BY {', '.join([*names, 'session'])})"
    return (
        f"SELECT {columns}, min(at) {same} AS window_from, "
        f"max(at) {same} + {window.size}L AS window_to FROM ({numbered})"
    )


def present_text(column: int) -> str:
    """A condition that fails the job for a row without a time, and is true for all others."""
    return f"assert_true({column_name(column)} IS NOT NULL, {quoted(NULL_TIME)}) IS NULL"


# The same as values of columns, for Arrow.


def millis_value(window: n.Window) -> ColumnValue:
    """A row's time, in milliseconds."""
    return ColumnCall(FLOOR_DIVIDE, (ColumnAt(window.time), 1000))


def slice_end_value(window: n.Window) -> ColumnValue:
    """The end of a row's slice, in milliseconds."""
    step, offset = _step(window), window.offset
    since = ColumnCall("subtract", (ColumnAt(window.time), offset * 1000))
    start = ColumnCall("multiply", (ColumnCall(FLOOR_DIVIDE, (since, step * 1000)), step))
    return ColumnCall("add", (start, offset + step))


def window_column_values(window: n.Window) -> tuple[ColumnValue, ColumnValue, ColumnValue]:
    """window_start, window_end and window_time of a row in a tumbling window, in microseconds."""
    end = slice_end_value(window)
    start, last = (ColumnCall("subtract", (end, x)) for x in (window.size, 1))
    micros = [ColumnCall("multiply", (value, 1000)) for value in (start, end, last)]
    return micros[0], micros[1], micros[2]
