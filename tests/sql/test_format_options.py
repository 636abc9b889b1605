"""Options of formats do what Flink says they do, or are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.formats.base import FormatOptions, decoder_for, encoder_for
from headrace.sql.parsing import parse_statement
from headrace.sql.statements import CreateTable
from headrace.sql.types import RowField, RowType
from tests.sql.sessions import LocalSession


def row_type(columns: str) -> RowType:
    statement = parse_statement(f"CREATE TABLE t ({columns}) WITH ('connector' = 'print')")
    assert isinstance(statement, CreateTable)
    fields = [RowField(c.name, c.type) for c in statement.columns if c.type is not None]
    return RowType(fields, False)


def written(format_: str, columns: str, values: str, **options: str) -> Any:
    given = FormatOptions({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
    rows = [tuple(row) for _, row in LocalSession().query(f"SELECT {values}").rows]
    [message] = encoder_for(format_, row_type(columns), given).encode(rows)
    return message


def read(format_: str, columns: str, *messages: Any, **options: str) -> list[Any]:
    given = FormatOptions({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
    return decoder_for(format_, row_type(columns), given).decode(list(messages))


DECIMALS = "a DECIMAL(20, 10), b DECIMAL(10, 0), c DECIMAL(10, 2), d DECIMAL(38, 18)"
VALUES = (
    "CAST(0.000000027 AS DECIMAL(20, 10)), CAST(100000 AS DECIMAL(10, 0)), "
    "CAST(3.20 AS DECIMAL(10, 2)), CAST(0 AS DECIMAL(38, 18))"
)
MAP = "MAP['a', 1, CAST(NULL AS STRING), 2]"


def test_decimals_of_json_and_csv() -> None:
    assert written("json", DECIMALS, VALUES) == '{"a":2.7E-8,"b":1E+5,"c":3.2,"d":0}'
    assert written("json", DECIMALS, VALUES, encode__decimal_as_plain_number="true") == (
        '{"a":0.0000000270,"b":100000,"c":3.20,"d":0.000000000000000000}'
    )
    scientific = {"write_bigdecimal_in_scientific_notation": "true"}
    assert written("csv", DECIMALS, VALUES, **scientific) == "2.7E-8,1E+5,3.2,0"
    assert written("csv", DECIMALS, VALUES) == "0.0000000270,100000,3.20,0.000000000000000000"


def test_null_keys_of_maps_in_json() -> None:
    column = "m MAP<STRING, INT>"
    with pytest.raises(HeadraceError, match="null keys"):
        written("json", column, MAP)
    assert written("json", column, MAP, map_null_key__mode="drop") == '{"m":{"a":1}}'
    assert written("json", column, MAP, map_null_key__mode="LITERAL") == '{"m":{"a":1,"null":2}}'
    other = {"map_null_key__mode": "LITERAL", "map_null_key__literal": "nix"}
    assert written("json", column, MAP, **other) == '{"m":{"a":1,"nix":2}}'


def test_rows_and_arrays_of_csv_have_a_delimiter_of_their_own() -> None:
    columns, row = "a ROW<x INT, y STRING>, b ARRAY<INT>", "ROW(1, 'u'), ARRAY[2, 3]"
    assert written("csv", columns, row) == "1;u,2;3"
    assert read("csv", columns, "1;u,2;3") == [((1, "u"), (2, 3))]
    assert read("csv", columns, "1|u,2|3", array_element_delimiter="|") == [((1, "u"), (2, 3))]


# What Flink 2.3 writes for the same values.
@pytest.mark.parametrize(
    ("columns", "values", "line"),
    [
        ("a STRING", f"'{'x' * 30}'", f'"{"x" * 30}"'),
        ("a STRING, b STRING, c STRING", "'a!b', 'x-y', ''", '"a!b",x-y,'),
        ("t TIMESTAMP(3)", "TIMESTAMP '2024-02-29 13:05:09.100'", '"2024-02-29 13:05:09.1"'),
        ("t TIMESTAMP(3)", "TIMESTAMP '2024-02-29 13:05:09'", '"2024-02-29 13:05:09"'),
        ("d DOUBLE, e BOOLEAN, f BYTES", "1e10, TRUE, x'0102'", "1.0E10,true,AQI="),
        ("r ROW<x INT, y STRING>", "ROW(1, CAST(NULL AS STRING))", "1;"),
        ("a ARRAY<STRING>", "ARRAY['a', 'b c']", '"a;b c"'),
    ],
)
def test_values_of_csv_are_written_as_flink_writes_them(
    columns: str, values: str, line: str
) -> None:
    assert written("csv", columns, values) == line


@pytest.mark.parametrize("line", ["1,1.5", "1, ", "1,1_000", "1,2,3", "1"])
def test_a_line_of_csv_that_flink_refuses(line: str) -> None:
    with pytest.raises(HeadraceError, match="Failed to deserialize CSV row"):
        read("csv", "k INT, a INT", line)


def test_decimals_of_csv_without_an_exponent() -> None:
    plain = {"write_bigdecimal_in_scientific_notation": "false"}
    assert written("csv", "d DECIMAL(10, 0)", "CAST(100000 AS DECIMAL(10, 0))", **plain) == "100000"


def test_a_quote_that_is_not_closed_concerns_its_message_alone() -> None:
    messages = ['1,"x', '2,"y"', "3,z"]
    with pytest.raises(HeadraceError, match="Failed to deserialize CSV row"):
        read("csv", "a INT, b STRING", *messages)
    kept = read("csv", "a INT, b STRING", *messages, ignore_parse_errors="true")
    assert kept == [(2, "y"), (3, "z")]


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_fields_that_cannot_be_read_are_null(format_: str) -> None:
    columns = "a INT, b TIMESTAMP(3), c BOOLEAN"
    messages = {
        "csv": ["x,2024-01-01T00:00:00,yes", "1", "2,2024-01-01 00:00:00,true", "3,,,more"],
        "json": [
            '{"a":"x","b":"2024-01-01T00:00:00","c":"yes"}',
            '{"a":1}',
            '{"a":2,"b":"2024-01-01 00:00:00","c":true,"d":0}',
        ],
    }[format_]
    new_year = 1_704_067_200_000_000
    found = read(format_, columns, *messages, ignore_parse_errors="true")
    assert found == [(None, None, False), (1, None, None), (2, new_year, True)]
    with pytest.raises(HeadraceError, match="Failed to deserialize"):
        read(format_, columns, messages[0].replace('"x"', "1").replace("x", "1"))


def test_timestamps_of_iso_8601() -> None:
    iso = {"timestamp_format__standard": "ISO-8601"}
    columns = "a TIMESTAMP(3), b TIMESTAMP_LTZ(3)"
    message = '{"a":"2024-01-01T00:00:00.5","b":"2024-01-01T00:00:00Z"}'
    assert read("json", columns, message, **iso) == [(1_704_067_200_500_000, 1_704_067_200_000_000)]
    with pytest.raises(HeadraceError, match="Failed to deserialize"):
        read("json", columns, message)


@pytest.mark.parametrize(
    ("column", "value", "options", "message"),
    [
        ("a STRING", "'ä'", {}, "ä".encode()),
        ("a STRING", "'ä'", {"charset": "ISO-8859-1"}, b"\xe4"),
        ("a INT", "258", {}, b"\0\0\1\2"),
        ("a INT", "258", {"endianness": "little-endian"}, b"\2\1\0\0"),
        ("a BIGINT", "CAST(1 AS BIGINT)", {}, b"\0\0\0\0\0\0\0\1"),
        ("a DOUBLE", "1.5E0", {}, b"\x3f\xf8\0\0\0\0\0\0"),
        ("a BOOLEAN", "TRUE", {}, b"\1"),
        ("a BYTES", "x'00ff'", {}, b"\0\xff"),
    ],
)
def test_raw_messages_are_the_bytes_of_the_value(
    column: str, value: str, options: dict[str, str], message: bytes
) -> None:
    assert written("raw", column, value, **options) == message
    [(found,)] = read("raw", column, message, **options)
    [(_, (expected,))] = LocalSession().query(f"SELECT {value}").rows
    assert found == expected


def test_raw_has_no_message_of_null() -> None:
    assert written("raw", "a STRING", "CAST(NULL AS STRING)") is None


def test_a_message_of_another_size_is_not_a_number() -> None:
    with pytest.raises(HeadraceError, match="not one INT of the format 'raw', which has 4 bytes"):
        read("raw", "a INT", b"12345")


@pytest.mark.parametrize(
    ("format_", "key", "value"),
    [
        ("json", "map-null-key.mode", "BOGUS"),
        ("json", "timestamp-format.standard", "RFC"),
        ("json", "encode.decimal-as-plain-number", "perhaps"),
        ("csv", "field-delimiter", ",,"),
        ("raw", "charset", "nope"),
        ("raw", "endianness", "middle"),
        ("avro", "encoding", "json"),
    ],
)
def test_values_that_mean_nothing_are_refused(format_: str, key: str, value: str) -> None:
    options = FormatOptions({key: value})
    with pytest.raises(SqlError, match=r"[Uu]nsupported|single character|[Ii]nvalid"):
        encoder_for(format_, row_type("a STRING"), options)


@pytest.mark.parametrize(
    ("format_", "option", "value"),
    [
        ("parquet", "parquet.compression", "ZIP"),
        ("parquet", "parquet.utc-timezone", "maybe"),
        ("orc", "orc.compress", "ZIP"),
        ("avro", "avro.codec", "zip"),
        ("json", "json.pretty", "true"),
        ("raw", "raw.charset", "ISO-8859-1"),
    ],
)
def test_tables_of_files_refuse_them_too(format_: str, option: str, value: str) -> None:
    session = LocalSession()
    session.execute(
        f"CREATE TABLE t (a STRING) WITH ('connector' = 'filesystem', 'path' = '/nowhere', "
        f"'format' = '{format_}', '{option}' = '{value}')"
    )
    with pytest.raises(SqlError) as error:
        session.executor.execute("EXPLAIN INSERT INTO t VALUES ('a')")
    assert option.partition(".")[2] in str(error.value)


@pytest.mark.parametrize(
    ("format_", "options"),
    [
        ("parquet", {"parquet.compression": "GZIP"}),
        ("parquet", {"parquet.compression": "UNCOMPRESSED", "parquet.utc-timezone": "true"}),
        ("orc", {"orc.compress": "SNAPPY"}),
        ("orc", {"orc.compress": "NONE"}),
        ("avro", {"avro.codec": "xz"}),
        ("avro", {"avro.codec": "snappy"}),
        ("avro", {"avro.codec": "zstandard"}),
        ("avro", {"avro.codec": "null"}),
    ],
)
def test_files_are_compressed_as_asked(
    tmp_path: Any, format_: str, options: dict[str, str]
) -> None:
    more = "".join(f", '{k}' = '{v}'" for k, v in options.items())
    session = LocalSession()
    session.execute(
        f"CREATE TABLE t (a STRING) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', "
        f"'format' = '{format_}'{more})"
    )
    session.insert("INSERT INTO t VALUES ('x'), ('y')")
    assert sorted(tuple(r) for _, r in session.query("SELECT * FROM t").rows) == [("x",), ("y",)]
    [file] = tmp_path.iterdir()
    if format_ == "parquet":
        from pyarrow import parquet

        found = parquet.ParquetFile(file).metadata.row_group(0).column(0).compression
        assert found == options["parquet.compression"]
    elif format_ == "orc":
        from pyarrow import orc

        found = orc.ORCFile(file).compression
        assert found == options["orc.compress"].replace("NONE", "UNCOMPRESSED")
    else:
        import fastavro

        with file.open("rb") as stream:
            assert fastavro.reader(stream).metadata["avro.codec"] == options["avro.codec"]


NESTED = "r ROW<a INT, b STRING>, d DOUBLE, s STRING"


def test_rules_for_fields_of_json_hold_in_nested_rows_too() -> None:
    message = '{"r": {"a": "x", "b": "y"}, "d": 1, "s": "z"}'
    assert read("json", NESTED, message, ignore_parse_errors="true") == [((None, "y"), 1.0, "z")]
    with pytest.raises(HeadraceError, match="Could not find field with name 'b'"):
        read("json", NESTED, '{"r": {"a": 1}, "d": 1, "s": "z"}', fail_on_missing_field="true")
    row = "ROW(CAST(NULL AS INT), 'y'), CAST(NULL AS DOUBLE), 'z'"
    shorter = '{"r":{"b":"y"},"s":"z"}'
    assert written("json", NESTED, row, encode__ignore_null_fields="true") == shorter


def test_values_of_json_are_converted_as_flink_converts_them() -> None:
    assert read("json", "s STRING", '{"s": {"ä": [1.5]}}') == [('{"ä":[1.5]}',)]
    assert read("json", "s STRING, d DECIMAL(3, 2)", '{"s": 1.10, "d": 1.10}')[0][0] == "1.10"
    with pytest.raises(HeadraceError, match="True is not a number"):
        read("json", "d DOUBLE", '{"d": true}')
    assert read("json", "d DOUBLE", '{"d": 1}', "null", '{"d": 2}') == [(1.0,), (2.0,)]


@pytest.mark.parametrize("line", ["", b""])
def test_a_csv_line_of_nothing_is_a_row_of_one_empty_text(line: str | bytes) -> None:
    decoder = decoder_for("csv", row_type("a STRING"), FormatOptions({}))
    assert decoder.decode([line, line]) == [("",), ("",)]
    many = [line] * 300
    assert decoder.decode(many) == [("",)] * 300
    assert decoder_for("csv", row_type("a STRING, b INT"), FormatOptions({})).decode(many) == []


@pytest.mark.parametrize(
    ("message", "rows"),
    [
        ('[{"a": 1, "s": "x"}, {"a": 2}]', [(1, "x"), (2, None)]),
        ("[]", []),
        ('{"a": 1} and more', [(1, None)]),
        ('{"a": 1}{"a": 2}', [(1, None)]),
        ('{"s": "tab\there"}', [(None, "tab\there")]),
        ('{"s": 1e2}', [(None, "1e2")]),
        ('{"s": 12345678901234567890.123456789}', [(None, "12345678901234567890.123456789")]),
        ('{"s": {"n": 1e10, "x": 0.0001}}', [(None, '{"n":1.0E10,"x":1.0E-4}')]),
        ('{"a": NaN}', None),
        ("5", None),
    ],
)
def test_documents_of_json(message: str, rows: list[Any] | None) -> None:
    columns = "a INT, s STRING"
    before = '{"a": 0, "s": "first"}'
    if rows is None:
        with pytest.raises(HeadraceError, match="Failed to deserialize JSON"):
            read("json", columns, message)
    else:
        assert read("json", columns, before, message) == [(0, "first"), *rows]
    found = read("json", columns, before, message.encode(), ignore_parse_errors="true")
    assert found == [(0, "first"), *(rows or [])]


def test_an_element_that_cannot_be_read_is_null() -> None:
    columns = "a ARRAY<INT>, m MAP<STRING, INT>, b BYTES"
    message = '{"a": [1, "x"], "m": {"k": "y", "l": 2}, "b": "!!"}'
    found = read("json", columns, message, ignore_parse_errors="true")
    assert found == [((1, None), {"k": None, "l": 2}, None)]


@pytest.mark.parametrize(
    ("type_", "text", "iso"),
    [
        ("DATE", "2024", False),
        ("DATE", "2024-1-1", False),
        ("TIME", "1:2:3", False),
        ("TIMESTAMP(3)", "2024-01-01", False),
        ("TIMESTAMP(3)", "2024-01-01 00:00", False),
        ("TIMESTAMP(3)", "2024-1-1T00:00:00", True),
        ("TIMESTAMP_LTZ(3)", "2024-01-01 00:00:00", False),
        ("TIMESTAMP_LTZ(3)", "2024-01-01T00:00:00", True),
    ],
)
def test_times_of_json_are_written_out(type_: str, text: str, iso: bool) -> None:
    options = {"timestamp_format__standard": "ISO-8601" if iso else "SQL"}
    many = [f'{{"a":"{text}"}}'] * 300
    with pytest.raises(HeadraceError, match="Failed to deserialize JSON"):
        read("json", f"a {type_}", *many, **options)
    assert (
        read("json", f"a {type_}", *many, ignore_parse_errors="true", **options) == [(None,)] * 300
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(1, " x "), (2, "y"), (3, ""), (4, None)]),
        ({"allow_trailing_comma": "false"}, [(1, " x "), (3, ""), (4, None)]),
        ({"trim_spaces": "true"}, [(1, "x"), (2, "y"), (3, ""), (4, None)]),
        (
            {"ignore_trailing_unmappable": "true"},
            [(1, " x "), (2, "y"), (3, ""), (4, None), (5, "z")],
        ),
        ({"fail_on_missing_columns": "true"}, [(1, " x "), (2, "y"), (3, "")]),
        ({"empty_string_as_null": "true"}, [(1, " x "), (2, "y"), (3, None), (4, None)]),
    ],
)
@pytest.mark.parametrize("times", [1, 100])
def test_what_csv_takes_for_a_row(options: dict[str, str], expected: list[Any], times: int) -> None:
    lines = ["1, x ", "2,y,", "3,", "4", "5,z,more"] * times
    found = read("csv", "a INT, s STRING", *lines, ignore_parse_errors="true", **options)
    assert found == expected * times


def test_blanks_are_trimmed_outside_of_quotes() -> None:
    trim = {"trim_spaces": "true"}
    columns = "a STRING, b STRING, c STRING"
    assert read("csv", columns, ' x y , " q, " ,\t z', **trim) == [("x y", " q, ", "z")]


@pytest.mark.parametrize("times", [1, 300])
def test_nothing_in_csv(times: int) -> None:
    columns = "a INT, b BOOLEAN, c BYTES, s STRING"
    assert read("csv", columns, *["1,,,"] * times) == [(1, False, b"", "")] * times
    null = {"empty_string_as_null": "true"}
    assert read("csv", columns, *["1,,,"] * times, **null) == [(1, None, None, None)] * times
    literal = {"null_literal": "n/a"}
    found = read("csv", columns, *["1,n/a,n/a,n/a", "2,,,"] * times, **literal)
    assert found == [(1, None, None, None), (2, False, b"", "")] * times


def test_parts_of_csv_fields_that_do_not_fit() -> None:
    columns = "a ARRAY<INT>, r ROW<x INT, y INT>"
    lines = ["1;x,1", "1,x;2", "1,1;2;3"]
    found = read("csv", columns, *lines, ignore_parse_errors="true")
    assert found == [((1, None), (1, None)), ((1,), (None, 2)), ((1,), (1, 2))]
    assert read("csv", columns, lines[2]) == [((1,), (1, 2))]


def test_messages_of_csv_that_are_not_plain_text() -> None:
    columns = "a INT, s STRING"
    assert read("csv", columns, b"\xef\xbb\xbf1,x") == [(1, "x")]
    with pytest.raises(HeadraceError, match="Failed to deserialize CSV row"):
        read("csv", columns, b"1,\xff")
    assert read("csv", columns, b"1,\xff", b"2,y", ignore_parse_errors="true") == [(2, "y")]
    assert written("csv", columns, "1, 'a\\b'") == '1,"a\\b"'


def test_what_raw_reads_besides_its_values() -> None:
    assert read("raw", "a STRING", b"x\xff", None) == [("x\ufffd",), (None,)]
    assert read("raw", "a INT", None) == [(None,)]
    for kind in ("DATE", "DECIMAL(3, 1)", "ARRAY<INT>"):
        with pytest.raises(SqlError, match="The 'raw' format doesn't supports"):
            read("raw", f"a {kind}")
