"""Files of an object store as source and sink; here it is one in memory, which fsspec has."""

from __future__ import annotations

import gzip
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError, GraphError, HeadraceError, JobExecutionError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    StreamFormat,
)
from headrace.datastream.connectors.file_system.file_writer import FileCommitter
from headrace.datastream.connectors.file_system.part_file import PendingFile
from headrace.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.runtime.storage import Storages, join
from headrace.testing import run_in_process
from tests.unit.datastream.connectors.reading import drain, opened, resumed

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
_numbers = itertools.count(1)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A directory of the store, for one test; what is on its way must not stay behind."""
    pytest.importorskip("fsspec", reason="pip install 'headrace[s3]'")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield f"memory://test-{next(_numbers)}"
    assert list(tmp_path.iterdir()) == []


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def put(path: str, data: bytes) -> None:
    Storages().of(path).write(path, data)


def names(place: str) -> list[str]:
    return [path[len(place) + 1 :] for path in Storages().of(place).files(place)]


def lines_of(place: str) -> list[str]:
    storage = Storages().of(place)
    return [x for path in storage.files(place) for x in storage.read(path).decode().splitlines()]


def lines_source(*paths: str) -> Source:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths)
    return builder.build().for_configuration(Configuration())


def run(source: Source, **how: Any) -> list[Any]:
    env = environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    return run_in_process(env, {"rows": stream}, **how)["rows"]


def test_files_below_a_directory_are_read_but_for_hidden_ones(place: str) -> None:
    put(join(place, "a.txt"), b"1\n2\n")
    put(join(place, "deep/er/b.txt.gz"), gzip.compress(b"3\n"))
    for hidden in ("_not/c.txt", "deep/.not"):
        put(join(place, hidden), b"no\n")
    assert sorted(run(lines_source(place))) == ["1", "2", "3"]
    assert run(lines_source(join(place, "a.txt"))) == ["1", "2"]


def test_reading_resumes_at_the_record(place: str) -> None:
    for name in "ab":
        put(join(place, name), b"".join(b"%s %d\n" % (name.encode(), i) for i in range(50)))
    source = lines_source(place)
    expected = [f"{name} {i}" for name in "ab" for i in range(50)]
    for cut in (1, 49, 50, 51, 99):
        reader = opened(source)
        read: list[Any] = []
        while len(read) < cut:
            batch = reader.poll(cut - len(read))
            assert batch is not None
            read += batch.values
        after = resumed(source, reader)
        reader.close()
        assert read + drain(after, 7) == expected
        after.close()


def test_new_files_are_found(place: str) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), place)
    source = builder.monitor_continuously(10).build().for_configuration(Configuration())
    enumerator = source.create_enumerator(1)
    assert enumerator.discover(0) == {}
    put(join(place, "a"), b"1\n")
    assert [s.path for s in enumerator.discover(10)[0]] == [join(place, "a")]
    put(join(place, "b"), b"2\n")
    assert [s.path for s in enumerator.discover(20)[0]] == [join(place, "b")]


def test_errors_and_dead_letters_name_the_file_in_the_store(place: str) -> None:
    put(join(place, "bad"), b"1\n\xff\n")
    with pytest.raises(JobExecutionError, match=rf"{place}/bad is not text"):
        run(lines_source(place))
    env, failed = environment(), OutputTag("failed")
    stream = env.from_source(lines_source(place), WatermarkStrategy.no_watermarks(), "files")
    stream = stream.on_error(failed)
    result = run_in_process(env, {"good": stream, "bad": stream.get_side_output(failed)})
    assert result["good"] == ["1"]
    assert f"{place}/bad is not text" in result["bad"][0].message
    with pytest.raises(HeadraceError, match=f"found no file or directory at {place}/gone"):
        run(lines_source(join(place, "gone")))


@pytest.mark.parametrize("restore_after", [(), range(1, 30, 2)])
def test_lines_are_written_once(place: str, restore_after: Any) -> None:
    env = environment()
    sink = FileSink.for_row_format(place, Encoder.simple_string_encoder())
    env.from_collection(list(range(300)), Types.INT()).rebalance().sink_to(sink.build())
    run_in_process(env, epoch_records=20, restore_after=restore_after)
    assert sorted(map(int, lines_of(place))) == list(range(300))
    assert not [name for name in names(place) if "/." in name]


def test_parquet_there_and_back(place: str) -> None:
    env = environment()
    rows = [Row(id=i, name=f"n{i}") for i in range(40)]
    sink = FileSink.for_bulk_format(place, ParquetBulkWriters.for_row_type(ROW))
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    env.from_collection(rows, ROW).sink_to(sink.build())
    run_in_process(env, epoch_records=10, restore_after=[2])
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), place).build()
    assert sorted(run(source), key=lambda row: row.id) == rows


def test_a_commit_may_be_repeated_wherever_it_was_broken_off(place: str) -> None:
    hidden, final = join(place, ".part-0"), join(place, "part-0")
    pending, committer = PendingFile(hidden, final), FileCommitter(Storages())
    put(hidden, b"1\n")
    put(final, b"1\n")  # Copied, but what it was copied from is still there.
    committer.commit([pending])
    committer.commit([pending])
    assert names(place) == ["part-0"]
    Storages().of(final).delete(final)
    with pytest.raises(Exception, match="lost a file"):
        committer.commit([pending])


def test_errors_while_building(place: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no file system for teapot://"):
        FileSink.for_row_format("teapot://a/b", Encoder.simple_string_encoder())
    with pytest.raises(ConfigurationError, match="there is no file system for teapot://"):
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), "teapot://a/b")
    builder = FileSink.for_row_format(place, Encoder.simple_string_encoder())
    with pytest.raises(GraphError, match="cannot be merged"):
        builder.enable_compact(FileCompactStrategy(1), FileCompactor.concat_file_compactor())
