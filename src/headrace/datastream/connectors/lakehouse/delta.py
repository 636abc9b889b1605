"""Tables of Delta Lake, by the library `deltalake`.

A batch is committed together with its name as an application's transaction, which Delta keeps in
the table's log: whether it was committed is known for certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.datastream.connectors.file_system.enumeration import is_remote, local_path
from headrace.datastream.connectors.lakehouse.delta_statistics import path_of, ruled_out
from headrace.datastream.connectors.lakehouse.table import (
    AsOf,
    Batch,
    Changes,
    ColumnBound,
    LakeFile,
    LakeTable,
    NewFiles,
    changed,
    gone,
    missing,
    require,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

__all__ = ["DeltaLakeTable"]

_GONE = "headrace_gone"
# Operations of Delta's log that leave the rows as they are.
_SAME_ROWS = {"OPTIMIZE", "SET TBLPROPERTIES", "ADD CONSTRAINT", "CREATE TABLE", "VACUUM START"}


@dataclass(frozen=True)
class DeltaLakeTable(LakeTable):
    """A table of Delta Lake.

    Attributes:
        path: Its directory, or a URL such as `s3://bucket/orders`.
        storage_options: Of the object store, as `deltalake` names them.
        at: An earlier version, which can only be read.
    """

    path: str
    storage_options: dict[str, str] = field(default_factory=dict, repr=False)
    at: AsOf | None = None

    def __post_init__(self) -> None:
        require("deltalake", "delta")
        if not is_remote(self.path):
            object.__setattr__(self, "path", local_path(self.path))

    @property
    def name(self) -> str:
        return self.path

    @property
    def directory(self) -> str | None:
        return None if is_remote(self.path) else self.path

    def _open(self, version: int | None = None) -> Any:
        from deltalake import DeltaTable

        table = DeltaTable(self.path, version=version, storage_options=self.storage_options)
        if version is None and self.at is not None:
            self._go_back(table, self.at)
        return table

    def _go_back(self, table: Any, at: AsOf) -> None:
        from deltalake.exceptions import DeltaError

        last, began = table.version(), 0
        if at.timestamp_ms is not None:
            began = min((int(c.get("timestamp", 0)) for c in table.history()), default=0)
        moment = datetime.fromtimestamp((at.timestamp_ms or 0) / 1000, UTC)
        try:
            table.load_as_version(moment if at.version is None else at.version)
        except DeltaError as error:
            there = f"its last one is {last}, and old ones may have been cleaned out"
            raise missing(self.name, at, f"{there} ({error})") from error
        if at.timestamp_ms is not None and at.timestamp_ms < began:
            raise missing(self.name, at, "its log begins later")

    def _earlier(self, version: int) -> Any:
        from deltalake.exceptions import DeltaError

        try:
            return self._open(version)
        except DeltaError as error:
            why = f"it was cleaned out of its log, or the table was made anew ({error})"
            raise gone(self.name, f"version {version}", why) from error

    def columns(self) -> pa.Schema | None:
        import pyarrow as pa
        from deltalake.exceptions import TableNotFoundError

        try:
            return pa.schema(self._open().schema().to_arrow())
        except TableNotFoundError:
            return None

    def create(self, columns: pa.Schema, partition_by: Sequence[str]) -> None:
        from deltalake import DeltaTable

        DeltaTable.create(
            self.path,
            columns,
            mode="ignore",
            partition_by=list(partition_by),
            storage_options=self.storage_options,
        )

    def append(self, batch: Batch, rows: ds.Dataset) -> None:
        from deltalake import write_deltalake

        table = self._open()
        if not _committed(table, batch):
            reader = rows.scanner().to_reader()
            write_deltalake(table, reader, mode="append", commit_properties=_named(batch))

    def change(self, batch: Batch, changes: Changes) -> None:
        import pyarrow as pa

        table = self._open()
        if _committed(table, batch):
            return
        rows, gone = changes.rows, changes.gone
        # One source for the merge: keys that are gone have NULL in their other columns.
        source = pa.concat_tables(
            [
                rows.append_column(_GONE, pa.array([False] * len(rows), pa.bool_())),
                gone.append_column(_GONE, pa.array([True] * len(gone), pa.bool_())),
            ],
            promote_options="default",
        )
        same = " AND ".join(f"t.{_quoted(k)} = s.{_quoted(k)}" for k in changes.keys)
        values = {_quoted(n): f"s.{_quoted(n)}" for n in rows.schema.names}
        (
            table.merge(
                source,
                same,
                source_alias="s",
                target_alias="t",
                commit_properties=_named(batch),
            )
            .when_matched_delete(f"s.{_GONE}")
            .when_matched_update(values)
            .when_not_matched_insert(values, predicate=f"NOT s.{_GONE}")
            .execute()
        )

    def compact(self) -> None:
        self._open().optimize.compact()

    def files(self, where: Sequence[ColumnBound] = ()) -> NewFiles:
        table = self._open()
        return NewFiles(table.version(), _files(table, where))

    def files_since(self, version: int, skip_changes: bool) -> NewFiles:
        table = self._open()
        current = table.version()
        known, found = {f.name for f in _files(self._earlier(version))}, []
        commits = {c["version"]: c for c in table.history(current - version)}
        for step in range(version + 1, current + 1):
            operation = str(commits.get(step, {}).get("operation", "a commit")).upper()
            files = {f.name: f for f in _files(self._earlier(step))}
            gone = known - files.keys()
            if operation in _SAME_ROWS:
                pass
            elif not gone:
                found += [f for name, f in files.items() if name not in known]
            elif not skip_changes:
                raise changed(
                    self.name,
                    f"{operation} of version {step} changed rows",
                    "'skip-changes' = 'true'",
                )
            known = set(files)
        return NewFiles(current, found)

    def read(self, file: LakeFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        schema, fragment = file.task
        return iter(fragment.to_batches(schema=schema, columns=list(names)))


def _files(table: Any, where: Sequence[ColumnBound] = ()) -> list[LakeFile]:
    """Files in a fixed order; pieces of the library's dataset read them, wherever they are."""
    import pyarrow as pa

    # Not the dataset's own filter: it takes a file without statistics for one without rows.
    dataset = table.to_pyarrow_dataset()
    fragments = sorted(dataset.get_fragments(), key=lambda f: str(f.path))
    known = pa.table(table.get_add_actions(flatten=False))
    paths = [path_of(path) for path in known["path"].to_pylist()]
    sizes = dict(zip(paths, known["size_bytes"].to_pylist(), strict=True))
    # Files are found by their names, so each has to have one of its own.
    named = sizes.keys() == {f.path for f in fragments} and len(sizes) == len(paths)
    out = ruled_out(known, where) if named else set()
    return [
        LakeFile(f.path, (dataset.schema, f), sizes.get(f.path))
        for f in fragments
        if f.path not in out
    ]


def _committed(table: Any, batch: Batch) -> bool:
    last = table.transaction_version(f"headrace-{batch.writer}")
    return last is not None and last >= batch.number


def _named(batch: Batch) -> Any:
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        app_transactions=[Transaction(f"headrace-{batch.writer}", batch.number)]
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
