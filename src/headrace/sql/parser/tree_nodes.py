"""Nodes of our own in sqlglot's trees."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

__all__ = ["Form", "ModelArgument", "NamedArgument", "TableArgument", "TypeNode"]


class Form(exp.Anonymous):
    """A function that was read by a syntax of its own, not by its name and a list of arguments."""


class TypeNode(exp.Expression):
    """Holds a type of ours inside of sqlglot's tree."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class TableArgument(exp.Expression):
    """`TABLE t` or `(SELECT ...)` as an argument, perhaps with PARTITION BY and ORDER BY."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": False, "order": False}


class ModelArgument(exp.Expression):
    """`MODEL m` as an argument of a function."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class NamedArgument(exp.Expression):
    """`name => value` as an argument of a function."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}
