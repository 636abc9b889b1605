"""`ResolvedExpression`: an expression whose names and types are known."""

from __future__ import annotations

from typing import Any

from headrace.sql.parser import syntax as x
from headrace.sql.parsing import parse_expression
from headrace.sql.plan.expressions import Expression as BoundExpression
from headrace.sql.types import DataType
from headrace.table.expression import Expression

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression of a resolved schema, to look at and to use in others.

    Args:
        bound: The expression.
        text: How its schema writes it, if that is known.
    """

    def __init__(self, bound: BoundExpression, text: str | None = None) -> None:
        self._bound = bound
        self._text = text or str(bound)

    @property
    def _node(self) -> x.Node:  # type: ignore[override]
        # Parsed only where it is used in another: not every text of a child is SQL.
        return parse_expression(self._text)

    def get_output_data_type(self) -> DataType:
        """The type of its values."""
        return self._bound.type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Its arguments."""
        return [ResolvedExpression(c) for c in self._bound.children]

    def as_summary_string(self) -> str:
        """The expression for people."""
        return self._text

    def as_serializable_string(self) -> str:
        """The expression as SQL writes it."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedExpression) and self._bound == other._bound

    def __hash__(self) -> int:
        return hash(self._bound)
