"""Reading a bounded source to its end without a subtask around its reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.datastream.connectors.base import ReadBatch, Source

__all__ = ["all_splits", "read_splits"]

_AT_ONCE = 10_000


def all_splits(source: Source, parallelism: int = 1) -> list[Any]:
    """All splits that a bounded source has."""
    enumerator = source.create_enumerator(parallelism)
    splits: list[Any] = []
    try:
        while not enumerator.finished:
            splits += [s for dealt in enumerator.discover(0).values() for s in dealt]
    finally:
        enumerator.close()
    return splits


def read_splits(
    source: Source, splits: Sequence[Any], at_once: int = _AT_ONCE
) -> Iterator[ReadBatch]:
    """What is in some splits, from their beginning to their end."""
    reader = source.create_reader(_Alone())
    try:
        reader.open()
        reader.add_splits(splits)
        while (batch := reader.poll(at_once)) is not None or not reader.exhausted:
            if batch is not None:
                yield batch
    finally:
        reader.close()


class _Alone:
    """What a reader may use that reads everything by itself."""

    subtask = 0
    parallelism = 1
    runtime_context = None
    finds_idleness = False

    def now_ms(self) -> int:
        return 0

    def data_available(self) -> None:
        pass

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        return False
