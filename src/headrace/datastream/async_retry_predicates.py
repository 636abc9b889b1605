"""Ready-made conditions for retries of asynchronous calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: Sequence[Any] | None) -> bool:
    """Returns whether a call gave no records."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Returns whether a call raised an exception."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None,
    expected_error_type: type[BaseException] | tuple[type[BaseException], ...],
) -> bool:
    """Returns whether a call raised an exception of a given type.

    Bind the type before you pass it to a strategy:
    `functools.partial(exception_type_predicate, expected_error_type=ConnectionError)`.
    """
    return isinstance(error, expected_error_type)
