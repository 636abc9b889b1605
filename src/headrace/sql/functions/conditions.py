"""Conditional functions, casts and other special forms."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.functions.registry import scalar
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import any_nullable, common_type


def _first_that_is_there(types: Sequence[DataType]) -> DataType | None:
    found = common_type(types)
    return None if found is None else found.with_nullable(all(x.is_nullable for x in types))


def _case(types: Sequence[DataType]) -> DataType | None:
    """Condition, result, condition, result, ..., otherwise."""
    return common_type([*types[1:-1:2], types[-1]])


def _if(types: Sequence[DataType]) -> DataType | None:
    return common_type(types[1:])


def _null_if(types: Sequence[DataType]) -> DataType | None:
    return types[0].nullable()  # type: ignore[no-any-return]


def _if_null(types: Sequence[DataType]) -> DataType | None:
    found = common_type(types)
    return None if found is None else found.with_nullable(types[1].is_nullable)


def _extreme(types: Sequence[DataType]) -> DataType | None:
    found = common_type(types)
    return None if found is None else found.with_nullable(any_nullable(types))


FUNCTIONS = [
    scalar("CASE", "any+", _case, strict=False, hidden=True),
    scalar("IF", "bool, any, any", _if, strict=False, table_name="ifThenElse"),
    scalar("COALESCE", "any+", _first_that_is_there, strict=False),
    scalar("IFNULL", "any, any", _if_null, strict=False, table_name="ifNull"),
    scalar("NULLIF", "any, any", _null_if, strict=False),
    scalar("GREATEST", "any+", _extreme),
    scalar("LEAST", "any+", _extreme),
    scalar("CAST", "any", "arg0", hidden=True),
    scalar("TRY_CAST", "any", "arg0", hidden=True),
    scalar("TYPEOF", "any, bool?", "string?", strict=False),
    scalar("CURRENT_DATABASE", "", "string!", strict=False),
    scalar("REINTERPRET", "any", "arg0", "{0}", hidden=True),
]
