"""What a function is: a name, which arguments it takes, what comes out, and how it is calculated.

Functions are declared in tables, one line for each (`operators`, `numbers`, `texts`, `times`,
`conditions`, `containers`, `aggregates`). The code of a scalar function is either a piece of Python
with `{0}` for its first argument, or `module:name` of an implementation in
`headrace.sql.functions.builtin`. A name that is declared several times has overloads, each with
code of its own.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.sql.functions.signatures import ReturnRule, Signature, parse_signature
from headrace.sql.types import DataType

__all__ = ["Function", "FunctionKind", "Registry", "aggregate", "scalar"]


class FunctionKind(enum.Enum):
    """What a function is applied to."""

    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    TABLE = "TABLE"
    TABLE_AGGREGATE = "TABLE_AGGREGATE"
    PROCESS_TABLE = "PROCESS_TABLE"
    OTHER = "OTHER"


@dataclass(frozen=True)
class Function:
    """A function of the system.

    Attributes:
        name: Its SQL name in capitals; operators have the names that Flink gives them.
        kind: What it is applied to.
        signatures: Lists of arguments that it takes, the first that fits counts.
        code: How a scalar function is calculated; empty for special forms of the code generator.
        strict: Whether NULL comes out when an argument is NULL, without calculating.
        deterministic: Whether equal arguments give equal values.
        zoned: Whether the implementation takes the session's time zone as its first argument.
        table_name: The name in the Table API; by default the SQL name in camel case.
        hidden: Whether it stands for syntax, such as an operator, and cannot be called by its name.
        number: Which of the overloads of its name it is.
    """

    name: str
    kind: FunctionKind
    signatures: tuple[Signature, ...]
    code: str = ""
    strict: bool = True
    deterministic: bool = True
    zoned: bool = False
    table_name: str = ""
    hidden: bool = False
    number: int = 0

    def bind(self, args: Sequence[DataType]) -> tuple[list[DataType], DataType] | None:
        """Types that the arguments are cast to, and the type of the result; None: no fit."""
        for signature in self.signatures:
            found = signature.bind(args, self.strict)
            if found is not None:
                return found
        return None


def camel_case(name: str) -> str:
    """`REGEXP_REPLACE` to `regexpReplace`."""
    first, *rest = name.lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


def scalar(
    name: str,
    arguments: str,
    returns: ReturnRule | str,
    code: str = "",
    *,
    strict: bool = True,
    deterministic: bool = True,
    zoned: bool = False,
    table_name: str = "",
    hidden: bool = False,
) -> Function:
    """Declares a scalar function; several lists of arguments are separated by `|`."""
    signatures = tuple(parse_signature(a, returns) for a in arguments.split("|"))
    return Function(
        name,
        FunctionKind.SCALAR,
        signatures,
        code,
        strict,
        deterministic,
        zoned,
        table_name or camel_case(name),
        hidden,
    )


def aggregate(
    name: str,
    arguments: str,
    returns: ReturnRule | str,
    table_name: str = "",
    hidden: bool = False,
) -> Function:
    """Declares an aggregate function; `headrace.sql.codegen.aggregates` says how it is computed."""
    signatures = tuple(parse_signature(a, returns) for a in arguments.split("|"))
    return Function(
        name,
        FunctionKind.AGGREGATE,
        signatures,
        strict=False,
        table_name=table_name or camel_case(name),
        hidden=hidden,
    )


class Registry:
    """Functions by name; names of the Table API find them too."""

    def __init__(self, functions: Sequence[Function] = ()) -> None:
        self._by_name: dict[str, list[Function]] = {}
        for function in functions:
            overloads = self._by_name.setdefault(function.name, [])
            overloads.append(replace(function, number=len(overloads)))

    def find(self, name: str) -> Function | None:
        """The function of a name, the first of its overloads."""
        return next(iter(self.overloads(name)), None)

    def overloads(self, name: str) -> Sequence[Function]:
        """All functions of a name."""
        return self._by_name.get(name.upper(), ())

    def nearest(self, name: str) -> str | None:
        """The name that is most like a wrong one."""
        callable_ = [n for n, (first, *_) in self._by_name.items() if not first.hidden]
        found = difflib.get_close_matches(name.upper(), callable_, 1, 0.7)
        return found[0] if found else None

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def all(self) -> list[Function]:
        return [self._by_name[n][0] for n in self.names()]


Implementation = Callable[..., Any]
