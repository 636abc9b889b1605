"""Rows as messages of Protocol Buffers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions, decoder_for, encoder_for
from tests.sql.test_format_options import row_type

pytest.importorskip("google.protobuf", reason="pip install 'headrace[protobuf]'")

from tests.sql.protobuf_messages import Thing2, Thing3

PART = "ROW<x INT, y STRING>"
COLUMNS = (
    "id INT, large BIGINT, small INT, huge BIGINT, flag BOOLEAN, f FLOAT, d DOUBLE, name STRING, "
    "raw BYTES, color STRING, numbers ARRAY<INT>, names ARRAY<STRING>, "
    f"parts ARRAY<{PART}>, part {PART}, counts MAP<STRING, INT>, places MAP<STRING, {PART}>"
)
ROW = (
    *(1, 2**40, -1, -2, True, 0.5, 0.1, "a", b"\0", "GREEN", (1, 2), ("x", "y")),
    *(((1, "p"), (None, None)), (3, None), {"k": 1}, {"l": (4, "q")}),
)


def options(given: dict[str, str], class_name: str) -> FormatOptions:
    name = f"tests.sql.protobuf_messages.{class_name}" if class_name else "tests.sql.sessions.X"
    values = {k.replace("_", "-"): v for k, v in given.items()}
    return FormatOptions({"message-class-name": name, **values}, name="protobuf")


def decoder(columns: str = COLUMNS, class_name: str = "Thing2", **given: str) -> Decoder:
    return decoder_for("protobuf", row_type(columns), options(given, class_name))


def encoder(columns: str = COLUMNS, class_name: str = "Thing2", **given: str) -> Encoder:
    return encoder_for("protobuf", row_type(columns), options(given, class_name))


def test_values_of_all_types() -> None:
    writer, reader = pickle.loads(pickle.dumps((encoder(), decoder())))
    [message] = writer.encode([ROW])
    assert reader.decode([message]) == [ROW]
    thing = Thing2.FromString(message)
    assert (thing.small, thing.huge) == (2**32 - 1, 2**64 - 2)
    assert thing.color == 1
    assert [p.x for p in thing.parts] == [1, 0]


def test_fields_that_are_not_set() -> None:
    empty: tuple[Any, ...] = (None,) * len(ROW)
    [message] = encoder().encode([empty])
    assert message == b""
    assert decoder().decode([message]) == [empty]
    part = (0, "")
    with_defaults = (*(0, 0, 0, 0, False, 0.0, 0.0, "", b"", "RED", (), (), (), part, {}, {}),)
    assert decoder(read_default_values="true").decode([message]) == [with_defaults]
    # Version 3 does not say which of the simple fields are set.
    simple = (*with_defaults[:10], *(None,) * 6)
    assert decoder(class_name="Thing3").decode([message]) == [simple]


def test_null_inside_of_arrays_and_maps() -> None:
    columns = (
        "names ARRAY<STRING>, numbers ARRAY<INT>, counts MAP<STRING, INT>, colors ARRAY<STRING>"
    )
    row = (("x", None), (1, None), {"k": None}, ("GREEN", None))
    [message] = encoder(columns, write_null_string_literal="nix").encode([row])
    assert decoder(columns).decode([message]) == [
        (("x", "nix"), (1, 0), {"k": 0}, ("GREEN", "RED"))
    ]


def test_enums_as_numbers() -> None:
    [message] = encoder("color INT").encode([(1,)])
    assert decoder("color INT").decode([message]) == [(1,)]
    assert decoder("color STRING").decode([message]) == [("GREEN",)]
    with pytest.raises(HeadraceError, match="'BLUE'"):
        encoder("color STRING").encode([("BLUE",)])


def test_messages_that_are_not_of_the_class() -> None:
    bad, good = b"\xff\xff", Thing3(id=1).SerializeToString()
    with pytest.raises(HeadraceError, match="Failed to deserialize a Protobuf message of Thing"):
        decoder("id INT").decode([good, bad])
    kept = decoder("id INT", ignore_parse_errors="true").decode([good, bad, good])
    assert kept == [(1,), (1,)]


@pytest.mark.parametrize(
    ("columns", "class_name", "message"),
    [
        ("idd INT", "Thing2", r"Column idd does not exists in definition of tests.proto2.Thing"),
        ("id BIGINT", "Thing2", r"field tests.proto2.Thing.id does not have the type BIGINT"),
        ("numbers INT", "Thing2", "does not have the type INT"),
        ("numbers ARRAY<STRING>", "Thing2", "does not have the type STRING"),
        ("part STRING", "Thing2", "does not have the type STRING"),
        ("part ROW<z INT>", "Thing2", "Column z does not exists"),
        ("counts ARRAY<INT>", "Thing2", "does not have the type ARRAY"),
        ("id INT", "Thing4", "is not a class of messages"),
        ("id INT", "", "is not a class of messages"),
    ],
)
def test_what_is_refused(columns: str, class_name: str, message: str) -> None:
    for make in (decoder, encoder):
        with pytest.raises(SqlError, match=message):
            make(columns, class_name)


def test_the_class_is_required() -> None:
    with pytest.raises(SqlError, match=r"protobuf.message-class-name"):
        decoder_for("protobuf", row_type("id INT"), FormatOptions({}, name="protobuf"))
