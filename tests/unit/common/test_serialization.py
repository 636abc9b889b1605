from __future__ import annotations

import io
import pickle
from dataclasses import replace
from typing import Any

import pytest

from headrace.common import Row, SimpleStringSchema, Types, TypeSerializer
from headrace.common.errors import FunctionTypeError, GraphError, TypeMismatchError
from headrace.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringEncoder,
)


def test_strings_in_a_character_set() -> None:
    schema = pickle.loads(pickle.dumps(SimpleStringSchema("ISO-8859-1")))
    assert schema.serialize("é") == b"\xe9"
    assert schema.deserialize(b"\xe9") == "é"
    assert schema.get_produced_type() == Types.STRING()
    assert not schema.is_end_of_stream("é")
    assert SimpleStringSchema().deserialize(b"a\xff") == "a\ufffd"


def test_wrong_strings() -> None:
    with pytest.raises(GraphError, match="klingon"):
        SimpleStringSchema("klingon")
    with pytest.raises(TypeMismatchError, match="5"):
        SimpleStringSchema().serialize(5)


def test_bytes() -> None:
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"ab")) == b"ab"
    assert schema.deserialize(b"ab") == b"ab"
    assert schema.get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    with pytest.raises(TypeMismatchError):
        schema.serialize("ab")


def test_field_of_a_row() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("x", b"key")) == b"key"
    assert schema.serialize(Row("x", None)) == schema.serialize(None) == b""
    assert schema == RowFieldExtractorSchema(1) != RowFieldExtractorSchema(0)
    assert len({schema, RowFieldExtractorSchema(1)}) == 1
    with pytest.raises(TypeMismatchError, match="bytes"):
        schema.serialize(Row("x", "key"))
    with pytest.raises(TypeMismatchError, match="field 1"):
        schema.serialize(Row("x"))
    with pytest.raises(ValueError, match="negative"):
        RowFieldExtractorSchema(-1)
    with pytest.raises(FunctionTypeError):
        RowFieldExtractorSchema("0")  # type: ignore[arg-type]


def test_base_classes_say_what_is_missing() -> None:
    with pytest.raises(NotImplementedError, match=r"serialize\(\)"):
        SerializationSchema().serialize(1)
    with pytest.raises(NotImplementedError, match=r"deserialize\(\)"):
        DeserializationSchema().deserialize(b"")


def test_encoder_writes_lines() -> None:
    encoder = Encoder.simple_string_encoder("UTF-16-LE")
    assert isinstance(encoder, SimpleStringEncoder)
    stream = io.BytesIO()
    encoder.encode(5, stream)
    assert stream.getvalue().decode("UTF-16-LE") == "5\n"
    stream = io.BytesIO()
    replace(SimpleStringEncoder(), to_text=lambda v: f"<{v}>").encode(5, stream)
    assert stream.getvalue() == b"<5>\n"


class LengthPrefixed(TypeSerializer[bytes]):
    def __init__(self, width: int = 4) -> None:
        self.width = width

    def serialize(self, element: bytes, stream: io.BytesIO) -> None:
        stream.write(len(element).to_bytes(self.width, "big") + element)

    def deserialize(self, stream: io.BytesIO) -> bytes:
        return stream.read(int.from_bytes(stream.read(self.width), "big"))


def test_type_serializers_compare_by_class_and_fields() -> None:
    assert LengthPrefixed() == LengthPrefixed(4)
    assert LengthPrefixed() != LengthPrefixed(2)
    assert hash(LengthPrefixed()) == hash(LengthPrefixed())
    other: Any = object()
    assert LengthPrefixed() != other
    assert repr(LengthPrefixed()) == "LengthPrefixed()"
    stream = io.BytesIO()
    LengthPrefixed().serialize(b"ab", stream)
    LengthPrefixed().serialize(b"c", stream)
    stream.seek(0)
    assert [LengthPrefixed().deserialize(stream) for _ in range(2)] == [b"ab", b"c"]


def test_many_texts_are_those_of_each() -> None:
    schema = SimpleStringSchema()
    assert schema.deserialize_many([b"a", b"\xff", b""]) == ["a", "\ufffd", ""]
    assert schema.deserialize_many([bytearray(b"a")]) == ["a"]  # type: ignore[list-item]
    assert schema.serialize_many(["é", ""]) == ["é".encode(), b""]
    with pytest.raises(TypeMismatchError, match="5"):
        schema.serialize_many(["a", 5])


class _Loud(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return super().serialize(element.upper())

    def deserialize(self, message: bytes) -> str:
        return super().deserialize(message).upper()


class _Louder(_Loud):
    pass


class _Upper:
    def serialize(self, element: Any) -> bytes:
        return super().serialize(element.upper())  # type: ignore[misc,no-any-return]

    def deserialize(self, message: bytes) -> str:
        return super().deserialize(message).upper()  # type: ignore[misc,no-any-return]


class _MixedIn(_Upper, SimpleStringSchema):
    pass


@pytest.mark.parametrize("schema", [_Loud(), _Louder(), _MixedIn()])
def test_a_method_for_one_is_not_passed_over_for_many(schema: SimpleStringSchema) -> None:
    assert schema.serialize_many(["a", "b"]) == [b"A", b"B"]
    assert schema.deserialize_many([b"a", b"b"]) == ["A", "B"]
