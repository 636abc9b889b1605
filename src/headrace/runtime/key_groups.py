"""Which subtask owns a key: a stable hash, key groups, and ranges of them.

The hash is the same in every process and on every machine (Python's own is not), and equal keys
have equal hashes: `1`, `1.0` and `True` are one key, as they are in a dict.
"""

from __future__ import annotations

import dataclasses
import io
import operator
import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Number
from typing import Any
from zlib import crc32

from headrace.common.types import Row, field_names_of, values_of
from headrace.graph.ids import KeyGroup
from headrace.runtime.whole_keys import columns_of, tuple_hashes

HASH_MULTIPLIER = 0x9E3779B97F4A7C15
HASH_MASK = 0xFFFFFFFF
_MANY_KEYS = 1_000
"""From here on it is quicker to make columns of keys first."""


class OpaqueKey:
    """Stands for a key that Python cannot find again: one without a hash, such as a list, or NaN.

    It is equal where its parts are.
    """

    __slots__ = ("_bytes", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._bytes = canonical_bytes(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueKey) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpaqueKey, (self.value,)

    def __repr__(self) -> str:
        return repr(self.value)


def hashable_key(key: Any) -> Any:
    """The key itself, or what stands for it if it cannot be found again."""
    try:
        hash(key)
    except TypeError:
        return OpaqueKey(key)
    return key if key == key else OpaqueKey(key)


def _check_found_again(keys: Collection[Any]) -> None:
    """Refuse NaN, which is not equal to itself, as a set refuses what has no hash."""
    if not all(map(operator.eq, keys, keys)):
        raise TypeError("a key is not equal to itself")


def stable_hash(key: Any) -> int:
    """A 32-bit hash of the key's canonical bytes."""
    kind = type(key)
    if kind is int or kind is bool:
        return _int_hash(key)
    if kind is tuple:
        return crc32(_joined(b"t", key))
    if isinstance(key, str):
        return crc32(str.encode(key, "utf-8", "surrogatepass"))
    if isinstance(key, Number):
        whole = _whole(key)
        if whole is not None:
            return _int_hash(whole)
    return crc32(canonical_bytes(key))


def _int_hash(key: int) -> int:
    return (key * HASH_MULTIPLIER >> 32) & HASH_MASK


def _whole(key: Any) -> int | None:
    """The int that a number is equal to, if there is one."""
    if isinstance(key, complex):
        key = key.real if key.imag == 0 else float("nan")
    try:
        whole = int(key)
    except (ValueError, OverflowError):  # not a number, or infinite
        return None
    return whole if whole == key else None


def canonical_bytes(key: Any) -> bytes:
    """Bytes that are equal for equal keys."""
    if key is None:
        return b"n"
    if isinstance(key, str):
        return b"s" + str.encode(key, "utf-8", "surrogatepass")
    if isinstance(key, Number):
        whole = _whole(key)
        if whole is not None:
            return b"i%d" % whole
        return _fraction_bytes(key)
    if isinstance(key, bytes | bytearray):
        return b"b" + bytes(key)
    if isinstance(key, tuple):
        return _joined(b"t", key)
    if isinstance(key, list):
        return _joined(b"l", key)
    if isinstance(key, set | frozenset):
        return b"z" + b"".join(sorted(_joined(b"", [x]) for x in key))
    if isinstance(key, dict):
        return b"m" + b"".join(sorted(_joined(b"", item) for item in key.items()))
    return _object_bytes(key)


def _fraction_bytes(key: Any) -> bytes:
    """Of a number that is not whole; equal floats, fractions and decimals give the same."""
    if isinstance(key, complex) and key.imag:
        return _joined(b"c", [key.real, key.imag])
    number: Any = key.real if isinstance(key, complex) else key
    try:
        return b"f%d/%d" % number.as_integer_ratio()
    except ValueError:  # not a number
        return b"fnan"
    except OverflowError:
        return b"finf" if number > 0 else b"f-inf"


def _object_bytes(key: Any) -> bytes:
    if isinstance(key, OpaqueKey):
        return canonical_bytes(key.value)
    if isinstance(key, Row):
        names = field_names_of(key)
        values = list(values_of(key))
        fields = values if names is None else dict(zip(names, values, strict=False))
        return _joined(b"r", [key.get_row_kind().value, fields])
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        compared = [getattr(key, f.name) for f in dataclasses.fields(key) if f.compare]
        return _joined(b"d", [type(key).__qualname__, *compared])
    return b"p" + _pickled(key)


def _pickled(key: Any) -> bytes:
    """Without back references: whether two parts are one object makes no difference."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 4)
    pickler.fast = True
    pickler.dump(key)
    return buffer.getvalue()


def _joined(mark: bytes, parts: Any) -> bytes:
    encoded = [_QUICK.get(type(x), canonical_bytes)(x) for x in parts]
    return mark + b"".join([b"%d:%b" % (len(e), e) for e in encoded])


# What keys of several columns mostly consist of, as `canonical_bytes` has it but unasked.
_QUICK: dict[type, Callable[[Any], bytes]] = {
    int: b"i%d".__mod__,
    type(None): lambda key: b"n",
    str: lambda key: b"s" + key.encode("utf-8", "surrogatepass"),
}


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
    """Maps a column of keys to the subtasks that own them.

    Args:
        parallelism: Of the subtasks.
        max_parallelism: The number of key groups.
        users: The keys are made by user code, and may be NaN; SQL has its own way with it.
    """

    _MEMO_LIMIT = 1 << 16

    def __init__(self, parallelism: int, max_parallelism: int, users: bool = False) -> None:
        self._users = users
        self._max_parallelism = max_parallelism
        self._owners = [
            subtask_of_group(g, parallelism, max_parallelism) for g in range(max_parallelism)
        ]
        self._single = parallelism == 1
        # Bytes are smaller than a list, and quick to count and to compare.
        self._column: Callable[[Iterable[int]], Sequence[int]] = (
            bytes if parallelism <= 256 else list
        )
        self._memo: dict[Any, int] = {}
        self._owner_array: Any = None

    def assign(self, keys: list[Any]) -> Sequence[int]:
        """The owner of each key: remembered for the first keys seen, computed for others.

        Raises:
            TypeError: A key cannot be found again, see `hashable_key`.
        """
        if self._single:
            distinct = set(keys)  # as the other ways do: a key that cannot be hashed is a TypeError
            if self._users:
                _check_found_again(distinct)
            return bytes(len(keys))
        memo = self._memo
        try:
            return self._column(map(memo.__getitem__, keys))
        except KeyError:
            return self._compute(keys)

    def assign_numbers(self, columns: Sequence[Any]) -> Any:
        """The same for arrays of numpy with whole numbers of 64 bits, without Python's.

        Args:
            columns: One of them for keys that are numbers, several for keys that are tuples.
        """
        import numpy as np

        if self._owner_array is None:
            self._owner_array = np.array(self._owners)
        if len(columns) > 1:
            return self._owner_array[tuple_hashes(columns) % self._max_parallelism]
        # Of a product only the lower 64 bits count, and these are the same for negative numbers.
        hashes = (columns[0].astype(np.uint64) * np.uint64(HASH_MULTIPLIER)) >> np.uint64(32)
        return self._owner_array[hashes % np.uint64(self._max_parallelism)]

    def _compute(self, keys: list[Any]) -> Sequence[int]:
        owners, groups, memo = self._owners, self._max_parallelism, self._memo
        if set(map(type, keys)) == {int}:
            targets = [owners[(k * HASH_MULTIPLIER >> 32 & HASH_MASK) % groups] for k in keys]
            if len(memo) < self._MEMO_LIMIT:
                memo.update(zip(keys, targets, strict=True))
            return self._column(targets)
        if len(memo) > self._MEMO_LIMIT:
            memo.clear()
        # In their order, in which they are close to each other in memory.
        new = [key for key in dict.fromkeys(keys) if key not in memo]
        if self._users:
            _check_found_again(new)
        numbers = self._numbers(new)
        if numbers is not None:
            memo.update(zip(new, self.assign_numbers(numbers).tolist(), strict=True))
        else:
            memo.update((key, owners[stable_hash(key) % groups]) for key in new)
        return self._column(map(memo.__getitem__, keys))

    def _numbers(self, keys: list[Any]) -> Sequence[Any] | None:
        """Columns of many keys that are tuples of several whole numbers."""
        if len(keys) < _MANY_KEYS or set(map(type, keys)) != {tuple}:
            return None
        return columns_of(keys)
