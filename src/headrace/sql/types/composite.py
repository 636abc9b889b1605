"""Types that are made of other types: arrays, multisets, maps and rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.common.types import Row, row_of
from headrace.sql.types.base import DataType, check, check_types


class ArrayType(DataType):
    """A list of elements of one type."""

    root = "ARRAY"

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        check_types(element_type=element_type)
        self.element_type = element_type

    def _same(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def _sql(self) -> str:
        return f"{self.root}<{self.element_type.sql_text()}>"

    def need_conversion(self) -> bool:
        """Whether the elements need it."""
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """A list of SQL values."""
        if obj is None or not self.need_conversion():
            return obj
        return [self.element_type.to_sql_type(v) for v in obj]

    def from_sql_type(self, obj: Any) -> Any:
        """A list of Python objects."""
        if obj is None or not self.need_conversion():
            return obj
        return [self.element_type.from_sql_type(v) for v in obj]


class ListViewType(DataType):
    """The type of a `ListView` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        check_types(element_type=element_type)
        self._element_type = element_type

    def _same(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def _sql(self) -> str:
        return f"LISTVIEW<{self._element_type.sql_text()}>"

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj


class MapType(DataType):
    """Keys and values."""

    root = "MAP"

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        check_types(key_type=key_type, value_type=value_type)
        self.key_type = key_type
        self.value_type = value_type

    def _same(self) -> tuple[Any, ...]:
        return (self.key_type, self.value_type)

    def _sql(self) -> str:
        return f"MAP<{self.key_type.sql_text()}, {self.value_type.sql_text()}>"

    def need_conversion(self) -> bool:
        """Whether keys or values need it."""
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """A dict of SQL values."""
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """A dict of Python objects."""
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return {key(k): value(v) for k, v in obj.items()}


class MapViewType(DataType):
    """The type of a `MapView` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        check_types(key_type=key_type, value_type=value_type)
        self._key_type = key_type
        self._value_type = value_type

    def _same(self) -> tuple[Any, ...]:
        return (self._key_type, self._value_type)

    def _sql(self) -> str:
        return f"MAPVIEW<{self._key_type.sql_text()}, {self._value_type.sql_text()}>"

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj


class MultisetType(ArrayType):
    """Elements of one type, each with how often it is there."""

    root = "MULTISET"

    def to_sql_type(self, obj: Any) -> Any:
        """Values and how often they are there."""
        if obj is None or not self.need_conversion():
            return obj
        return {self.element_type.to_sql_type(v): n for v, n in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """Objects and how often they are there."""
        if obj is None or not self.need_conversion():
            return obj
        return {self.element_type.from_sql_type(v): n for v, n in obj.items()}


class RowField:
    """A field of a row: name, type and a description."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        check_types(data_type=data_type)
        check(isinstance(name, str), f"field name {name} should be string")
        check(
            description is None or isinstance(description, str),
            f"description {description} should be string",
        )
        self.name = name
        self.data_type = data_type
        self.description = "..." if description is None else description

    def need_conversion(self) -> bool:
        """Whether values of the field need it."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of the field."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The Python object of the field."""
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"


class RowType(DataType):
    """Named fields, each with a type of its own."""

    root = "ROW"

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields: list[RowField] = list(fields or [])

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        return [f.name for f in self.fields]

    def _same(self) -> tuple[Any, ...]:
        return tuple((f.name, f.data_type) for f in self.fields)

    def _sql(self) -> str:
        fields = ", ".join(f"`{f.name}` {f.data_type.sql_text()}" for f in self.fields)
        return f"ROW<{fields}>"

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Append a field."""
        if isinstance(field, RowField):
            self.fields.append(field)
        elif data_type is None:
            raise ValueError("Must specify DataType if passing name of row_field to create.")
        else:
            self.fields.append(RowField(field, data_type))
        return self

    def field_names(self) -> list[str]:
        """Names of the fields."""
        return self.names

    def field_types(self) -> list[DataType]:
        """Types of the fields."""
        return [f.data_type for f in self.fields]

    def need_conversion(self) -> bool:
        """Rows are tuples as SQL values."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """A tuple of SQL values, after the kind of the row."""
        if obj is None:
            return None
        kind = obj.get_row_kind().value if isinstance(obj, Row) else 0
        if isinstance(obj, dict):
            values = [obj.get(n) for n in self.names]
        elif isinstance(obj, Row) and obj.get_field_names():
            values = [obj[n] for n in self.names]
        elif isinstance(obj, Row | tuple | list):
            values = list(obj)
        elif hasattr(obj, "__dict__"):
            values = [vars(obj).get(n) for n in self.names]
        else:
            raise ValueError(f"Unexpected tuple {obj!r} with RowType")
        return (kind, *(f.to_sql_type(v) for f, v in zip(self.fields, values, strict=False)))

    def from_sql_type(self, obj: Any) -> Any:
        """A `Row` of Python objects."""
        if obj is None or isinstance(obj, Row):
            return obj
        values = [f.from_sql_type(v) for f, v in zip(self.fields, obj, strict=False)]
        return row_of(values, self.names[: len(values)])

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"No RowField named {key}")
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if not isinstance(key, int):
            raise TypeError("RowType keys should be strings, integers or slices")
        if not -len(self.fields) <= key < len(self.fields):
            raise IndexError("RowType index out of range")
        return self.fields[key]

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class StructuredType(RowType):
    """A row that has the name of a class."""

    root = "STRUCTURED"

    def __init__(self, class_name: str, fields: list[RowField], nullable: bool = True) -> None:
        super().__init__(fields, nullable)
        self.class_name = class_name

    def _same(self) -> tuple[Any, ...]:
        return (self.class_name, *super()._same())

    def _sql(self) -> str:
        fields = super()._sql().removeprefix("ROW<")
        return f"STRUCTURED<'{self.class_name}', {fields}"
