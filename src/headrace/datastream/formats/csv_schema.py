"""The columns of a CSV file, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import ListTypeInfo, RowTypeInfo, TypeInformation, Types
from headrace.formats.arrow import arrow_type, type_info_of
from headrace.formats.csv import CsvDialect
from headrace.formats.shapes import Shape, shape_of

__all__ = ["CsvSchema", "CsvSchemaBuilder"]


@dataclass(frozen=True)
class CsvColumn:
    """A column.

    Attributes:
        name: Its name.
        type_info: The type of its values.
        separator: That of the elements of its arrays, None for the schema's.
        digits: Precision and scale of its decimals, None if they are kept as they are.
    """

    name: str
    type_info: TypeInformation
    separator: str | None = None
    digits: tuple[int, int] | None = None


@dataclass(frozen=True, repr=False)
class CsvSchema:
    """The columns of a CSV file, and how they are written. Make one with `builder()`."""

    columns: tuple[CsvColumn, ...]
    dialect: CsvDialect
    use_header: bool = False
    strict_headers: bool = False
    skip_first_row: bool = False
    any_property: str | None = None

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """A builder."""
        return CsvSchemaBuilder()

    @cached_property
    def row_type_info(self) -> RowTypeInfo:
        """The type of the rows."""
        return RowTypeInfo([c.type_info for c in self.columns], [c.name for c in self.columns])

    @cached_property
    def shape(self) -> Shape:
        """The rows as formats see them; a DECIMAL has its digits."""
        row = shape_of(self.row_type_info)
        parts = zip(row.parts, self.columns, strict=True)
        return replace(row, parts=tuple(_with_digits(part, c.digits) for part, c in parts))

    @property
    def dialects(self) -> list[CsvDialect]:
        """How each column is written."""
        return [
            self.dialect
            if c.separator is None
            else replace(self.dialect, array_delimiter=c.separator)
            for c in self.columns
        ]

    def size(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        """The columns and settings, in the form that PyFlink shows."""
        columns = ",".join(f'"{c.name}"/{_kind(c.type_info)}' for c in self.columns)
        settings = (
            ("header", self.use_header),
            ("skipFirst", self.skip_first_row),
            ("comments", self.dialect.comments),
        )
        shown = "".join(f", {name}? {str(is_set).lower()}" for name, is_set in settings)
        any_property = "N/A" if self.any_property is None else f"as '{self.any_property}'"
        return f"[CsvSchema: columns=[{columns}]{shown}, any-properties? {any_property}]"

    __repr__ = __str__


def _kind(type_info: TypeInformation) -> str:
    kinds = {Types.STRING(): "STRING", Types.BOOLEAN(): "BOOLEAN"}
    return kinds.get(type_info, "ARRAY" if isinstance(type_info, ListTypeInfo) else "NUMBER")


class CsvSchemaBuilder:
    """Builds a `CsvSchema`: columns in their order, then how they are written."""

    def __init__(self) -> None:
        self._columns: list[CsvColumn] = []
        self._dialect = CsvDialect()
        self._use_header = False
        self._strict_headers = False
        self._skip_first_row = False
        self._any_property: str | None = None

    def build(self) -> CsvSchema:
        """The schema."""
        names = [column.name for column in self._columns]
        if len(set(names)) != len(names):
            raise GraphError(f"two columns of a CSV schema have the same name: {names}")
        return CsvSchema(
            tuple(self._columns),
            self._dialect,
            self._use_header,
            self._strict_headers,
            self._skip_first_row,
            self._any_property,
        )

    def _add(
        self,
        name: str,
        type_info: TypeInformation,
        separator: str | None = None,
        digits: tuple[int, int] | None = None,
    ) -> CsvSchemaBuilder:
        if not isinstance(name, str) or not name:
            raise FunctionTypeError(f"the name of a column must be a non-empty str, not {name!r}")
        self._columns.append(CsvColumn(name, type_info, separator, digits))
        return self

    def add_array_column(
        self, name: str, separator: str = ";", element_type: Any = None
    ) -> CsvSchemaBuilder:
        """Add a column of arrays.

        Args:
            name: Name of the column.
            separator: What is between two elements.
            element_type: A `DataType`; text without it.
        """
        element = Types.STRING() if element_type is None else _type_info(element_type)
        return self._add(name, Types.LIST(element), separator)

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of `true` and `false`."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers; `number_type` is a `DataType`, BIGINT without it."""
        if number_type is None:
            return self._add(name, Types.LONG())
        return self._add(name, _type_info(number_type), digits=_digits(number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of text."""
        return self._add(name, Types.STRING())

    def add_column(self, name: str, type_info: TypeInformation) -> CsvSchemaBuilder:
        """Add a column of any type that CSV has a form for, such as dates and times."""
        if not isinstance(type_info, TypeInformation):
            raise FunctionTypeError(
                f"the type of a column must be a TypeInformation, not {type_info!r}"
            )
        return self._add(name, type_info)

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        self._columns.extend(schema.columns)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Drop all columns."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that begin with `#`."""
        return self._with(comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Accepted as in PyFlink; rows have the declared columns only."""
        self._any_property = name
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Have no separator: an array has a single element."""
        return self._with(array_delimiter="")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Have no separator in one column."""
        self._columns[index] = replace(self._columns[index], separator="")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator of columns that have none of their own."""
        return self._with(array_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what separates columns; `,` at first."""
        return self._with(delimiter=char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Escape nothing, as at first."""
        return self._with(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character before special ones."""
        return self._with(escape=char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set what ends a line that is written; reading takes `\n`, `\r\n` and `\r`."""
        return self._with(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that means None."""
        return self._with(null_literal=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Quote nothing."""
        return self._with(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character around fields that have special characters; `"` at first."""
        return self._with(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skip the first line of each file."""
        self._skip_first_row = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Fail if the header's names are not those of the columns."""
        self._strict_headers = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Take the first line of each file as a header, and write one."""
        self._use_header = use
        return self

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()

    def _with(self, **changes: Any) -> CsvSchemaBuilder:
        self._dialect = replace(self._dialect, **changes)
        return self


def _digits(data_type: Any) -> tuple[int, int] | None:
    shape = shape_of(data_type)
    return None if shape.precision is None else (shape.precision, shape.scale)


def _with_digits(part: Shape, digits: tuple[int, int] | None) -> Shape:
    return part if digits is None else replace(part, precision=digits[0], scale=digits[1])


def _type_info(data_type: Any) -> TypeInformation:
    """The type of a stream's values for a `DataType`."""
    if isinstance(data_type, TypeInformation):
        return data_type
    return type_info_of(arrow_type(data_type))
