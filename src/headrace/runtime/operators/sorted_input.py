"""Batch mode: an operator gets the records of a key in order of time, once all are there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from operator import itemgetter
from typing import Any

from headrace.datastream.state import ListStateDescriptor
from headrace.runtime.batch import BATCH_SIZE, MIN_TIMESTAMP, Batch
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

_STATE = "records of a bounded input"

Record = tuple[int, Any, Any]
"""Its time, its key and itself."""


class SortedInput:
    """Holds all records of a bounded input, and gives them sorted by time at its end.

    Records of one time, or without one, stay in the order in which they came. At a barrier they are
    written to the state of the operator that waits for them.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._records: dict[int, list[Record]] = {}
        self._stored: dict[int, int] = {}
        # Not the same after a restore: some keys went to other subtasks with their numbers.
        self._next_number: dict[int, int] = {}
        self._timed = False

    def open(self) -> None:
        """Take over what is in the state."""
        self._cell = KeyCell()
        self._state = self._backend.get_or_create(ListStateDescriptor(_STATE), self._cell)
        found: dict[int, list[tuple[int, int, Any, Any]]] = {}
        for key in self._backend.keys(_STATE):
            self._cell.key = key
            for input_index, number, stamp, value in self._state.get():
                found.setdefault(input_index, []).append((number, stamp, key, value))
                self._timed = self._timed or stamp != MIN_TIMESTAMP
        self._cell.key = NO_KEY
        for input_index, records in found.items():
            records.sort(key=itemgetter(0))
            self._records[input_index] = [record[1:] for record in records]
            self._stored[input_index] = len(records)
            self._next_number[input_index] = records[-1][0] + 1

    def add(self, input_index: int, batch: Batch) -> None:
        """Keep a batch of an input."""
        stamps: Any = repeat(MIN_TIMESTAMP, len(batch))
        if batch.timestamps is not None:
            self._timed = True
            stamps = [MIN_TIMESTAMP if t is None else t for t in batch.timestamps]
        records = self._records.setdefault(input_index, [])
        records.extend(zip(stamps, batch.keys or (), batch.values, strict=True))

    def store(self) -> None:
        """Write what came since the last barrier to the state."""
        new: dict[Any, list[tuple[int, int, int, Any]]] = {}
        for input_index, records in self._records.items():
            fresh = records[self._stored.get(input_index, 0) :]
            first = self._next_number.get(input_index, 0)
            for number, (stamp, key, value) in enumerate(fresh, start=first):
                new.setdefault(key, []).append((input_index, number, stamp, value))
            self._stored[input_index] = len(records)
            self._next_number[input_index] = first + len(fresh)
        for key, entries in new.items():
            self._cell.key = key
            self._state.add_all(entries)
        self._cell.key = NO_KEY

    def drain(self) -> Iterator[tuple[int, Batch]]:
        """All records, one input after the other."""
        for key in self._backend.keys(_STATE):
            self._cell.key = key
            self._state.clear()
        self._cell.key = NO_KEY
        held, self._records = self._records, {}
        for input_index, records in sorted(held.items()):
            records.sort(key=itemgetter(0))
            for start in range(0, len(records), BATCH_SIZE):
                stamps, keys, values = zip(*records[start : start + BATCH_SIZE], strict=True)
                columns = list(stamps) if self._timed else None
                yield input_index, Batch(list(values), columns, list(keys))
