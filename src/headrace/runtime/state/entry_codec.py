"""Entries of keyed state as bytes, as they lie in a database and travel in snapshots.

The *address bytes* are equal for equal addresses (`1`, `1.0` and `True` are one key) and do not
depend on the process. Of plain ints, strings, bytes and time windows they are all that is needed to
get the address back; any other address is kept, pickled, beside the value.

The *value bytes* are a pickle followed by a trailer, which a reader that wants just the value need
not cut off, since a pickle knows where it ends::

    pickle of the value                            (empty if the entry is gone)
    pickle of the address, its length (4 bytes)    with ADDRESS
    oldest timestamp inside (8 bytes)              with TIMESTAMP, for time-to-live
    flags (1 byte)

A *record block* is what a snapshot has for one state and key group: a magic number, then for each
entry the lengths of address and value bytes (4 bytes each) and these two. Numbers are big-endian.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from headrace.datastream.window import TimeWindow
from headrace.runtime.key_groups import canonical_bytes
from headrace.runtime.pickling import dumps

__all__ = [
    "BLOCK_MAGIC",
    "NO_TRAILER",
    "SELF_DESCRIBING",
    "address_bytes",
    "address_of",
    "gone_bytes",
    "has_address",
    "is_gone",
    "is_record_block",
    "oldest_of",
    "read_block",
    "read_records",
    "record",
    "value_bytes",
    "value_of",
]

BLOCK_MAGIC: Final = b"hrb\x01"
NO_TRAILER: Final = b"\x00"
"""The flags of a value that is followed by nothing else."""

_ADDRESS, _TIMESTAMP, _GONE = 1, 2, 4
_LENGTH, _LENGTHS, _LONG, _WINDOW = Struct(">I"), Struct(">II"), Struct(">q"), Struct(">qq")


# Addresses.


def address_bytes(address: Any, namespaced: bool) -> bytes:
    """The bytes of an address: equal for equal addresses."""
    if not namespaced:
        return _part_bytes(address)
    key, namespace = address
    encoded = _part_bytes(key)
    return _LENGTH.pack(len(encoded)) + encoded + _part_bytes(namespace)


def _part_bytes(part: Any) -> bytes:
    if type(part) is TimeWindow:
        try:
            return b"w" + _WINDOW.pack(part.start, part.end)
        except StructError:
            pass
    return canonical_bytes(part)


SELF_DESCRIBING: Final = frozenset({int, str, bytes, type(None), TimeWindow})
"""Types of addresses that can be read from their bytes alone."""


def _is_self_describing(address: Any, namespaced: bool) -> bool:
    if not namespaced:
        return type(address) in SELF_DESCRIBING
    return type(address[0]) in SELF_DESCRIBING and type(address[1]) in SELF_DESCRIBING


def _read_address(data: bytes, namespaced: bool) -> Any:
    if not namespaced:
        return _read_part(data)
    end = 4 + _LENGTH.unpack_from(data)[0]
    return _read_part(data[4:end]), _read_part(data[end:])


def _read_part(data: bytes) -> Any:
    mark, rest = data[:1], data[1:]
    if mark == b"i":
        return int(rest)
    if mark == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if mark == b"b":
        return rest
    if mark == b"w":
        return TimeWindow(*_WINDOW.unpack(rest))
    if mark == b"n":
        return None
    raise ValueError(f"an address cannot begin with {mark!r}")


# Values.


def value_bytes(address: Any, stored: Any, namespaced: bool, oldest: int | None = None) -> bytes:
    """The bytes of an entry."""
    return dumps(stored) + _trailer(address, namespaced, oldest, 0)


def gone_bytes(address: Any, namespaced: bool) -> bytes:
    """What a snapshot of changes says of an entry that is gone."""
    return _trailer(address, namespaced, None, _GONE)


def _trailer(address: Any, namespaced: bool, oldest: int | None, flags: int) -> bytes:
    trailer = b""
    if not _is_self_describing(address, namespaced):
        flags |= _ADDRESS
        pickled = dumps(address)
        trailer = pickled + _LENGTH.pack(len(pickled))
    if oldest is not None:
        flags |= _TIMESTAMP
        trailer += _LONG.pack(oldest)
    return trailer + bytes((flags,))


def has_address(value: bytes) -> bool:
    """Whether the address is kept beside the value."""
    return bool(value[-1] & _ADDRESS)


def value_of(value: bytes) -> Any:
    """The stored object."""
    return pickle.loads(value)


def is_gone(value: bytes) -> bool:
    """Whether the entry is not there any more."""
    return bool(value[-1] & _GONE)


def oldest_of(value: bytes) -> int | None:
    """The oldest timestamp in the stored object, if it has a time-to-live."""
    if not value[-1] & _TIMESTAMP:
        return None
    oldest: int = _LONG.unpack_from(value, len(value) - 9)[0]
    return oldest


def address_of(address: bytes, value: bytes, namespaced: bool) -> Any:
    """The address of an entry, as it was written."""
    flags = value[-1]
    if not flags & _ADDRESS:
        return _read_address(address, namespaced)
    end = len(value) - 5 - (8 if flags & _TIMESTAMP else 0)
    length = _LENGTH.unpack_from(value, end)[0]
    return pickle.loads(value[end - length : end])


# Blocks.


def record(address: bytes, value: bytes) -> bytes:
    """One entry of a block."""
    return _LENGTHS.pack(len(address), len(value)) + address + value


def is_record_block(data: bytes) -> bool:
    """Whether a block of a snapshot is made of records."""
    return data[: len(BLOCK_MAGIC)] == BLOCK_MAGIC


def read_records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Address and value bytes of each entry in a block."""
    at, size = len(BLOCK_MAGIC), len(data)
    while at < size:
        address_length, value_length = _LENGTHS.unpack_from(data, at)
        at += _LENGTHS.size
        middle = at + address_length
        end = middle + value_length
        if end > size or not value_length:
            raise EOFError("an entry is cut off")
        yield data[at:middle], data[middle:end]
        at = end


def read_block(data: bytes, namespaced: bool) -> tuple[dict[Any, Any], list[Any]]:
    """The entries in a block, and the addresses of those that are gone."""
    present: dict[Any, Any] = {}
    gone: list[Any] = []
    for address, value in read_records(data):
        if is_gone(value):
            gone.append(address_of(address, value, namespaced))
        else:
            present[address_of(address, value, namespaced)] = pickle.loads(value)
    return present, gone
