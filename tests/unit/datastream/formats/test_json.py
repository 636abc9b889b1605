from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.time import Instant
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

NAMES = ["a", "b", "c", "d", "e", "f"]
ROW = Types.ROW_NAMED(
    NAMES,
    [
        Types.INT(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.DOUBLE(),
    ],
)
NESTED = Types.ROW_NAMED(
    ["bytes", "map", "array", "row", "instant", "decimal"],
    [
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.OBJECT_ARRAY(Types.STRING()),
        Types.ROW_NAMED(["x"], [Types.LONG()]),
        Types.INSTANT(),
        Types.BIG_DEC(),
    ],
)


def reader(type_info: TypeInformation = ROW) -> JsonRowDeserializationSchema:
    schema = JsonRowDeserializationSchema.builder().type_info(type_info).build()
    copy: JsonRowDeserializationSchema = pickle.loads(pickle.dumps(schema))
    copy.open()
    return copy


def writer(type_info: TypeInformation) -> JsonRowSerializationSchema:
    schema = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
    copy: JsonRowSerializationSchema = pickle.loads(pickle.dumps(schema))
    return copy


def row(**values: Any) -> Row:
    return Row(**{name: values.get(name) for name in NAMES})


# What Flink 2.3 makes of the same messages.
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            b'{"a":1,"b":"x","c":"2024-02-29T13:05:09.123Z","d":"2024-02-29","e":"13:05:09Z","f":1}',
            Row(
                a=1,
                b="x",
                c=dt.datetime(2024, 2, 29, 13, 5, 9, 123000),
                d=dt.date(2024, 2, 29),
                e=dt.time(13, 5, 9),
                f=1.0,
            ),
        ),
        (b'{"a":"12","b":5,"f":"2.5"}', row(a=12, b="5", f=2.5)),
        (b'{"a":1.7,"b":true}', row(a=1, b="true")),
        (b'{"b":{"z":1}}', row(b='{"z":1}')),
        (b'{"f":null,"other":1}', row()),
        (b"null", None),
    ],
)
def test_values_are_converted_as_in_flink(message: bytes, expected: Any) -> None:
    assert reader().deserialize(message) == expected
    assert reader().deserialize_many([message, message]) == [expected] * (2 if expected else 0)


@pytest.mark.parametrize(
    "message",
    [
        b'{"a":"x"}',
        b'{"a":3000000000}',
        b"[1]",
        b"nonsense",
        b"",
        b'{"c":"2024-02-29 13:05:09"}',
        b'{"e":"13:05:09"}',
        b'{"b":"a tab\tin it"}',
    ],
)
def test_a_message_that_is_not_of_the_type_is_an_error_or_skipped(message: bytes) -> None:
    with pytest.raises(HeadraceError, match="not JSON that matches the declared type"):
        reader().deserialize(message)
    with pytest.raises(HeadraceError, match="ignore_parse_errors"):
        reader().deserialize_many([b'{"a":1}', message])


def test_errors_can_be_ignored() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(ROW).ignore_parse_errors().build()
    assert schema.deserialize(b'{"a":"x","b":"ok"}') == row(b="ok")
    assert schema.deserialize(b"nonsense") is None
    assert schema.deserialize_many([b"", b'{"a":1}', b"{"]) == [row(a=1)]


def test_a_missing_field_can_be_an_error() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(ROW).fail_on_missing_field().build()
    with pytest.raises(HeadraceError, match="field with name 'b'"):
        schema.deserialize(b'{"a":1}')


def test_a_json_schema_gives_the_type() -> None:
    text = """{"type": "object", "properties": {
        "a": {"type": "integer"}, "c": {"type": "string"}, "d": {"type": "boolean"},
        "e": {"type": "array", "items": {"type": "string"}},
        "f": {"type": "string", "format": "date-time"},
        "g": {"type": "object", "properties": {"h": {"type": "string", "format": "date"}}},
        "i": {"type": "string", "contentEncoding": "base64"},
        "k": {"type": ["string", "null"]}}}"""
    schema = JsonRowDeserializationSchema.builder().json_schema(text).build()
    assert str(schema.get_produced_type()) == (
        "RowTypeInfo(a: BigDecimal, c: String, d: Boolean, e: BasicArrayTypeInfo<String>, "
        "f: TimestampTypeInfo, g: RowTypeInfo(h: DateTypeInfo), i: PrimitiveArrayTypeInfo<Byte>, "
        "k: String)"
    )


def test_what_is_written_is_what_flink_writes() -> None:
    values = Row(1, 'ä"x', dt.datetime(2024, 2, 29, 13, 5, 9, 123000), dt.date(2024, 2, 29))
    types = Types.ROW_NAMED(NAMES[:4], ROW.get_field_types()[:4])  # type: ignore[attr-defined]
    expected = '{"a":1,"b":"ä\\"x","c":"2024-02-29T13:05:09.123Z","d":"2024-02-29"}'
    assert writer(types).serialize(values) == expected.encode()
    assert writer(types).serialize(Row(d=None, c=None, b=None, a=None)) == (
        b'{"a":null,"b":null,"c":null,"d":null}'
    )


def test_numbers_are_written_as_java_writes_them() -> None:
    numbers = Types.ROW_NAMED(["a", "b", "c"], [Types.DOUBLE(), Types.DOUBLE(), Types.FLOAT()])
    values = Row(1e16, float("inf"), 0.1)
    assert writer(numbers).serialize(values) == b'{"a":1.0E16,"b":"Infinity","c":0.1}'


def test_nested_values_survive_a_round_trip() -> None:
    value = Row(
        bytes=b"hi",
        map={"k": 1},
        array=["x", None],
        row=Row(x=5),
        instant=Instant.of_epoch_milli(1_709_211_909_123),
        decimal=Decimal("1.5000000000000000000000000001"),
    )
    data = writer(NESTED).serialize(value)
    assert b'"decimal":1.5000000000000000000000000001}' in data
    assert reader(NESTED).deserialize(data) == value


def test_records_that_do_not_fit_say_so() -> None:
    with pytest.raises(HeadraceError, match="cannot be written as JSON"):
        writer(Types.ROW_NAMED(["t"], [Types.SQL_DATE()])).serialize(Row(5))
    with pytest.raises(HeadraceError, match="2 fields"):
        writer(Types.ROW_NAMED(["t", "u"], [Types.INT(), Types.INT()])).serialize(Row(5))


def test_errors_while_building() -> None:
    with pytest.raises(FunctionTypeError, match=r"type_info\(\) or json_schema"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(FunctionTypeError, match="with_type_info"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(FunctionTypeError):
        JsonRowDeserializationSchema.builder().type_info("INT")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="not JSON"):
        JsonRowDeserializationSchema.builder().json_schema("{")
    with pytest.raises(GraphError, match="are both true: choose one"):
        (
            JsonRowDeserializationSchema.builder()
            .type_info(ROW)
            .fail_on_missing_field()
            .ignore_parse_errors()
            .build()
        )
