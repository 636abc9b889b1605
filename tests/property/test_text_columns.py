"""Lines of CSV and JSON that are read together give what they give one by one: rows or an error."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.common.errors import HeadraceError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.formats.csv import (
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvSchema,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.formats.lines import Lines
from headrace.formats.text_columns import FEW, CsvColumns
from headrace.sql import types as t
from headrace.sql.formats.base import Decoder, FormatOptions, decoder_for
from headrace.table import DataTypes
from tests.examples import examples

TYPES: list[t.DataType] = [
    t.TinyIntType(),
    t.IntType(),
    t.BigIntType(),
    t.DoubleType(),
    t.FloatType(),
    t.BooleanType(),
    t.VarCharType(20),
    t.DecimalType(6, 2),
    t.DateType(),
    t.TimeType(3),
    t.TimestampType(3),
    t.LocalZonedTimestampType(3),
    t.ArrayType(t.IntType()),
]
ODD = (
    '""', '"a"', '"a""b"', '"a"b', 'a"b', '"a', 'a\\,b', "\\", "null", "nil", "#x", " ", "\t",
    "0x1F", "+7", "-0", "1_000", "007", " 12 ", "128", "2147483648", "9223372036854775808", "1e3",
    "1e400", "1e-400", "nan", "NaN", "nan(1)", "-inf", "Infinity", "0x1p3", ".5", "5.", "16777217",
    "0.1", "1.005", "12345.6", "-1.5e2", "-.0", "-0.00", "99999.995", "0e9",
    "true", "TRUE", " true", "false", "no", "2020-02-30", "2020-2-3", "2020-01-31",
    "10:20:30.5", "2020-01-31 10:20:30.123", "2020-01-31T10:20:30", "2020-01-31 10:20:30Z",
    "1;2;;x", "1;2", "\u0663", "\ufeff1", "\x00", "\x0b1", "é", "\x1c1", "\u2028",
    "2020-01-31 24:00:00", "2020-01-31 23:59:60", "0000-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "9999-12-31 23:59:59.9", "2020-01-31 10:20:30.1234567", "2020-01-31 10:20:30ZZ", "2021-02-29",
    "2020-01-31 10:20:30.", "2020-01-31 10:20:30+01:00", " 2020-01-31 10:20:30 ", "20200131",
)  # fmt: skip
fields = st.one_of(
    st.sampled_from(ODD),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.text("ab1,;\"'\\ #\t\ré", max_size=5),
    st.dates().map(str),
    st.datetimes().map(str),
)


def outcome(decode: Callable[[list[Any]], list[Any]], messages: list[Any]) -> str:
    try:
        # Text, in which 0.0 is not -0.0, True not 1, and NaN is itself.
        return repr(decode(messages))
    except (HeadraceError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def assert_same(decoder: Decoder, messages: list[Any]) -> None:
    assert outcome(decoder.decode, messages) == outcome(decoder.decode_each, messages)


def table(*types: t.DataType) -> t.RowType:
    return t.RowType([t.RowField(f"c{i}", x) for i, x in enumerate(types)], False)


csv_options = st.fixed_dictionaries(
    {},
    optional={
        "field-delimiter": st.sampled_from([";", "|", "\t", " ", "é"]),
        "allow-comments": st.just("true"),
        "ignore-parse-errors": st.just("true"),
        "escape-character": st.just("\\"),
        "null-literal": st.sampled_from(["nil", "", "0"]),
        "array-element-delimiter": st.just(":"),
        "trim-spaces": st.just("true"),
        "ignore-trailing-unmappable": st.just("true"),
        "allow-trailing-comma": st.just("false"),
        "fail-on-missing-columns": st.just("true"),
        "empty-string-as-null": st.just("true"),
    },
)
quotes = st.sampled_from(
    [{}, {"quote-character": "'"}, {"disable-quote-character": "true"}],
)


@st.composite
def csv_lines(draw: st.DrawFn) -> tuple[Decoder, list[str]]:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    options = draw(csv_options) | draw(quotes)
    decoder = decoder_for("csv", table(*types), FormatOptions(options))
    between = decoder_delimiter(options)
    plain = between.join(["1;2" if isinstance(x, t.ArrayType) else PLAIN[type(x)] for x in types])
    width = st.just(len(types)) | st.integers(0, 5)
    odd = width.flatmap(lambda n: st.lists(fields, min_size=n, max_size=n)).map(between.join)
    lines = draw(st.lists(odd | st.just(plain), max_size=6))
    at = draw(st.integers(0, FEW))
    return decoder, [plain] * at + lines + [plain] * (FEW - at)


PLAIN: dict[type[t.DataType], str] = {
    t.BooleanType: "true",
    t.DateType: "2020-01-31",
    t.TimeType: "10:20:30",
    t.TimestampType: "2020-01-31 10:20:30.5",
    t.LocalZonedTimestampType: "2020-01-31 10:20:30Z",
    **{type(x): "17" for x in TYPES[:5]},
    t.VarCharType: "ab",
    t.DecimalType: "1.25",
}


def decoder_delimiter(options: dict[str, str]) -> str:
    return options.get("field-delimiter", ",")


@given(csv_lines(), st.booleans())
@examples(25)
def test_csv(case: tuple[Decoder, list[str]], as_bytes: bool) -> None:
    decoder, lines = case
    assert_same(decoder, [x.encode() for x in lines] if as_bytes else lines)


@pytest.mark.slow
def test_each_odd_field_of_csv() -> None:
    for type_ in TYPES:
        decoder = decoder_for("csv", table(type_, t.VarCharType(9)), FormatOptions({}))
        for odd in ODD:
            assert_same(decoder, [f"{odd},{odd}"] * FEW)


def test_csv_is_read_in_columns() -> None:
    decoder = decoder_for("csv", table(*TYPES), FormatOptions({"null-literal": "nil"}))
    line = ",".join("1;2" if isinstance(x, t.ArrayType) else PLAIN[type(x)] for x in TYPES)
    quoted = ",".join(f'"{field}"' for field in line.split(","))
    nothing = "," * (len(TYPES) - 1)
    absent = ",".join(["nil"] * len(TYPES))
    lines = [line, quoted, nothing, absent] * (FEW // 4)
    assert decoder.columns(lines) is not None
    assert_same(decoder, lines)
    assert_same(decoder, [x.encode() for x in lines])


JSON_ODD = (
    "null", "-0", "-0.0", "1.0", "1e3", "1e400", "-1E-400", "NaN", "Infinity", "-Infinity", "Inf",
    "-NaN", "01", "true", "false", '"true"', '"17"', '"1.5"', '" 7 "', "9223372036854775808", "128",
    '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"a\\tb"', '"\x01"', "[1,2]", '{"a": 1}', "[NaN]",
    '"2020-01-31"', '"2020-01-31 10:20:30"', '"2020-01-31T10:20:30"', '"10:20:30"', '"x"', "'x'",
    "1.", ".5", "", "1} {", '1}\n{"c0": 2', '{"c0":1},{"c0":2}', "0x10", "/*c*/1", "16777217",
    "0.1", "1.005", "12345.6", "-1.5e2", "1.250", "1E-2", "-0.00", "99999.995",
    "0e9", "1234567890123456789012345678901234567890", "1" + "0" * 400, "-1" + "0" * 400,
)  # fmt: skip
json_values = st.one_of(
    st.sampled_from(JSON_ODD),
    st.integers(-(2**65), 2**65).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(max_size=3).map(lambda x: '"' + x.replace("\\", "").replace('"', "") + '"'),
)
json_names = st.sampled_from(["c0", "c1", "c2", "other", "\\u00630"])
json_objects = st.lists(st.tuples(json_names, json_values), max_size=4).map(
    lambda pairs: "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"
)
json_messages = st.one_of(
    json_objects,
    st.sampled_from(
        ["", " ", "null", "[]", "17", "{", "}", '{"c0":', "1}", "{}{}", " {} ", "{},{}"]
    ),
)


@st.composite
def json_lines(draw: st.DrawFn) -> tuple[Decoder, list[str]]:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    keys = st.sampled_from(["fail-on-missing-field", "ignore-parse-errors"])
    key = draw(st.none() | keys)
    options = FormatOptions({} if key is None else {key: "true"})
    lines = draw(st.lists(json_messages, max_size=6))
    at = draw(st.integers(0, FEW))
    plain = '{"c0": null, "c1": null, "c2": null}'
    messages = [plain] * at + lines + [plain] * (FEW - at)
    return decoder_for("json", table(*types), options), messages


@given(json_lines(), st.booleans())
@example(
    (decoder_for("json", table(t.IntType()), FormatOptions({})), ["{}"] * FEW + ["{}\n{}"]), True
)
@examples(50)
def test_json(case: tuple[Decoder, list[str]], as_bytes: bool) -> None:
    decoder, messages = case
    assert_same(decoder, [x.encode() for x in messages] if as_bytes else messages)


@pytest.mark.slow
def test_each_odd_value_of_json() -> None:
    for type_ in TYPES:
        iso = FormatOptions({"timestamp-format.standard": "ISO-8601"})
        decoder = decoder_for("json", table(type_), iso)
        for odd in JSON_ODD:
            assert_same(decoder, [f'{{"c0": {odd}}}'] * FEW)
            assert_same(decoder, [f'{{"x": {odd}, "c0": null}}'] * FEW)
        for odd in (x for x in ODD if "-" in x):
            assert_same(decoder, [f'{{"c0": "{odd}"}}'] * FEW)
            assert_same(decoder, [f'{{"c0": "{odd.replace(" ", "T")}"}}'] * FEW)


def test_json_is_read_in_columns() -> None:
    types = [x for x in TYPES if not isinstance(x, t.ArrayType)]
    decoder = decoder_for("json", table(*types), FormatOptions({}))
    numbers = t.IntegralType | t.DoubleType | t.FloatType | t.BooleanType | t.DecimalType
    pairs = [
        f'"c{i}": {PLAIN[type(x)]}' if isinstance(x, numbers) else f'"c{i}": "{PLAIN[type(x)]}"'
        for i, x in enumerate(types)
    ]
    messages = ["{" + ", ".join(pairs) + "}", "{}", '{"c0": null, "more": [1, {"c1": 2}]}'] * FEW
    assert decoder.columns(messages) is not None
    assert_same(decoder, messages)
    assert_same(decoder, [x.encode() for x in messages])


STREAM_TYPES = [
    Types.INT(),
    Types.DOUBLE(),
    Types.FLOAT(),
    Types.BOOLEAN(),
    Types.STRING(),
    Types.BIG_DEC(),
    Types.SQL_DATE(),
    Types.SQL_TIMESTAMP(),
    Types.INSTANT(),
    Types.OBJECT_ARRAY(Types.INT()),
]
stream_rows = st.lists(st.sampled_from(STREAM_TYPES), min_size=1, max_size=3).map(
    lambda types: Types.ROW_NAMED([f"c{i}" for i in range(len(types))], types)
)


def together_and_alone(schema: Any, messages: list[str]) -> None:
    data = [x.encode() for x in messages]

    def one_by_one(messages: list[bytes]) -> list[Any]:
        return [row for row in map(schema.deserialize, messages) if row is not None]

    assert outcome(schema.deserialize_many, data) == outcome(one_by_one, data)


@given(stream_rows, st.lists(json_messages, max_size=5), st.booleans())
@examples(30)
def test_json_of_streams(row: Any, odd: list[str], ignore: bool) -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(row)
    schema = (builder.ignore_parse_errors() if ignore else builder).build()
    together_and_alone(schema, ["{}"] * FEW + odd)


@given(stream_rows, st.lists(st.lists(fields, max_size=3).map(",".join), max_size=5), st.booleans())
@examples(30)
def test_csv_of_streams(row: Any, odd: list[str], ignore: bool) -> None:
    schema = CsvRowDeserializationSchema.Builder(row).set_ignore_parse_errors(ignore).build()
    together_and_alone(schema, ["," * (len(row.get_field_types()) - 1) or "1"] * FEW + odd)


def csv_file(path: Path, taken: int, cuts: bool) -> str:
    """What a file gives if so many rows are taken at a time, perhaps by a new reader each time."""
    columns = CsvSchema.builder().add_number_column("n", DataTypes.INT()).add_string_column("s")
    read = CsvReaderFormat.for_schema(columns.build()).read
    split = FileSplit("f", str(path), 0, None)
    records, rows = read(split), []
    try:
        while not records.at_end:
            rows += records.take(taken)
            if cuts and not records.at_end:
                split = records.snapshot()
                records.close()
                records = read(split)
        return repr(rows)
    except HeadraceError as error:
        return str(error)
    finally:
        records.close()


@given(
    st.lists(st.tuples(fields, fields).map(",".join) | st.text('1,"\n', max_size=4), max_size=6),
    st.integers(0, 2 * FEW),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@examples(30)
def test_files_of_csv(odd: list[str], at: int, line_end: str, ended: bool) -> None:
    lines = ["12,ab"] * at + odd + ["13,cd"] * (2 * FEW - at)
    text = line_end.join(lines) + line_end * ended
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "f.csv")
        path.write_bytes(text.encode())
        for taken in (FEW + 1, 2 * FEW):
            for cuts in (False, True):
                with patch.object(CsvColumns, "rows", lambda *lines: None):
                    alone = csv_file(path, taken, cuts)
                assert csv_file(path, taken, cuts) == alone


@pytest.mark.slow
def test_long_fields() -> None:
    decoder = decoder_for("csv", table(t.VarCharType(9), t.IntType()), FormatOptions({}))
    line = "x" * 200_000 + ",1"
    assert decoder.decode_each([line]) == [("x" * 200_000, 1)]
    assert_same(decoder, [line] * FEW)


def test_bytes_that_are_not_text() -> None:
    for name, line in (("csv", b"\xff,1"), ("json", b'{"c0": "\xff"}'), ("json", b'{"\xff": 1}')):
        decoder = decoder_for(name, table(t.VarCharType(9), t.VarCharType(9)), FormatOptions({}))
        assert_same(decoder, [line] * FEW)


@given(st.lists(st.text("aé ", max_size=3), min_size=1, max_size=8), st.slices(8))
@example([""], slice(0, 1))
def test_some_of_the_lines_of_a_text_are_one_text(texts: list[str], part: slice) -> None:
    chosen = Lines("\n".join(texts).encode())[part]
    assert list(chosen) == texts[part]
    if texts[part] and part.step in (None, 1):
        assert isinstance(chosen, Lines)
        assert len(chosen) == len(texts[part])
