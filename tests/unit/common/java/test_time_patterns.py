from __future__ import annotations

from datetime import datetime

import pytest

from headrace.common.errors import GraphError
from headrace.common.java.time_patterns import time_formatter, time_parser, unchanging_micros

TIME = datetime(2024, 2, 9, 15, 5, 9, 120_000)


# What Java 17 gives, in the locale en-US.
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-09 15:05:09.120"),
        ("yy/M/d h:m:s a", "24/2/9 3:5:9 PM"),
        ("EEE, dd MMM yyyy", "Fri, 09 Feb 2024"),
        ("EEEE d MMMM uuuu", "Friday 9 February 2024"),
        ("'day' D 'of the year''s' DDD", "day 40 of the year's 040"),
        ("yyyy'-week-'ww", "2024-week-06"),
        ("k K SSSSSSSSS", "15 3 120000000"),
        ("''", "'"),
    ],
)
def test_a_time_is_written_as_java_writes_it(pattern: str, text: str) -> None:
    assert time_formatter(pattern)(TIME) == text


@pytest.mark.parametrize(
    "pattern", ["yyyy-MM-dd HH:mm:ss.SSS", "dd MMM yyyy hh:mm:ss.SS a", "yyyyMMdd'T'HHmmssSS"]
)
def test_what_is_written_is_read(pattern: str) -> None:
    assert time_parser(pattern)(time_formatter(pattern)(TIME)) == TIME


def test_text_of_another_form_is_not_a_time() -> None:
    parse = time_parser("yyyy-MM-dd")
    assert parse("2024-02-09") == datetime(2024, 2, 9)
    assert parse("2024-2-9") is None
    assert parse("2024-02-30") is None
    assert time_parser("dd MMM yyyy")("09 Feber 2024") is None


def test_patterns_that_java_refuses_too() -> None:
    for pattern in ("qq", "HHHH", "yyyy 'week"):
        with pytest.raises(GraphError, match="date format"):
            time_formatter(pattern)
    with pytest.raises(GraphError, match="'E' of a date format"):
        time_parser("EEE yyyy")


def test_how_long_a_text_stays_the_same() -> None:
    assert unchanging_micros("yyyy-MM-dd") == 86_400_000_000
    assert unchanging_micros("HH:mm") == 60_000_000
    assert unchanging_micros("ss.SSS") == 1
