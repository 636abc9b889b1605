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
        ("Y YY w W D F e ee eee c ccc", "2024 24 6 2 40 2 6 06 Fri 6 Fri"),
        ("Q QQ QQQ QQQQ q qqq", "1 01 Q1 1st quarter 1 Q1"),
        ("G GGGG GGGGG E EEEEE MMMMM", "AD Anno Domini A Fri F F"),
        ("n N A", "120000000 54309120000000 54309120"),
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
    assert parse("2024-2-9") == datetime(2024, 2, 9)
    assert parse("2024-02-32") is None
    assert time_parser("yyyyMMdd")("2024209") is None
    assert time_parser("dd MMM yyyy")("09 Feber 2024") is None
    assert time_parser("dd MMM yyyy")("09 feb 2024") is None


# What DateTimeUtils of Flink 2.3 gives: with DateTimeFormatter, or else with SimpleDateFormat.
@pytest.mark.parametrize(
    ("text", "pattern", "resolved", "counted"),
    [
        ("2020-02-30", "yyyy-MM-dd", datetime(2020, 2, 29), datetime(2020, 3, 1)),
        ("2020-02-32", "yyyy-MM-dd", None, datetime(2020, 3, 3)),
        ("2020-13-01", "yyyy-MM-dd", None, datetime(2021, 1, 1)),
        ("2020-01-01 24:00", "yyyy-MM-dd HH:mm", datetime(2020, 1, 2), datetime(2020, 1, 2)),
        ("2020-01-01 24:01", "yyyy-MM-dd HH:mm", None, datetime(2020, 1, 2, 0, 1)),
        ("20-3-4", "yy-M-d", datetime(2020, 3, 4), datetime(2020, 3, 4)),
        ("2020-01-01xx", "yyyy-MM-dd", None, datetime(2020, 1, 1)),
        ("Wed 4 Mar 2020", "EEE d MMM yyyy", datetime(2020, 3, 4), datetime(2020, 3, 4)),
    ],
)
def test_days_that_do_not_exist(
    text: str, pattern: str, resolved: datetime | None, counted: datetime | None
) -> None:
    assert time_parser(pattern)(text) == resolved
    assert time_parser(pattern, lenient=True)(text) == counted


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2020-03-04T15:06:07Z", "yyyy-MM-dd'T'HH:mm:ssX"),
        ("2020-03-04T15:06:07+02:00", "yyyy-MM-dd'T'HH:mm:ssXXX"),
        ("2020-03-04T15:06:07+0200", "yyyy-MM-dd'T'HH:mm:ssZ"),
        ("2020-03-04 15:06:07 UTC", "yyyy-MM-dd HH:mm:ss z"),
        ("2020-03-04 15:06:07 Europe/Berlin", "yyyy-MM-dd HH:mm:ss VV"),
        ("2020-03-04 3:06:07 PM", "yyyy-MM-dd K:mm:ss a"),
        ("2020-03-04 15:06:07", "yyyy-MM-dd kk:mm:ss"),
    ],
)
def test_zones_do_not_count(text: str, pattern: str) -> None:
    assert time_parser(pattern)(text) == datetime(2020, 3, 4, 15, 6, 7)


def test_patterns_that_java_refuses_too() -> None:
    for pattern in ("b", "HHH", "ddd", "yyyy 'week", "z"):
        with pytest.raises(GraphError, match="date format"):
            time_formatter(pattern)
    with pytest.raises(GraphError, match="'b' of a date format"):
        time_parser("b yyyy")


def test_how_long_a_text_stays_the_same() -> None:
    assert unchanging_micros("yyyy-MM-dd") == 86_400_000_000
    assert unchanging_micros("HH:mm") == 60_000_000
    assert unchanging_micros("ss.SSS") == 1
