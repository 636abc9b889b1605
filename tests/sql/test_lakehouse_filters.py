"""Conditions leave out only files of a lakehouse that certainly have no row of the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace.datastream.connectors.lakehouse import AsOf, IcebergTable, LakeTable
from headrace.datastream.connectors.lakehouse.table import Batch, ColumnBound
from headrace.sql import types as t
from headrace.sql.connectors.lake_conditions import keeps_values
from tests.sql.sessions import LocalSession
from tests.sql.test_lakehouse import delta, delta_options, iceberg, iceberg_options

BOTH = pytest.mark.parametrize("make", [delta, iceberg])


def written(table: LakeTable, columns: pa.Schema, *files: dict[str, Any]) -> LakeTable:
    """A table with a file for each of some rows."""
    table.create(columns, ())
    for number, row in enumerate(files):
        table.append(Batch("job", number), ds.dataset(pa.Table.from_pylist([row], columns)))
    return table


def found(table: LakeTable, path: Path, columns: str, condition: str, more: str = "") -> list[int]:
    make = iceberg_options if isinstance(table, IcebergTable) else delta_options
    session = LocalSession(batch=True)
    session.execute(f"CREATE TABLE t ({columns}) WITH ({make(path)}{more})")
    rows = session.query(f"SELECT id FROM t WHERE {condition}").rows
    return sorted(row[0] for _, row in rows)


@BOTH
def test_whole_numbers_are_compared_with_fractions(make: Any, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int32())])
    table = written(make(tmp_path), columns, *({"id": i} for i in (1, 2, 3, 4)))
    expected = {
        "id < 2.5": [1, 2],
        "id > 3.5": [4],
        "id IN (2.5, 3)": [3],
        "id > 3.5E0": [4],
        "id < 99999999999": [1, 2, 3, 4],
    }
    for condition, ids in expected.items():
        assert found(table, tmp_path, "id INT", condition) == ids, condition
    # So it is where a program gives the bounds itself.
    assert len(table.files([ColumnBound("id", "<", (Decimal("2.5"),))]).files) >= 2


_NULLS = {"b IS NULL": [2, 4], "b = 5": [1, 3], "b IS NOT NULL": [1, 3], "id > 2 AND b = 5": [3]}


def test_files_of_delta_without_statistics_may_have_any_rows(tmp_path: Path) -> None:
    place, columns = tmp_path / "orders", pa.schema([("id", pa.int64()), ("b", pa.int64())])
    indexed = "delta.dataSkippingNumIndexedCols"
    first = pa.table({"id": [1, 2], "b": [5, None]}, columns)
    write_deltalake(place, first, configuration={indexed: "1"})
    DeltaTable(place).alter.set_table_properties({indexed: "32"})
    write_deltalake(place, pa.table({"id": [3, 4], "b": [5, None]}, columns), mode="append")
    table = delta(tmp_path)
    for condition, ids in _NULLS.items():
        assert found(table, tmp_path, "id BIGINT, b BIGINT", condition) == ids, condition
    assert len(table.files([ColumnBound("b", "=", (9,))]).files) == 1
    assert len(table.files([ColumnBound("id", ">", (2,))]).files) == 1


@BOTH
def test_files_that_are_older_than_a_column_have_nulls(make: Any, tmp_path: Path) -> None:
    old, new = pa.schema([("id", pa.int64())]), pa.schema([("id", pa.int64()), ("b", pa.int64())])
    table = written(make(tmp_path), old, {"id": 1})
    rows = pa.table({"id": [2, 3], "b": [5, 6]}, new)
    if isinstance(table, IcebergTable):
        with table._open().update_schema() as schema:
            schema.union_by_name(new)
        table.append(Batch("job", 1), ds.dataset(rows))
    else:
        write_deltalake(tmp_path / "orders", rows, mode="append", schema_mode="merge")
    for condition, ids in {"b IS NULL": [1], "b > 5": [3], "b IS NOT NULL": [2, 3]}.items():
        assert found(table, tmp_path, "id BIGINT, b BIGINT", condition) == ids, condition


def test_partitions_of_delta_are_left_out(tmp_path: Path) -> None:
    table = delta(tmp_path)
    columns = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table.create(columns, ("p",))
    values = ["a b/%", "a", None]
    data = pa.table({"id": [0, 1, 2], "p": values}, columns)
    table.append(Batch("job", 0), ds.dataset(data))
    for number, value in enumerate(values):
        bound = ColumnBound("p", "IS NULL") if value is None else ColumnBound("p", "=", (value,))
        [file] = table.files([bound]).files
        assert file.size
        [batch] = table.read(file, ["id"])
        assert batch.to_pydict() == {"id": [number]}


@BOTH
def test_decimals_of_many_digits_are_found(make: Any, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("d", pa.decimal128(30, 10))])
    values = [Decimal("12345678901234567890.1234567891"), Decimal("-0.1000000001")]
    files = [{"id": i, "d": value} for i, value in enumerate(values)]
    table = written(make(tmp_path), columns, *files)
    for i, value in enumerate(values):
        assert found(table, tmp_path, "id BIGINT, d DECIMAL(30, 10)", f"d = {value}") == [i]
        assert found(table, tmp_path, "id BIGINT, d DECIMAL(30, 10)", f"d >= {value}") == [
            j for j in (0, 1) if values[j] >= value
        ]
    condition = "d < 99999999999999999999999999999.5"
    assert found(table, tmp_path, "id BIGINT, d DECIMAL(30, 10)", condition) == [0, 1]


@BOTH
def test_values_that_are_rounded_when_they_are_read_are_found(make: Any, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("d", pa.decimal128(10, 4))])
    table = written(make(tmp_path), columns, {"id": 1, "d": Decimal("1.2345")})
    for condition in ("d = 1.23", "d < 1.234", "d IN (1.23, 9)"):
        assert found(table, tmp_path, "id BIGINT, d DECIMAL(10, 2)", condition) == [1], condition


def test_only_columns_whose_values_stay_the_same_leave_out_files() -> None:
    micros, moments = pa.timestamp("us"), pa.timestamp("us", "UTC")
    same: Sequence[tuple[pa.DataType, t.DataType]] = [
        (pa.int32(), t.BigIntType()),
        (pa.decimal128(10, 2), t.DecimalType(12, 4)),
        (pa.string(), t.VarCharType(3)),
        (micros, t.TimestampType(3)),
        (moments, t.LocalZonedTimestampType(6)),
        (pa.float32(), t.DoubleType()),
        (pa.date32(), t.DateType()),
    ]
    other: Sequence[tuple[pa.DataType, t.DataType]] = [
        (pa.int64(), t.IntType()),
        (pa.decimal128(10, 4), t.DecimalType(10, 2)),
        (pa.decimal128(12, 2), t.DecimalType(10, 2)),
        (pa.string(), t.CharType(3)),
        (micros, t.TimestampType(0)),
        (pa.float64(), t.FloatType()),
        (micros, t.DateType()),
        (pa.float64(), t.BigIntType()),
        (pa.string(), t.IntType()),
    ]
    assert [pair for pair in same if not keeps_values(*pair)] == []
    assert [pair for pair in other if keeps_values(*pair)] == []


@BOTH
def test_values_that_no_file_has_are_no_error(make: Any, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("at", pa.timestamp("us"))])
    row = {"id": 1, "x": 1.5, "at": datetime(1, 1, 1)}
    table = written(make(tmp_path), columns, row)
    declared = "id BIGINT, x DOUBLE, `at` TIMESTAMP(6)"
    expected = {
        "id < CAST('NaN' AS DOUBLE)": [],
        "`at` = TIMESTAMP '0001-01-01 00:00:00'": [1],
        "`at` <= TIMESTAMP '9999-12-31 23:59:59.9999'": [1],
    }
    for condition, ids in expected.items():
        assert found(table, tmp_path, declared, condition) == ids, condition
    for name in ("id", "x"):
        assert len(table.files([ColumnBound(name, "<", (float("nan"),))]).files) == 1


def renamed(table: IcebergTable, *names: tuple[str, str]) -> None:
    for old, new in names:
        with table._open().update_schema() as schema:
            schema.rename_column(old, new)


@pytest.fixture
def old(tmp_path: Path) -> tuple[IcebergTable, str]:
    """A table of Iceberg, and the option for how it was at first."""
    table = iceberg(tmp_path)
    columns = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    written(table, columns, {"id": 1, "a": 5, "b": 6}, {"id": 2, "a": 7, "b": 8})
    return table, f", 'snapshot-id' = '{table.files().version}'"


def test_columns_that_have_another_name_today_are_found(
    old: tuple[IcebergTable, str], tmp_path: Path
) -> None:
    table, option = old
    declared = "id BIGINT, a BIGINT, b BIGINT"
    renamed(table, ("a", "c"))
    assert found(table, tmp_path, declared, "a = 5", option) == [1]
    renamed(table, ("b", "a"), ("c", "b"))
    assert found(table, tmp_path, declared, "a = 5", option) == [1]
    then = replace(table, at=AsOf(table.files().version))
    assert len(then.files([ColumnBound("a", "=", (5,))]).files) == 1
    with table._open().update_schema() as schema:
        schema.delete_column("b")
    assert found(table, tmp_path, declared, "a = 5", option) == [1]
    with table._open().update_schema() as schema:
        schema.union_by_name(pa.schema([("a", pa.int64()), ("b", pa.string())]))
    assert found(table, tmp_path, declared, "a = 5", option) == [1]


def test_a_snapshot_may_not_name_its_columns(old: tuple[IcebergTable, str], tmp_path: Path) -> None:
    table, option = old
    place = Path(table._open().metadata_location.removeprefix("file://"))
    metadata = json.loads(place.read_text())
    for snapshot in metadata["snapshots"]:
        del snapshot["schema-id"]
    place.write_text(json.dumps(metadata))
    assert found(table, tmp_path, "id BIGINT, a BIGINT", "a = 5", option) == [1]
