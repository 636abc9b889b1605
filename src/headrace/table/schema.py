"""`Schema`: the columns of a table as a program declares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import ConfigurationError, SqlError
from headrace.sql.catalog import TableEntry
from headrace.sql.catalog.manager import quoted, text_literal
from headrace.sql.parsing import parse_expression, parse_type_text
from headrace.sql.statements import ColumnDefinition, WatermarkDefinition
from headrace.sql.table_api.expression_nodes import ExpressionBase, node_of
from headrace.sql.types import DataType, RowType

__all__ = ["Schema"]


def _expression(given: Any) -> tuple[Any, str, str]:
    """Its node, its text, and what a schema shows of it."""
    if isinstance(given, ExpressionBase):
        return node_of(given), str(given), str(given)
    return parse_expression(given), given, f"[{given}]"


class Schema:
    """Columns, a watermark and a primary key.

    Example:
        >>> Schema.new_builder().column("id", DataTypes.BIGINT()).column_by_expression(
        ...     "now", "PROCTIME()"
        ... ).build()
    """

    def __init__(
        self,
        columns: Sequence[ColumnDefinition] = (),
        watermark: WatermarkDefinition | None = None,
        primary_key: tuple[str, ...] = (),
        primary_key_name: str | None = None,
        texts: Mapping[str | None, str] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.watermark = watermark
        self.primary_key = primary_key
        self.primary_key_name = primary_key_name
        # What is shown of columns that were given as text or as an expression; None stands for the
        # watermark.
        self.texts = dict(texts or {})

    def entry(self) -> TableEntry:
        """As a catalog keeps it."""
        self._check()
        return TableEntry(self.columns, self.watermark, self.primary_key, self.primary_key_name)

    def _check(self) -> None:
        columns = {c.name: c for c in self.columns}
        if len(columns) < len(self.columns):
            counts = Counter(c.name for c in self.columns)
            twice = [name for name, count in counts.items() if count > 1]
            raise SqlError(
                "Schema must not contain duplicate column names. Found duplicates: "
                f"[{', '.join(twice)}]"
            )
        if not any(c.type is not None and not c.metadata for c in self.columns):
            return  # The columns are those of what the schema is for.
        for name in self.primary_key:
            column = columns.get(name)
            cause = ""
            if column is None:
                cause = "does not exist."
            elif column.type is None or column.metadata:
                cause = "is not a physical column."
            elif column.type.is_nullable:
                cause = "is nullable."
            if cause:
                raise SqlError(f"Invalid primary key '{self._key_name}'. Column '{name}' {cause}")

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Returns a builder without columns."""
        return Schema.Builder()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        lines = []
        for column in self.columns:
            lines.append(f"  {quoted([column.name])} {self._column_text(column)}")
            if column.comment:
                lines[-1] += f" COMMENT {text_literal(column.comment)}"
        if self.watermark is not None:
            column_name = quoted(self.watermark.column)
            lines.append(f"  WATERMARK FOR {column_name} AS {self.texts[None]}")
        if self.primary_key:
            key = ", ".join(quoted([k]) for k in self.primary_key)
            lines.append(
                f"  CONSTRAINT {quoted([self._key_name])} PRIMARY KEY ({key}) NOT ENFORCED"
            )
        return "(\n" + ",\n".join(lines) + "\n)"

    def _column_text(self, column: ColumnDefinition) -> str:
        if column.expression is not None:
            return f"AS {self.texts[column.name]}"
        assert column.type is not None
        text = self.texts.get(column.name) or column.type.sql_text()
        if column.metadata:
            text += " METADATA"
            text += f" FROM '{column.metadata_key}'" if column.metadata_key else ""
            text += " VIRTUAL" if column.virtual else ""
        return text

    @property
    def _key_name(self) -> str:
        return self.primary_key_name or "PK_" + "_".join(self.primary_key)

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._columns: list[ColumnDefinition] = []
            self._watermark: WatermarkDefinition | None = None
            self._key: tuple[str, ...] = ()
            self._key_name: str | None = None
            self._texts: dict[str | None, str] = {}

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Adds the columns of another schema."""
            self._columns += unresolved_schema.columns
            self._watermark = unresolved_schema.watermark or self._watermark
            self._key = unresolved_schema.primary_key or self._key
            self._key_name = unresolved_schema.primary_key_name or self._key_name
            self._texts |= unresolved_schema.texts
            return self

        def from_resolved_schema(self, resolved_schema: Any) -> Schema.Builder:
            """Adds the columns, watermark and key of a table."""
            for column in resolved_schema.get_columns():
                column.declare(self)
                self._columns[-1] = replace(self._columns[-1], comment=column.get_comment())
            for spec in resolved_schema.get_watermark_specs():
                self.watermark(spec.get_rowtime_attribute(), spec.get_watermark_expression())
            key = resolved_schema.get_primary_key()
            if key is not None:
                self.primary_key_named(key.get_name(), *key.get_columns())
            return self

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Adds the fields of a row type."""
            if not isinstance(data_type, RowType):
                raise ConfigurationError("Data type of ROW expected.")
            return self.from_fields(data_type.names, data_type.field_types())

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType]
        ) -> Schema.Builder:
            """Adds columns by name and type."""
            if len(field_names) != len(field_data_types):
                raise ConfigurationError(
                    "Field names and field data types must have the same length."
                )
            for name, type_ in zip(field_names, field_data_types, strict=True):
                self.column(name, type_)
            return self

        def column(self, column_name: str, data_type: DataType | str) -> Schema.Builder:
            """Adds a column that is stored."""
            self._columns.append(ColumnDefinition(column_name, self._type(column_name, data_type)))
            return self

        def _type(self, column_name: str, given: DataType | str) -> DataType:
            if isinstance(given, str):
                self._texts[column_name] = f"[{given}]"
                return parse_type_text(given)
            if not isinstance(given, DataType):
                raise TypeError(f"Unsupported data type: {given}")
            return given

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """Adds a column that is computed from others."""
            node, text, self._texts[column_name] = _expression(expr)
            self._columns.append(
                ColumnDefinition(
                    column_name,
                    expression=node,
                    expression_text=text,
                    expression_is_sql=isinstance(expr, str),
                )
            )
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Adds a column with metadata of the connector, such as a timestamp."""
            self._columns.append(
                ColumnDefinition(
                    column_name,
                    self._type(column_name, data_type),
                    metadata=True,
                    metadata_key=metadata_key,
                    virtual=is_virtual,
                )
            )
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """Declares a column to be event time, and its watermark."""
            node, text, self._texts[None] = _expression(watermark_expr)
            is_sql = isinstance(watermark_expr, str)
            self._watermark = WatermarkDefinition((column_name,), node, text, is_sql)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Declares the primary key."""
            if not column_names:
                raise ConfigurationError(
                    "Primary key constraint must be defined for at least a single column."
                )
            if self._key:
                raise ConfigurationError("Multiple primary keys are not supported.")
            self._key = column_names
            return self

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Declares the primary key, with a name."""
            self.primary_key(*column_names)
            self._key_name = constraint_name
            return self

        def build(self) -> Schema:
            """Returns the schema."""
            return Schema(self._columns, self._watermark, self._key, self._key_name, self._texts)
