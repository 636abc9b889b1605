"""Batch mode: an operator gets the records of a key in order of time, once all are there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from headrace.runtime.batch import BATCH_SIZE, MIN_TIMESTAMP, Batch


class SortedInput:
    """Holds all records of a bounded input, and gives them sorted by time at its end.

    Records of one time, or without one, stay in the order in which they came.
    """

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[int, Any, Any]]] = {}
        self._timed = False

    def add(self, input_index: int, batch: Batch) -> None:
        """Keep a batch of an input."""
        stamps: Any = repeat(MIN_TIMESTAMP, len(batch))
        if batch.timestamps is not None:
            self._timed = True
            stamps = [MIN_TIMESTAMP if t is None else t for t in batch.timestamps]
        rows = self._rows.setdefault(input_index, [])
        rows.extend(zip(stamps, batch.keys or (), batch.values, strict=True))

    def drain(self) -> Iterator[tuple[int, Batch]]:
        """All records, one input after the other."""
        held, self._rows = self._rows, {}
        for input_index, rows in sorted(held.items()):
            rows.sort(key=lambda row: row[0])
            for start in range(0, len(rows), BATCH_SIZE):
                stamps, keys, values = zip(*rows[start : start + BATCH_SIZE], strict=True)
                columns = list(stamps) if self._timed else None
                yield input_index, Batch(list(values), columns, list(keys))
