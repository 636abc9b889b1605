from __future__ import annotations

import datetime
import pickle
import time
from collections.abc import Iterator

import pytest

from headrace.common import Instant, Row, RowKind, Types
from headrace.common.errors import FunctionTypeError, GraphError, TypeMismatchError
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    SqlTimeTypeInfo,
    TypeInformation,
)

TIME_TYPE = LocalTimeTypeInfo.TimeType

TEXT_OF_TYPE = [
    (Types.STRING(), "String"),
    (Types.INT(), "Integer"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
    (Types.MAP(Types.STRING(), Types.LONG()), "MapTypeInfo<String, Long>"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "PrimitiveArrayTypeInfo<Byte>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.BIG_DEC()), "ObjectArrayTypeInfo<BigDecimal>"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), "TupleTypeInfo(Integer, String)"),
    (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
    (Types.ROW_NAMED(["a"], [Types.INT()]), "RowTypeInfo(a: Integer)"),
    (LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE), "LocalTimeTypeInfo<LOCAL_DATE>"),
    (ExternalTypeInfo(Types.INT()), "ExternalTypeInfo<Integer>"),
]
ALL_TYPES = [type_info for type_info, _ in TEXT_OF_TYPE]


@pytest.mark.parametrize(("type_info", "text"), TEXT_OF_TYPE, ids=lambda v: str(v))
def test_text(type_info: TypeInformation, text: str) -> None:
    assert str(type_info) == repr(type_info) == text


@pytest.mark.parametrize("type_info", ALL_TYPES, ids=str)
def test_twins_are_equal_and_strangers_are_not(type_info: TypeInformation) -> None:
    twin = pickle.loads(pickle.dumps(type_info))
    assert twin == type_info
    assert hash(twin) == hash(type_info)
    strangers = [t for t in ALL_TYPES if t is not type_info and not isinstance(t, type(type_info))]
    assert type_info not in strangers
    assert type_info != "Integer"


def test_parts_count_for_equality() -> None:
    assert Types.LIST(Types.INT()) != Types.LIST(Types.LONG())
    assert Types.MAP(Types.INT(), Types.INT()) != Types.MAP(Types.INT(), Types.LONG())
    assert Types.TUPLE([Types.INT()]) != Types.TUPLE([Types.INT(), Types.INT()])
    assert Types.BASIC_ARRAY(Types.INT()) != Types.PRIMITIVE_ARRAY(Types.INT())
    assert LocalTimeTypeInfo(TIME_TYPE.LOCAL_DATE) != LocalTimeTypeInfo(TIME_TYPE.LOCAL_TIME)


def test_row_types_are_equal_whatever_the_names() -> None:
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["a"], [Types.INT()])


def test_row_type_names() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert row.get_field_names() == ["a", "b"]
    assert row.get_field_index("b") == 1
    assert row.get_field_types() == [Types.INT(), Types.STRING()]
    unnamed = Types.ROW([Types.INT(), Types.STRING()])
    assert unnamed.get_field_names() == ["f0", "f1"]
    assert unnamed.get_field_index("f0") == -1
    assert str(unnamed) == "RowTypeInfo(Integer, String)"


def test_basic_type_info_factories() -> None:
    for name in BasicType.__members__:
        made = getattr(BasicTypeInfo, f"{name}_TYPE_INFO")()
        assert made == getattr(Types, name)()
        assert made.basic_type is BasicType[name]
    assert SqlTimeTypeInfo.DATE() == Types.SQL_DATE()
    assert SqlTimeTypeInfo.TIME() == Types.SQL_TIME()
    assert SqlTimeTypeInfo.TIMESTAMP() == Types.SQL_TIMESTAMP()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Types.LIST(int),
        lambda: Types.LIST("INT"),
        lambda: Types.MAP(Types.INT(), None),
        lambda: Types.ROW(Types.INT()),
        lambda: Types.ROW([Types.INT(), int]),
        lambda: Types.TUPLE(5),
        lambda: Types.ROW_NAMED("ab", [Types.INT(), Types.INT()]),
        lambda: Types.ROW_NAMED([1], [Types.INT()]),
        lambda: Types.PRIMITIVE_ARRAY(Types.STRING()),
        lambda: Types.PRIMITIVE_ARRAY(Types.LIST(Types.INT())),
        lambda: Types.BASIC_ARRAY(Types.BIG_DEC()),
        lambda: BasicTypeInfo("INT"),
        lambda: LocalTimeTypeInfo("DATE"),
        lambda: ExternalTypeInfo(int),
    ],
)
def test_wrong_arguments_are_refused(build: object) -> None:
    with pytest.raises(FunctionTypeError):
        build()  # type: ignore[operator]


def test_forgotten_parentheses_are_named() -> None:
    with pytest.raises(FunctionTypeError, match=r"call it: Types\.INT"):
        Types.LIST(Types.INT)  # type: ignore[arg-type]


def test_names_must_match_the_types() -> None:
    with pytest.raises(GraphError, match="2 field types but 1 names"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(GraphError, match="distinct"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])


@pytest.fixture
def new_york() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    patch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.SQL_DATE(), datetime.date(1969, 12, 31)),
        (Types.SQL_TIME(), datetime.time(13, 2, 3, 4)),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 7, 1, 2, 3, 4, 5)),
        (Types.SQL_TIMESTAMP(), datetime.datetime(1960, 7, 1, 2, 3, 4, 5)),
        (Types.INSTANT(), Instant(5, 1_000_000)),
        (Types.SQL_DATE(), None),
        (Types.SQL_TIME(), None),
        (Types.SQL_TIMESTAMP(), None),
    ],
)
def test_internal_forms_go_there_and_back(type_info: TypeInformation, value: object) -> None:
    internal = type_info.to_internal_type(value)
    assert type_info.need_conversion()
    assert internal is None or isinstance(internal, int)
    assert type_info.from_internal_type(internal) == value


def test_internal_forms_are_flinks() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=1))
    assert Types.SQL_DATE().to_internal_type(datetime.date(1970, 1, 3)) == 2
    assert Types.SQL_TIME().to_internal_type(datetime.time(2, tzinfo=zone)) == 3_600_000_000
    moment = datetime.datetime(1970, 1, 1, 1, 0, 1, tzinfo=zone)
    assert Types.SQL_TIMESTAMP().to_internal_type(moment) == 1_000_000
    assert Types.INSTANT().to_internal_type(Instant(1, 2_000_000)) == 1_002_000
    assert Types.INT().to_internal_type(5) == 5
    assert not Types.INT().need_conversion()


def test_internal_rows_and_tuples() -> None:
    row_type = Types.ROW_NAMED(["a", "d"], [Types.INT(), Types.SQL_DATE()])
    day = datetime.date(1970, 1, 2)
    expected = (RowKind.INSERT.value, 1, 1)

    class Bean:
        def __init__(self) -> None:
            self.a, self.d = 1, day

    for value in (Row(1, day), Row(d=day, a=1), (1, day), [1, day], {"a": 1, "d": day}, Bean()):
        assert row_type.to_internal_type(value) == expected
    deleted = Row.of_kind(RowKind.DELETE, 1, day)
    assert row_type.to_internal_type(deleted) == (RowKind.DELETE.value, 1, 1)
    assert row_type.to_internal_type(None) is None
    with pytest.raises(TypeMismatchError):
        row_type.to_internal_type(5)

    tuple_type = Types.TUPLE([Types.INT(), Types.SQL_DATE()])
    assert tuple_type.to_internal_type([1, day]) == (1, 1)
    assert tuple_type.from_internal_type(iter((1, 1))) == (1, day)
    assert isinstance(RowTypeInfo([Types.INT()]).from_internal_type([1]), list)
    with pytest.raises(TypeMismatchError):
        tuple_type.to_internal_type("ab")
