"""What cannot be read in a file goes to the side output of `on_error`, once, with its error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DeadLetter
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.formats.avro import AvroInputFormat, AvroSchema
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from tests.unit.datastream.connectors.reading import FakeReaderContext, drain, opened, resumed

FAILED = OutputTag("failed")
SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'


def text_source(path: Path) -> Source:
    path.write_bytes(b"1\n2\xff\n3\r\n\xfe")
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()


def json_source(path: Path) -> Source:
    path.write_bytes(b'{"id": 1}\n{"id":\n\n{"id": 2}\n{"id": "x"}\n')
    row = Types.ROW_NAMED(["id"], [Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(row).build()
    return FileSource.for_record_stream_format(StreamFormat.line_format(schema), str(path)).build()


def csv_source(path: Path) -> Source:
    path.write_bytes(b'1,a\nx,b\n2,\xff\n"3",c\n4\n' + b"5" * 200_000 + b",d\n6,e\n")
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
    return FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(schema), str(path)
    ).build()


def avro_source(path: Path) -> Source:
    """Three blocks, of which the second is damaged."""
    fastavro = pytest.importorskip("fastavro", reason="pip install 'headrace[avro]'")
    schema = AvroSchema.parse_string(SCHEMA)
    with path.open("wb") as file:
        writer = fastavro.write.Writer(file, schema.parsed, codec="deflate")
        ends = []
        for start in (0, 100, 200):
            for number in range(start, start + 100):
                writer.write({"id": number})
            writer.flush()
            ends.append(file.tell())
    data = bytearray(path.read_bytes())
    middle = ends[0] + (ends[1] - ends[0]) // 2
    data[middle - 10 : middle] = b"\xff" * 10
    path.write_bytes(data)
    return FileSource.for_bulk_file_format(AvroInputFormat(str(path), schema), str(path)).build()


CASES: dict[str, tuple[Any, list[Any], int]] = {
    "text": (text_source, ["1", "3"], 2),
    "json": (json_source, [1, 2], 2),
    "csv": (csv_source, [1, 3, 6], 4),
    "avro": (avro_source, [*range(100), *range(200, 300)], 1),
}


def ids(records: list[Any]) -> list[Any]:
    return [r if isinstance(r, str) else r["id"] for r in records]


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    make, good, bad = CASES[request.param]
    return make(tmp_path / "damaged"), good, bad


def run(source: Source, tag: OutputTag | None) -> dict[str, list[Any]]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    if tag is None:
        return run_in_process(env, {"good": stream})
    stream = stream.on_error(tag)
    return run_in_process(env, {"good": stream, "bad": stream.get_side_output(tag)})


def test_the_rest_of_the_file_is_read(case: Any) -> None:
    source, good, bad = case
    result = run(source, FAILED)
    assert ids(result["good"]) == good
    letters: list[DeadLetter] = result["bad"]
    assert len(letters) == bad
    assert all(letter.operator == "Source: files" for letter in letters)
    assert all(letter.where == "deserialization" for letter in letters)


def test_without_on_error_the_job_fails_and_names_the_file(case: Any) -> None:
    source, _, _ = case
    with pytest.raises(JobExecutionError, match="damaged"):
        run(source, None)


def test_a_letter_has_what_was_there_and_the_place(tmp_path: Path) -> None:
    first, second = run(json_source(tmp_path / "lines"), FAILED)["bad"]
    assert (first.record, second.record) == (b'{"id":', b'{"id": "x"}')
    assert f"{tmp_path / 'lines'}, before byte " in first.message
    first, second = run(text_source(tmp_path / "text"), FAILED)["bad"]
    assert (first.record, second.record) == (b"2\xff", b"\xfe")
    assert "at byte 3 " in first.message
    assert "at byte 8 " in second.message


class Keeping(FakeReaderContext):
    """A context that wants what cannot be read."""

    def __init__(self, kept: list[Any]) -> None:
        super().__init__()
        self.kept = kept

    finds_idleness = False

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        self.kept.append(record)
        return True


def test_nothing_is_set_aside_twice_wherever_reading_resumes(case: Any) -> None:
    source, good, bad = case
    for cut in range(0, len(good) + 1, max(1, len(good) // 10)):
        kept: list[Any] = []
        reader = opened(source, Keeping(kept))
        read: list[Any] = []
        while len(read) < cut:
            batch = reader.poll(1)
            assert batch is not None
            read += batch.values
        other = resumed(source, reader, Keeping(kept))
        assert ids(read + drain(other, 3)) == good
        assert len(kept) == bad
