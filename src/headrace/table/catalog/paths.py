"""Names of things in catalogs: `ObjectPath`, `ObjectIdentifier` and `CatalogPartitionSpec`."""

from __future__ import annotations

from functools import total_ordering

from headrace.common.errors import ConfigurationError

__all__ = ["CatalogPartitionSpec", "ObjectIdentifier", "ObjectPath"]


@total_ordering
class ObjectPath:
    """A database and a table, view, function or model in it.

    Example:
        >>> ObjectPath("db", "orders").get_full_name()
        'db.orders'
    """

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        if not database_name:
            raise ConfigurationError("databaseName cannot be null or empty")
        if not object_name:
            raise ConfigurationError("objectName cannot be null or empty")
        self._database = database_name
        self._object = object_name

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of `database.object`."""
        if not full_name:
            raise ConfigurationError("fullName cannot be null or empty")
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ConfigurationError(
                f"Cannot get split '{full_name}' to get databaseName and objectName"
            )
        return ObjectPath(parts[0], parts[1])

    def get_database_name(self) -> str:
        """The database."""
        return self._database

    def get_object_name(self) -> str:
        """What is in it."""
        return self._object

    def get_full_name(self) -> str:
        """Both with a dot between."""
        return f"{self._database}.{self._object}"

    def compare_to(self, other: ObjectPath) -> int:
        """Below zero, zero or above, by the order of full names."""
        mine, theirs = self.get_full_name(), other.get_full_name()
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and str(self) == str(other)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        return self.compare_to(other) < 0

    def __hash__(self) -> int:
        return hash(self.get_full_name())

    def __str__(self) -> str:
        return self.get_full_name()

    def __repr__(self) -> str:
        return f"ObjectPath({self._database!r}, {self._object!r})"


class ObjectIdentifier:
    """A full name: catalog, database and object."""

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The name of three parts."""
        for part, what in (
            (catalog_name, "Catalog"),
            (database_name, "Database"),
            (object_name, "Object"),
        ):
            if part is None:
                raise ConfigurationError(f"{what} name must not be null.")
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self._parts[0]

    def get_database_name(self) -> str:
        """The database."""
        return self._parts[1]

    def get_object_name(self) -> str:
        """The object."""
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        """The name inside of its catalog."""
        return ObjectPath(self._parts[1], self._parts[2])

    def to_list(self) -> list[str]:
        """The three parts."""
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """The name as SQL writes it, each part in back ticks."""
        return ".".join("`" + p.replace("`", "``") + "`" for p in self._parts)

    def as_summary_string(self) -> str:
        """The name for people."""
        return ".".join(self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()


class CatalogPartitionSpec:
    """Which partition: values by partition key, in no particular order."""

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._values = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """Keys and values."""
        return dict(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __str__(self) -> str:
        values = ", ".join(f"{k}={v}" for k, v in self._values.items())
        return f"CatalogPartitionSpec{{{{{values}}}}}"
