"""Partitions of a table, with the checks that SQL and the catalog API share."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.catalog.entries import PartitionEntry, PartitionSpec
from headrace.sql.catalog.store import CatalogStore
from headrace.util.exceptions import (
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableNotPartitionedException,
)

__all__ = ["TablePartitions"]


class TablePartitions:
    """The partitions of one table; a partition is named by values of all partition keys."""

    def __init__(self, store: CatalogStore, database: str, table: str) -> None:
        self._store = store
        self._path = (database, table)
        self._place = f"table {database}.{table} in catalog {store.name}"

    def matching(self, wanted: Mapping[str, str]) -> list[dict[str, str]]:
        """All partitions that have these values."""
        self._keys()
        found = (dict(spec) for spec in self._store.list_partitions(*self._path))
        return [spec for spec in found if wanted.items() <= spec.items()]

    def spec(self, values: Mapping[str, str]) -> PartitionSpec:
        """Values in the order of the keys."""
        keys = self._keys()
        if set(values) != set(keys):
            raise PartitionSpecInvalidException(
                f"PartitionSpec {_text(values)} does not match partition keys "
                f"[{', '.join(keys)}] of {self._place}."
            )
        return tuple((k, values[k]) for k in keys)

    def find(self, values: Mapping[str, str]) -> PartitionEntry | None:
        """The partition of some values; None also if there is no such table or key."""
        table = self._store.find_table(*self._path)
        if table is None or not table.partition_keys or set(values) != set(table.partition_keys):
            return None
        return self._store.find_partition(*self._path, self.spec(values))

    def existing(self, values: Mapping[str, str]) -> PartitionEntry:
        """The partition of some values."""
        found = self.find(values)
        if found is None:
            raise PartitionNotExistException(
                f"Partition {_text(values)} of {self._place} does not exist."
            )
        return found

    def create(self, values: Mapping[str, str], entry: PartitionEntry, ignore: bool) -> None:
        """Add a partition."""
        spec = self.spec(values)
        if self.find(values) is None:
            self._store.put_partition(*self._path, spec, entry)
        elif not ignore:
            raise PartitionAlreadyExistsException(
                f"Partition {_text(values)} of {self._place} already exists."
            )

    def alter(self, values: Mapping[str, str], entry: PartitionEntry, ignore: bool) -> None:
        """Replace the properties of a partition."""
        if self._is_there(values, ignore):
            self._store.put_partition(*self._path, self.spec(values), entry)

    def drop(self, values: Mapping[str, str], ignore: bool) -> None:
        """Forget a partition."""
        if self._is_there(values, ignore):
            self._store.drop_partition(*self._path, self.spec(values))

    def _is_there(self, values: Mapping[str, str], ignore: bool) -> bool:
        return (self.find(values) if ignore else self.existing(values)) is not None

    def _keys(self) -> tuple[str, ...]:
        keys = self._store.table(*self._path).partition_keys
        if not keys:
            raise TableNotPartitionedException(f"T{self._place[1:]} is not partitioned.")
        return keys


def _text(values: Mapping[str, str]) -> str:
    """As Flink shows a `CatalogPartitionSpec`."""
    return f"CatalogPartitionSpec{{{{{', '.join(f'{k}={v}' for k, v in values.items())}}}}}"
