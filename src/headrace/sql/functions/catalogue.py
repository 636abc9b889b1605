"""All built-in functions."""

from __future__ import annotations

import copyreg
from functools import cache

from headrace.sql.functions import (
    aggregates,
    bitmaps,
    conditions,
    containers,
    json,
    numbers,
    operators,
    texts,
    times,
)
from headrace.sql.functions.registry import Function, Registry

__all__ = ["builtin_registry"]

_MODULES = (operators, numbers, texts, times, conditions, containers, json, aggregates, bitmaps)


@cache
def builtin_registry() -> Registry:
    """Flink's built-in functions, as far as they are there."""
    return Registry([function for module in _MODULES for function in module.FUNCTIONS])


def _function_of(name: str, number: int) -> Function:
    return builtin_registry().overloads(name)[number]


# A function travels by its name: what it consists of need not be picklable.
copyreg.pickle(Function, lambda function: (_function_of, (function.name, function.number)))
