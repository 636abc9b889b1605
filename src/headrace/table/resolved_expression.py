"""`ResolvedExpression`: an expression whose names and types are known."""

from __future__ import annotations

from headrace.sql.plan.expressions import Expression as BoundExpression
from headrace.sql.types import DataType

__all__ = ["ResolvedExpression"]


class ResolvedExpression:
    """An expression of a resolved schema; one cannot make it, only look at it.

    Args:
        bound: The expression.
        text: How SQL writes it, if that is known.
    """

    def __init__(self, bound: BoundExpression, text: str | None = None) -> None:
        self._bound = bound
        self._text = text

    def get_output_data_type(self) -> DataType:
        """The type of its values."""
        return self._bound.type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Its arguments."""
        return [ResolvedExpression(c) for c in self._bound.children]

    def as_summary_string(self) -> str:
        """The expression for people."""
        return str(self._bound)

    def as_serializable_string(self) -> str:
        """The expression as SQL writes it."""
        return self._text or str(self._bound)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedExpression) and self._bound == other._bound

    def __hash__(self) -> int:
        return hash(self._bound)

    def __str__(self) -> str:
        return self.as_summary_string()
