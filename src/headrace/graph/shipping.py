"""Whether something can travel to the workers, found out where the user wrote it."""

from __future__ import annotations

from typing import Any

import cloudpickle

from headrace.common.errors import FunctionTypeError


def check_shippable(function: Any, operation: str) -> None:
    """Pickle a user function once at build time, so that the error is at the user's line."""
    try:
        cloudpickle.dumps(function)
    except Exception as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise FunctionTypeError(
            f"{operation}: {name} cannot be pickled, so it cannot reach the workers "
            f"({type(error).__name__}: {error}); it holds or refers to something that stays in "
            "this process, such as a connection, a lock or an open file: create that in open() "
            "instead"
        ) from error
