"""Bound expressions as text, in SQL's form, for plans and messages."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.types.values import literal_text

__all__ = ["call_text", "expression_text"]

_INFIX = {
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "DIVIDE": "/",
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "AND": "AND",
    "OR": "OR",
    "CONCAT_OPERATOR": "||",
    "LIKE": "LIKE",
}
_POSTFIX = {
    "IS_NULL": "IS NULL",
    "IS_NOT_NULL": "IS NOT NULL",
    "IS_TRUE": "IS TRUE",
    "IS_FALSE": "IS FALSE",
}


def expression_text(e: Expression, names: Sequence[str] | None = None) -> str:
    """An expression; columns have the names of the input."""
    if isinstance(e, Column):
        if names is not None and e.index < len(names):
            return names[e.index]
        return e.name or f"${e.index}"
    if isinstance(e, Literal):
        return literal_text(e.value, e.type)
    return call_text(e, names) if isinstance(e, Call) else str(e)


def call_text(e: Call, names: Sequence[str] | None = None) -> str:
    """A call: operators between their arguments."""
    args = [expression_text(a, names) for a in e.args]
    name = getattr(e.function, "name", str(e.function))
    if name in _INFIX and len(args) >= 2:
        return "(" + f" {_INFIX[name]} ".join(args) + ")"
    if name in _POSTFIX:
        return f"({args[0]} {_POSTFIX[name]})"
    if name in ("CAST", "TRY_CAST"):
        return f"{name}({args[0]} AS {e.type.nullable().sql_text()})"
    if name == "IN":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    return f"{name}({', '.join(args)})"
