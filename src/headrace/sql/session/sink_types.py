"""Whether values fit the columns of the table that they are written to."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.common.errors import SqlError
from headrace.sql.plan.expressions import Expression, Schema
from headrace.sql.types import NumericType
from headrace.sql.types.implicit_casts import casts_implicitly

__all__ = ["check_types", "mismatch"]


def check_types(
    table: str,
    query: Schema,
    values: Sequence[Expression],
    sink: Schema,
    any_numbers: bool = False,
) -> None:
    """Refuses values, one for each column of a sink, that Flink does not cast without asking.

    With `any_numbers` each number may become any other: a database finds out which do not fit.
    """
    for position, (value, field) in enumerate(zip(values, sink, strict=True), 1):
        numbers = isinstance(value.type, NumericType) and isinstance(field.type, NumericType)
        if not casts_implicitly(value.type, field.type, nulls=False) and not (
            numbers and any_numbers
        ):
            cause = f"Incompatible types for sink column '{field.name}' at position {position}."
            raise mismatch(table, cause, query, sink)


def mismatch(table: str, cause: str, query: Schema, sink: Schema) -> SqlError:
    """The error of a query that does not have the columns of its sink."""
    return SqlError(
        f"Column types of query result and sink for '{table}' do not match.\n"
        f"Cause: {cause}\n\n"
        f"Query schema: [{_described(query)}]\n"
        f"Sink schema:  [{_described(sink)}]"
    )


def _described(schema: Schema) -> str:
    return ", ".join(f"{f.name}: {f.type_text()}" for f in schema)
