"""Bound expressions: every name is a column of the input, and everything has a type."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.types.values import literal_text

__all__ = [
    "AggregateCall",
    "Call",
    "Column",
    "Expression",
    "Field",
    "Literal",
    "Schema",
    "SortKey",
    "TimeAttribute",
    "all_parts",
    "columns_used",
    "is_deterministic",
    "place_of",
    "shifted",
]


class TimeAttribute(enum.Enum):
    """What a column says about time."""

    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"


@dataclass(frozen=True)
class Expression:
    """Base: `type` is that of the value; `time` is set where the value is a time attribute.

    `height` says how many calls are inside of one another.
    """

    type: DataType
    time: TimeAttribute | None = field(default=None, kw_only=True)
    height: int = field(default=0, init=False, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()

    def __str__(self) -> str:
        return "this value"

    def with_children(self, children: Sequence[Expression]) -> Expression:
        return self


@dataclass(frozen=True)
class Column(Expression):
    """A column of the input, by position."""

    index: int
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.name or f"${self.index}"


@dataclass(frozen=True)
class Literal(Expression):
    """A constant, in internal form."""

    value: Any

    def __str__(self) -> str:
        return literal_text(self.value, self.type)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True)
class Call(Expression):
    """A function of `headrace.sql.functions`, or a user's one, applied to arguments."""

    function: Any
    args: tuple[Expression, ...]

    def __post_init__(self) -> None:
        height = 1 + max((a.height for a in self.args), default=0)
        object.__setattr__(self, "height", height)

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def with_children(self, children: Sequence[Expression]) -> Expression:
        return replace(self, args=tuple(children))

    def __str__(self) -> str:
        return _call_text(self)


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of columns of the input."""

    function: Any
    args: tuple[int, ...]
    type: DataType
    name: str
    distinct: bool = False
    filter: int | None = None
    arg_types: tuple[DataType, ...] = ()
    constants: tuple[Any, ...] = ()

    def text(self, names: Sequence[str]) -> str:
        """As plans show it."""
        inside = ", ".join(names[i] for i in self.args) or "*"
        distinct = "DISTINCT " if self.distinct else ""
        condition = "" if self.filter is None else f" FILTER {names[self.filter]}"
        return f"{self.function.name}({distinct}{inside}){condition}"


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    index: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class Field:
    """A column of a relation."""

    name: str
    type: DataType
    time: TimeAttribute | None = None

    def type_text(self) -> str:
        """The type with its time attribute, as DESCRIBE and EXPLAIN show it."""
        if self.time is None:
            return self.type.sql_text()
        return f"{self.type.sql_text()} *{self.time.value}*"


@dataclass(frozen=True)
class Schema:
    """The columns of a relation, in order."""

    fields: tuple[Field, ...]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, index: int) -> Field:
        return self.fields[index]

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.fields]

    @property
    def types(self) -> list[DataType]:
        return [f.type for f in self.fields]

    @property
    def row_type(self) -> RowType:
        return RowType([RowField(f.name, f.type) for f in self.fields], False)

    def column(self, index: int) -> Column:
        """An expression for a column."""
        f = self.fields[index]
        return Column(f.type, index, f.name, time=f.time)

    def columns(self) -> tuple[Expression, ...]:
        """Expressions for all columns."""
        return tuple(self.column(i) for i in range(len(self.fields)))


def rewrite(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with parts replaced; `change` gives None where nothing is to be replaced."""
    new = change(expression)
    if new is not None:
        return new
    if not expression.children:
        return expression
    return expression.with_children([rewrite(c, change) for c in expression.children])


def all_parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that are inside of it, in no order that matters."""
    waiting = [expression]
    while waiting:
        yield (part := waiting.pop())
        waiting.extend(part.children)


def columns_used(expression: Expression) -> set[int]:
    """Positions of all columns in an expression."""
    return {part.index for part in all_parts(expression) if isinstance(part, Column)}


def shifted(expression: Expression, mapping: Callable[[int], int]) -> Expression:
    """The expression over other positions."""

    def change(e: Expression) -> Expression | None:
        return replace(e, index=mapping(e.index)) if isinstance(e, Column) else None

    return rewrite(expression, change)


def is_deterministic(expression: Expression) -> bool:
    """Whether the same row always gives the same value."""
    return all(
        getattr(part.function, "deterministic", False)
        for part in all_parts(expression)
        if isinstance(part, Call)
    )


def place_of(columns: list[Expression], e: Expression) -> int:
    """Where a row has a value, perhaps as a new column at its end."""
    if isinstance(e, Column):
        return e.index
    if e not in columns:
        columns.append(e)
    return columns.index(e)


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
    return _call_text(e, names) if isinstance(e, Call) else str(e)


def _call_text(e: Call, names: Sequence[str] | None = None) -> str:
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
