"""`Expression`: columns, values and what is calculated of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError
from headrace.sql.parser import syntax as x
from headrace.sql.table_api.expression_nodes import RelationBase, called, node_of, plan_of, text_of
from headrace.table.expression_methods.json import (
    JsonExistsOnError,
    JsonFunctions,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from headrace.table.expression_methods.times import TimeIntervalUnit, TimePointUnit

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


def _operator(name: str, function: str) -> Any:
    def apply(self: Any, other: Any) -> Any:
        return Expression(*called(name, function, self, other))

    return apply


def _reversed(name: str, function: str) -> Any:
    def apply(self: Any, other: Any) -> Any:
        return Expression(*called(name, function, other, self))

    return apply


class Expression(JsonFunctions, Generic[T]):
    """A column, a value, or a function of some.

    Expressions are written with Python's operators and with methods; `str()` shows Flink's form.

    Example:
        >>> from headrace.table.expressions import col
        >>> str((col("a") + 1).alias("b"))
        "as(plus(a, 1), 'b')"
    """

    __add__ = _operator("plus", "$plus")
    __radd__ = _reversed("plus", "$plus")
    __sub__ = _operator("minus", "MINUS")
    __rsub__ = _reversed("minus", "MINUS")
    __mul__ = _operator("times", "TIMES")
    __rmul__ = __mul__
    __truediv__ = _operator("divide", "DIVIDE")
    __rtruediv__ = _reversed("divide", "DIVIDE")
    __mod__ = _operator("mod", "MOD")
    __rmod__ = _reversed("mod", "MOD")
    __pow__ = _operator("power", "POWER")
    __rpow__ = _reversed("power", "POWER")
    __lt__ = _operator("lessThan", "LESS_THAN")
    __le__ = _operator("lessThanOrEqual", "LESS_THAN_OR_EQUAL")
    __gt__ = _operator("greaterThan", "GREATER_THAN")
    __ge__ = _operator("greaterThanOrEqual", "GREATER_THAN_OR_EQUAL")
    __eq__ = _operator("equals", "EQUALS")
    __ne__ = _operator("notEquals", "NOT_EQUALS")
    __and__ = _operator("and", "AND")
    __rand__ = __and__
    __or__ = _operator("or", "OR")
    __ror__ = __or__
    __hash__ = object.__hash__

    def _made(self, node: x.Node, text: str) -> Expression[Any]:
        return Expression(node, text)

    def __neg__(self) -> Expression[T]:
        return Expression(*called("minusPrefix", "MINUS_PREFIX", self))

    def __invert__(self) -> Expression[bool]:
        return Expression(*called("isNotTrue", "IS_NOT_TRUE", self))

    def __abs__(self) -> Expression[T]:
        return Expression(*called("abs", "ABS", self))

    def __getattr__(self, name: str) -> Expression[Any]:
        # As in PyFlink: a name that is no method is a field of a row.
        if name.startswith("_"):
            raise AttributeError(f"an expression has no attribute {name!r}")
        field: Expression[Any] = self.get(name)
        return field

    def __bool__(self) -> bool:
        raise FunctionTypeError(
            f"{self} has no value yet, so it cannot be used as True or False: write & for and, | "
            "for or, ~ for not"
        )

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """With a name for the column that it becomes; several for a table function."""
        names = (name, *extra_names)
        node = x.Alias(self._node, name, tuple(extra_names))
        return Expression(node, f"as({self}, {', '.join(repr(n) for n in names)})")

    def as_argument(self, name: str) -> Expression[T]:
        """As the argument of that name, in a call of a process table function."""
        return Expression(x.Named(name, self._node), f"ASSIGNMENT({name!r}, {self})")

    @property
    def asc(self) -> Expression[T]:
        """In ascending order."""
        return Expression(x.Order(self._node, False, True), f"asc({self})")

    @property
    def desc(self) -> Expression[T]:
        """In descending order."""
        return Expression(x.Order(self._node, True, False), f"desc({self})")

    @property
    def distinct(self) -> Expression[T]:
        """An aggregate of different values alone."""
        if not isinstance(self._node, x.Apply):
            return Expression(self._node, f"distinct({self})")
        return Expression(replace(self._node, distinct=True), f"distinct({self})")

    def over(self, alias: Any) -> Expression[T]:
        """An aggregate over a window of rows, by the window's name."""
        window = x.Name((alias,)) if isinstance(alias, str) else node_of(alias)
        node: x.Node = x.Apply("OVER", (self._node, window))
        if isinstance(self._node, x.Apply) and isinstance(window, x.Name):
            node = replace(self._node, over=x.Over(name=window.parts[0]))
        return Expression(node, f"over({self}, {text_of(alias)})")

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[bool]:
        """Whether it is one of some values, or in the column of a table, in `where`."""
        if isinstance(first_element_or_table, RelationBase):
            node = x.Subquery("in", plan_of(first_element_or_table), self._node)
            return Expression(node, f"in({self}, table)")
        elements = (first_element_or_table, *remaining_elements)
        return Expression(*called("in", "IN", self, *elements))
