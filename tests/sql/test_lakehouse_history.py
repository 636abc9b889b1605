"""Versions of tables of Delta Lake and Iceberg: those that are gone, and those before today's."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.lakehouse import IcebergTable, LakehouseSource, LakeTable
from headrace.datastream.connectors.lakehouse.table import Changes
from tests.sql.test_lakehouse import Batch, append, delta, iceberg, pa, some


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
