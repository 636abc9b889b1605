"""A small language for lists of arguments and types of results.

An argument is one of the words below; `?` behind it makes it optional, `*` lets it come any number
of times and `+` at least once. A result is a type's name, `arg0` (the type of an argument),
`common` (of all arguments) or a function of the arguments' types; `?` behind it says that NULL may
come out of arguments that are not NULL, `!` that it never does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import (
    any_nullable,
    common_type,
    is_binary,
    is_character,
    is_interval,
    is_temporal,
    is_timestamp,
    string_type,
)

ReturnRule = Callable[[Sequence[DataType]], DataType | None]

#: Words that only check.
_CHECKS: dict[str, Callable[[DataType], bool]] = {
    "any": lambda x: True,
    "number": lambda x: isinstance(x, t.NumericType),
    "whole": lambda x: isinstance(x, t.IntegralType),
    "exact": lambda x: isinstance(x, t.IntegralType | t.DecimalType),
    "decimal": lambda x: isinstance(x, t.DecimalType),
    "float": lambda x: isinstance(x, t.FloatType | t.DoubleType),
    "text": is_character,
    "binary": is_binary,
    "bitmap": lambda x: isinstance(x, t.BitmapType),
    "bool": lambda x: isinstance(x, t.BooleanType),
    "date": lambda x: isinstance(x, t.DateType),
    "time": lambda x: isinstance(x, t.TimeType),
    "stamp": is_timestamp,
    "local": lambda x: isinstance(x, t.TimestampType),
    "instant": lambda x: isinstance(x, t.LocalZonedTimestampType),
    "temporal": is_temporal,
    "interval": is_interval,
    "span": lambda x: isinstance(x, t.DayTimeIntervalType),
    "months": lambda x: isinstance(x, t.YearMonthIntervalType),
    "array": lambda x: isinstance(x, t.ArrayType) and not isinstance(x, t.MultisetType),
    "map": lambda x: isinstance(x, t.MapType),
    "row": lambda x: isinstance(x, t.RowType),
}

_TYPES: dict[str, Callable[[bool], DataType]] = {
    "int": t.IntType,
    "bigint": t.BigIntType,
    "tinyint": t.TinyIntType,
    "smallint": t.SmallIntType,
    "double": t.DoubleType,
    "float": t.FloatType,
    "boolean": t.BooleanType,
    "string": string_type,
    "bytes": lambda n: t.VarBinaryType(t.MAX_LENGTH, n),
    "date": t.DateType,
    "time": lambda n: t.TimeType(0, n),
    "timestamp3": lambda n: t.TimestampType(3, n),
    "ltz3": lambda n: t.LocalZonedTimestampType(3, n),
    "bitmap": t.BitmapType,
    "variant": t.VariantType,
    "ints": lambda n: t.ArrayType(t.IntType(), n),
    "strings": lambda n: t.ArrayType(string_type(), n),
}

#: Words that also cast what fits: to a type that holds it.
_CASTS: dict[str, tuple[Callable[[DataType], bool], Callable[[bool], DataType]]] = {
    "int": (lambda x: isinstance(x, t.IntegralType), t.IntType),
    "bigint": (lambda x: isinstance(x, t.IntegralType), t.BigIntType),
    "double": (lambda x: isinstance(x, t.NumericType), t.DoubleType),
    "string": (is_character, string_type),
    "bytes": (is_binary, _TYPES["bytes"]),
    "ints": (
        lambda x: isinstance(x, t.ArrayType) and isinstance(x.element_type, t.IntegralType),
        _TYPES["ints"],
    ),
}


@dataclass(frozen=True)
class Argument:
    """One argument of a list."""

    word: str
    optional: bool = False
    repeated: bool = False

    def accept(self, given: DataType) -> DataType | None:
        """The type that an argument is cast to; None if it does not fit."""
        if self.word in _CASTS:
            fits, make = _CASTS[self.word]
            if isinstance(given, t.NullType):
                return make(True)
            return make(given.is_nullable) if fits(given) else None
        if isinstance(given, t.NullType) or _CHECKS[self.word](given):
            return given
        return None


@dataclass(frozen=True)
class Signature:
    """A list of arguments, and what comes out of it."""

    arguments: tuple[Argument, ...]
    returns: ReturnRule
    nullable: bool | None
    text: str

    def bind(
        self, given: Sequence[DataType], strict: bool
    ) -> tuple[list[DataType], DataType] | None:
        wanted = self._arguments_for(len(given))
        if wanted is None:
            return None
        accepted = []
        for argument, type_ in zip(wanted, given, strict=True):
            found = argument.accept(type_)
            if found is None:
                return None
            accepted.append(found)
        result = self.returns(accepted)
        if result is None:
            return None
        if self.nullable is not None:
            result = result.with_nullable(self.nullable)
        elif strict:
            result = result.with_nullable(result.is_nullable or any_nullable(accepted))
        return accepted, result

    def _arguments_for(self, count: int) -> list[Argument] | None:
        """The declared argument for each given one."""
        arguments = list(self.arguments)
        if arguments and arguments[-1].repeated:
            *arguments, last = arguments
            arguments += [last] * max(count - len(arguments), 0 if last.optional else 1)
        while len(arguments) > count and arguments[-1].optional:
            arguments.pop()
        return arguments if len(arguments) == count else None


def parse_signature(arguments: str, returns: ReturnRule | str) -> Signature:
    """Reads a list of arguments such as `string, int?`."""
    parsed = []
    for word in arguments.replace(" ", "").split(","):
        if not word:
            continue
        name = word.rstrip("?*+")
        assert name in _CHECKS or name in _CASTS, word
        parsed.append(Argument(name, word[-1] in "?*", word[-1] in "*+"))
    nullable = None
    if isinstance(returns, str):
        nullable = {"?": True, "!": False}.get(returns[-1])
        returns = return_rule(returns.rstrip("?!"))
    return Signature(tuple(parsed), returns, nullable, arguments)


def return_rule(name: str) -> ReturnRule:
    """The rule for a word."""
    if name.startswith("arg"):
        index = int(name[3:])
        return lambda types: types[index]
    if name == "common":
        return common_type
    make = _TYPES[name]
    return lambda types: make(False)
