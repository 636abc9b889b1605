"""What catalogs hold, as objects of the Table API; each is a view of an entry that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.sql.catalog import (
    DatabaseEntry,
    FunctionEntry,
    ModelEntry,
    PartitionEntry,
    TableEntry,
)
from headrace.sql.statements import ColumnDefinition
from headrace.table.schema import Schema
from headrace.table.table_schema import TableSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
]


class CatalogDatabase:
    """A database: properties and a comment."""

    def __init__(self, entry: DatabaseEntry) -> None:
        self._entry = entry

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """A database to give to `Catalog.create_database`."""
        return CatalogDatabase(DatabaseEntry(dict(properties), comment))

    def get_properties(self) -> dict[str, str]:
        """Keys and values."""
        return dict(self._entry.options)

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._entry.comment

    def get_description(self) -> str | None:
        """The comment."""
        return self._entry.comment

    def get_detailed_description(self) -> str | None:
        """The comment."""
        return self._entry.comment

    def copy(self) -> CatalogDatabase:
        """The same again."""
        return CatalogDatabase.create_instance(self._entry.options, self._entry.comment)


class CatalogBaseTable:
    """A table or a view: schema, options and a comment."""

    def __init__(self, entry: TableEntry) -> None:
        self._entry = entry

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A table to give to `Catalog.create_table`."""
        columns = _schema(schema)
        return CatalogBaseTable(
            TableEntry(
                columns.columns,
                columns.watermark,
                columns.primary_key,
                columns.primary_key_name,
                tuple(partition_keys),
                dict(properties),
                comment,
            )
        )

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view to give to `Catalog.create_table`; names in the expanded query are full ones."""
        return CatalogBaseTable(
            TableEntry(
                _schema(schema).columns,
                options=dict(properties),
                comment=comment,
                view_text=expanded_query or original_query,
            )
        )

    def get_options(self) -> dict[str, str]:
        """Options of WITH."""
        return dict(self._entry.options)

    def get_unresolved_schema(self) -> Schema:
        """The columns as they were declared."""
        entry = self._entry
        return Schema(entry.columns, entry.watermark, entry.primary_key, entry.primary_key_name)

    def get_comment(self) -> str:
        """What the user wrote, or nothing."""
        return self._entry.comment or ""

    def get_description(self) -> str | None:
        """The comment."""
        return self.get_comment()

    def get_detailed_description(self) -> str | None:
        """A sentence for views."""
        return "This is a catalog view implementation" if self._entry.is_view else None

    def copy(self) -> CatalogBaseTable:
        """The same again."""
        return CatalogBaseTable(self._entry)


def _schema(given: TableSchema | Schema) -> Schema:
    if isinstance(given, Schema):
        return given
    pairs = zip(given.get_field_names(), given.get_field_data_types(), strict=True)
    return Schema([ColumnDefinition(name, type_) for name, type_ in pairs])


class CatalogPartition:
    """A partition of a table: properties and a comment."""

    def __init__(self, entry: PartitionEntry) -> None:
        self._entry = entry

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        """A partition to give to `Catalog.create_partition`."""
        return CatalogPartition(PartitionEntry(dict(properties), comment))

    def get_properties(self) -> dict[str, str]:
        """Keys and values."""
        return dict(self._entry.options)

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._entry.comment

    def get_description(self) -> str | None:
        """Nothing, as in Flink."""
        return None

    def get_detailed_description(self) -> str | None:
        """Nothing, as in Flink."""
        return None

    def copy(self) -> CatalogPartition:
        """The same again."""
        return CatalogPartition.create_instance(self._entry.options, self._entry.comment)


class CatalogFunction:
    """A user's function by the place of its code, `module.name`."""

    def __init__(self, entry: FunctionEntry) -> None:
        self._entry = entry

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function to give to `Catalog.create_function`; it is loaded when a query uses it."""
        return CatalogFunction(FunctionEntry(class_name, function_language.upper()))

    def get_class_name(self) -> str:
        """The place of the code."""
        return self._entry.identifier

    def get_function_language(self) -> str:
        """`PYTHON`; others are kept, but cannot be called."""
        return self._entry.language

    def get_options(self) -> dict[str, str]:
        """Keys and values."""
        return dict(self._entry.options)

    def get_description(self) -> str | None:
        """A sentence."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """A sentence."""
        return "This is a user-defined function"

    def copy(self) -> CatalogFunction:
        """The same again."""
        return CatalogFunction(self._entry)


class CatalogModel:
    """A model: columns in and out, options and a comment."""

    def __init__(self, entry: ModelEntry) -> None:
        self._entry = entry

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogModel:
        """A model to give to `Catalog.create_model`."""
        inputs, outputs = input_schema.columns, output_schema.columns
        return CatalogModel(ModelEntry(inputs, outputs, dict(options), comment))

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._entry.comment

    def get_options(self) -> dict[str, str]:
        """Keys and values."""
        return dict(self._entry.options)

    def copy(self) -> CatalogModel:
        """The same again."""
        return CatalogModel(self._entry)
