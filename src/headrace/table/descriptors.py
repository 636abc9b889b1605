"""Descriptors of older programs: columns and event time as flat properties.

`TableDescriptor` with `headrace.table.Schema` is what new programs use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from headrace.common.errors import FunctionTypeError, HeadraceError
from headrace.sql.types import DataType
from headrace.table.table_schema import TableSchema

__all__ = ["Descriptor", "Rowtime", "Schema"]


class Descriptor(ABC):
    """Something that is written as properties."""

    @abstractmethod
    def to_properties(self) -> dict[str, str]:
        """Keys and values."""


class Rowtime(Descriptor):
    """Where event time comes from, and the watermark that follows it."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """Of a column."""
        self._properties["rowtime.timestamps.type"] = "from-field"
        self._properties["rowtime.timestamps.from"] = field_name
        return self

    def timestamps_from_source(self) -> Rowtime:
        """Of the source's records."""
        self._properties["rowtime.timestamps.type"] = "from-source"
        return self

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        """Refused: extractors are classes in Java."""
        raise HeadraceError(f"{extractor!r} is a Java class; use timestamps_from_field()")

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Times never go back."""
        self._properties["rowtime.watermarks.type"] = "periodic-ascending"
        return self

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Times go back by at most so many milliseconds."""
        self._properties["rowtime.watermarks.type"] = "periodic-bounded"
        self._properties["rowtime.watermarks.delay"] = str(delay)
        return self

    def watermarks_from_source(self) -> Rowtime:
        """The source's own watermarks."""
        self._properties["rowtime.watermarks.type"] = "from-source"
        return self

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        """Refused: strategies are classes in Java."""
        raise HeadraceError(f"{strategy!r} is a Java class; use watermarks_periodic_bounded()")

    def to_properties(self) -> dict[str, str]:
        """Keys that begin with `rowtime`."""
        return dict(self._properties)


class Schema(Descriptor):
    """Columns in order; `from_origin_field`, `proctime` and `rowtime` speak of the last one."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: Mapping[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        self._columns: list[dict[str, str]] = []
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """Begin anew with the columns of a table."""
        self._columns.clear()
        names, types = table_schema.get_field_names(), table_schema.get_field_data_types()
        return self.fields(dict(zip(names, types, strict=True)))

    def fields(
        self, fields: Mapping[str, DataType | str] | Iterable[tuple[str, DataType | str]]
    ) -> Schema:
        """Add columns."""
        for name, type_ in dict(fields).items():
            self.field(name, type_)
        return self

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        """Add a column."""
        if not isinstance(field_type, DataType | str):
            raise FunctionTypeError(
                f"the type of {field_name!r} must be a DataType, not {field_type!r}"
            )
        text = field_type if isinstance(field_type, str) else field_type.sql_text()
        self._columns.append({"name": field_name, "data-type": _long_text(text)})
        return self

    def _last(self) -> dict[str, str]:
        if not self._columns:
            raise HeadraceError("No field previously defined. Use field() before.")
        return self._columns[-1]

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """The last column has another name in the source."""
        self._last()["from"] = origin_field_name
        return self

    def proctime(self) -> Schema:
        """The last column is processing time."""
        self._last()["proctime"] = "true"
        return self

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """The last column is event time."""
        self._last().update(rowtime.to_properties())
        return self

    def to_properties(self) -> dict[str, str]:
        """Keys that begin with `schema`."""
        return {
            f"schema.{index}.{key}": value
            for index, column in enumerate(self._columns)
            for key, value in column.items()
        }


_LONG_TEXTS = {
    "STRING": "VARCHAR(2147483647)",
    "SQL_DATE": "DATE",
    "SQL_TIME": "TIME(0)",
    "SQL_TIMESTAMP": "TIMESTAMP(3)",
}
"""Types as these properties write them: STRING by its length, older names by today's."""


def _long_text(text: str) -> str:
    return _LONG_TEXTS.get(text, text)
