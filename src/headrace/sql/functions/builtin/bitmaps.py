"""Bitmaps: sets of whole numbers of 32 bits without sign, and the portable format of Roaring.

Flink keeps them as Roaring bitmaps, and their bytes are in the format that all implementations of
those share: numbers are divided by their upper 16 bits into containers, which list the lower ones
(*array*), mark them among 65,536 bits (*bitset*), or list stretches of them (*run*).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from headrace.common.errors import HeadraceError

Bitmap = frozenset[int]

_COOKIE, _RUN_COOKIE = 12346, 12347
_MOST_IN_ARRAY = 4096
_BITSET_BYTES = 8192
_OFFSETS_FROM = 4
"""A bitmap with runs has the offsets of its containers from so many of them on."""


def build(numbers: Iterable[int | None]) -> Bitmap:
    """The bitmap of some numbers; those below zero are the upper half."""
    return frozenset(n & 0xFFFFFFFF for n in numbers if n is not None)


def to_array(bitmap: Bitmap) -> tuple[int, ...]:
    """The numbers in order, in 32 bits with sign."""
    return tuple(n - (1 << 32) if n >> 31 else n for n in sorted(bitmap))


def bitmap_text(bitmap: Bitmap) -> str:
    """`{1,3,5}`."""
    return "{" + ",".join(map(str, sorted(bitmap))) + "}"


def change_counts(counts: dict[int, int], bitmap: Bitmap, by: int) -> None:
    """Counts the numbers of a bitmap that comes or goes."""
    for number in bitmap:
        count = counts.get(number, 0) + by
        if count:
            counts[number] = count
        else:
            counts.pop(number, None)


def to_bytes(bitmap: Bitmap) -> bytes:
    """The portable format, with runs where they are shorter."""
    containers: dict[int, list[int]] = {}
    for number in sorted(bitmap):
        containers.setdefault(number >> 16, []).append(number & 0xFFFF)
    encoded = [_container(lows) for lows in containers.values()]
    runs = [is_run for is_run, _ in encoded]
    count = len(containers)
    if any(runs):
        flags = sum(1 << i for i, is_run in enumerate(runs) if is_run)
        head = struct.pack("<HH", _RUN_COOKIE, count - 1)
        head += flags.to_bytes((count + 7) // 8, "little")
    else:
        head = struct.pack("<II", _COOKIE, count)
    for key, lows in containers.items():
        head += struct.pack("<HH", key, len(lows) - 1)
    if not any(runs) or count >= _OFFSETS_FROM:
        position = len(head) + 4 * count
        for _, data in encoded:
            head += struct.pack("<I", position)
            position += len(data)
    return head + b"".join(data for _, data in encoded)


def _container(lows: Sequence[int]) -> tuple[bool, bytes]:
    """Whether it is a run container, and its bytes."""
    runs: list[list[int]] = []
    for low in lows:
        if runs and low == runs[-1][0] + runs[-1][1] + 1:
            runs[-1][1] += 1
        else:
            runs.append([low, 0])
    plain = min(2 * len(lows), _BITSET_BYTES)
    if 2 + 4 * len(runs) < plain:
        numbers = [n for run in runs for n in run]
        return True, struct.pack(f"<{1 + len(numbers)}H", len(runs), *numbers)
    if len(lows) <= _MOST_IN_ARRAY:
        return False, struct.pack(f"<{len(lows)}H", *lows)
    return False, sum(1 << low for low in lows).to_bytes(_BITSET_BYTES, "little")


def from_bytes(data: bytes) -> Bitmap:
    """The bitmap of the portable format."""
    try:
        return frozenset(_numbers(bytes(data)))
    except (struct.error, ValueError) as error:
        raise HeadraceError(f"these bytes are not a bitmap: {error}") from error


def _numbers(data: bytes) -> Iterator[int]:
    (cookie,) = struct.unpack_from("<H", data)
    if cookie == _RUN_COOKIE:
        count = struct.unpack_from("<H", data, 2)[0] + 1
        width = (count + 7) // 8
        flags, position = int.from_bytes(data[4 : 4 + width], "little"), 4 + width
    elif cookie == _COOKIE:
        (count,) = struct.unpack_from("<I", data, 4)
        flags, position = 0, 8
    else:
        raise ValueError(f"they begin with {cookie}")
    heads = [struct.unpack_from("<HH", data, position + 4 * i) for i in range(count)]
    position += 4 * count
    if cookie == _COOKIE or count >= _OFFSETS_FROM:
        position += 4 * count
    for index, (key, less_one) in enumerate(heads):
        lows, position = _lows(data, position, less_one + 1, bool(flags >> index & 1))
        for low in lows:
            yield key << 16 | low


def _lows(data: bytes, position: int, count: int, is_run: bool) -> tuple[list[int], int]:
    """The numbers of a container, and where the next one begins."""
    if is_run:
        (runs,) = struct.unpack_from("<H", data, position)
        pairs = struct.unpack_from(f"<{2 * runs}H", data, position + 2)
        stretches = zip(pairs[0::2], pairs[1::2], strict=True)
        found = [low for start, more in stretches for low in range(start, start + more + 1)]
        return found, position + 2 + 4 * runs
    if count <= _MOST_IN_ARRAY:
        return list(struct.unpack_from(f"<{count}H", data, position)), position + 2 * count
    bits = int.from_bytes(data[position : position + _BITSET_BYTES], "little")
    return [low for low in range(1 << 16) if bits >> low & 1], position + _BITSET_BYTES
