"""Constant folding: expressions without columns become literals."""

from __future__ import annotations

from headrace.sql.codegen.calc import literal_of
from headrace.sql.plan.expressions import Call, Column, Expression, Literal


def is_constant(e: Expression) -> bool:
    """Whether the value is always the same."""
    if isinstance(e, Column):
        return False
    if isinstance(e, Call):
        if not getattr(e.function, "deterministic", False) or not hasattr(e.function, "code"):
            return False
        return all(is_constant(a) for a in e.args)
    return isinstance(e, Literal)


def fold(e: Expression, zone: str = "UTC") -> Expression:
    """A literal in place of a constant expression; errors are left to happen at run time."""
    if isinstance(e, Literal) or not is_constant(e):
        return e
    return literal_of(e, zone) or e
