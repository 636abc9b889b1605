"""The checks for connectors, with ours and with some that are wrong."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.base import (
    DeliveryGuarantee,
    ReadBatch,
    ReaderContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
    WriterContext,
)
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.connectors.lakehouse import (
    DeltaLakeTable,
    LakehouseSink,
    LakehouseSource,
)
from headrace.testing.connectors import check_sink, check_source

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
ROWS = [Row(i, f"n{i}") for i in range(60)]


def lines_of(directory: Path) -> list[str]:
    files = [f for f in directory.rglob("*") if f.is_file() and not f.name.startswith(".")]
    return [line for f in files for line in f.read_text().splitlines()]


def test_files_keep_the_contract(tmp_path: Path) -> None:
    lines = [f"line {i}" for i in range(40)]
    for number in range(4):
        part = lines[number * 10 : number * 10 + 10]
        (tmp_path / f"{number}.txt").write_text("\n".join(part) + "\n")
    format_ = StreamFormat.text_line_format()
    check_source(lambda: FileSource.for_record_stream_format(format_, str(tmp_path)).build(), lines)
    out = tmp_path / "out"
    check_sink(
        lambda: FileSink.for_row_format(str(out), Encoder.simple_string_encoder()).build(),
        lines,
        Types.STRING(),
        read=lambda: lines_of(out),
        clear=lambda: shutil.rmtree(out, ignore_errors=True),
    )


@pytest.mark.slow
def test_a_delta_table_keeps_the_contract(tmp_path: Path) -> None:
    table = DeltaLakeTable(str(tmp_path / "t"))

    def rows() -> list[Row]:
        batches = [b for f in table.files().files for b in table.read(f, ("id", "name"))]
        return [Row(*row.values()) for batch in batches for row in batch.to_pylist()]

    def clear() -> None:
        shutil.rmtree(table.path, ignore_errors=True)

    check_sink(lambda: LakehouseSink(table), ROWS, ROW, read=rows, clear=clear, parallelisms=(2,))
    named = [Row(id=i, name=f"n{i}") for i in range(60)]
    check_source(lambda: LakehouseSource(table), named, parallelisms=(2,), epoch_records=10)
    check_sink(
        lambda: LakehouseSink(table, keys=("id",)),
        [*ROWS, *(Row(i, "new") for i in range(30))],
        ROW,
        read=rows,
        clear=clear,
        key=lambda row: row[0],
        expected=[*(Row(i, "new") for i in range(30)), *ROWS[30:]],
        parallelisms=(2,),
    )


@dataclass(frozen=True)
class _Forgetful(Source):
    """Begins again after a failure."""

    bounded = True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([_Split()], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _ForgetfulReader()


@dataclass(frozen=True)
class _Split:
    split_id: str = "all"


class _ForgetfulReader(SourceReader):
    def __init__(self) -> None:
        self._left: list[int] = []

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._left = list(range(10)) if splits else []

    def poll(self, max_records: int) -> ReadBatch | None:
        taken, self._left = self._left[:max_records], self._left[max_records:]
        return ReadBatch("all", taken) if taken else None

    def snapshot(self) -> list[Any]:
        return [_Split()] if self._left else []

    @property
    def exhausted(self) -> bool:
        return not self._left


def test_a_source_that_reads_again_is_found() -> None:
    with pytest.raises(AssertionError, match=r"with failures between epochs.*too many"):
        check_source(_Forgetful, list(range(10)))


_written: list[Any] = []


class _Hasty(Sink):
    """Writes at once, whatever becomes of the checkpoint."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _HastyWriter()


class _HastyWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        _written.extend(values)


def test_a_sink_that_does_not_wait_is_found() -> None:
    records, how = list(range(40)), {"read": lambda: _written, "clear": _written.clear}
    with pytest.raises(AssertionError, match=r"done again.*too many"):
        check_sink(_Hasty, records, Types.LONG(), **how)  # type: ignore[arg-type]
    check_sink(
        _Hasty,
        records,
        Types.LONG(),
        read=lambda: _written,
        clear=_written.clear,
        guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
    )
