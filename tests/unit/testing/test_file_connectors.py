"""The checks for connectors, with files of columns, hybrid sources, and tables that are files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.file_system import FileSink, FileSource
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema
from headrace.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from headrace.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import StreamTableEnvironment
from headrace.testing.connectors import check_lookup, check_sink, check_source
from headrace.testing.in_process import run_in_process
from tests.sql.test_lakehouse import append, delta, delta_options, iceberg, iceberg_options

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
AVRO = AvroSchema.parse_string(
    json.dumps(
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
        }
    )
)
ROWS = [Row(id=i, name=f"n{i}") for i in range(40)]
DICTS = [row.as_dict() for row in ROWS]


def bulk(format_: Any) -> Callable[[str], FileSource]:
    return lambda path: FileSource.for_bulk_file_format(format_, path).build()


def records(format_: Any) -> Callable[[str], FileSource]:
    return lambda path: FileSource.for_record_stream_format(format_, path).build()


@pytest.mark.parametrize(
    ("writers", "source", "values", "type_"),
    [
        (
            ParquetBulkWriters.for_row_type(ROW),
            bulk(ParquetColumnarRowInputFormat(ROW)),
            ROWS,
            ROW,
        ),
        (OrcBulkWriters.for_row_type(ROW), bulk(OrcColumnarRowInputFormat(ROW)), ROWS, ROW),
        (AvroBulkWriters.for_generic_record(AVRO), bulk(AvroInputFormat("", AVRO)), DICTS, None),
        (
            AvroParquetWriters.for_generic_record(AVRO),
            records(AvroParquetReaders.for_generic_record(AVRO)),
            DICTS,
            None,
        ),
    ],
    ids=["parquet", "orc", "avro", "avro-parquet"],
)
def test_files_of_columns_keep_the_contract(
    writers: Any, source: Callable[[str], FileSource], values: list[Any], type_: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def read() -> list[Any]:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source(str(out)), WatermarkStrategy.no_watermarks(), "read")
        return list(run_in_process(env, {"read": stream})["read"])

    check_sink(
        lambda: FileSink.for_bulk_format(str(out), writers).build(),
        values,
        type_,
        read=read,
        clear=lambda: shutil.rmtree(out, ignore_errors=True),
        parallelisms=(2,),
    )
    # What the last run has written, in several files.
    check_source(lambda: source(str(out)), values, parallelisms=(2,), epoch_records=5)


def test_hybrid_sources_keep_the_contract() -> None:
    def made() -> HybridSource:
        first = HybridSource.builder(NumberSequenceSource(0, 9))
        return first.add_source(NumberSequenceSource(10, 29)).build()

    check_source(made, list(range(30)), parallelisms=(2,))


CITIES = [(10, "Bern"), (10, "Berne"), (20, "Oslo")]
CITY_ROWS = [{"id": id_, "name": name} for id_, name in CITIES]


def declaring(options: str, id_type: str = "INT") -> Callable[[StreamTableEnvironment], str]:
    def declare(tables: StreamTableEnvironment) -> str:
        tables.execute_sql(f"CREATE TABLE cities (id {id_type}, name STRING) WITH ({options})")
        return "cities"

    return declare


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_lookups_in_files_keep_the_contract(format_: str, tmp_path: Path) -> None:
    lines = [json.dumps(c) if format_ == "json" else f"{c['id']},{c['name']}" for c in CITY_ROWS]
    (tmp_path / "cities").write_text("\n".join(lines) + "\n")
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{format_}'"
    check_lookup(declaring(options), CITY_ROWS, "id", missing=[30], parallelisms=(2,))


@pytest.mark.parametrize(("make", "options"), [(delta, delta_options), (iceberg, iceberg_options)])
def test_lookups_in_lakehouse_tables_keep_the_contract(
    make: Callable[[Path], Any], options: Callable[[Path], str], tmp_path: Path
) -> None:
    append(make(tmp_path), 1, 1, 1, 2)
    rows = [{"id": id_, "name": f"n{id_}"} for id_ in (1, 1, 2)]
    declare = declaring(options(tmp_path), "BIGINT")
    check_lookup(declare, rows, "id", missing=[3], parallelisms=(2,))
