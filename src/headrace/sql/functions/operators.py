"""Operators: arithmetic, comparison and logic. Their names are those of Flink's Table API."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.functions.registry import Function, scalar
from headrace.sql.functions.signatures import ReturnRule
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import (
    arithmetic_type,
    common_type,
    comparable,
    is_interval,
    is_temporal,
)


def _moved(types: Sequence[DataType]) -> DataType | None:
    """Time and interval, in either order."""
    first, second = types
    if is_interval(first):
        first, second = second, first
    if not is_interval(second):
        return None
    if is_interval(first):
        return common_type(types)
    nullable = first.is_nullable or second.is_nullable
    return first.with_nullable(nullable) if is_temporal(first) else None


def _added(operator: str) -> ReturnRule:
    def rule(types: Sequence[DataType]) -> DataType | None:
        if any(is_interval(x) for x in types):
            if operator == "MINUS" and is_interval(types[0]) and not is_interval(types[1]):
                return None
            return _moved(types)
        return arithmetic_type(operator, *types)

    return rule


def _times(types: Sequence[DataType]) -> DataType | None:
    for one, other in (types, types[::-1]):
        if is_interval(one) and isinstance(other, t.NumericType):
            return one
    return arithmetic_type("TIMES", *types)


def _divided(types: Sequence[DataType]) -> DataType | None:
    return arithmetic_type("DIVIDE", *types)


def _modulo(types: Sequence[DataType]) -> DataType | None:
    return arithmetic_type("MOD", *types)


def _compared(types: Sequence[DataType]) -> DataType | None:
    return t.BooleanType(False) if comparable(*types) is not None else None


def _listed(types: Sequence[DataType]) -> DataType | None:
    first, *rest = types
    return t.BooleanType(False) if all(comparable(first, x) is not None for x in rest) else None


def _between(types: Sequence[DataType]) -> DataType | None:
    return t.BooleanType(False) if common_type(types) is not None else _listed(types)


def _operator(
    name: str, arguments: str, returns: ReturnRule | str, code: str = "", strict: bool = True
) -> Function:
    return scalar(name, arguments, returns, code, strict=strict, hidden=True)


FUNCTIONS = [
    _operator("PLUS", "any, any", _added("PLUS")),
    _operator("MINUS", "any, any", _added("MINUS")),
    _operator("TIMES", "any, any", _times),
    _operator("DIVIDE", "any, any", _divided),
    scalar("MOD", "any, any", _modulo),
    _operator("MINUS_PREFIX", "number|interval", "arg0"),
    _operator("EQUALS", "any, any", _compared),
    _operator("NOT_EQUALS", "any, any", _compared),
    _operator("LESS_THAN", "any, any", _compared),
    _operator("LESS_THAN_OR_EQUAL", "any, any", _compared),
    _operator("GREATER_THAN", "any, any", _compared),
    _operator("GREATER_THAN_OR_EQUAL", "any, any", _compared),
    _operator("IS_DISTINCT_FROM", "any, any", "boolean!", strict=False),
    _operator("IS_NOT_DISTINCT_FROM", "any, any", "boolean!", strict=False),
    _operator("IN", "any, any+", _listed, strict=False),
    _operator("NOT_IN", "any, any+", _listed, strict=False),
    _operator("AND", "bool, bool+", "boolean", strict=True),
    _operator("OR", "bool, bool+", "boolean", strict=True),
    _operator("NOT", "bool", "boolean", "not {0}"),
    _operator("$BUCKET", "any, int", "int!", "numbers:bucket", strict=False),
    _operator("IS_NULL", "any", "boolean!", "{0} is None", strict=False),
    _operator("IS_NOT_NULL", "any", "boolean!", "{0} is not None", strict=False),
    _operator("IS_TRUE", "bool", "boolean!", "{0} is True", strict=False),
    _operator("IS_FALSE", "bool", "boolean!", "{0} is False", strict=False),
    _operator("IS_NOT_TRUE", "bool", "boolean!", "{0} is not True", strict=False),
    _operator("IS_NOT_FALSE", "bool", "boolean!", "{0} is not False", strict=False),
    _operator("BETWEEN", "any, any, any", _between),
    _operator("NOT_BETWEEN", "any, any, any", _between),
]
