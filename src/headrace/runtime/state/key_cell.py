"""The cell in which an operator puts the current key before it calls user code.

State objects read `cell.key` on each access; that is the whole cost of scoping. Where there is no
key, the cell holds `NO_KEY`, which no table can look up: its hash raises the error that tells the
user what to do, so that the check costs nothing while there is a key.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from headrace.common.errors import StateError

__all__ = ["NO_KEY", "KeyCell"]


class _NoKey:
    """The type of `NO_KEY`."""

    __slots__ = ()

    def __hash__(self) -> NoReturn:
        raise StateError(
            "keyed state was used while there is no current key; use it in the methods that get a "
            "record or a timer of a keyed stream (process_element, on_timer, map, ...), not in "
            "open(), close() or __init__()"
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "NO_KEY"

    def __reduce__(self) -> str:
        return "NO_KEY"


NO_KEY: Final = _NoKey()
"""What a cell holds outside of a keyed context."""


class KeyCell:
    """Holds the address of the state that user code sees now.

    For a plain table the address is the key. For a namespaced table (windows) it is the tuple
    `(key, namespace)`, kept in a second cell.
    """

    __slots__ = ("key",)

    def __init__(self, key: Any = NO_KEY) -> None:
        self.key: Any = key
