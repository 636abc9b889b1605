from __future__ import annotations

import bz2
import gzip
import lzma
import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.file_system import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
    StreamFormat,
)
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import TextLineFormat
from headrace.datastream.connectors.file_system.text_reader import LineChunks
from tests.unit.datastream.connectors.reading import (
    FakeReaderContext,
    drain,
    opened,
    read_all,
    resumed,
)


def text_source(*paths: str | Path, charset: str = "UTF-8") -> FileSource:
    text = StreamFormat.text_line_format(charset)
    return FileSource.for_record_stream_format(text, *map(str, paths)).build()


def lines_of(data: bytes) -> list[str]:
    """What Java's readLine would give."""
    text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n")


def test_lines_of_all_files_below_a_directory_but_hidden_ones(tmp_path: Path) -> None:
    for name, text in {
        "b.txt": "b1\nb2",
        "a.txt": "a1\r\n\r\na2\n",
        "sub/c.txt": "c\n",
        ".hidden": "no\n",
        "_SUCCESS": "no\n",
        "_sub/d.txt": "no\n",
        "empty": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, newline="")
    assert read_all(text_source(tmp_path)) == [["a1", "", "a2", "b1", "b2", "c"]]


def test_files_are_dealt_out_to_subtasks(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}").write_text(f"{i}\n")
    assert read_all(text_source(tmp_path), 2) == [["0", "2", "4"], ["1", "3"]]


def test_several_paths_and_uris(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("1\n")
    (tmp_path / "c").write_text("2\n")
    source = text_source(f"file://{tmp_path}/a%20b", tmp_path / "c")
    assert read_all(source) == [["1", "2"]]


def test_relative_paths_mean_those_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    source = text_source("x")
    monkeypatch.chdir("/")
    assert read_all(source) == [["1"]]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_files(tmp_path: Path, suffix: str, compress: object) -> None:
    lines = [f"line {i}" for i in range(50_000)]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(compress("\n".join(lines).encode()))  # type: ignore[operator]
    source = text_source(path)
    reader = opened(source)
    first = reader.poll(1234)
    assert first is not None
    assert first.values + drain(resumed(source, reader)) == lines


def test_a_broken_or_unknown_compressed_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    (tmp_path / "b.zst").write_bytes(b"x")
    with pytest.raises(HeadraceError, match=r"a\.gz cannot be read"):
        read_all(text_source(tmp_path / "a.gz"))
    with pytest.raises(HeadraceError, match=r"b\.zst is compressed as \.zst"):
        read_all(text_source(tmp_path / "b.zst"))


@pytest.mark.parametrize("charset", ["UTF-16", "utf-16-be", "UTF-32", "ISO-8859-1", "cp037", "gbk"])
def test_other_character_sets(tmp_path: Path, charset: str) -> None:
    lines = [f"{i} ä" if charset != "gbk" else f"{i} 中\u4e0a" for i in range(20_000)]
    (tmp_path / "x").write_bytes("".join(f"{line}\n" for line in lines).encode(charset))
    source = text_source(tmp_path / "x", charset=charset)
    assert read_all(source) == [lines]
    reader = opened(source)
    first = reader.poll(777)
    assert first is not None
    assert first.values + drain(resumed(source, reader)) == lines


def test_what_cannot_be_decoded_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"fine\n\xe4\n")
    with pytest.raises(HeadraceError, match=r"/x is not text in utf-8 at byte 5 .*ISO-8859-1"):
        read_all(text_source(tmp_path / "x"))


PIECES = [b"\n", b"\r", b"\r\n", b"a", b"\xc3\xbc", b"long"]


@given(
    data=st.lists(st.sampled_from(PIECES), max_size=40),
    step=st.integers(1, 30),
    chunk=st.integers(1, 12),
    take=st.integers(1, 5),
    resume=st.booleans(),
)
def test_any_cut_into_splits_and_any_pause_give_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory,
    data: list[bytes],
    step: int,
    chunk: int,
    take: int,
    resume: bool,
) -> None:
    content = b"".join(data)
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(content)
    starts = list(range(0, max(len(content), 1), step))
    text = TextLineFormat("utf-8")
    read: list[str] = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        reader = LineChunks(FileSplit(str(start), str(path), start, end), text, chunk)
        while lines := reader.take(take):
            read += lines
            if resume:
                split = reader.snapshot()
                reader.close()
                reader = LineChunks(split, text, chunk)
        reader.close()
    assert read == lines_of(content)


def test_a_large_file_is_read_by_several_subtasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {i}" for i in range(10_000)]
    (tmp_path / "x").write_text("\n".join(lines))
    builder = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "x")
    ).set_file_enumerator(FileEnumeratorProvider(10_000))
    first, second = read_all(builder.build(), 2)
    assert len(first) > 3000
    assert len(second) > 3000
    assert sorted(first + second) == sorted(lines)
    whole = builder.set_file_enumerator(
        FileEnumeratorProvider.default_non_splittable_file_enumerator()
    ).set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    assert [len(part) for part in read_all(whole.build(), 2)] == [10_000, 0]


@pytest.mark.parametrize("sizes", [(150, 150, 150, 150), (90, 30, 30, 30), (110, 10, 100, 90)])
def test_every_subtask_gets_as_many_bytes(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    for number, size in enumerate(sizes):
        (tmp_path / f"{number}").write_text("123456789\n" * size)
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        .set_file_enumerator(FileEnumeratorProvider(1_000))
        .build()
    )
    first, second = map(len, read_all(source, 2))
    assert first + second == sum(sizes)
    assert abs(first - second) <= 10


def test_a_directory_is_watched_and_each_file_read_once(tmp_path: Path) -> None:
    source = (
        FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "not there yet")
        )
        .monitor_continuously(timedelta(seconds=2))
        .build()
    )
    assert not source.bounded
    enumerator = source.create_enumerator(2)
    assert enumerator.discover(0) == {}
    assert enumerator.next_discovery(0) == 2000
    (tmp_path / "not there yet").mkdir()
    (tmp_path / "not there yet" / "a").write_text("1\n")
    assert enumerator.discover(1999) == {}
    assert list(enumerator.discover(2000)) == [0]
    (tmp_path / "not there yet" / "b").write_text("1\n")
    restored = source.create_enumerator(2)
    restored.restore(enumerator.snapshot())
    found = restored.discover(4000)
    assert [os.path.basename(s.path) for s in found[1]] == ["b"]
    assert not restored.finished


def test_a_static_set_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    source = text_source(tmp_path)
    assert source.bounded
    assert source.produced_type == Types.STRING()
    enumerator = source.create_enumerator(1)
    assert not enumerator.finished
    assert len(enumerator.discover(0)[0]) == 1
    assert enumerator.finished
    assert enumerator.discover(1) == {}
    assert enumerator.next_discovery(1) is None


def test_errors_while_building(tmp_path: Path) -> None:
    text = StreamFormat.text_line_format()
    with pytest.raises(GraphError, match="no file or directory"):
        text_source(tmp_path / "missing")
    with pytest.raises(GraphError, match="character set"):
        StreamFormat.text_line_format("klingon")
    with pytest.raises(GraphError, match="paths must not be empty"):
        FileSource.for_record_stream_format(text)
    with pytest.raises(FunctionTypeError):
        FileSource.for_record_stream_format("text", str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="BulkFormat"):
        FileSource.for_bulk_file_format(text, str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="discoveryInterval must be > 0"):
        FileSource.for_record_stream_format(text, str(tmp_path)).monitor_continuously(0)


def test_a_file_that_vanished_is_an_error_when_the_job_runs(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    source = text_source(tmp_path / "a")
    splits = source.create_enumerator(1).discover(0)[0]
    (tmp_path / "a").unlink()
    reader = source.create_reader(FakeReaderContext())
    reader.add_splits(splits)
    with pytest.raises(HeadraceError, match="No such file"):
        reader.poll(1)
    with pytest.raises(HeadraceError, match="found no file"):
        source.create_enumerator(1).discover(0)
