"""Columns of a resolved schema: physical, computed and metadata ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.sql.catalog.manager import quoted, text_literal
from headrace.sql.plan.expressions import TimeAttribute
from headrace.sql.types import DataType

if TYPE_CHECKING:
    from headrace.table.resolved_expression import ResolvedExpression

__all__ = ["Column", "ComputedColumn", "MetadataColumn", "PhysicalColumn"]


class Column(ABC):
    """A column: its name, type and comment."""

    def __init__(
        self,
        name: str,
        data_type: DataType,
        comment: str | None = None,
        time: TimeAttribute | None = None,
    ) -> None:
        self._name = name
        self._type = data_type
        self._comment = comment
        self._time = time

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column that is stored."""
        if not isinstance(data_type, DataType):
            raise TypeError(f"Unsupported data type: {data_type}")
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column that is computed of others."""
        return ComputedColumn(name, resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column that the connector knows; a virtual one is not written."""
        return MetadataColumn(name, data_type, metadata_key, is_virtual)

    @abstractmethod
    def _replaced(self, name: str, data_type: DataType, comment: str | None) -> Column:
        """The same column with some parts changed."""

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether it is stored."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether INSERT writes it."""

    @abstractmethod
    def explain_extras(self) -> str | None:
        """What DESCRIBE shows besides name and type."""

    def with_comment(self, comment: str | None) -> Column:
        """The column with another comment."""
        return self._replaced(self._name, self._type, comment)

    def copy(self, new_type: DataType) -> Column:
        """The column with another type."""
        return self._replaced(self._name, new_type, self._comment)

    def rename(self, new_name: str) -> Column:
        """The column with another name."""
        return self._replaced(new_name, self._type, self._comment)

    def get_data_type(self) -> DataType:
        """The type."""
        return self._type

    def get_name(self) -> str:
        """The name."""
        return self._name

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._comment

    def as_summary_string(self) -> str:
        """The column as a line of text."""
        line = self.without_comment()
        return f"{line} COMMENT {text_literal(self._comment)}" if self._comment else line

    def without_comment(self) -> str:
        """The column as a line of text that leaves out what the user wrote."""
        time = f" *{self._time.value}*" if self._time is not None else ""
        extras = self.explain_extras()
        text = f"{quoted([self._name])} {self._type.sql_text()}{time}"
        return f"{text} {extras}" if extras else text

    def declare(self, builder: Any) -> None:
        """Add the column to the builder of a `Schema`."""
        builder.column(self._name, self._type)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.as_summary_string()


class PhysicalColumn(Column):
    """A column that is stored."""

    def _replaced(self, name: str, data_type: DataType, comment: str | None) -> Column:
        return PhysicalColumn(name, data_type, comment, self._time)

    def is_physical(self) -> bool:
        """Always."""
        return True

    def is_persisted(self) -> bool:
        """Always."""
        return True

    def explain_extras(self) -> str | None:
        """Nothing."""
        return None

    def copy(self, new_data_type: DataType) -> Column:
        """The column with another type."""
        return super().copy(new_data_type)


class ComputedColumn(Column):
    """A column that is computed of others."""

    def __init__(
        self,
        name: str,
        expression: ResolvedExpression,
        data_type: DataType | None = None,
        comment: str | None = None,
        time: TimeAttribute | None = None,
    ) -> None:
        super().__init__(name, data_type or expression.get_output_data_type(), comment, time)
        self._expression = expression

    def _replaced(self, name: str, data_type: DataType, comment: str | None) -> Column:
        return ComputedColumn(name, self._expression, data_type, comment, self._time)

    def is_physical(self) -> bool:
        """Never."""
        return False

    def is_persisted(self) -> bool:
        """Never."""
        return False

    def get_expression(self) -> ResolvedExpression:
        """What it is computed of."""
        return self._expression

    def declare(self, builder: Any) -> None:
        """Add the column to the builder of a `Schema`."""
        builder.column_by_expression(self._name, self._expression)

    def explain_extras(self) -> str | None:
        """The expression."""
        return f"AS {self._expression.as_serializable_string()}"

    def copy(self, new_data_type: DataType) -> Column:
        """The column with another type."""
        return super().copy(new_data_type)


class MetadataColumn(Column):
    """A column that the connector knows."""

    def __init__(
        self,
        name: str,
        data_type: DataType,
        metadata_key: str | None,
        virtual: bool,
        comment: str | None = None,
        time: TimeAttribute | None = None,
    ) -> None:
        super().__init__(name, data_type, comment, time)
        self._key = metadata_key
        self._virtual = virtual

    def _replaced(self, name: str, data_type: DataType, comment: str | None) -> Column:
        return MetadataColumn(name, data_type, self._key, self._virtual, comment, self._time)

    def is_virtual(self) -> bool:
        """Whether it can only be read."""
        return self._virtual

    def get_metadata_key(self) -> str | None:
        """The connector's name for it, if it differs from the column's."""
        return self._key

    def is_physical(self) -> bool:
        """Never."""
        return False

    def is_persisted(self) -> bool:
        """Unless it is virtual."""
        return not self._virtual

    def declare(self, builder: Any) -> None:
        """Add the column to the builder of a `Schema`."""
        builder.column_by_metadata(self._name, self._type, self._key, self._virtual)

    def explain_extras(self) -> str | None:
        """The key and whether it is virtual."""
        key = f" FROM '{self._key}'" if self._key else ""
        return f"METADATA{key}{' VIRTUAL' if self._virtual else ''}"

    def copy(self, new_data_type: DataType) -> Column:
        """The column with another type."""
        return super().copy(new_data_type)
