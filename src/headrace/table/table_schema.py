"""`TableSchema`: names and types of columns, as older programs ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.errors import FunctionTypeError, SqlError
from headrace.sql.types import DataType, RowType
from headrace.sql.types.data_types import DataTypes

if TYPE_CHECKING:
    from headrace.table.catalog import ResolvedSchema

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of columns."""

    def __init__(
        self, field_names: Sequence[str] | None = None, data_types: Sequence[DataType] | None = None
    ) -> None:
        self._names = list(field_names or ())
        self._types = list(data_types or ())
        self._lines: list[str] | None = None
        twice = [name for name, count in Counter(self._names).items() if count > 1]
        if twice:
            raise SqlError(f"Field names must be unique. Duplicate field: '{twice[0]}'")
        if len(self._names) != len(self._types):
            raise FunctionTypeError(
                "Number of field names and field data types must be equal.\n"
                f"Number of names is {len(self._names)}, number of data types is "
                f"{len(self._types)}."
            )

    @classmethod
    def of_resolved(cls, schema: ResolvedSchema) -> TableSchema:
        """Of a table: its text also says what columns are computed of, the watermark and key."""
        made = cls(schema.get_column_names(), schema.get_column_data_types())
        lines = [c.without_comment() for c in schema.get_columns()]
        lines = [
            line.replace(f"`{n}`", f"{n}:", 1) for n, line in zip(made._names, lines, strict=True)
        ]
        lines += [w.as_summary_string().replace("`", "", 2) for w in schema.get_watermark_specs()]
        key = schema.get_primary_key()
        if key is not None:
            lines.append(
                f"CONSTRAINT {key.get_name()} PRIMARY KEY ({', '.join(key.get_columns())})"
            )
        made._lines = lines
        return made

    def copy(self) -> TableSchema:
        """A schema of its own."""
        made = TableSchema(self._names, self._types)
        made._lines = self._lines
        return made

    def get_field_data_types(self) -> list[DataType]:
        """Types of all columns."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column by position or name; None if there is none."""
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        if not isinstance(field, int):
            raise TypeError(f"Expected field index or field name, got {type(field)}")
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """The number of columns."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """Names of all columns."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of a column; None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """The columns as a type of rows."""
        pairs = zip(self._names, self._types, strict=True)
        return DataTypes.ROW([DataTypes.FIELD(n, x) for n, x in pairs], nullable=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TableSchema)
            and self._names == other._names
            and self._types == other._types
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self._names))

    def __repr__(self) -> str:
        pairs = zip(self._names, self._types, strict=True)
        lines = self._lines or [f"{n}: {x.sql_text()}" for n, x in pairs]
        return "\n".join(["root", *(f" |-- {line}" for line in lines)]) + "\n"

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begin with no columns."""
        return TableSchema.Builder()

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._fields: list[tuple[str, DataType]] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            if not isinstance(data_type, DataType):
                raise TypeError(f"the type of {name!r} must be a DataType, not {data_type!r}")
            self._fields.append((name, data_type))
            return self

        def build(self) -> TableSchema:
            """The schema."""
            names: list[Any] = [n for n, _ in self._fields]
            return TableSchema(names, [x for _, x in self._fields])
