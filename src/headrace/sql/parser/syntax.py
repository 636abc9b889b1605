"""Expressions before names and types are known: what SQL text and the Table API have in common.

The parser and `headrace.table.expression` both make these nodes, and `headrace.sql.binder` turns
them into `headrace.sql.plan.expressions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.sql.types import DataType

Span = tuple[int, int]
"""First and last character of a piece of the statement's text, from 0."""


@dataclass(frozen=True)
class Node:
    """Base of all nodes; `span` is where the text has it, for messages."""

    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True)
class Name(Node):
    """A column, perhaps with the table's name before and fields of a row behind."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class PositionedName(Name):
    """A column by its position, which a star or a subquery stands for."""

    index: int = field(kw_only=True)


@dataclass(frozen=True)
class Constant(Node):
    """A literal: its internal value and type."""

    value: Any
    type: DataType


@dataclass(frozen=True)
class Apply(Node):
    """A function or operator with arguments, by the name of the registry, or a user's function.

    `distinct` and `condition` (FILTER) belong to aggregates; `over` is a window of rows. `by_name`
    is a call as users write it; all others stand for operators and forms with their own syntax.
    `method` is Flink's name of an operator or method of the Table API: a user's function of that
    name takes its place.
    """

    function: Any
    args: tuple[Node, ...] = ()
    distinct: bool = False
    condition: Node | None = None
    over: Over | None = None
    by_name: bool = False
    method: str | None = None


@dataclass(frozen=True)
class CastTo(Node):
    """CAST, or TRY_CAST if `lenient`."""

    value: Node
    type: DataType
    lenient: bool = False


@dataclass(frozen=True)
class CaseWhen(Node):
    """CASE WHEN ... THEN ... ELSE ... END; the short form is written out."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None


@dataclass(frozen=True)
class Star(Node):
    """All columns, or those of one table."""

    table: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alias(Node):
    """An expression with a name for the column that it becomes."""

    value: Node
    name: str
    further: tuple[str, ...] = ()


@dataclass(frozen=True)
class Descriptor(Node):
    """DESCRIPTOR(a, b): names of columns as an argument of a function."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Named(Node):
    """`name => value`: an argument of a function by its name."""

    name: str
    value: Node


@dataclass(frozen=True)
class Subquery(Node):
    """A query inside an expression: `kind` is `scalar`, `in`, `exists`, `any`, `all` or `lateral`.

    What is compared with its rows is `value`; ANY and ALL do it by the function `comparison`.
    """

    kind: str
    query: Any
    value: Node | None = None
    comparison: str = ""


@dataclass(frozen=True)
class Order(Node):
    """One expression of ORDER BY."""

    value: Node
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class Bound(Node):
    """An end of a frame: so many rows or so long before (or, negative, after) the current row.

    None stands for no limit.
    """

    distance: Node | None
    preceding: bool = True
    current: bool = False


@dataclass(frozen=True)
class Over(Node):
    """A window of rows: OVER (...), perhaps with the name of one that it goes on from."""

    partition: tuple[Node, ...] = ()
    order: tuple[Order, ...] = ()
    rows: bool | None = None
    start: Bound | None = None
    end: Bound | None = None
    name: str | None = None
