"""The text of printed values. The expected texts were printed by PyFlink 2.3."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Instant, Row, RowKind, TypeInformation, Types
from headrace.common.java.text import double_text, float_text, shortest_float32
from headrace.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo
from headrace.formats.text import formatter, print_formatter

NAN, INF = float("nan"), float("inf")
TIME_TYPE = LocalTimeTypeInfo.TimeType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1.0, "1.0"),
        (1e10, "1.0E10"),
        (1e-5, "1.0E-5"),
        (NAN, "NaN"),
        (-INF, "-Infinity"),
        (123456.789, "123456.789"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (0.00012345, "1.2345E-4"),
        (1e21, "1.0E21"),
        (1.5e300, "1.5E300"),
        (0.002, "0.002"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (5e-324, "4.9E-324"),
        (2.0**53, "9.007199254740992E15"),
        (12345678.9, "1.23456789E7"),
        (-1.25e-7, "-1.25E-7"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert double_text(value) == formatter(Types.DOUBLE())(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1.0, "1.0"),
        (1e10, "1.0E10"),
        (1e-5, "1.0E-5"),
        (NAN, "NaN"),
        (INF, "Infinity"),
        (1e300, "Infinity"),
        (123456.789, "123456.79"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (1e6, "1000000.0"),
        (1234567.0, "1234567.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (3.4e38, "3.4E38"),
        (1.17e-38, "1.17E-38"),
        (1.4e-45, "1.4E-45"),
        (-0.0, "-0.0"),
        (16777216.0, "1.6777216E7"),
    ],
)
def test_floats(value: float, text: str) -> None:
    assert float_text(value) == formatter(Types.FLOAT())(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_is_that_double(value: float) -> None:
    assert float(double_text(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_is_that_float_and_short(value: float) -> None:
    assert np.float32(float_text(value)) == np.float32(value)
    assert shortest_float32(value) == float(str(np.float32(value)))


BASICS = [
    (Types.BOOLEAN(), True, "true"),
    (Types.BOOLEAN(), False, "false"),
    (Types.BYTE(), -128, "-128"),
    (Types.LONG(), 2**63 - 1, "9223372036854775807"),
    (Types.BIG_INT(), 2**70, str(2**70)),
    (Types.STRING(), "é☃", "é☃"),
    (Types.STRING(), "", ""),
    (Types.CHAR(), "a", "a"),
    (Types.BIG_DEC(), Decimal("1.10"), "1.10"),
    (Types.BIG_DEC(), Decimal("1E+5"), "1E+5"),
    (Types.BIG_DEC(), Decimal("1E-10"), "1E-10"),
    (Types.BIG_DEC(), Decimal("0.000001"), "0.000001"),
    (Types.BIG_DEC(), Decimal("1E-7"), "1E-7"),
    (Types.BIG_DEC(), Decimal("0E+3"), "0E+3"),
    (Types.BIG_DEC(), Decimal("0E-7"), "0E-7"),
    (Types.BIG_DEC(), Decimal("-12.3400"), "-12.3400"),
    (Types.SQL_DATE(), dt.date(2024, 2, 29), "2024-02-29"),
    (Types.SQL_DATE(), dt.date(999, 1, 2), "0999-01-02"),
    (Types.SQL_TIME(), dt.time(23, 59, 59, 999000), "23:59:59"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3), "2024-02-29 01:02:03.0"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 123000), "2024-02-29 01:02:03.123"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 120000), "2024-02-29 01:02:03.12"),
    (Types.SQL_TIMESTAMP(), dt.datetime(999, 2, 1, 1, 2, 3, 5000), "0999-02-01 01:02:03.005"),
    (Types.INSTANT(), Instant(1, 5_000_000), "1970-01-01T00:00:01.005Z"),
    (Types.INSTANT(), Instant(0, 0), "1970-01-01T00:00:00Z"),
    (Types.INSTANT(), Instant(1, 2000), "1970-01-01T00:00:01.000002Z"),
    (Types.INSTANT(), Instant(-1, 999_000_001), "1969-12-31T23:59:59.999000001Z"),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE), dt.date(2024, 2, 29), "2024-02-29"),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_TIME), dt.time(1, 2), "01:02"),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_TIME), dt.time(1, 2, 0, 5), "01:02:00.000005"),
    (
        LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE_TIME),
        dt.datetime(2024, 2, 29, 1, 2, 3),
        "2024-02-29T01:02:03",
    ),
]

COLLECTIONS = [
    (
        Types.TUPLE([Types.STRING(), Types.INT(), Types.BOOLEAN(), Types.DOUBLE()]),
        ("a", 1, True, 1.0),
        "(a,1,true,1.0)",
    ),
    (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", None), "(a,null)"),
    (
        Types.TUPLE(
            [
                Types.TUPLE([Types.INT(), Types.STRING()]),
                Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()]),
            ]
        ),
        ((1, "x"), Row(2, "y", 1e10)),
        "((1,x),+I[2, y, 1.0E10])",
    ),
    (
        Types.TUPLE(
            [
                Types.PRIMITIVE_ARRAY(Types.INT()),
                Types.BASIC_ARRAY(Types.STRING()),
                Types.LIST(Types.INT()),
                Types.MAP(Types.STRING(), Types.DOUBLE()),
            ]
        ),
        ([1, 2], ["a", "b"], [1, 2], {"a": 1.0}),
        "([1, 2],[a, b],[1, 2],{a=1.0})",
    ),
    (
        Types.TUPLE(
            [
                Types.ROW(
                    [
                        Types.LIST(Types.INT()),
                        Types.PRIMITIVE_ARRAY(Types.INT()),
                        Types.STRING(),
                        Types.DOUBLE(),
                        Types.TUPLE([Types.INT(), Types.BOOLEAN()]),
                    ]
                )
            ]
        ),
        (Row([1, 2], [3, 4], None, 1e10, (1, True)),),
        "(+I[[1, 2], [3, 4], null, 1.0E10, (1,true)])",
    ),
    (
        Types.TUPLE([Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.BIG_DEC()]),
        (
            dt.date(2020, 1, 2),
            dt.time(1, 2, 3, 4000),
            dt.datetime(2020, 1, 1, 1, 1, 1, 5000),
            Decimal("1E+5"),
        ),
        "(2020-01-02,01:02:03,2020-01-01 01:01:01.005,1E+5)",
    ),
    (Types.LIST(Types.DOUBLE()), [1.0, 1e10], "[1.0, 1.0E10]"),
    (Types.LIST(Types.LIST(Types.INT())), [[1], [2, 3]], "[[1], [2, 3]]"),
    (Types.LIST(Types.STRING()), [], "[]"),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 2.0, "b": None}, "{a=2.0, b=null}"),
    (Types.MAP(Types.STRING(), Types.INT()), {}, "{}"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a\xff", "[97, -1]"),
    (Types.LIST(Types.PICKLED_BYTE_ARRAY()), [{"a": 1}], "[{'a': 1}]"),
    (
        Types.LIST(Types.ROW([Types.INT()])),
        [Row.of_kind(RowKind.UPDATE_BEFORE, 1)],
        "[-U[1]]",
    ),
]


@pytest.mark.parametrize(
    ("type_info", "value", "text"), BASICS + COLLECTIONS, ids=lambda v: str(v)[:40]
)
def test_text(type_info: TypeInformation, value: Any, text: str) -> None:
    assert formatter(type_info)(value) == text


@pytest.mark.parametrize(
    "type_info", [Types.INT(), Types.STRING(), Types.LIST(Types.INT())], ids=str
)
def test_none_is_null(type_info: TypeInformation) -> None:
    assert formatter(type_info)(None) == "null"


def test_a_row_in_a_file_shows_the_values_of_java() -> None:
    row_type = Types.ROW([Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN()])
    for text_of in (formatter(row_type), formatter(ExternalTypeInfo(row_type))):
        assert text_of(Row("a", 1, 1e10, True)) == "+I[a, 1, 1.0E10, true]"
        assert text_of(Row(None, None, None, None)) == "+I[null, null, null, null]"
        assert text_of(Row.of_kind(RowKind.DELETE, "a", 1, 2.0, False)) == "-D[a, 1, 2.0, false]"


def test_a_row_that_is_printed_shows_the_values_of_python() -> None:
    row_type = Types.ROW([Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN()])
    for text_of in (print_formatter(row_type), print_formatter(ExternalTypeInfo(row_type))):
        assert text_of(Row("a", 1, 1e10, True)) == "+I[a,1,10000000000.0,True]"
        assert text_of(Row(None, None, None, None)) == "+I[None,None,None,None]"
        assert text_of(Row.of_kind(RowKind.DELETE, "a", 1, 2.0, False)) == "-D[a,1,2.0,False]"
    nested = Types.ROW(
        [Types.ROW_NAMED(["p", "q"], [Types.INT(), Types.STRING()]), Types.SQL_DATE()]
    )
    assert (
        print_formatter(nested)(Row(Row(p=1, q="a"), dt.date(2020, 1, 1)))
        == "+I[Row(p=1, q='a'),2020-01-01]"
    )


@pytest.mark.parametrize("made", [formatter, print_formatter])
def test_records_without_a_type_show_their_str(
    made: Callable[[TypeInformation | None], Callable[[Any], str]],
) -> None:
    for text_of in (made(None), made(Types.PICKLED_BYTE_ARRAY())):
        assert text_of("a") == "a"
        assert text_of(("a", 1)) == "('a', 1)"
        assert text_of(None) == "None"
        assert text_of(True) == "True"
        assert text_of(Row(a=1)) == "Row(a=1)"


def test_bytes_of_any_type_in_a_row() -> None:
    shown = formatter(Types.ROW([Types.PICKLED_BYTE_ARRAY(), Types.INT()]))
    assert shown(Row(bytearray(b"a\xff"), 1)) == "+I[[97, -1], 1]"
    assert shown(Row({"a": 1}, 1)) == "+I[{'a': 1}, 1]"
