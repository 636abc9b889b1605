"""Values as bytes, those among them that only cloudpickle can ship."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

__all__ = ["dumps", "first_unpicklable"]


def dumps(value: Any) -> bytes:
    """Pickles a value; classes of the user's main program and of functions go by value."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Late: Spark's workers import this only to read headers, and it is seldom needed.
        import cloudpickle

        data: bytes = cloudpickle.dumps(value, protocol=5)
        return data


def first_unpicklable(values: Iterable[Any], otherwise: Any) -> Any:
    """The value because of which many cannot be pickled, for a message; or else `otherwise`."""
    for value in values:
        try:
            dumps(value)
        except Exception:  # noqa: BLE001 - a class may raise anything when it is pickled
            return value
    return otherwise
