"""What declared types do to values. The expected values were seen in PyFlink 2.3."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Instant, Row, RowKind, TypeInformation, Types
from headrace.common.conversion import Use, column_converter, first_mismatch
from headrace.common.errors import TypeMismatchError
from headrace.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
PERSON = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
TIME_TYPE = LocalTimeTypeInfo.TimeType


class Text(str):
    __slots__ = ()


class Level(int, Enum):
    LOW = 1


class Bean:
    def __init__(self) -> None:
        self.a, self.b, self.c = 1, "x", None


def converted(type_info: TypeInformation, *values: Any, use: Use = Use.RESULT) -> list[Any]:
    convert = column_converter(type_info, use)
    assert convert is not None
    return convert(list(values))


def same(left: Any, right: Any) -> bool:
    """Equal, and of equal types all the way down."""
    return repr(left) == repr(right) and type(left) is type(right)


# A column of these values is returned as it is.
WELL_TYPED = [
    (Types.BYTE(), [1, -128, 127]),
    (Types.SHORT(), [1, 32767, -32768]),
    (Types.INT(), [1, -(2**31), 2**31 - 1]),
    (Types.LONG(), [1, 2**63 - 1, -(2**63)]),
    (Types.BIG_INT(), [1, 2**70]),
    (Types.DOUBLE(), [0.1, 1e10, float("inf")]),
    (Types.BOOLEAN(), [True, False]),
    (Types.STRING(), ["a", "", "é☃"]),
    (Types.CHAR(), ["a", "é"]),
    (Types.BIG_DEC(), [Decimal("1.10"), Decimal("1E+5")]),
    (Types.SQL_DATE(), [dt.date(2024, 2, 29), dt.date(1969, 12, 31)]),
    (Types.SQL_TIME(), [dt.time(1, 2, 3), dt.time(23, 59, 59, 999000)]),
    (Types.SQL_TIMESTAMP(), [dt.datetime(2024, 2, 29, 1, 2, 3, 123000)]),
    (Types.INSTANT(), [Instant(1, 123456789)]),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE), [dt.date(2024, 2, 29)]),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_TIME), [dt.time(1, 2, 3, 123456)]),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE_TIME), [dt.datetime(2024, 2, 29, 1, 2, 3, 123456)]),
    (PAIR, [("a", 1), ("b", 2)]),
    (Types.TUPLE([]), [()]),
    (Types.LIST(Types.INT()), [[1, 2], []]),
    (Types.LIST(Types.LIST(Types.INT())), [[[1], [2, 3]], []]),
    (Types.MAP(Types.STRING(), Types.INT()), [{"b": 1, "a": 2}, {}]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), [{"b": None, "a": 2.0}]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [[1, 2]]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab"]),
    (Types.BASIC_ARRAY(Types.INT()), [[1, None, 2]]),
    (Types.OBJECT_ARRAY(PAIR), [[("a", 1)], [None]]),
    (Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.INT()]), [({"a": 1}, 1)]),
    (PERSON, [Row(a=1, b="x"), Row(a=None, b=None)]),
    (ExternalTypeInfo(Types.INT()), [1, 2]),
]


@pytest.mark.parametrize(("type_info", "values"), WELL_TYPED, ids=lambda v: str(v)[:40])
def test_well_typed_columns_are_returned_as_they_are(
    type_info: TypeInformation, values: list[Any]
) -> None:
    convert = column_converter(type_info)
    assert convert is not None
    assert convert(values) is values
    with_none = [*values, None]
    assert convert(with_none) is with_none
    assert convert([]) == []
    assert convert([None]) == [None]


CHANGED = [
    # Fractions are cut off.
    (Types.INT(), True, 1),
    (Types.INT(), 1.9, 1),
    (Types.LONG(), -1.5, -1),
    (Types.INT(), Decimal("1.5"), 1),
    (Types.INT(), Level.LOW, 1),
    (Types.INT(), np.int64(5), 5),
    (Types.BIG_INT(), True, 1),
    # DOUBLE takes every number, FLOAT rounds to 32 bits.
    (Types.DOUBLE(), 3, 3.0),
    (Types.DOUBLE(), True, 1.0),
    (Types.DOUBLE(), Decimal("1.5"), 1.5),
    (Types.DOUBLE(), 2**60 + 1, 1.152921504606847e18),
    (Types.DOUBLE(), np.float64(0.5), 0.5),
    (Types.DOUBLE(), Fraction(1, 2), 0.5),
    (Types.FLOAT(), 0.1, 0.10000000149011612),
    (Types.FLOAT(), 123456.789, 123456.7890625),
    (Types.FLOAT(), 1e300, float("inf")),
    (Types.FLOAT(), float("nan"), float("nan")),
    (Types.FLOAT(), 3, 3.0),
    (Types.FLOAT(), Decimal("0.1"), 0.10000000149011612),
    (Types.FLOAT(), np.float32(0.1), 0.10000000149011612),
    (Types.BOOLEAN(), 2, True),
    (Types.BOOLEAN(), 0, False),
    (Types.BOOLEAN(), np.bool_(True), True),
    (Types.STRING(), Text("a"), "a"),
    # A decimal is made from the text of a number.
    (Types.BIG_DEC(), 1, Decimal("1")),
    (Types.BIG_DEC(), 0.1, Decimal("0.1")),
    (Types.BIG_DEC(), "1.50", Decimal("1.50")),
    # Times are cut to milliseconds and lose their zone.
    (Types.SQL_DATE(), dt.datetime(2020, 1, 2, 3, 4, 5), dt.date(2020, 1, 2)),
    (Types.SQL_TIME(), dt.time(1, 2, 3, 123456), dt.time(1, 2, 3, 123000)),
    (Types.SQL_TIME(), dt.datetime(2020, 1, 2, 3, 4, 5), dt.time(3, 4, 5)),
    (
        Types.SQL_TIMESTAMP(),
        dt.datetime(2020, 1, 2, 3, 4, 5, 123456),
        dt.datetime(2020, 1, 2, 3, 4, 5, 123000),
    ),
    (
        Types.SQL_TIMESTAMP(),
        dt.datetime(2020, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        dt.datetime(2020, 1, 2, 3),
    ),
    # Collections.
    (PAIR, ["a", 1], ("a", 1)),
    (PAIR, Row("a", 1), ("a", 1)),
    (Types.TUPLE([Types.SHORT(), Types.FLOAT()]), (4.9, 0.1), (4, 0.10000000149011612)),
    (Types.LIST(Types.SHORT()), [4.9], [4]),
    (Types.LIST(Types.INT()), (1, 2), [1, 2]),
    (Types.BASIC_ARRAY(Types.INT()), (1, None), [1, None]),
    (Types.LIST(Types.DOUBLE()), np.array([1, 2]), [1.0, 2.0]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [97, -1], b"a\xff"),
    (Types.MAP(Types.SHORT(), Types.SHORT()), {4.9: 4.9}, {4: 4}),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [Row(1)], [Row(f0=1)]),
    # Rows get their names, and are put in order by them.
    (Types.ROW([Types.STRING(), Types.INT()]), Row("a", 1), Row(f0="a", f1=1)),
    (Types.ROW([Types.STRING(), Types.INT()]), Row(name="a", n=1), Row(f0="a", f1=1)),
    (Types.ROW([Types.STRING(), Types.INT()]), Row(f1=1, f0="a"), Row(f0="a", f1=1)),
    (Types.ROW([Types.STRING(), Types.INT()]), ("a", 1), Row(f0="a", f1=1)),
    (Types.ROW([Types.STRING(), Types.INT()]), ["a", None], Row(f0="a", f1=None)),
    (Types.ROW([Types.SHORT()]), Row(4.9), Row(f0=4)),
    (PERSON, Row(b="x", a=1), Row(a=1, b="x")),
    (PERSON, {"b": "x", "a": 1}, Row(a=1, b="x")),
    (PERSON, {"b": "x"}, Row(a=None, b="x")),
    (PERSON, Bean(), Row(a=1, b="x")),
    (
        Types.ROW([PERSON, Types.TUPLE([Types.DOUBLE()])]),
        Row(Row(1, "x"), (1,)),
        Row(f0=Row(a=1, b="x"), f1=(1.0,)),
    ),
    (ExternalTypeInfo(Types.SHORT()), 4.9, 4),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), CHANGED, ids=lambda v: str(v)[:40])
def test_values_that_change(type_info: TypeInformation, value: Any, expected: Any) -> None:
    original = repr(value)
    assert same(converted(type_info, value)[0], expected)
    # In company, where other paths are taken, the result is the same.
    column = converted(type_info, expected, None, value, expected)
    assert same(column, [expected, None, expected, expected]) or expected != expected
    assert repr(value) == original, "the user's own object was changed"


WRAPPED = [
    (Types.BYTE(), 300, 44),
    (Types.SHORT(), 40000, -25536),
    (Types.SHORT(), 40000.7, -25536),
    (Types.INT(), 2**31, -(2**31)),
    (Types.TUPLE([Types.SHORT(), Types.FLOAT()]), (40000, 0.1), (-25536, 0.10000000149011612)),
    (Types.LIST(Types.SHORT()), [40000], [-25536]),
    (Types.MAP(Types.SHORT(), Types.SHORT()), {40000: 40000}, {-25536: -25536}),
    (Types.ROW([Types.SHORT()]), Row(40000), Row(f0=-25536)),
    (ExternalTypeInfo(Types.SHORT()), 40000, -25536),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), WRAPPED, ids=lambda v: str(v)[:40])
def test_integers_wrap_in_collections_only(
    type_info: TypeInformation, value: Any, expected: Any
) -> None:
    assert same(converted(type_info, value, use=Use.COLLECTION)[0], expected)
    with pytest.raises(TypeMismatchError, match="does not fit the declared type"):
        converted(type_info, value)


@pytest.mark.parametrize("use", Use)
def test_no_integer_has_more_than_64_bits(use: Use) -> None:
    for type_info, value in ((Types.LONG(), 2**63), (Types.INT(), -(2**70))):
        with pytest.raises(TypeMismatchError, match="does not fit the declared type"):
            converted(type_info, value, use=use)


MISFITS = [
    (Types.INT(), "1"),
    (Types.INT(), float("nan")),
    (Types.INT(), [1]),
    (Types.DOUBLE(), "3"),
    (Types.DOUBLE(), 10**400),
    (Types.FLOAT(), "3"),
    (Types.FLOAT(), 10**400),
    (Types.BOOLEAN(), "x"),
    (Types.BOOLEAN(), 1.5),
    (Types.STRING(), 1),
    (Types.STRING(), b"x"),
    (Types.CHAR(), "abc"),
    (Types.CHAR(), ""),
    (Types.BIG_INT(), "5"),
    (Types.BIG_DEC(), "x"),
    (Types.BIG_DEC(), Decimal("NaN")),
    (Types.BIG_DEC(), float("inf")),
    (Types.BIG_DEC(), True),
    (Types.SQL_DATE(), "2020-01-01"),
    (Types.SQL_TIME(), dt.date(2020, 1, 2)),
    (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 2)),
    (Types.INSTANT(), 5),
    (PAIR, "ab"),
    (PAIR, ("a",)),
    (PAIR, ("a", 1, 2)),
    (PAIR, ("a", "b")),
    (PERSON, 5),
    (PERSON, "ab"),
    (PERSON, Row(1)),
    (PERSON, Row(1, "x", 2)),
    (PERSON, Row(x=1, y="q")),
    (PERSON, Row("x", 1)),
    (PERSON, int),
    (Types.LIST(Types.STRING()), "ab"),
    (Types.LIST(Types.INT()), {1}),
    (Types.LIST(Types.INT()), ["x"]),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": "x"}),
    (Types.MAP(Types.STRING(), Types.INT()), {1: 1}),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "ab"),
]


@pytest.mark.parametrize(("type_info", "value"), MISFITS, ids=lambda v: str(v)[:40])
def test_misfits_name_the_type(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        converted(type_info, value)
    assert "does not fit the declared type" in str(caught.value)
    assert str(type_info) in str(caught.value)
    with pytest.raises(TypeMismatchError):
        converted(type_info, None, value)


def test_message_of_a_plain_misfit() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        converted(Types.INT(), 1, "one")
    assert str(caught.value) == "'one' (str) does not fit the declared type Integer"


def test_message_of_a_nested_misfit_says_where() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        converted(Types.TUPLE([Types.INT(), PERSON]), (1, Row(1, 2)))
    assert str(caught.value) == (
        "2 (int) does not fit the declared type String of field b of "
        "RowTypeInfo(a: Integer, b: String) of field 1 of "
        "TupleTypeInfo(Integer, RowTypeInfo(a: Integer, b: String))"
    )


def test_first_mismatch_finds_the_record() -> None:
    convert = column_converter(Types.INT())
    assert convert is not None
    found = first_mismatch(convert, [1, 2, "x", "y"])
    assert found is not None
    assert found[0] == 2
    assert "'x'" in str(found[1])
    assert first_mismatch(convert, [1, 2]) is None


def test_undeclared_types_need_no_conversion() -> None:
    assert column_converter(None) is None
    assert column_converter(Types.PICKLED_BYTE_ARRAY()) is None


def test_row_kinds_are_kept() -> None:
    rows = converted(
        Types.ROW([Types.FLOAT()]),
        Row.of_kind(RowKind.DELETE, 0.5),
        Row.of_kind(RowKind.UPDATE_AFTER, 1),
    )
    assert [row.get_row_kind() for row in rows] == [RowKind.DELETE, RowKind.UPDATE_AFTER]


def test_rows_with_and_without_names_in_one_column() -> None:
    rows = converted(PERSON, Row(1, "x"), Row(b="y", a=2), None, (3, "z"))
    assert rows == [Row(a=1, b="x"), Row(a=2, b="y"), None, Row(a=3, b="z")]


def test_rows_that_went_through_pickle_are_still_well_typed() -> None:
    rows = pickle.loads(pickle.dumps(converted(PERSON, Row(1, "x"), Row(2, "y"))))
    convert = column_converter(PERSON)
    assert convert is not None
    assert convert(rows) is rows


def test_nested_collections_keep_their_shape() -> None:
    nested = Types.MAP(Types.STRING(), Types.LIST(Types.FLOAT()))
    assert converted(nested, {"a": [1, 2], "b": []}, {}, {"c": [3]}) == [
        {"a": [1.0, 2.0], "b": []},
        {},
        {"c": [3.0]},
    ]


def test_results_show_floats_with_the_fewest_digits() -> None:
    convert = column_converter(Types.TUPLE([Types.FLOAT(), Types.DOUBLE()]), Use.COLLECTED)
    assert convert is not None
    assert convert([(0.10000000149011612, 0.1), (float("inf"), 1.0)]) == [
        (0.1, 0.1),
        (float("inf"), 1.0),
    ]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from([8, 16, 32, 64]))
def test_wrapping_is_arithmetic_modulo_the_width(values: list[int], bits: int) -> None:
    by_bits = {8: Types.BYTE(), 16: Types.SHORT(), 32: Types.INT(), 64: Types.LONG()}
    results = converted(by_bits[bits], *values, use=Use.COLLECTION)
    for value, result in zip(values, results, strict=True):
        assert -(1 << bits - 1) <= result < 1 << bits - 1
        assert (result - value) % (1 << bits) == 0


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_are_rounded_as_numpy_rounds(values: list[float]) -> None:
    with np.errstate(over="ignore"):
        expected = [float(np.float32(value)) for value in values]
    assert converted(Types.FLOAT(), *values) == expected


_INT = st.integers(-(2**31), 2**31 - 1)
ROWS = st.tuples(st.one_of(st.none(), _INT, st.floats(-1e6, 1e6)), st.text())


@given(st.lists(st.one_of(st.none(), ROWS), max_size=8), st.integers(0, 8))
def test_a_column_converts_as_its_pieces_do(values: list[Any], cut: int) -> None:
    convert = column_converter(PERSON)
    assert convert is not None
    assert convert(values) == convert(values[:cut]) + convert(values[cut:])
    assert convert(convert(values)) == convert(values)
