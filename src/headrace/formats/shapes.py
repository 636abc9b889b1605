"""What the types of streams and of tables have in common, for those who convert their values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import Enum, auto
from functools import singledispatch
from typing import Any, TypeAlias

from headrace.common.errors import FunctionTypeError

__all__ = [
    "TEMPORAL",
    "Convert",
    "Kind",
    "Shape",
    "Values",
    "base64_bytes",
    "or_none",
    "real_number",
    "shape_of",
    "whole_number",
]

Convert: TypeAlias = Callable[[Any], Any]


class Kind(Enum):
    """What sort of value it is."""

    BOOLEAN = auto()
    INTEGER = auto()  # of `bits` bits
    BIG_INTEGER = auto()
    FLOAT = auto()
    DOUBLE = auto()
    DECIMAL = auto()
    TEXT = auto()
    BYTES = auto()
    DATE = auto()
    TIME = auto()
    TIMESTAMP = auto()
    INSTANT = auto()
    DURATION = auto()
    MONTHS = auto()
    VARIANT = auto()  # its text is JSON
    ARRAY = auto()
    MAP = auto()  # of two parts: key and value
    MULTISET = auto()
    ROW = auto()
    TUPLE = auto()  # a row whose fields have no names
    ANY = auto()  # whatever Python object a stream holds
    OPAQUE = auto()  # a value of SQL that only SQL's own functions read


TEMPORAL = frozenset({Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.INSTANT})


@dataclass(frozen=True)
class Shape:
    """A type, whichever API declared it.

    Attributes:
        kind: What sort of value it is.
        declared: The type as the user declared it, for messages.
        nullable: Whether None is a value.
        bits: Width of an INTEGER.
        precision: Digits of a DECIMAL; digits behind the point of times. None: not declared.
        scale: Digits of a DECIMAL behind the point.
        names: Names of the fields of a ROW.
        parts: Shapes of what is inside: fields, the element, or key and value.
        length: That of a CHAR, which has blanks behind a shorter text where a format stores them.
    """

    kind: Kind
    declared: Any
    nullable: bool = True
    bits: int = 0
    precision: int | None = None
    scale: int = 0
    names: tuple[str, ...] = ()
    parts: tuple[Shape, ...] = ()
    length: int | None = None

    @property
    def fields(self) -> Iterator[tuple[str, Shape]]:
        """The fields of a ROW."""
        return zip(self.names, self.parts, strict=True)

    def contains(self, kind: Kind) -> bool:
        """Whether a value of a kind may be in a value of this shape."""
        return self.kind is kind or any(part.contains(kind) for part in self.parts)

    def __str__(self) -> str:
        text = getattr(self.declared, "sql_text", None)
        return str(self.declared) if text is None else str(text())


@singledispatch
def shape_of(declared: Any) -> Shape:
    """The shape of a declared type. Each API registers its own types here."""
    raise FunctionTypeError(
        f"Unsupported data type: {declared!r}; a type such as Types.INT() or DataTypes.INT() is "
        "needed"
    )


@dataclass(frozen=True)
class Values:
    """How the values of an API look in Python, where streams and tables differ.

    Attributes:
        array: Makes an array of its elements.
        row: Makes, of the names of fields, what makes a row of a list of values.
        rows: The same for many rows, each a sequence of values.
        fields: Makes, of the names of fields, what gives the values of a row.
        single: Rounds to the FLOAT that the API shows.
        decimal: Makes, of a shape, what fits a decimal into it; where that fails it raises in
            tables, and gives None in streams.
        refusal: The error for a type that a format does not have.
    """

    array: Callable[[Iterable[Any]], Any]
    row: Callable[[tuple[str, ...]], Callable[[list[Any]], Any]]
    rows: Callable[[tuple[str, ...]], Callable[[Iterable[Sequence[Any]]], list[Any]]]
    fields: Callable[[tuple[str, ...]], Callable[[Any], Sequence[Any]]]
    single: Callable[[float], float]
    decimal: Callable[[Shape], Callable[[Decimal], Decimal | None]]
    refusal: Callable[[str], Exception]


def or_none(convert: Convert | None) -> Convert:
    """The same function, for which None is None; without one, values stay as they are."""
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def fitted_decimal(precision: int, scale: int) -> Convert:
    """Fits decimals as Flink does: rounded half up to the scale, and None if too large then."""
    unit = Decimal(1).scaleb(-scale)
    limit = Decimal(10) ** (precision - scale)
    exact = Context(prec=200, rounding=ROUND_HALF_UP)

    def convert(value: Any) -> Any:
        if not isinstance(value, Decimal):
            return value
        rounded = value.quantize(unit, context=exact)
        # Other than `abs`, this does not round to 28 digits.
        return rounded if rounded.copy_abs() < limit else None

    return convert


def whole_number(bits: int) -> Convert:
    """Makes an integer of so many bits of text or of a number, whose fraction is cut off."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(value: Any) -> int:
        if "_" in value if type(value) is str else type(value) is bool:
            raise _not_java(value)
        number = int(value)
        if low <= number <= high:
            return number
        raise ValueError(f"{number} does not fit into {bits} bits")

    return read


def real_number(value: Any) -> float:
    """A floating point number of text or of a number."""
    if "_" in value if type(value) is str else type(value) is bool:
        raise _not_java(value)
    return float(value)


def base64_bytes(text: str) -> bytes:
    """The bytes of a text in Base64, whose lines may be broken."""
    return base64.b64decode(text if text.isalnum() else "".join(text.split()), validate=True)


def _not_java(value: Any) -> ValueError:
    """What Python takes for a number, and Java does not: `1_000`, `True`."""
    return ValueError(f"{value!r} is not a number")
