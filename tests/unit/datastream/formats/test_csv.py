from __future__ import annotations

import datetime as dt
import gzip
import io
import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, TypeMismatchError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
    CsvSchemaBuilder,
)
from tests.unit.datastream.connectors.reading import drain, opened, resumed

ROW = Types.ROW_NAMED(
    ["a", "b", "c", "d", "e", "f"],
    [
        Types.INT(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.DOUBLE(),
    ],
)
TIME = dt.datetime(2024, 2, 29, 13, 5, 9, 123000)


def reader(builder: Any = None) -> CsvRowDeserializationSchema:
    schema = (builder or CsvRowDeserializationSchema.Builder(ROW)).build()
    copy: CsvRowDeserializationSchema = pickle.loads(pickle.dumps(schema))
    return copy


def writer(*types: Any, **settings: Any) -> CsvRowSerializationSchema:
    builder = CsvRowSerializationSchema.Builder(
        Types.ROW_NAMED([f"c{i}" for i in range(len(types))], list(types))
    )
    for name, value in settings.items():
        getattr(builder, name)(*value)
    copy: CsvRowSerializationSchema = pickle.loads(pickle.dumps(builder.build()))
    return copy


def test_a_message_is_read_as_flink_reads_it() -> None:
    message = b"1,x,2024-02-29 13:05:09.123,2024-02-29,13:05:09,1.5"
    expected = Row(a=1, b="x", c=TIME, d=TIME.date(), e=dt.time(13, 5, 9), f=1.5)
    assert reader().deserialize(message) == expected
    assert reader().deserialize(b'1,"a,""b",,,,') == Row(
        a=1, b='a,"b', c=None, d=None, e=None, f=None
    )


@pytest.mark.parametrize("message", [b"x,y,,,,", b"1,b", b"1,b,,,,,7", b"", b"3000000000,,,,,"])
def test_a_message_that_is_not_of_the_type_is_an_error(message: bytes) -> None:
    with pytest.raises(HeadraceError, match="not CSV that matches the declared type"):
        reader().deserialize(message)


def test_errors_comments_and_nulls() -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW).set_ignore_parse_errors(True)
    schema = reader(builder.set_allow_comments(True).set_null_literal("N"))
    assert schema.deserialize(b"x,y,,,,") == Row(a=None, b="y", c=None, d=None, e=None, f=None)
    assert schema.deserialize(b"1,b") == Row(a=1, b="b", c=None, d=None, e=None, f=None)
    assert schema.deserialize(b"#comment") is None
    assert schema.deserialize(b"1,N,N,N,N,N") == Row(a=1, b=None, c=None, d=None, e=None, f=None)


def test_arrays_and_other_characters() -> None:
    types = Types.ROW_NAMED(
        ["a", "b", "c"], [Types.STRING(), Types.OBJECT_ARRAY(Types.INT()), Types.BOOLEAN()]
    )
    schema = reader(CsvRowDeserializationSchema.Builder(types))
    assert schema.deserialize(b"a,1;2;3,true") == Row(a="a", b=[1, 2, 3], c=True)
    assert schema.deserialize(b'"a\nb",1,TRUE') == Row(a="a\nb", b=[1], c=True)
    assert schema.deserialize(b"a,,maybe") == Row(a="a", b=[], c=False)
    builder = CsvRowDeserializationSchema.Builder(types).set_field_delimiter("|")
    builder.set_quote_character("'").set_array_element_delimiter("/").set_escape_character("\\")
    assert reader(builder).deserialize(b"'x|y'|1/2|false") == Row(a="x|y", b=[1, 2], c=False)


def test_a_float_has_the_value_that_functions_see() -> None:
    types = Types.ROW_NAMED(["f", "d"], [Types.FLOAT(), Types.DOUBLE()])
    schema = reader(CsvRowDeserializationSchema.Builder(types))
    assert schema.deserialize(b"0.1,0.1") == Row(f=0.10000000149011612, d=0.1)
    assert schema.deserialize(b"1e39,NaN").f == float("inf")


# What Flink 2.3 writes for the same values.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", b"plain,\n"),
        ("with space", b'"with space",\n'),
        ("a;b", b"a;b,\n"),
        ("it's", b'"it\'s",\n'),
        ("x" * 30, b'"' + b"x" * 30 + b'",\n'),
        ("", b",\n"),
        ("line\nbreak", b'"line\nbreak",\n'),
        ("-5", b"-5,\n"),
        ("#c", b'"#c",\n'),
        ("ä", "ä,\n".encode()),
        ('"q"', b'"""q""",\n'),
    ],
)
def test_text_is_quoted_as_in_flink(text: str, expected: bytes) -> None:
    assert writer(Types.STRING(), Types.STRING()).serialize(Row(text, None)) == expected


def test_other_types_are_written_as_in_flink() -> None:
    types = (Types.INT(), Types.SQL_TIMESTAMP(), Types.SQL_DATE(), Types.BOOLEAN(), Types.DOUBLE())
    line = writer(*types).serialize(Row(1, TIME, TIME.date(), True, 1.0))
    assert line == b'1,"2024-02-29 13:05:09.123",2024-02-29,true,1.0\n'
    schema = writer(
        Types.STRING(),
        Types.OBJECT_ARRAY(Types.STRING()),
        set_field_delimiter="|",
        set_null_literal="N",
        set_line_delimiter=("\r\n",),
    )
    assert schema.serialize(Row(None, ["u", "v"])) == b'N|"u;v"\r\n'
    assert writer(Types.STRING(), disable_quote_character=()).serialize(Row("a,b")) == b"a,b\n"


def test_a_record_that_does_not_fit_says_so() -> None:
    with pytest.raises(TypeMismatchError, match="c0"):
        writer(Types.INT(), Types.INT()).serialize(Row(1))


def people() -> CsvSchemaBuilder:
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name")
    return schema.add_array_column("tags").set_use_header()


def source(builder: CsvSchemaBuilder, path: Path, lenient: bool = False) -> FileSource:
    csv_format = CsvReaderFormat.for_schema(builder.build())
    csv_format = csv_format.ignore_parse_errors() if lenient else csv_format
    return FileSource.for_record_stream_format(csv_format, str(path)).build()


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    rows = [Row(id=1, name="Ada, Countess", tags=["x", "y"]), Row(id=2, name="two\nlines", tags=[])]
    stream = io.BytesIO()
    file = CsvBulkWriters.for_schema(people().build()).create(stream)
    file.add_elements(rows)
    file.finish()
    assert stream.getvalue().startswith(b"id,name,tags\n1,")
    (tmp_path / "a.csv").write_bytes(stream.getvalue())
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(stream.getvalue()))
    assert drain(opened(source(people(), tmp_path))) == rows * 2


def test_reading_resumes_after_any_record(tmp_path: Path) -> None:
    lines = "".join(f'{i},"na\nme {i}",a;b\n' for i in range(20))
    (tmp_path / "a.csv").write_text("id,name,tags\n" + lines)
    table = source(people(), tmp_path)
    expected = drain(opened(table))
    assert len(expected) == 20
    for cut in range(1, 20):
        reader = opened(table)
        first = reader.poll(cut)
        assert first is not None
        assert first.values + drain(resumed(table, reader), 3) == expected


@pytest.mark.parametrize("count", [2, 100])
def test_a_byte_order_mark_is_no_part_of_a_field(count: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeff" + "ä,1\n" * count, "utf-8")
    table = source(CsvSchema.builder().add_string_column("a").add_number_column("n"), tmp_path)
    assert drain(opened(table)) == [Row(a="ä", n=1)] * count
    reader = opened(table)
    first = reader.poll(1)
    assert first is not None
    assert first.values + drain(resumed(table, reader), 3) == [Row(a="ä", n=1)] * count


def test_bad_rows_are_named_or_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name,tags\n1,a,\nx,b,\n3,c\n4,d,\n\n")
    with pytest.raises(HeadraceError, match=r"a.csv has a row .*field 'id'.*'x'"):
        drain(opened(source(people(), tmp_path)))
    rows = drain(opened(source(people(), tmp_path, lenient=True)))
    assert [r.id for r in rows] == [1, 4]


def test_headers_comments_and_nulls(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,other,tags\n#no\n1,-,\n")
    with pytest.raises(HeadraceError, match="header of"):
        drain(opened(source(people().set_strict_headers(), tmp_path)))
    rows = drain(opened(source(people().set_allow_comments().set_null_value("-"), tmp_path)))
    assert rows == [Row(id=1, name=None, tags=[])]


def test_errors_while_building() -> None:
    with pytest.raises(GraphError, match="must be a single char, got"):
        CsvSchema.builder().set_column_separator("||")
    with pytest.raises(GraphError, match="same name"):
        CsvSchema.builder().add_string_column("a").add_string_column("a").build()
    with pytest.raises(GraphError, match="at least one column"):
        CsvReaderFormat.for_schema(CsvSchema.builder().build())
    with pytest.raises(FunctionTypeError):
        CsvBulkWriters.for_schema("a,b")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="row type"):
        CsvRowSerializationSchema.Builder(Types.INT())
    with pytest.raises(GraphError, match="Unsupported new line delimiter"):
        CsvRowSerializationSchema.Builder(ROW).set_line_delimiter(";")
    schema = people().build()
    assert len(schema) == schema.size() == 3
    assert len(CsvSchema.builder().add_columns_from(schema)) == 3
    assert CsvSchema.builder().add_columns_from(schema).clear_columns().size() == 0


def test_a_schema_shows_its_columns_as_in_pyflink() -> None:
    schema = CsvSchema.builder().add_string_column("s").add_number_column("n")
    assert str(schema.build()) == (
        '[CsvSchema: columns=["s"/STRING,"n"/NUMBER], header? false, skipFirst? false, '
        "comments? false, any-properties? N/A]"
    )
    schema.add_boolean_column("b").add_array_column("a").set_use_header().set_allow_comments()
    assert str(schema.build()) == (
        '[CsvSchema: columns=["s"/STRING,"n"/NUMBER,"b"/BOOLEAN,"a"/ARRAY], header? true, '
        "skipFirst? false, comments? true, any-properties? N/A]"
    )
