"""Keys and watermarks of a resolved schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from headrace.common.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.table.resolved_expression import ResolvedExpression

__all__ = ["Constraint", "UniqueConstraint", "WatermarkSpec"]


class WatermarkSpec:
    """The column that has event time, and the expression of its watermark."""

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._rowtime = rowtime_attribute
        self._expression = watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """A watermark of a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """The column."""
        return self._rowtime

    def get_watermark_expression(self) -> ResolvedExpression:
        """The expression."""
        return self._expression

    def as_summary_string(self) -> str:
        """Both as SQL writes them."""
        kind = self._expression.get_output_data_type().sql_text()
        text = self._expression.as_serializable_string()
        return f"WATERMARK FOR `{self._rowtime}`: {kind} AS {text}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkSpec) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint(ABC):
    """A rule that a table's rows keep. The owner of the data sees to it: nothing is enforced."""

    class ConstraintType(Enum):
        """What is unique."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str | None, kind: Constraint.ConstraintType) -> None:
        self._name = name
        self._type = kind

    def get_name(self) -> str:
        """The name."""
        return self._name or ""

    def is_enforced(self) -> bool:
        """Never."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        """The kind."""
        return self._type

    @abstractmethod
    def as_summary_string(self) -> str:
        """The constraint as SQL writes it."""


class UniqueConstraint(Constraint):
    """Columns whose values tell rows apart."""

    def __init__(self, name: str | None = None, columns: Sequence[str] = ()) -> None:
        super().__init__(name, Constraint.ConstraintType.PRIMARY_KEY)
        self._columns = list(columns)

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        """A primary key."""
        if not columns:
            raise HeadraceError("a primary key has at least one column")
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def get_type_string(self) -> str:
        """`PRIMARY KEY`."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """The key as SQL writes it."""
        columns = ", ".join(f"`{c}`" for c in self._columns)
        return f"CONSTRAINT `{self._name}` {self.get_type_string()} ({columns}) NOT ENFORCED"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueConstraint) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.as_summary_string()
