"""Conditions that AND joins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from headrace.sql import types as t
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.plan.expressions import Call, Expression

__all__ = ["all_of", "conjuncts"]


def conjuncts(e: Expression) -> list[Expression]:
    """The conditions that AND joins."""
    if isinstance(e, Call) and getattr(e.function, "name", "") == "AND":
        return [c for a in e.args for c in conjuncts(a)]
    return [e]


def all_of(conditions: Sequence[Expression]) -> Expression | None:
    """Conditions joined by AND; None if there are none."""
    if not conditions:
        return None
    conjunction = builtin_registry().find("AND")

    def both(a: Expression, b: Expression) -> Expression:
        nullable = a.type.is_nullable or b.type.is_nullable
        return Call(t.BooleanType(nullable), conjunction, (a, b))

    return reduce(both, conditions)
