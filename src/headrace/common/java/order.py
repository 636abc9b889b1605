"""The order in which a `java.util.HashMap` of strings gives its keys, for texts that show one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["java_hash", "java_order"]

_FIRST_SIZE = 16
_LOAD = 0.75


def java_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number."""
    value = 0
    encoded = text.encode("utf-16-be")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (value * 31 + (high << 8) + low) & 0xFFFFFFFF
    return value


def java_order(keys: Iterable[str]) -> list[str]:
    """Keys by their places in the table of the map."""
    found = list(keys)
    size = _FIRST_SIZE
    while len(found) > size * _LOAD:
        size *= 2

    def place(key: str) -> int:
        value = java_hash(key)
        return (value ^ value >> 16) & size - 1

    return sorted(found, key=place)
