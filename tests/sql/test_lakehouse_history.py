"""Versions of tables of Delta Lake and Iceberg: those that are gone, and those before today's."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from headrace.common.errors import GraphError, HeadraceError, SqlError
from headrace.datastream.connectors.lakehouse import AsOf, IcebergTable, LakehouseSource, LakeTable
from headrace.datastream.connectors.lakehouse.table import Batch, Changes
from tests.sql.sessions import LocalSession
from tests.sql.test_lakehouse import (
    append,
    delta,
    delta_options,
    iceberg,
    iceberg_options,
    rows,
    some,
)


def forget(table: LakeTable, before: int) -> None:
    """What maintenance does: all versions before one are gone."""
    if isinstance(table, IcebergTable):
        opened = table._open()
        ids = [s.snapshot_id for s in opened.snapshots()]
        opened.maintenance.expire_snapshots().by_ids(ids[: ids.index(before)]).commit()
        return
    path = Path(table.name, "_delta_log")
    DeltaTable(table.name).create_checkpoint()
    for log in path.glob("*.json"):
        if int(log.stem) < before:
            log.unlink()


@pytest.mark.parametrize("make", [delta, iceberg])
def test_a_stream_from_a_version_that_is_gone_is_an_error(make: type, tmp_path: Path) -> None:
    table: LakeTable = make(tmp_path)
    append(table, 1, 1)
    start = table.files().version
    # A change that the stream has passed.
    table.change(Batch("job", 2), Changes(("id",), some(1), pa.table({"id": [2]})))
    following = table.files().version
    append(table, 3, 3)
    assert len(table.files_since(following, skip_changes=False).files) == 1
    forget(table, table.files().version)
    for version in (start, following, -1) if isinstance(table, IcebergTable) else (start,):
        with pytest.raises(HeadraceError, match=r"is still to be read: (snapshots were|it was)"):
            table.files_since(version, skip_changes=True)


def test_a_snapshot_that_is_gone_is_not_taken_for_a_change(tmp_path: Path) -> None:
    table = iceberg(tmp_path)
    append(table, 1, 1)
    table.change(Batch("job", 2), Changes(("id",), some(1), pa.table({"id": [2]})))
    append(table, 3, 3)
    start = table.files().version
    for number in (4, 5):
        append(table, number, number)
    last = table.files().version
    opened = table._open()
    with opened.manage_snapshots() as snapshots:
        snapshots.create_tag(start, "kept")
    expired = [s.snapshot_id for s in opened.snapshots() if s.snapshot_id not in (start, last)]
    table._open().maintenance.expire_snapshots().by_ids(expired).commit()
    with pytest.raises(HeadraceError, match="snapshots were expired"):
        table.files_since(start, skip_changes=False)


@pytest.mark.parametrize("make", [delta, iceberg])
def test_a_file_that_is_gone_is_an_error(make: type, tmp_path: Path) -> None:
    table: LakeTable = make(tmp_path)
    append(table, 1, 1)
    source = LakehouseSource(table)
    [[split]] = source.create_enumerator(1).discover(0).values()
    [file] = [f for f in tmp_path.rglob("*.parquet")]
    file.unlink()
    assert source.rows is not None
    with pytest.raises(HeadraceError, match="VACUUM or the expiration of snapshots"):
        source.rows.read(split).take(10)


def versions(table: LakeTable) -> list[tuple[int, int]]:
    """Numbers and times of the versions with rows, the oldest first."""
    if isinstance(table, IcebergTable):
        return [(s.snapshot_id, s.timestamp_ms) for s in table._open().history()]
    commits = DeltaTable(table.name).history()
    return [(c["version"], c["timestamp"]) for c in reversed(commits)][1:]


@pytest.fixture(params=[(delta, delta_options), (iceberg, iceberg_options)])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[LakeTable, str]:
    """A table with a row, then two, then the column of today; and its options in SQL."""
    make, options = request.param
    table: LakeTable = make(tmp_path)
    for number in (1, 2):
        # The time of a version of Delta is that of a file, which is some milliseconds off.
        time.sleep(0.2)
        append(table, number, number)
    return table, options(tmp_path)


KEYS = {"delta": ("versionAsOf", "timestampAsOf"), "iceberg": ("snapshot-id", "as-of-timestamp")}


@pytest.mark.parametrize("batch", [True, False])
def test_a_table_is_read_as_it_was(written: tuple[LakeTable, str], batch: bool) -> None:
    table, options = written
    [(first, first_ms), (second, second_ms)] = versions(table)
    version_key, time_key = KEYS["iceberg" if isinstance(table, IcebergTable) else "delta"]
    session = LocalSession(batch=batch)
    # What follows is not part of what was.
    follows = "" if batch else ", 'source.monitor-interval' = '1 s'"
    session.execute(f"CREATE TABLE t (id BIGINT, name STRING) WITH ({options}{follows})")

    def ids(key: str, value: object) -> list[int]:
        rows = session.query(f"SELECT id FROM t /*+ OPTIONS('{key}' = '{value}') */").rows
        return sorted(row[0] for _, row in rows)

    assert ids(version_key, first) == [1]
    assert ids(version_key, second) == [1, 2]
    assert ids(time_key, second_ms - 100) == [1]
    assert ids(time_key, second_ms + 100) == [1, 2]
    text = datetime.fromtimestamp(first_ms / 1000 + 0.1, UTC).isoformat(" ", "milliseconds")
    assert ids(time_key, text.removesuffix("+00:00")) == [1]
    for key, value, error in [
        (version_key, 77, "does not have version 77"),
        (time_key, first_ms - 10_000_000, "does not have the version of 2"),
        (time_key, "yesterday", "is a timestamp, such as"),
        (version_key, "new", "is a number"),
    ]:
        with pytest.raises(SqlError, match=error):
            ids(key, value)
    with pytest.raises(SqlError, match="exclude each other"):
        ids(f"{version_key}' = '{first}', '{time_key}", first_ms)
    hint = f"/*+ OPTIONS('{version_key}' = '{first}') */"
    with pytest.raises(SqlError, match="is written as it is today, not in version"):
        session.insert(f"INSERT INTO t {hint} VALUES (3, 'c')")


def test_a_table_has_the_columns_that_it_had(tmp_path: Path) -> None:
    table = iceberg(tmp_path)
    append(table, 1, 1)
    [(first, _)] = versions(table)
    with table._open().update_schema() as schema:
        schema.rename_column("name", "title")
    old = replace(table, at=AsOf(first))
    assert rows(old) == [(1, "n1")]
    assert rows(table, "id", "title") == [(1, "n1")]
    source = LakehouseSource(old)
    assert source.rows is not None
    assert source.rows.names == ("id", "name")
    with pytest.raises(GraphError, match="nothing is added to version"):
        LakehouseSource(old, 1000)
    with pytest.raises(GraphError, match="either version or timestamp_ms"):
        AsOf(1, 2)
