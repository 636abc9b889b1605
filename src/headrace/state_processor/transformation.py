"""From a DataFrame to the state of an operator, described step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle

from headrace.common.errors import FunctionTypeError
from headrace.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

__all__ = ["OperatorTransformation", "StateBootstrapTransformation"]


@dataclass(frozen=True)
class StateBootstrapTransformation:
    """Rows, and the function that makes state of them. Made by `OperatorTransformation`."""

    data: Any
    function: bytes
    key: str | bytes | None = None
    broadcast: bool = False


class OperatorTransformation:
    """Where a transformation begins.

    Example::

        OperatorTransformation.bootstrap_with(frame).key_by("user").transform(FillCounts())
    """

    @staticmethod
    def bootstrap_with(data: Any) -> OneInputOperatorTransformation:
        """Fill the state of an operator from the rows of a DataFrame."""
        if not hasattr(data, "rdd") or not hasattr(data, "columns"):
            raise FunctionTypeError(
                f"bootstrap_with() takes a Spark DataFrame, not {type(data).__name__}; make one "
                "with spark.createDataFrame(...)"
            )
        return OneInputOperatorTransformation(data)


class OneInputOperatorTransformation:
    """Rows without a key."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def key_by(self, key: str | Callable[[Any], Any]) -> KeyedOperatorTransformation:
        """Give each row a key: the name of a column, or a function of the row."""
        if isinstance(key, str):
            if key not in self._data.columns:
                raise FunctionTypeError(
                    f"there is no column {key!r}; the DataFrame has {list(self._data.columns)}"
                )
            return KeyedOperatorTransformation(self._data, key)
        if not callable(key):
            raise FunctionTypeError(
                f"key_by() takes the name of a column or a function, not {key!r}"
            )
        return KeyedOperatorTransformation(self._data, cloudpickle.dumps(key))

    def transform(self, function: StateBootstrapFunction) -> StateBootstrapTransformation:
        """Fill operator state, or broadcast state with a `BroadcastStateBootstrapFunction`."""
        _require(function, StateBootstrapFunction)
        broadcast = isinstance(function, BroadcastStateBootstrapFunction)
        return StateBootstrapTransformation(
            self._data, cloudpickle.dumps(function), broadcast=broadcast
        )


class KeyedOperatorTransformation:
    """Rows with a key."""

    def __init__(self, data: Any, key: str | bytes) -> None:
        self._data = data
        self._key = key

    def transform(self, function: KeyedStateBootstrapFunction) -> StateBootstrapTransformation:
        """Fill keyed state and set timers."""
        _require(function, KeyedStateBootstrapFunction)
        return StateBootstrapTransformation(self._data, cloudpickle.dumps(function), self._key)


def _require(function: Any, kind: type) -> None:
    if not isinstance(function, kind):
        raise FunctionTypeError(f"transform() needs a {kind.__name__} here, not {function!r}")
