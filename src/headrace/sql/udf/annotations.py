"""SQL types of Python annotations."""

from __future__ import annotations

import dataclasses
import datetime
import types
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["annotated", "data_type_of", "declared_type"]

_SIMPLE: dict[Any, DataType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.time: t.TimeType(6),
    datetime.datetime: t.TimestampType(6),
    datetime.timedelta: t.DayTimeIntervalType(),
}


def declared_type(declared: Any) -> DataType:
    """A type, or its SQL text."""
    if isinstance(declared, DataType):
        return declared
    if isinstance(declared, str):
        # Late: slots load this module, and the parser is slow to load.
        from headrace.sql.parsing import parse_type_text

        return parse_type_text(declared)
    raise FunctionTypeError(f"a type must be a DataType or its name, not {declared!r}")


def annotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """What `Annotated` is of, and what it says; nothing for other annotations."""
    if get_origin(annotation) is Annotated:
        inner, *said = get_args(annotation)
        return inner, tuple(said)
    return annotation, ()


def data_type_of(annotation: Any, what: str) -> DataType:
    """The type of values with an annotation; `what` they are, for the message."""
    annotation, said = annotated(annotation)
    for hint in said:
        if isinstance(hint, DataType | str):
            return declared_type(hint)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        alternatives = [x for x in inner if x is not types.NoneType]
        if len(alternatives) == 1:
            return data_type_of(alternatives[0], what)
    if origin is list and inner:
        return t.ArrayType(data_type_of(inner[0], what))
    if origin is dict and inner:
        key, value = (data_type_of(x, what) for x in inner)
        return t.MapType(key, value)
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        fields: Sequence[Any] = dataclasses.fields(annotation)
        return t.RowType([t.RowField(f.name, data_type_of(hints[f.name], what)) for f in fields])
    raise FunctionTypeError(
        f"{what} has no SQL type: {_shown(annotation)} is none; annotate it with a Python type "
        'such as int, str or a dataclass, or with Annotated[..., "SQL TYPE"]'
    )


def _shown(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)
