"""What a recipe of an aggregate function is: its places in the accumulator, and lines for a row."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.types import DataType

__all__ = ["Lines", "Place", "Recipe", "counted_values"]

Lines = list[str]


@dataclass
class Recipe:
    """How an aggregate is computed; `a` is the accumulator, `x` the argument, `b` another one.

    Attributes:
        initial: What the places start with, as code.
        add: Lines for a row whose argument is not NULL.
        remove: Lines that take such a row back; None if that cannot be done.
        merge: Lines that add the accumulator `b`; None if that cannot be done.
        value: Code for the result.
        nulls: Whether rows with NULL count as well.
    """

    initial: list[str]
    add: Lines
    remove: Lines | None
    merge: Lines | None
    value: str
    nulls: bool = False


@dataclass
class Place:
    """Where a recipe works: the writer for references, and the first place in the list."""

    writer: CodeWriter
    at: int
    call: AggregateCall

    def slot(self, offset: int = 0, of: str = "a") -> str:
        return f"{of}[{self.at + offset}]"

    @property
    def argument_type(self) -> DataType:
        return self.call.arg_types[0]


def counted_values(p: Place) -> tuple[list[str], Lines, Lines, Lines]:
    """A dict from value to how often it is there."""
    a, b = p.slot(), p.slot(of="b")
    add = [f"{a}[x] = {a}.get(x, 0) + 1"]
    remove = [
        f"n = {a}.get(x, 0) - 1",
        f"if n: {a}[x] = n",
        f"else: {a}.pop(x, None)",
    ]
    merge = [
        f"for x, n in {b}.items():",
        f"    n += {a}.get(x, 0)",
        f"    if n: {a}[x] = n",
        f"    else: {a}.pop(x, None)",
    ]
    return ["{}"], add, remove, merge
