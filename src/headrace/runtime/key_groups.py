"""Which subtask owns a key: a stable hash, key groups, and ranges of them.

The hash is the same in every process and on every machine (Python's own is not), and equal keys have
equal hashes: `1`, `1.0` and `True` are one key, as they are in a dict.
"""

from __future__ import annotations

import dataclasses
import pickle
import struct
from typing import Any
from zlib import crc32

from headrace.graph.ids import KeyGroup

_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = 0xFFFFFFFF
_pack_double = struct.Struct("<d").pack


class OpaqueKey:
    """Stands for a key that Python cannot hash, such as a list: it is equal where its bytes are."""

    __slots__ = ("_bytes", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._bytes = pickle.dumps(value, 4)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueKey) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueKey, (self.value,)

    def __repr__(self) -> str:
        return repr(self.value)


def hashable_key(key: Any) -> Any:
    """The key itself, or what stands for it if it cannot be hashed."""
    try:
        hash(key)
    except TypeError:
        return OpaqueKey(key)
    return key


def stable_hash(key: Any) -> int:
    """A 32-bit hash of the key's canonical bytes."""
    kind = type(key)
    if kind is int or kind is bool:
        return _int_hash(key)
    if kind is str:
        return crc32(key.encode("utf-8", "surrogatepass"))
    return crc32(canonical_bytes(key))


def _int_hash(key: int) -> int:
    return (key * _MULTIPLIER >> 32) & _MASK


def canonical_bytes(key: Any) -> bytes:
    """Bytes that are equal for equal keys."""
    if key is None:
        return b"n"
    if isinstance(key, int):
        return b"i%d" % key
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, float):
        return b"i%d" % int(key) if key.is_integer() else b"f" + _pack_double(key)
    if isinstance(key, bytes | bytearray):
        return b"b" + bytes(key)
    if isinstance(key, tuple):
        return _joined(b"t", key)
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return _joined(b"d", [getattr(key, f.name) for f in dataclasses.fields(key)])
    if isinstance(key, OpaqueKey):
        return b"p" + pickle.dumps(key.value, 4)
    if isinstance(key, frozenset):
        return b"z" + b"".join(sorted(canonical_bytes(x) for x in key))
    return b"p" + pickle.dumps(key, 4)


def _joined(mark: bytes, parts: Any) -> bytes:
    encoded = [canonical_bytes(x) for x in parts]
    return mark + b"".join(b"%d:" % len(e) + e for e in encoded)


def key_group_of(key: Any, max_parallelism: int) -> KeyGroup:
    """The key group of a key."""
    return KeyGroup(stable_hash(key) % max_parallelism)


def subtask_of_group(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a key group."""
    return key_group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """The key groups of a subtask."""
    first = -(-subtask * max_parallelism // parallelism)
    last = -(-(subtask + 1) * max_parallelism // parallelism)
    return range(first, last)


class KeyAssigner:
    """Maps a column of keys to the subtasks that own them."""

    _MEMO_LIMIT = 1 << 16

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self._owners = [
            subtask_of_group(g, parallelism, max_parallelism) for g in range(max_parallelism)
        ]
        self._single = parallelism == 1
        self._memo: dict[Any, int] = {}

    def assign(self, keys: list[Any]) -> list[int]:
        """The owner of each key: remembered for the first keys that were seen, computed for others."""
        if self._single:
            set(keys)  # as the other ways do: a key that cannot be hashed is a TypeError
            return [0] * len(keys)
        memo = self._memo
        try:
            return list(map(memo.__getitem__, keys))
        except KeyError:
            return self._compute(keys)

    def _compute(self, keys: list[Any]) -> list[int]:
        owners, groups, memo = self._owners, self._max_parallelism, self._memo
        if set(map(type, keys)) == {int}:
            targets = [owners[(k * _MULTIPLIER >> 32 & _MASK) % groups] for k in keys]
            if len(memo) < self._MEMO_LIMIT:
                memo.update(zip(keys, targets, strict=True))
            return targets
        if len(memo) > self._MEMO_LIMIT:
            memo.clear()
        for key in set(keys).difference(memo):
            memo[key] = owners[stable_hash(key) % groups]
        return list(map(memo.__getitem__, keys))
