"""Rows of tables of Iceberg that are changed by a key of one or more columns."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyiceberg.expressions import AlwaysTrue, In

from headrace.datastream.connectors.lakehouse import IcebergTable
from headrace.datastream.connectors.lakehouse.iceberg_keys import may_have, without
from headrace.datastream.connectors.lakehouse.table import Batch, Changes
from tests.sql.test_lakehouse import append, iceberg, rows, some


@pytest.mark.parametrize("keys", [("id",), ("id", "name")])
def test_files_without_the_keys_stay(keys: tuple[str, ...], tmp_path: Path) -> None:
    table = iceberg(tmp_path)
    append(table, 1, *range(1000))
    append(table, 2, *range(5000, 5010))
    before = {file.name for file in table.files().files}
    gone = some(0, 1, 4000).select(list(keys))
    table.change(Batch("job", 3), Changes(keys, some(*range(100, 400), 2000), gone))
    assert [i for i, _ in rows(table)] == [*range(2, 1000), 2000, *range(5000, 5010)]
    [kept] = before & {file.name for file in table.files().files}
    [file] = [file for file in table.files().files if file.name == kept]
    assert [b.num_rows for b in table.read(file, ("id",))] == [10]


def test_only_the_whole_key_counts() -> None:
    columns: dict[str, list[Any]] = {
        "a": [1, 1, 2, None, 3],
        "b": ["x", "y", "x", "x", None],
        "tags": [["t"], [], None, ["u"], ["v"]],
    }
    left = without(pa.table(columns), pa.table({"a": [1, 2, 7], "b": ["y", "y", "x"]}))
    assert left.to_pydict() == {n: [v[0], *v[2:]] for n, v in columns.items()}


KEYS: dict[str, list[Any]] = {
    "date": [date(2024, 1, 1 + i) for i in range(3)],
    "decimal": [Decimal(f"{i}.50") for i in range(3)],
    "binary": [b"a", b"b", b"\xff"],
    "boolean": [True, False],
    "double": [0.5, 1.5, 2.5],
}


@pytest.mark.parametrize("kind", KEYS)
def test_values_of_all_kinds_are_keys(kind: str, tmp_path: Path) -> None:
    values = KEYS[kind]
    data = pa.table({"id": range(len(values)), "k": values})
    table: IcebergTable = iceberg(tmp_path)
    table.create(data.schema, ())
    table.append(Batch("job", 1), ds.dataset(data))
    gone = data.slice(0, 1).select(["k", "id"])
    table.change(Batch("job", 2), Changes(("k", "id"), data.slice(1, 1), gone))
    assert [r[0] for r in rows(table, "id")] == list(range(1, len(values)))


def test_a_filter_does_not_grow_with_the_keys() -> None:
    few, many = pa.table({"a": [1, 2, 1]}), pa.table({"a": range(1000), "b": [1] * 1000})
    assert may_have(few) == In("a", {1, 2})
    assert len(str(may_have(many))) < 500
    assert may_have(pa.table({"a": [0.5]})) == AlwaysTrue()
