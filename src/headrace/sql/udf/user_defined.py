"""The base class of users' functions."""

from __future__ import annotations

from abc import ABC

from headrace.sql.udf.function_context import FunctionContext

__all__ = ["UserDefinedFunction"]


class UserDefinedFunction(ABC):  # noqa: B024 - a base, never used itself
    """Base of all functions: `open` is called before the first row, `close` at the end."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027
        """Called once in each subtask, before the first row."""

    def close(self) -> None:  # noqa: B027
        """Called once in each subtask, at the end."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments give equal results."""
        return True
