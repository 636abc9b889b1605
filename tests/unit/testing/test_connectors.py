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
    Committer,
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
from headrace.datastream.connectors.collection import CollectionSource
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.connectors.lakehouse import (
    DeltaLakeTable,
    IcebergTable,
    LakehouseSink,
    LakehouseSource,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.sql.catalog import CatalogStore, InMemoryCatalog, TableEntry
from headrace.table import DataTypes, LookupTableSource, Schema, StreamTableEnvironment
from headrace.testing.connectors import check_catalog, check_lookup, check_sink, check_source

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


def test_lines_that_cannot_be_read_keep_the_contract(tmp_path: Path) -> None:
    for name, lines in {"a": ["1,x", "2,y,?", "3,y"], "b": ["none,z", "4,v"]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    columns = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
    format_ = CsvReaderFormat.for_schema(columns)
    check_source(
        lambda: FileSource.for_record_stream_format(format_, str(tmp_path)).build(),
        [Row(id=1, name="x"), Row(id=3, name="y"), Row(id=4, name="v")],
        bad=[["2", "y", "?"], ["none", "z"]],
        epoch_records=1,
    )


def test_generators_keep_the_contract() -> None:
    numbers = list(range(40))
    check_source(lambda: NumberSequenceSource(0, 39), numbers)
    check_source(lambda: CollectionSource.of(numbers), numbers)
    check_source(lambda: DataGeneratorSource(lambda i: i, 40), numbers)
    rate = RateLimiterStrategy.per_second(2_000)
    check_source(lambda: DataGeneratorSource(lambda i: i, 40, rate), numbers, parallelisms=(2,))


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


@pytest.mark.slow
def test_an_iceberg_table_keeps_the_contract(tmp_path: Path) -> None:
    names = iter(range(100))
    table = [IcebergTable("shop.t", {})]

    def clear() -> None:
        folder = tmp_path / str(next(names))
        folder.mkdir()
        properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/warehouse",
        }
        table[0] = IcebergTable("shop.t", properties)

    def rows() -> list[Row]:
        found = table[0]
        batches = [b for f in found.files().files for b in found.read(f, ("id", "name"))]
        return [Row(*row.values()) for batch in batches for row in batch.to_pylist()]

    how: Any = {"read": rows, "clear": clear, "parallelisms": (2,), "epoch_records": 12}
    check_sink(lambda: LakehouseSink(table[0]), ROWS, ROW, **how)
    named = [Row(id=i, name=f"n{i}") for i in range(60)]
    check_source(lambda: LakehouseSource(table[0]), named, parallelisms=(2,), epoch_records=20)


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


@dataclass(frozen=True)
class _Lines(Source):
    """Numbers as texts, without an end."""

    lines: tuple[str, ...]
    skips: bool = False
    bounded = False

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([_At(0)], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _LineReader(self, context)


@dataclass(frozen=True)
class _At:
    position: int
    split_id: str = "lines"


class _LineReader(SourceReader):
    def __init__(self, source: _Lines, context: ReaderContext) -> None:
        self._source, self._context = source, context
        self._at: list[_At] = []

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._at += splits

    def poll(self, max_records: int) -> ReadBatch | None:
        if not self._at:
            return None
        start = self._at[0].position
        lines = self._source.lines[start : start + max_records]
        self._at = [_At(start + len(lines))]
        values = [number for line in lines for number in self._parsed(line)]
        return ReadBatch("lines", values) if lines else None

    def _parsed(self, line: str) -> list[int]:
        try:
            return [int(line)]
        except ValueError as error:
            if not self._source.skips and not self._context.set_aside(line, error):
                raise
            return []

    def snapshot(self) -> list[Any]:
        return self._at

    @property
    def exhausted(self) -> bool:
        return False


LINES = ("1", "2", "x", "3", "4", "5", "y")


def test_a_source_without_an_end_is_stopped_when_all_has_come() -> None:
    check_source(lambda: _Lines(LINES), [1, 2, 3, 4, 5], bad=["x", "y"])
    with pytest.raises(
        AssertionError, match=r"without a failure.*1 records are missing, such as 6"
    ):
        check_source(lambda: _Lines(LINES[:2]), [1, 2, 6], patience_s=0.1)
    with pytest.raises(AssertionError, match=r"without a failure.*1 records are too many"):
        check_source(lambda: _Lines(LINES[:2]), [1])


def test_a_source_that_passes_over_what_it_cannot_read_is_found() -> None:
    with pytest.raises(
        AssertionError, match=r"of those that cannot be read: 2 records are missing"
    ):
        check_source(lambda: _Lines(LINES, True), [1, 2, 3, 4, 5], bad=["x", "y"], patience_s=0.1)


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


class _Committing(_Hasty):
    """Writes with each commit, also if that was done before."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _HoldingWriter()

    def create_committer(self, context: WriterContext) -> Committer:
        return _ForgetfulCommitter()


class _HoldingWriter(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values += values

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        held, self._values = self._values, []
        return held


class _ForgetfulCommitter(Committer):
    def commit(self, committables: list[Any]) -> None:
        _written.extend(committables)


def test_a_sink_that_commits_twice_is_found() -> None:
    with pytest.raises(AssertionError, match=r"with failures between epochs.*too many"):
        check_sink(
            _Committing,
            list(range(40)),
            Types.LONG(),
            read=lambda: _written,
            clear=_written.clear,
        )


class _Choosy(_Hasty):
    """Takes small numbers."""

    def __init__(self, tells: bool) -> None:
        self._tells = tells

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ChoosyWriter(self._tells)


class _ChoosyWriter(SinkWriter):
    def __init__(self, tells: bool) -> None:
        self._tells = tells

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if self._tells and max(values) > 1_000:
            raise ValueError("too large")
        _written.extend(value for value in values if value <= 1_000)


@pytest.mark.parametrize("tells", [True, False])
def test_a_sink_says_what_it_does_not_take(tells: bool) -> None:
    def check() -> None:
        check_sink(
            lambda: _Choosy(tells),
            list(range(40)),
            Types.LONG(),
            read=lambda: _written,
            clear=_written.clear,
            bad=1_001,
            guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
            parallelisms=(1,),
        )

    if tells:
        check()
    else:
        with pytest.raises(AssertionError, match="1001 cannot be written, but the job goes on"):
            check()


class _RefusingLate(_Committing):
    """Looks at what it is given when it commits."""

    def create_committer(self, context: WriterContext) -> Committer:
        return _RefusingCommitter()


class _RefusingCommitter(Committer):
    def commit(self, committables: list[Any]) -> None:
        if max(committables) > 1_000:
            raise ValueError("too large")
        _written.extend(c for c in committables if c not in _written)


def test_a_sink_may_refuse_a_record_when_it_commits() -> None:
    check_sink(
        _RefusingLate,
        list(range(40)),
        Types.LONG(),
        read=lambda: _written,
        clear=_written.clear,
        bad=1_001,
        parallelisms=(1,),
    )


CITIES = [(10, "Bern"), (10, "Berne"), (20, "Oslo")]


class _Cities(LookupTableSource):
    keys_per_call = 2

    def lookup(self, keys: list[Row]) -> Any:
        return [city for city in CITIES if Row(id=city[0]) in keys]


class _CitiesLater(LookupTableSource):
    async def lookup(self, keys: list[Row]) -> Any:  # type: ignore[override]
        return _Cities().lookup(keys)


class _OneCity(_Cities):
    """Has one row for each key."""

    def lookup(self, keys: list[Row]) -> Any:
        return dict(super().lookup(keys)).items()


class _FirstKey(_Cities):
    """Forgets all keys of a call but one."""

    def lookup(self, keys: list[Row]) -> Any:
        return super().lookup(keys[:1])


def check_cities(source: type[LookupTableSource]) -> None:
    columns = Schema.new_builder().column("id", DataTypes.INT()).column("name", DataTypes.STRING())

    def declare(tables: StreamTableEnvironment) -> str:
        tables.create_temporary_lookup_table("cities", columns.build(), source())
        return "cities"

    rows = [{"id": id_, "name": name} for id_, name in CITIES]
    check_lookup(declare, rows, "id", missing=[30])


@pytest.mark.parametrize("source", [_Cities, _CitiesLater])
def test_lookups_keep_the_contract(source: type[LookupTableSource]) -> None:
    check_cities(source)


@pytest.mark.parametrize("source", [_OneCity, _FirstKey])
def test_a_lookup_that_forgets_rows_is_found(source: type[LookupTableSource]) -> None:
    with pytest.raises(AssertionError, match=r"without a failure.*missing"):
        check_cities(source)


class _Shop(InMemoryCatalog):
    def __init__(self) -> None:
        super().__init__("mine", "shop")
        for name in ("orders", "items"):
            super().create_table("shop", name, TableEntry(columns=()), False)


def _the_same(catalog: CatalogStore) -> Any:
    return lambda: catalog


def test_a_catalog_keeps_the_contract() -> None:
    check_catalog(_the_same(_Shop()), {"shop": ["orders", "items"]})
    with pytest.raises(AssertionError, match=r"list_tables\('shop'\) is \['items', 'orders'\]"):
        check_catalog(_the_same(_Shop()), {"shop": ["orders"]})
    # Two that do not see what the other does.
    with pytest.raises(AssertionError, match="a table that was created is not found"):
        check_catalog(_Shop, {"shop": ["orders", "items"]})


class _ReadOnly(_Shop):
    def create_table(self, *args: Any, **kwargs: Any) -> bool:
        return CatalogStore.create_table(self, *args, **kwargs)


class _Overwriting(_Shop):
    def create_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_exists: bool
    ) -> bool:
        self.drop_table(database, name, True)
        return super().create_table(database, name, entry, ignore_if_exists)


class _Inventing(_Shop):
    def find_table(self, database: str, name: str) -> TableEntry | None:
        return super().find_table(database, "orders")


def test_a_catalog_that_refuses_changes_keeps_the_contract() -> None:
    check_catalog(_ReadOnly, {"shop": ["orders", "items"]})


@pytest.mark.parametrize(
    ("catalog", "what"),
    [(_Overwriting, "has created a table that was there"), (_Inventing, "finds what is not there")],
)
def test_a_catalog_that_does_something_else_is_found(catalog: type[_Shop], what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        check_catalog(_the_same(catalog()), {"shop": ["orders", "items"]})
