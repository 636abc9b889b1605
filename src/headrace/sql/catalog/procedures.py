"""Stored procedures: what a catalog lets CALL do."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql.parsing import parse_type_text
from headrace.sql.types import DataType

__all__ = ["BUILT_IN", "Procedure", "ProcedureContext", "procedure"]


class ProcedureContext(ABC):
    """What a procedure may use."""

    @abstractmethod
    def get_execution_environment(self) -> Any:
        """The `StreamExecutionEnvironment` of the session, for procedures that start jobs."""

    @abstractmethod
    def compact(self, table: str) -> None:
        """Put small files of a table together, if its connector can."""


class Procedure:
    """A function that CALL calls; `procedure` makes one.

    Attributes:
        arguments: Names and types, in order.
        required: The names of those that have no default.
        result: The type of each row: its fields are columns if it is a ROW, else there is one
            column, `result`.
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Any]],
        arguments: Mapping[str, DataType],
        result: DataType,
    ) -> None:
        _, *parameters = inspect.signature(function).parameters.values()
        if [p.name for p in parameters] != list(arguments):
            raise FunctionTypeError(
                f"the procedure {function.__name__} must take a context and then "
                f"{', '.join(arguments) or 'nothing'}, as it is declared, not "
                f"{', '.join(p.name for p in parameters) or 'nothing'}"
            )
        self._function = function
        self.arguments = dict(arguments)
        self.required = tuple(p.name for p in parameters if p.default is p.empty)
        self.result = result

    def call(self, context: ProcedureContext, arguments: Mapping[str, Any]) -> list[Any]:
        """The rows of a call."""
        return list(self._function(context, **arguments))


def procedure(
    arguments: Mapping[str, str | DataType] | None = None, *, result: str | DataType = "STRING"
) -> Callable[[Callable[..., Iterable[Any]]], Procedure]:
    """Makes a procedure of a function, for `CatalogStore.find_procedure`.

    The function gets a `ProcedureContext` and the arguments by name, and returns the rows. A
    default of Python makes an argument optional.

    Args:
        arguments: Names and SQL types of the arguments, in order.
        result: The SQL type of a row: its fields are columns if it is a ROW.
    """

    def made(function: Callable[..., Iterable[Any]]) -> Procedure:
        types = {name: _type(type_) for name, type_ in (arguments or {}).items()}
        return Procedure(function, types, _type(result))

    return made


def _type(type_: str | DataType) -> DataType:
    return parse_type_text(type_) if isinstance(type_, str) else type_


@procedure({"table": "STRING"})
def compact(context: ProcedureContext, table: str) -> list[str]:
    """Puts small files of a table together."""
    context.compact(table)
    return ["Success"]


BUILT_IN = {"compact": compact}
"""Procedures of the database `sys` of in-memory catalogs."""
