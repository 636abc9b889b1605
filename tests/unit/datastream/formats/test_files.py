"""Avro, Parquet and ORC: written, cut into splits, read, and resumed after any record."""

from __future__ import annotations

import datetime as dt
import io
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, TypeMismatchError
from headrace.common.serialization import BulkWriterFactory
from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import FileFormat, StreamFormat
from headrace.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from headrace.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from headrace.table.types import DataTypes
from tests.unit.datastream.connectors.reading import FakeReaderContext, drain, opened, resumed

ROW = Types.ROW_NAMED(["id", "name", "x"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
AVRO = AvroSchema.parse_string(
    """{"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
    {"name": "inner", "type": {"type": "record", "name": "I", "fields": [
        {"name": "y", "type": {"type": "array", "items": "double"}}]}}]}"""
)


def rows(count: int) -> list[Row]:
    return [Row(id=i, name=f"n{i}" if i % 3 else None, x=i / 2) for i in range(count)]


def records(count: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "name": f"n{i}" if i % 3 else None, "tags": {"t": i}, "inner": {"y": [0.5, i]}}
        for i in range(count)
    ]


def json_lines(path: Path, values: list[Row], group: int) -> None:
    import json

    path.write_text("".join(json.dumps(v.as_dict()) + "\n\n" for v in values))


def bulk_file(factory: BulkWriterFactory) -> Callable[[Path, list[Any], int], None]:
    """Writes a file in groups of some records."""

    def write(path: Path, values: list[Any], group: int) -> None:
        with path.open("wb") as stream:
            writer = pickle.loads(pickle.dumps(factory)).create(stream)
            for start in range(0, len(values), group):
                writer.add_elements(values[start : start + group])
                writer.flush()
                if hasattr(writer, "_write"):
                    writer._write()
            writer.finish()

    return write


CASES = {
    "json": (
        json_lines,
        StreamFormat.line_format(JsonRowDeserializationSchema.builder().type_info(ROW).build()),
        rows,
    ),
    "avro": (
        bulk_file(AvroBulkWriters.for_generic_record(AVRO)),
        AvroInputFormat("", AVRO),
        records,
    ),
    "parquet": (
        bulk_file(ParquetBulkWriters.for_row_type(ROW)),
        ParquetColumnarRowInputFormat(ROW),
        rows,
    ),
    "avro in parquet": (
        bulk_file(AvroParquetWriters.for_generic_record(AVRO)),
        AvroParquetReaders.for_generic_record(AVRO),
        records,
    ),
    "orc": (
        bulk_file(OrcBulkWriters.for_row_type(ROW)),
        OrcColumnarRowInputFormat(ROW),
        rows,
    ),
}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Any:
    return CASES[request.param]


def source(file_format: FileFormat, path: Path) -> FileSource:
    make = (
        FileSource.for_record_stream_format
        if isinstance(file_format, StreamFormat)
        else FileSource.for_bulk_file_format
    )
    return make(pickle.loads(pickle.dumps(file_format)), str(path)).build()


def test_what_was_written_is_read(case: Any, tmp_path: Path) -> None:
    write, file_format, make = case
    write(tmp_path / "a", make(50), 20)
    write(tmp_path / "b", [], 20)
    assert drain(opened(source(file_format, tmp_path)), 7) == make(50)


def test_every_record_is_in_one_split(case: Any, tmp_path: Path) -> None:
    write, file_format, make = case
    path = tmp_path / "a"
    write(path, make(200), 20)
    size = path.stat().st_size
    for step in (1 + size // 2, 1 + size // 5, 1 + size // 20, 64):
        read = []
        for start in range(0, size, step):
            end = start + step if start + step < size else None
            reader = file_format.read(FileSplit(f"{start}", str(path), start, end))
            while not reader.at_end:
                read += reader.take(13)
            reader.close()
        assert read == make(200)


def test_reading_resumes_after_any_record(case: Any, tmp_path: Path) -> None:
    write, file_format, make = case
    write(tmp_path / "a", make(60), 20)
    files = source(file_format, tmp_path)
    for cut in (1, 19, 20, 21, 40, 59):
        reader = opened(files)
        read: list[Any] = []
        while len(read) < cut:
            batch = reader.poll(cut - len(read))
            assert batch is not None
            read += batch.values
        reader.close()
        assert read + drain(resumed(files, reader), 11) == make(60)


def test_a_file_in_another_format_is_named(case: Any, tmp_path: Path) -> None:
    _, file_format, _ = case
    (tmp_path / "bad").write_bytes(b"nothing that anybody reads")
    with pytest.raises(HeadraceError, match=r"bad"):
        drain(opened(source(file_format, tmp_path)))


def test_a_file_that_is_gone_is_named(case: Any, tmp_path: Path) -> None:
    write, file_format, make = case
    write(tmp_path / "a", make(3), 20)
    files = source(file_format, tmp_path)
    reader = files.create_reader(FakeReaderContext())
    reader.add_splits([FileSplit("gone", str(tmp_path / "gone"), 0, None)])
    with pytest.raises(HeadraceError, match="gone"):
        reader.poll(10)


ALL_TYPES = Types.ROW_NAMED(
    ["int", "text", "list", "map", "row", "decimal", "bytes", "date", "stamp", "instant"],
    [
        Types.INT(),
        Types.STRING(),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.DOUBLE()),
        Types.ROW_NAMED(["x"], [Types.SQL_TIMESTAMP()]),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
    ],
)
STAMP = dt.datetime(2024, 2, 29, 13, 5, 9, 123456)
FULL = Row(
    int=1,
    text="ä",
    list=[1, None],
    map={"k": 1.5},
    row=Row(x=STAMP),
    decimal=Decimal("1.500000000000000000"),
    bytes=b"hi",
    date=STAMP.date(),
    stamp=STAMP,
    instant=Instant(1_709_211_909, 123_456_000),
)
EMPTY = Row(**dict.fromkeys(FULL.as_dict()))


both_columnar = pytest.mark.parametrize(
    ("writers", "reader"),
    [
        (ParquetBulkWriters, ParquetColumnarRowInputFormat),
        (OrcBulkWriters, OrcColumnarRowInputFormat),
    ],
)


@both_columnar
def test_decimals_are_rounded_half_up_and_null_if_too_large(
    writers: Any, reader: Any, tmp_path: Path
) -> None:
    prices = DataTypes.ROW([DataTypes.FIELD("price", DataTypes.DECIMAL(5, 2))])
    given = ["1.5", "1.005", "-1.005", "999.994", "999.995", "1000"]
    bulk_file(writers.for_row_type(prices))(tmp_path / "a", [Row(Decimal(g)) for g in given], 10)
    found = drain(opened(source(reader(prices), tmp_path)))
    written = ["1.50", "1.01", "-1.01", "999.99", None, None]
    assert [None if row[0] is None else str(row[0]) for row in found] == written


@both_columnar
def test_decimals_keep_all_their_digits(writers: Any, reader: Any, tmp_path: Path) -> None:
    numbers = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.DECIMAL(38, 0))])
    large = Decimal("9" * 38)
    given = [Row(large), Row(large.copy_negate()), Row(Decimal(10) ** 38)]
    bulk_file(writers.for_row_type(numbers))(tmp_path / "a", given, 10)
    found = drain(opened(source(reader(numbers), tmp_path)))
    assert [row.n for row in found] == [large, large.copy_negate(), None]


def test_orc_has_blanks_behind_a_char(tmp_path: Path) -> None:
    texts = DataTypes.ROW([DataTypes.FIELD("c", DataTypes.CHAR(3))])
    given = [Row("a"), Row("äöüß"), Row(None)]
    bulk_file(OrcBulkWriters.for_row_type(texts))(tmp_path / "a", given, 2)
    found = drain(opened(source(OrcColumnarRowInputFormat(texts), tmp_path)))
    assert found == [Row(c="a  "), Row(c="äöü"), Row(c=None)]


@both_columnar
def test_all_types_survive(writers: Any, reader: Any, tmp_path: Path) -> None:
    bulk_file(writers.for_row_type(ALL_TYPES))(tmp_path / "a", [FULL, EMPTY], 10)
    assert drain(opened(source(reader(ALL_TYPES), tmp_path))) == [FULL, EMPTY]


def instants_file(path: Path, **options: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    time = dt.datetime(2021, 3, 4, 5, 6, 7)
    columns = {
        "instant": pa.array([time], pa.timestamp("us", "UTC")),
        "stamp": pa.array([time], pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), path / "a", **options)


def instants_as(kind: Any, path: Path, is_utc_timestamp: bool) -> list[Any]:
    row = DataTypes.ROW([DataTypes.FIELD("instant", kind), DataTypes.FIELD("stamp", kind)])
    found = ParquetColumnarRowInputFormat(row, is_utc_timestamp=is_utc_timestamp)
    return list(drain(opened(source(found, path)))[0])


@pytest.mark.parametrize("utc", [False, True])
def test_a_timestamp_ltz_is_a_time_in_the_zone_of_the_machine(
    utc: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    instants_file(tmp_path)
    here = dt.datetime(2021, 3, 4, 14, 6, 7, tzinfo=ZoneInfo("Asia/Tokyo"))
    found = instants_as(DataTypes.TIMESTAMP_LTZ(6), tmp_path, utc)
    assert found == [here, here]
    assert {time.utcoffset() for time in found} == {dt.timedelta(hours=9)}


@pytest.mark.parametrize(
    ("options", "utc", "hours"),
    [
        ({}, False, [14, 5]),
        ({}, True, [5, 5]),
        # An INT96 does not say what it is, and is an instant for Flink.
        ({"use_deprecated_int96_timestamps": True}, False, [14, 14]),
        ({"use_deprecated_int96_timestamps": True}, True, [5, 5]),
    ],
)
def test_instants_that_are_declared_as_timestamps_have_the_clock_that_was_asked_for(
    options: Any, utc: bool, hours: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    instants_file(tmp_path, **options)
    wanted = [dt.datetime(2021, 3, 4, hour, 6, 7) for hour in hours]
    assert instants_as(DataTypes.TIMESTAMP(6), tmp_path, utc) == wanted


def test_instants_inside_of_others_have_the_clock_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    at = pa.timestamp("us", "UTC")
    row = pa.struct([("t", at), ("x", pa.int32())])
    time, here = dt.datetime(2021, 3, 4, 5, 6, 7), dt.datetime(2021, 3, 4, 14, 6, 7)
    columns = {
        "n": pa.array([1, 2, 3], pa.int32()),
        "a": pa.array([[time, None], None, []], pa.list_(at)),
        "r": pa.array([{"t": time, "x": 1}, None, {"t": None, "x": 3}], row),
        "m": pa.array([[("k", time), ("l", None)], None, []], pa.map_(pa.string(), at)),
        "o": pa.array([[None, {"t": time, "x": 1}], None, []], pa.list_(row)),
    }
    pq.write_table(pa.table(columns), tmp_path / "a")
    stamp = DataTypes.TIMESTAMP(6)
    inner = DataTypes.ROW([DataTypes.FIELD("t", stamp), DataTypes.FIELD("x", DataTypes.INT())])
    kinds = {
        "n": DataTypes.INT(),
        "a": DataTypes.ARRAY(stamp),
        "r": inner,
        "m": DataTypes.MAP(DataTypes.STRING(), stamp),
        "o": DataTypes.ARRAY(inner),
    }
    declared = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in kinds.items()])
    for utc, clock in ((False, here), (True, time)):
        reader = ParquetColumnarRowInputFormat(declared, is_utc_timestamp=utc)
        assert [list(row) for row in drain(opened(source(reader, tmp_path)))] == [
            [
                1,
                [clock, None],
                Row(t=clock, x=1),
                {"k": clock, "l": None},
                [None, Row(t=clock, x=1)],
            ],
            [2, None, None, None, None],
            [3, [], Row(t=None, x=3), {}, []],
        ]


def test_instants_are_written_from_times_that_know_their_zone(tmp_path: Path) -> None:
    row = DataTypes.ROW([DataTypes.FIELD("at", DataTypes.TIMESTAMP_LTZ(3))])
    time = dt.datetime(2021, 3, 4, 14, 6, 7, tzinfo=ZoneInfo("Asia/Tokyo"))
    given = [Row(time), Row(Instant(1_614_834_367, 0))]
    bulk_file(ParquetBulkWriters.for_row_type(row))(tmp_path / "a", given, 2)
    found = drain(opened(source(ParquetColumnarRowInputFormat(row), tmp_path)))
    assert [r.at for r in found] == [time, time]


def test_columns_are_found_by_name_and_converted(tmp_path: Path) -> None:
    bulk_file(ParquetBulkWriters.for_row_type(ROW))(tmp_path / "a", rows(3), 10)
    some = Types.ROW_NAMED(["x", "ID"], [Types.FLOAT(), Types.INT()])
    loose = ParquetColumnarRowInputFormat(some, is_case_sensitive=False)
    assert drain(opened(source(loose, tmp_path)))[2] == Row(x=1.0, ID=2)
    with pytest.raises(HeadraceError, match=r"no column 'ID'; its columns are \['x'\]"):
        drain(opened(source(ParquetColumnarRowInputFormat(some), tmp_path)))
    wrong = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["name"], [Types.INT()]))
    with pytest.raises(HeadraceError, match="cannot be read as int32"):
        drain(opened(source(wrong, tmp_path)))


@pytest.mark.parametrize(
    "factory", [ParquetBulkWriters.for_row_type(ROW), OrcBulkWriters.for_row_type(ROW)]
)
def test_a_record_that_does_not_fit_says_so(factory: BulkWriterFactory) -> None:
    writer = factory.create(io.BytesIO())
    writer.add_element(Row(1, 2, "three"))
    with pytest.raises(TypeMismatchError, match=r"column 'name' .* to 2"):
        writer.flush()
    with pytest.raises(TypeMismatchError, match="2 fields"):
        factory.create(io.BytesIO()).add_elements([Row(1, 2)] * 10_000)


def test_avro_records_that_do_not_fit_say_so() -> None:
    writer = AvroBulkWriters.for_generic_record(AVRO).create(io.BytesIO())
    with pytest.raises(TypeMismatchError, match="Avro schema"):
        writer.add_element({"id": "one"})


@pytest.mark.parametrize(
    ("union", "values", "column"),
    [
        ('["null", "int"]', [1, None], [1, None]),
        (
            '["null", "int", "string"]',
            [1, "a", None],
            [{"member0": 1, "member1": None}, {"member0": None, "member1": "a"}, None],
        ),
        (
            '["long", {"type": "map", "values": ["boolean", "double"]}]',
            [2**40, {"k": True, "l": 0.5}],
            None,
        ),
        ('[{"type": "array", "items": ["int", "bytes"]}, "string"]', [[1, b"x"], "s"], None),
    ],
)
def test_avro_unions_are_groups_of_columns(
    union: str, values: list[Any], column: list[Any] | None, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    text = f'{{"type": "record", "name": "R", "fields": [{{"name": "u", "type": {union}}}]}}'
    schema = AvroSchema.parse_string(text)
    wanted = [{"u": value} for value in values]
    bulk_file(AvroParquetWriters.for_generic_record(schema))(tmp_path / "a", wanted, 20)
    if column is not None:
        assert pq.read_table(tmp_path / "a")["u"].to_pylist() == column
    read = source(AvroParquetReaders.for_generic_record(schema), tmp_path)
    assert drain(opened(read), 7) == wanted


def test_avro_unions_do_not_take_other_types() -> None:
    text = '{"type": "record", "name": "R", "fields": [{"name": "u", "type": ["int", "string"]}]}'
    factory = AvroParquetWriters.for_generic_record(AvroSchema.parse_string(text))
    with pytest.raises(TypeMismatchError, match="no type of the Avro union"):
        factory.create(io.BytesIO()).add_element({"u": 2**40})


def test_avro_messages() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    writer = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=text)))
    reader = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=text)))
    assert writer.serialize(Row(5)) == writer.serialize({"a": 5}) == b"\n"
    assert writer.serialize(Row(f0=5)) == b"\n"
    assert reader.deserialize(b"\n") == Row(a=5)
    for bad in (b"", b"\n\n"):
        with pytest.raises(HeadraceError, match="not Avro"):
            reader.deserialize(bad)
    with pytest.raises(TypeMismatchError):
        writer.serialize(Row("x"))
    with pytest.raises(GraphError, match="Java"):
        AvroRowSerializationSchema(record_class="org.example.Record")
    with pytest.raises(FunctionTypeError):
        AvroRowDeserializationSchema()


def test_avro_messages_with_values_of_all_kinds() -> None:
    text = """{"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "inner", "type": {"type": "record", "name": "I", "fields": [
            {"name": "y", "type": {"type": "array", "items": "double"}}]}},
        {"name": "others", "type": {"type": "array", "items": "I"}},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "raw", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "suit", "type": {"type": "enum", "name": "S", "symbols": ["A", "B"]}},
        {"name": "any", "type": ["int", "string"]}]}"""
    writer = AvroRowSerializationSchema(avro_schema_string=text)
    reader = AvroRowDeserializationSchema(avro_schema_string=text)
    inner = Types.ROW_NAMED(["y"], [Types.OBJECT_ARRAY(Types.DOUBLE())])
    assert reader.get_produced_type().get_field_types() == [
        Types.LONG(),
        Types.STRING(),
        Types.MAP(Types.STRING(), Types.INT()),
        inner,
        Types.OBJECT_ARRAY(inner),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.STRING(),
        Types.PICKLED_BYTE_ARRAY(),
    ]
    at, day = dt.datetime(2024, 1, 2, 3, 4, 5), dt.date(2024, 5, 6)
    named = Row(y=[1.5])
    rest = (day, b"ab", "B", "x")
    row = Row(7, None, {"k": 1}, Row([1.5]), [Row([2.5])], at, *rest)
    found = reader.deserialize(writer.serialize(row))
    assert list(found) == [7, None, {"k": 1}, named, [Row(y=[2.5])], at, *rest]
    assert found.get_field_names()[:4] == ["id", "name", "tags", "inner"]
    assert writer.serialize(found) == writer.serialize(row)
    looped = (
        """{"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}"""
    )
    assert AvroRowSerializationSchema(avro_schema_string=looped).serialize({"next": None})
    with pytest.raises(GraphError, match="'L' has fields of its own type"):
        AvroRowDeserializationSchema(avro_schema_string=looped)


def test_avro_schemas(tmp_path: Path) -> None:
    file = tmp_path / "a.avsc"
    file.write_text(str(AVRO))
    assert AvroSchema.parse_file(str(file)) == AVRO
    assert pickle.loads(pickle.dumps(AVRO)) == AVRO
    assert "GenericRecord" in repr(GenericRecordAvroTypeInfo(AVRO))
    with pytest.raises(GraphError, match="Could not parse Avro schema string"):
        AvroSchema.parse_string('{"type": "nonsense"}')
    with pytest.raises(GraphError, match="cannot be read"):
        AvroSchema.parse_file(str(tmp_path / "missing"))


def test_errors_while_building() -> None:
    with pytest.raises(GraphError, match="row type"):
        ParquetColumnarRowInputFormat(Types.INT())
    with pytest.raises(GraphError, match="time of day"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["t"], [Types.SQL_TIME()]))
    with pytest.raises(FunctionTypeError):
        OrcBulkWriters.for_row_type("row")
    with pytest.raises(FunctionTypeError):
        AvroParquetReaders.for_generic_record("schema")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError):
        StreamFormat.line_format("json")  # type: ignore[arg-type]
