"""Partitioned tables of Iceberg and Delta Lake: written, changed by key, and compacted."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, Transform

from headrace.datastream.connectors.lakehouse import DeltaLakeTable, IcebergTable, LakeTable
from headrace.datastream.connectors.lakehouse.table import Batch, Changes
from tests.sql.test_lakehouse import delta, iceberg, rows

START = datetime(2024, 1, 1)
SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string(), "at": pa.timestamp("us")})
TRANSFORMS: dict[str, tuple[str, Transform[Any, Any]]] = {
    "identity": ("name", IdentityTransform()),
    "day": ("at", DayTransform()),
    "bucket": ("id", BucketTransform(4)),
}


def some(*ids: int) -> pa.Table:
    """Rows of three days and of three names."""
    days = [START + timedelta(days=i % 3, hours=i) for i in ids]
    data = {"id": list(ids), "name": [f"n{i % 3}" for i in ids], "at": days}
    return pa.table(data, SCHEMA)


def append(table: LakeTable, number: int, data: pa.Table) -> None:
    table.append(Batch("job", number), ds.dataset(data))


def ids(table: LakeTable) -> list[int]:
    return [i for i, _, _ in rows(table, "id", "name", "at")]


def partitions(table: IcebergTable) -> set[tuple[int, tuple[Any, ...]]]:
    """The specification and the values by which the files of a table are partitioned."""
    tasks = [file.task.file for file in table.files().files]
    return {(f.spec_id, tuple(f.partition[i] for i in range(len(f.partition)))) for f in tasks}


def partitioned(path: Path, kind: str) -> IcebergTable:
    table = iceberg(path)
    table.create(SCHEMA, ())
    evolve(table, kind)
    return table


def evolve(table: IcebergTable, kind: str) -> None:
    """What other programs do between two commits."""
    column, transform = TRANSFORMS[kind]
    with table._open().update_spec() as spec:
        spec.add_field(column, transform, f"by_{kind}")


@pytest.mark.parametrize("kind", ["day", "bucket"])
def test_a_partitioned_table_of_iceberg_is_written(kind: str, tmp_path: Path) -> None:
    table = partitioned(tmp_path, kind)
    append(table, 1, some(*range(6)))
    assert ids(table) == list(range(6))
    assert len(partitions(table)) > 1
    table.change(Batch("job", 2), Changes(("id",), some(9, 2), pa.table({"id": [1, 99]})))
    assert ids(table) == [0, 2, 3, 4, 5, 9]
    append(table, 3, some(*range(10, 16)))
    table.compact()
    assert ids(table) == [0, 2, 3, 4, 5, *range(9, 16)]
    assert len(table.files().files) == len(partitions(table))
    # One file in each partition is as good as it gets.
    version = table.files().version
    table.compact()
    assert table.files().version == version


def test_a_table_of_iceberg_is_written_by_the_partitions_of_today(tmp_path: Path) -> None:
    table = partitioned(tmp_path, "identity")
    append(table, 1, some(*range(6)))
    evolve(table, "day")
    with table._open().update_spec() as spec:
        spec.remove_field("by_identity")
    append(table, 2, some(*range(6, 12)))
    old, new = sorted({spec for spec, _ in partitions(table)})
    assert len([spec for spec, _ in partitions(table) if spec == new]) == 3
    gone = pa.table({"id": [0, 6, 7, 8]})
    table.change(Batch("job", 3), Changes(("id",), some(12, 3), gone))
    assert ids(table) == [1, 2, 3, 4, 5, 9, 10, 11, 12]
    table.compact()
    assert ids(table) == [1, 2, 3, 4, 5, 9, 10, 11, 12]
    assert {spec for spec, _ in partitions(table)} == {old, new}


def test_a_partitioned_table_of_delta_is_written(tmp_path: Path) -> None:
    table: DeltaLakeTable = delta(tmp_path)
    table.create(SCHEMA, ("name",))
    append(table, 1, some(*range(6)))
    table.change(Batch("job", 2), Changes(("id",), some(9, 2), pa.table({"id": [1, 99]})))
    append(table, 3, some(*range(10, 16)))
    assert ids(table) == [0, 2, 3, 4, 5, *range(9, 16)]
    table.compact()
    assert ids(table) == [0, 2, 3, 4, 5, *range(9, 16)]
    names = {Path(file.name).parent.name for file in table.files().files}
    assert names == {"name=n0", "name=n1", "name=n2"}
    assert len(table.files().files) == 3
